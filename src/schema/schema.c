/* SPDX-License-Identifier: MIT */
/*
 * schema.c - copy, compare and hash event classes; names of levels (see schema.h).
 */
#include "base/array.h"
#include "base/error.h"
#include "base/hash.h"
#include "schema/scratch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct wmk_scratch_piece {
	struct wmk_scratch_piece *next;
	_Alignas(16) unsigned char bytes[];
};

void *wmk_scratch_alloc(struct wmk_scratch *scratch, size_t size)
{
	struct wmk_scratch_piece *piece = calloc(1, sizeof(*piece) + size);

	if (!piece) {
		wmk_error(-ENOMEM, "no memory for an event class");
		return NULL;
	}
	piece->next = scratch->pieces;
	scratch->pieces = piece;
	return piece->bytes;
}

char *wmk_scratch_text(struct wmk_scratch *scratch, const char *s, size_t len)
{
	char *copy = wmk_scratch_alloc(scratch, len + 1);

	if (copy)
		memcpy(copy, s, len);
	return copy;
}

void wmk_scratch_free(struct wmk_scratch *scratch)
{
	while (scratch->pieces) {
		struct wmk_scratch_piece *piece = scratch->pieces;

		scratch->pieces = piece->next;
		free(piece);
	}
}

/* ── one allocation ──────────────────────────────────────────────────────────────────────────────────── */

/* wmk_class_clone() runs the copy twice: with `base` NULL to compute the size, then into the allocation. */
struct block {
	char *base;
	size_t used;
};

static void *block_put(struct block *block, const void *data, size_t size, size_t align)
{
	size_t at = (block->used + align - 1) & ~(align - 1);

	block->used = at + size;
	if (!block->base)
		return NULL;
	return size ? memcpy(block->base + at, data, size) : block->base + at;
}

static const char *put_text(struct block *block, const char *s)
{
	return s ? block_put(block, s, strlen(s) + 1, 1) : NULL;
}

static const struct wmk_field *put_fields(struct block *block, const struct wmk_field *fields, size_t n);

/* Copy the objects to which the members of `type` point. `copy` is the copy of `type`, or NULL in the first pass. */
static void put_type(struct block *block, const struct wmk_type *type, struct wmk_type *copy)
{
	struct wmk_type *elem = NULL;
	struct wmk_label *labels = NULL;
	const struct wmk_field *members = NULL;
	const char *media = put_text(block, type->media);

	if (type->elem) {
		elem = block_put(block, type->elem, sizeof(*elem), _Alignof(struct wmk_type));
		put_type(block, type->elem, elem);
	}
	if (type->labels) {
		labels = block_put(block, type->labels, type->count * sizeof(*labels), _Alignof(struct wmk_label));
		for (uint32_t i = 0; i < type->count; i++) {
			const char *name = put_text(block, type->labels[i].name);

			if (labels)
				labels[i].name = name;
		}
	}
	if (type->members)
		members = put_fields(block, type->members, type->count);
	if (copy) {
		copy->media = media;
		copy->elem = elem;
		copy->labels = labels;
		copy->members = members;
	}
}

static const struct wmk_field *put_fields(struct block *block, const struct wmk_field *fields, size_t n)
{
	struct wmk_field *copy = block_put(block, fields, n * sizeof(*fields), _Alignof(struct wmk_field));

	for (size_t i = 0; i < n; i++) {
		const char *name = put_text(block, fields[i].name), *unit = put_text(block, fields[i].unit);

		put_type(block, &fields[i].type, copy ? &copy[i].type : NULL);
		if (copy) {
			copy[i].name = name;
			copy[i].unit = unit;
		}
	}
	return copy;
}

static struct wmk_event_class *put_class(struct block *block, const struct wmk_event_class *event)
{
	struct wmk_event_class *copy = block_put(block, event, sizeof(*event), _Alignof(struct wmk_event_class));
	struct wmk_event_class parts = *event;

	parts.provider = put_text(block, event->provider);
	parts.name = put_text(block, event->name);
	parts.file = put_text(block, event->file);
	parts.function = put_text(block, event->function);
	parts.format = put_text(block, event->format);
	parts.fields = put_fields(block, event->fields, event->n_fields);
	if (copy)
		*copy = parts;
	return copy;
}

int wmk_class_clone(const struct wmk_event_class *event, struct wmk_event_class **copy)
{
	struct block block = { NULL, 0 };
	char name[WMK_FULL_NAME];

	put_class(&block, event);
	block.base = malloc(block.used);
	if (!block.base)
		return wmk_error(-ENOMEM, "no memory for event %s", wmk_event_full_name(event, name));
	block.used = 0;
	*copy = put_class(&block, event);
	return 0;
}

const char *wmk_event_full_name(const struct wmk_event_class *event, char name[WMK_FULL_NAME])
{
	snprintf(name, WMK_FULL_NAME, "%.*s%s%.*s", WMK_NAME_MAX, event->provider, event->provider[0] ? ":" : "",
		 WMK_NAME_MAX, event->name);
	return name;
}

void wmk_event_class_free(struct wmk_event_class *event)
{
	free(event);
}

/* ── identity ────────────────────────────────────────────────────────────────────────────────────────── */

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_fields(const struct wmk_field *a, const struct wmk_field *b, size_t n);

static bool same_type(const struct wmk_type *a, const struct wmk_type *b)
{
	if (a->kind != b->kind || a->width != b->width || a->is_signed != b->is_signed || a->order != b->order ||
	    a->base != b->base || a->is_text != b->is_text || a->count != b->count || !same_text(a->media, b->media) ||
	    !a->elem != !b->elem || !a->labels != !b->labels || !a->members != !b->members)
		return false;
	for (uint32_t i = 0; a->labels && i < a->count; i++)
		if (a->labels[i].from != b->labels[i].from || a->labels[i].to != b->labels[i].to ||
		    !same_text(a->labels[i].name, b->labels[i].name))
			return false;
	if (a->members && !same_fields(a->members, b->members, a->count))
		return false;
	return !a->elem || same_type(a->elem, b->elem);
}

static bool same_fields(const struct wmk_field *a, const struct wmk_field *b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!same_text(a[i].name, b[i].name) || !same_text(a[i].unit, b[i].unit) ||
		    !same_type(&a[i].type, &b[i].type))
			return false;
	return true;
}

bool wmk_event_same(const struct wmk_event_class *a, const struct wmk_event_class *b)
{
	return same_text(a->provider, b->provider) && same_text(a->name, b->name) && a->n_fields == b->n_fields &&
	       same_text(wmk_kind_uri(a->kind), wmk_kind_uri(b->kind)) && same_text(a->format, b->format) &&
	       same_fields(a->fields, b->fields, a->n_fields);
}

static uint64_t hash_text(uint64_t h, const uint64_t key[2], const char *s)
{
	return s ? wmk_hash_keyed(h, key, s, strlen(s) + 1) : wmk_hash_keyed(h, key, "\xff", 1);
}

static uint64_t hash_type(uint64_t h, const uint64_t key[2], const struct wmk_type *type);

static uint64_t hash_fields(uint64_t h, const uint64_t key[2], const struct wmk_field *fields, size_t n)
{
	for (size_t i = 0; i < n; i++)
		h = hash_type(hash_text(hash_text(h, key, fields[i].name), key, fields[i].unit), key, &fields[i].type);
	return h;
}

static uint64_t hash_type(uint64_t h, const uint64_t key[2], const struct wmk_type *type)
{
	const uint8_t small[] = { type->kind, type->width, type->is_signed, type->order, type->base, type->is_text };

	h = wmk_hash_keyed(wmk_hash_keyed(h, key, small, sizeof(small)), key, &type->count, sizeof(type->count));
	h = hash_text(h, key, type->media);
	for (uint32_t i = 0; type->labels && i < type->count; i++) {
		h = hash_text(h, key, type->labels[i].name);
		h = wmk_hash_keyed(h, key, &type->labels[i].from, sizeof(int64_t));
		h = wmk_hash_keyed(h, key, &type->labels[i].to, sizeof(int64_t));
	}
	if (type->members)
		h = hash_fields(h, key, type->members, type->count);
	return type->elem ? hash_type(h, key, type->elem) : h;
}

uint64_t wmk_event_hash(const struct wmk_event_class *event, const uint64_t key[2])
{
	uint64_t h = hash_text(hash_text(key[1], key, event->provider), key, event->name);

	h = hash_text(h, key, event->format);
	return hash_fields(hash_text(h, key, wmk_kind_uri(event->kind)), key, event->fields, event->n_fields);
}

const char *wmk_level_name(unsigned level)
{
	static const char *const names[] = {
		"emerg", "alert", "crit", "err", "warning", "notice", "info",
		"debug_system", "debug_program", "debug_process", "debug_module", "debug_unit", "debug_function",
		"debug_line", "debug",
	};

	return level < WMK_ARRAY_LEN(names) ? names[level] : NULL;
}
