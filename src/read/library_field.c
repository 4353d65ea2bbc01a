/* SPDX-License-Identifier: MIT */
/*
 * library_field.c - values of a record, of include/waymark/ctf.h, by the walk (ctf/decode.h).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "read/library.h"

/* ── values ──────────────────────────────────────────────────────────────────────────────────────────── */

void wmk_library_forget(struct waymark_ctf *ctf)
{
	while (ctf->digits) {
		struct wmk_library_digits *next = ctf->digits->next;

		free(ctf->digits);
		ctf->digits = next;
	}
}

/* The texts are valid as long as the record, like other texts of the record. */
static void fill_digits(struct waymark_ctf *ctf, const struct wmk_ctf_item *item, struct waymark_ctf_value *value)
{
	char digits[WMK_CTF_WIDE_DIGITS];
	const size_t len = wmk_ctf_wide_digits(item, 10, digits);
	struct wmk_library_digits *kept = malloc(sizeof(*kept) + len + 1);

	if (!kept)
		return;
	*(char *)mempcpy(kept->text, digits, len) = '\0';
	kept->next = ctf->digits;
	ctf->digits = kept;
	value->text = kept->text;
	value->length = len;
}

void wmk_library_fill(struct waymark_ctf *ctf, const struct wmk_ctf_item *item, struct waymark_ctf_value *value)
{
	static const uint8_t kinds[] = {
		[WMK_CTF_FLOAT] = WAYMARK_CTF_REAL,       [WMK_CTF_BOOL] = WAYMARK_CTF_BOOL,
		[WMK_CTF_STRING] = WAYMARK_CTF_TEXT,      [WMK_CTF_TEXT] = WAYMARK_CTF_TEXT,
		[WMK_CTF_BLOB] = WAYMARK_CTF_BYTES,       [WMK_CTF_STRUCT] = WAYMARK_CTF_STRUCT,
		[WMK_CTF_ARRAY] = WAYMARK_CTF_ARRAY,      [WMK_CTF_VARIANT] = WAYMARK_CTF_VARIANT,
		[WMK_CTF_OPTIONAL] = WAYMARK_CTF_OPTIONAL
	};
	const struct wmk_ctf_op *op = item->op;
	const uint8_t code = op->code;

	*value = (struct waymark_ctf_value){ .kind = WAYMARK_CTF_END, .name = op->name };
	if (item->is_end)
		return;
	if (code == WMK_CTF_INT || code == WMK_CTF_ENUM || code == WMK_CTF_FLAGS)
		value->kind = op->is_signed ? WAYMARK_CTF_SIGNED : WAYMARK_CTF_UNSIGNED;
	else
		value->kind = (enum waymark_ctf_kind)kinds[code];
	if (code == WMK_CTF_FLOAT) {
		value->real = item->value.f;
	} else if (code == WMK_CTF_STRING || code == WMK_CTF_TEXT || code == WMK_CTF_BLOB) {
		value->text = item->text;
		value->length = item->len;
	} else {
		value->number = item->value.i;
	}
	if (item->is_wide)
		fill_digits(ctf, item, value);
	if (code == WMK_CTF_ENUM)
		value->label = wmk_ctf_label(item);
}

struct wmk_ctf_walk *wmk_library_enter(const struct waymark_ctf_record *record, enum waymark_ctf_scope scope,
				       const struct wmk_ctf_program **entered)
{
	struct wmk_read_stream *stream = record->stream;
	struct wmk_library_packet *packet = stream->user;
	struct wmk_ctf_record *decoded = &stream->record;
	struct wmk_ctf_walk *walk = scope == WAYMARK_CTF_PACKET ? &packet->head.walk : &decoded->walk;
	const struct wmk_ctf_program *program;

	switch (scope) {
	case WAYMARK_CTF_PACKET:
		program = &stream->decoder->packet_context;
		walk->at = stream->packet.context_at;
		break;
	case WAYMARK_CTF_STREAM_CONTEXT:
		program = &stream->decoder->event_context;
		walk->at = decoded->common_at;
		break;
	case WAYMARK_CTF_EVENT_CONTEXT:
		program = &decoded->event->context;
		walk->at = decoded->context_at;
		break;
	case WAYMARK_CTF_PAYLOAD:
		program = &decoded->event->payload;
		walk->at = decoded->payload_at;
		break;
	default:
		return NULL;
	}
	if (scope != WAYMARK_CTF_PACKET)
		walk->in = stream->bytes;
	wmk_ctf_walk_enter(walk, program);
	*entered = program;
	return walk;
}

API void waymark_ctf_walk_begin(const struct waymark_ctf_record *record, enum waymark_ctf_scope scope)
{
	const struct wmk_ctf_program *program;

	record->ctf->walk = wmk_library_enter(record, scope, &program);
}

API int waymark_ctf_walk_next(const struct waymark_ctf_record *record, struct waymark_ctf_value *value)
{
	struct wmk_ctf_item item;

	if (!record->ctf->walk || !wmk_ctf_next(record->ctf->walk, &item))
		return 0;
	wmk_library_fill(record->ctf, &item, value);
	return 1;
}

int wmk_library_split(const char *name, struct wmk_library_part parts[WMK_LIBRARY_PARTS])
{
	unsigned n = 0;

	while (*name) {
		char *end;

		if (n == WMK_LIBRARY_PARTS)
			return -1;
		if (*name == '[') {
			parts[n++] = (struct wmk_library_part){ .index = strtoull(name + 1, &end, 10) };
			if (end == name + 1 || *end != ']')
				return -1;
			name = end + 1;
		} else {
			parts[n] = (struct wmk_library_part){ name, strcspn(name, ".["), 0 };
			name += parts[n].len;
			if (!parts[n++].len)
				return -1;
		}
		name += *name == '.';
	}
	return n ? (int)n : -1;
}

static bool is_container(const struct wmk_ctf_item *item)
{
	return !item->is_end && item->op->code >= WMK_CTF_STRUCT;
}

/* Skip the container that has just begun, up to the end of the container. */
static void pass(struct wmk_ctf_walk *walk)
{
	const uint32_t depth = walk->depth;
	struct wmk_ctf_item item;

	while (walk->depth >= depth && wmk_ctf_next(walk, &item))
		;
}

bool wmk_library_is_called(const struct wmk_library_part *part, const struct wmk_ctf_op *op)
{
	return part->name && op->name && strlen(op->name) == part->len && memcmp(op->name, part->name, part->len) == 0;
}

static bool fits(const struct wmk_library_part *part, const struct wmk_ctf_item *item, uint64_t index)
{
	return part->name ? wmk_library_is_called(part, item->op) : !item->op->name && index == part->index;
}

/*
 * Find the value with the name `parts` in the remaining items of the walk. For a variant or optional field, the search
 * continues in the content.
 */
static bool find(struct wmk_ctf_walk *walk, const struct wmk_library_part *parts, unsigned n, struct wmk_ctf_item *item)
{
	unsigned matched = 0;
	uint64_t index = 0;

	if (!wmk_ctf_next(walk, item))
		return false;                  /* the structure of the scope itself */
	while (wmk_ctf_next(walk, item) && !item->is_end) {
		if (!fits(&parts[matched], item, index++)) {
			if (is_container(item))
				pass(walk);
			continue;
		}
		while (item->op->code == WMK_CTF_VARIANT || (item->op->code == WMK_CTF_OPTIONAL && item->value.u))
			if (!wmk_ctf_next(walk, item))
				return false;
		if (++matched == n)
			return true;
		if (!is_container(item))
			return false;
		index = 0;
	}
	return false;
}

int wmk_library_field(const struct waymark_ctf_record *record, const struct wmk_library_part *parts, unsigned n,
		      struct waymark_ctf_value *value)
{
	const struct wmk_ctf_program *program;
	struct wmk_ctf_item item;

	for (int scope = WAYMARK_CTF_PAYLOAD; scope >= WAYMARK_CTF_PACKET; scope--)
		if (find(wmk_library_enter(record, (enum waymark_ctf_scope)scope, &program), parts, n, &item)) {
			wmk_library_fill(record->ctf, &item, value);
			return is_container(&item) ? -EISDIR : 0;
		}
	return -ENOENT;
}

API int waymark_ctf_field(const struct waymark_ctf_record *record, const char *name, struct waymark_ctf_value *value)
{
	struct wmk_library_part parts[WMK_LIBRARY_PARTS];
	const int n = wmk_library_split(name, parts);

	return n > 0 ? wmk_library_field(record, parts, (unsigned)n, value) : -ENOENT;
}
