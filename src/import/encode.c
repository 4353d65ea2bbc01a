/* SPDX-License-Identifier: MIT */
/*
 * encode.c - encode lines as records (see encode.h).
 */
#include "import/encode.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"

void wmk_import_put(struct wmk_import_bytes *bytes, const void *from, size_t len)
{
	size_t cap = bytes->cap ? bytes->cap : 256;
	uint8_t *at;

	if (bytes->failed || !len)
		return;
	while (cap - bytes->len < len)
		cap *= 2;
	if (cap != bytes->cap) {
		at = realloc(bytes->at, cap);
		if (!at) {
			bytes->failed = true;
			return;
		}
		bytes->at = at;
		bytes->cap = cap;
	}
	memcpy(bytes->at + bytes->len, from, len);
	bytes->len += len;
}

void wmk_import_put_text(struct wmk_import_bytes *bytes, struct wmk_import_text text)
{
	while (text.len) {
		const char *nul = memchr(text.at, 0, text.len);
		const size_t n = nul ? (size_t)(nul - text.at) : text.len;

		wmk_import_put(bytes, text.at, n);
		if (nul)
			wmk_import_put(bytes, "\xe2\x90\x80", 3);
		wmk_import_drop(&text, n + (nul ? 1 : 0));
	}
	wmk_import_put(bytes, "", 1);
}

/* ── classes ─────────────────────────────────────────────────────────────────────────────────────────── */

static const struct wmk_type string_type = { .kind = WMK_TYPE_STRING };

static const struct wmk_type types[] = {
	[WMK_IMPORT_INT] = { .kind = WMK_TYPE_INT, .width = 64, .is_signed = 1, .base = 10 },
	[WMK_IMPORT_HEX] = { .kind = WMK_TYPE_INT, .width = 64, .base = 16 },
	[WMK_IMPORT_TEXT] = { .kind = WMK_TYPE_STRING },
	[WMK_IMPORT_FACILITY] = { .kind = WMK_TYPE_ENUM,
				  .width = 8,
				  .base = 10,
				  .count = WMK_IMPORT_FACILITIES,
				  .labels = wmk_import_facilities },
	[WMK_IMPORT_SEVERITY] = { .kind = WMK_TYPE_ENUM,
				  .width = 8,
				  .base = 10,
				  .count = WMK_IMPORT_SEVERITIES,
				  .labels = wmk_import_severities },
	[WMK_IMPORT_FRAMES] = { .kind = WMK_TYPE_SEQUENCE, .elem = &string_type },
};

#define SIGNED_32 { .kind = WMK_TYPE_INT, .width = 32, .is_signed = 1, .base = 10 }

const struct wmk_field *wmk_import_context(unsigned bit)
{
	static const struct wmk_field fields[WMK_IMPORT_CONTEXTS] = {
		[WMK_IMPORT_HAS_PID] = { .name = "vpid", .type = SIGNED_32 },
		[WMK_IMPORT_HAS_TID] = { .name = "vtid", .type = SIGNED_32 },
		[WMK_IMPORT_HAS_COMM] = { .name = "procname", .type = { .kind = WMK_TYPE_STRING } },
		[WMK_IMPORT_HAS_CPU] = { .name = "cpu_id", .type = SIGNED_32 },
	};

	return &fields[bit];
}

static unsigned contexts_of(const struct wmk_import_line *line)
{
	return (line->has_pid ? WMK_IMPORT_HAS_PID : 0) | (line->has_tid ? WMK_IMPORT_HAS_TID : 0) |
	       (line->comm.at ? WMK_IMPORT_HAS_COMM : 0) | (line->has_cpu ? WMK_IMPORT_HAS_CPU : 0);
}

static void put_key_field(struct wmk_import_bytes *key, uint8_t kind, struct wmk_import_text name)
{
	wmk_import_put(key, &kind, 1);
	wmk_import_put_text(key, name);
}

static uint64_t hash_of(const uint8_t *bytes, size_t len)
{
	const uint64_t hash = wmk_hash_bytes(WMK_HASH_BEGIN, bytes, len);

	return hash ^ hash >> 32;
}

static void class_free(struct wmk_import_class *class)
{
	if (class) {
		free(class->key);
		free(class->fields);
		free(class);
	}
}

/* Create a class from its key; the function copies the key. */
static struct wmk_import_class *class_new(const struct wmk_import_bytes *key, uint64_t hash)
{
	struct wmk_import_class *class = calloc(1, sizeof(*class));
	size_t at = 1;

	if (!class)
		return NULL;
	class->key = malloc(key->len);
	class->fields = calloc(WMK_IMPORT_VALUES + 1, sizeof(*class->fields));
	if (!class->key || !class->fields) {
		class_free(class);
		return NULL;
	}
	memcpy(class->key, key->at, key->len);
	class->key_len = key->len;
	class->hash = hash;
	class->contexts = class->key[0];
	class->provider = (const char *)class->key + at;
	at += strlen(class->provider) + 1;
	class->name = (const char *)class->key + at;
	at += strlen(class->name) + 1;
	for (; at < key->len; class->n++) {
		struct wmk_field *field = &class->fields[class->n];

		field->type = types[class->key[at]];
		field->name = (const char *)class->key + at + 1;
		at += strlen(field->name) + 2;
	}
	return class;
}

/* Find or create the class with this key; the function frees the key. */
static int class_find(struct wmk_import_classes *classes, struct wmk_import_bytes *key, struct wmk_import_class **found)
{
	const uint64_t hash = key->failed ? 0 : hash_of(key->at, key->len);
	struct wmk_import_class **head = &classes->heads[hash % WMK_IMPORT_HEADS], *class = key->failed ? NULL : *head;
	int err = key->failed ? -ENOMEM : 0;

	while (class &&
	       (class->hash != hash || class->key_len != key->len || memcmp(class->key, key->at, key->len) != 0))
		class = class->next;
	if (!class && !err && classes->n == WMK_IMPORT_CLASSES) {
		err = -E2BIG;
	} else if (!class && !err) {
		class = class_new(key, hash);
		if (class) {
			class->next = *head;
			*head = class;
			classes->n++;
		} else {
			err = -ENOMEM;
		}
	}
	free(key->at);
	*found = class;
	return err == -ENOMEM ? wmk_error(err, "no memory for an event class") : err;
}

int wmk_import_class_of(struct wmk_import_classes *classes, const struct wmk_import_line *line, bool has_frames,
			struct wmk_import_class **found)
{
	const uint8_t contexts = (uint8_t)contexts_of(line);
	struct wmk_import_bytes key = { .at = NULL };

	wmk_import_put(&key, &contexts, 1);
	wmk_import_put_text(&key, wmk_import_head(line->provider, WMK_IMPORT_NAME));
	wmk_import_put_text(&key, wmk_import_head(line->name, WMK_IMPORT_NAME));
	for (unsigned i = 0; i < line->n; i++)
		put_key_field(&key, line->values[i].kind, wmk_import_head(line->values[i].name, WMK_IMPORT_NAME));
	if (has_frames)
		put_key_field(&key, WMK_IMPORT_FRAMES, wmk_import_text_of("callchain"));
	return class_find(classes, &key, found);
}

int wmk_import_class_framed(struct wmk_import_classes *classes, const struct wmk_import_class *plain,
			    struct wmk_import_class **found)
{
	struct wmk_import_bytes key = { .at = NULL };

	wmk_import_put(&key, plain->key, plain->key_len);
	put_key_field(&key, WMK_IMPORT_FRAMES, wmk_import_text_of("callchain"));
	return class_find(classes, &key, found);
}

void wmk_import_classes_free(struct wmk_import_classes *classes)
{
	for (unsigned i = 0; i < WMK_IMPORT_HEADS; i++) {
		struct wmk_import_class *class = classes->heads[i], *next;

		for (; class; class = next) {
			next = class->next;
			class_free(class);
		}
	}
}

/* ── bytes ───────────────────────────────────────────────────────────────────────────────────────────── */

static void put_value(struct wmk_import_bytes *out, const struct wmk_import_value *value)
{
	const uint8_t byte = (uint8_t)value->number;

	switch (value->kind) {
	case WMK_IMPORT_TEXT:
		wmk_import_put_text(out, value->text);
		break;
	case WMK_IMPORT_FACILITY:
	case WMK_IMPORT_SEVERITY:
		wmk_import_put(out, &byte, 1);
		break;
	default:
		wmk_import_put(out, &value->number, sizeof(value->number));
	}
}

void wmk_import_encode(const struct wmk_import_line *line, struct wmk_import_bytes *out, size_t *second_at)
{
	if (line->has_pid)
		wmk_import_put(out, &line->pid, sizeof(line->pid));
	if (line->has_tid)
		wmk_import_put(out, &line->tid, sizeof(line->tid));
	if (line->comm.at)
		wmk_import_put_text(out, wmk_import_head(line->comm, WMK_IMPORT_NAME));
	if (line->has_cpu)
		wmk_import_put(out, &line->cpu, sizeof(line->cpu));
	for (unsigned i = 0; i < line->n; i++) {
		if (i == 1 && second_at)
			*second_at = out->len;
		put_value(out, &line->values[i]);
	}
}
