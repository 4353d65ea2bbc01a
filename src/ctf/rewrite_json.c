/* SPDX-License-Identifier: MIT */
/*
 * rewrite_json.c - what was read, as metadata of CTF 2 (CTF2-SPEC-2.0, section 5); see rewrite.h. Fragments are made as trees by json-c, and
 * written one by one.
 */
#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "ctf/place.h"
#include "ctf/rewrite.h"
#include "ctf/taken.h"
#include "ctf/text.h"

#define SEPARATOR "\x1e"
#define SPACE "babeltrace.org,2020"       /* of the attributes that readers agree on */

struct writer {
	const struct wmk_ctf_decoder *decoder;
	struct wmk_ctf_text *out;
	uint32_t lost;
	int err;                   /* the first */
	bool has_clock;            /* the stream */
	/* What is being written. */
	struct wmk_ctf_parts parts;
	unsigned scope;
	const struct wmk_ctf_op *named; /* the structure whose members' names are in `names` */
	json_object *names;
};

/* ── trees ───────────────────────────────────────────────────────────────────────────────────────────── */

static void put(struct writer *w, json_object *object, const char *key, json_object *value)
{
	if (object && value && json_object_object_add(object, key, value) == 0)
		return;
	json_object_put(value);
	if (w->err >= 0)
		w->err = wmk_error(-ENOMEM, "no memory for metadata");
}

static void append(struct writer *w, json_object *array, json_object *value)
{
	if (array && json_object_array_add(array, value) == 0)
		return;
	json_object_put(value);
	if (w->err >= 0)
		w->err = wmk_error(-ENOMEM, "no memory for metadata");
}

/* Texts are UTF-8 there: what is none is U+FFFD. */
static json_object *text_of(struct writer *w, const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
	struct wmk_ctf_text clean = { NULL, 0, 0, 0 };
	json_object *made;
	unsigned len;

	for (; *s; s += len ? len : 1) {
		len = wmk_ctf_utf8_len(s);
		wmk_ctf_put(&clean, "%.*s", len ? (int)len : 3, len ? (const char *)s : "\xef\xbf\xbd");
	}
	if (clean.err && w->err >= 0)
		w->err = wmk_error(-ENOMEM, "no memory for metadata");
	made = json_object_new_string_len(clean.len ? clean.text : "", (int)clean.len);
	wmk_ctf_text_free(&clean);
	return made;
}

static void put_text(struct writer *w, json_object *object, const char *key, const char *text)
{
	if (text)
		put(w, object, key, text_of(w, text));
}

static void put_number(struct writer *w, json_object *object, const char *key, uint64_t number)
{
	put(w, object, key, json_object_new_uint64(number));
}

static json_object *integer_of(uint64_t value, bool is_signed)
{
	return is_signed ? json_object_new_int64((int64_t)value) : json_object_new_uint64(value);
}

static void append_range(struct writer *w, json_object *ranges, uint64_t from, uint64_t to, bool is_signed)
{
	json_object *range = json_object_new_array();

	append(w, range, integer_of(from, is_signed));
	append(w, range, integer_of(to, is_signed));
	append(w, ranges, range);
}

/* One fragment more; `tree` goes. */
static void put_fragment(struct writer *w, json_object *tree)
{
	const char *text = w->err >= 0 && tree ? json_object_to_json_string_ext(tree, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE) : NULL;

	if (text)
		wmk_ctf_put(w->out, SEPARATOR "%s\n", text);
	if (w->err >= 0 && (!text || w->out->err))
		w->err = wmk_error(-ENOMEM, "no memory for metadata");
	if (w->err >= 0 && w->out->len > WMK_CTF_METADATA_MAX)
		w->err = wmk_error(-E2BIG, "more than %u bytes of metadata", WMK_CTF_METADATA_MAX);
	json_object_put(tree);
}

static json_object *fragment(struct writer *w, const char *type)
{
	json_object *made = json_object_new_object();

	put_text(w, made, "type", type);
	return made;
}

/* ── numbers ─────────────────────────────────────────────────────────────────────────────────────────── */

/* A name gives a value its role in 1.8, whatever it is like; here it must be fit for it. */
static bool is_fit(const struct writer *w, const struct wmk_ctf_op *op)
{
	switch (op->role) {
	case WMK_ROLE_MAGIC:
		return op->width == 32 && op == &w->parts.of[w->scope]->ops[1];
	case WMK_ROLE_UUID:
		return op->code > WMK_CTF_ENUM && !op->ref && op->count == 16 && w->decoder->class->has_uuid;
	case WMK_ROLE_BEGIN:
	case WMK_ROLE_END:
	case WMK_ROLE_TIME:
		return w->has_clock;
	default:
		return op->code <= WMK_CTF_ENUM;
	}
}

/* What a value means, in words of CTF 2; NULL: nothing that has any. */
static const char *role_of(const struct writer *w, const struct wmk_ctf_op *op)
{
	static const char *const roles[WMK_ROLES] = {
		[WMK_ROLE_MAGIC] = "packet-magic-number", [WMK_ROLE_UUID] = "metadata-stream-uuid", [WMK_ROLE_STREAM_CLASS] = "data-stream-class-id",
		[WMK_ROLE_STREAM] = "data-stream-id", [WMK_ROLE_PACKET_SIZE] = "packet-total-length", [WMK_ROLE_CONTENT_SIZE] = "packet-content-length",
		[WMK_ROLE_BEGIN] = "default-clock-timestamp", [WMK_ROLE_END] = "packet-end-default-clock-timestamp",
		[WMK_ROLE_LOST] = "discarded-event-record-counter-snapshot", [WMK_ROLE_SEQUENCE] = "packet-sequence-number",
		[WMK_ROLE_EVENT_CLASS] = "event-record-class-id", [WMK_ROLE_TIME] = "default-clock-timestamp",
	};

	return is_fit(w, op) ? roles[op->role] : NULL;
}

static void put_role(struct writer *w, json_object *class, const struct wmk_ctf_op *op)
{
	const char *role = role_of(w, op);
	json_object *list;

	if (op->type->clock && op->role != WMK_ROLE_BEGIN && op->role != WMK_ROLE_END && op->role != WMK_ROLE_TIME)
		w->lost |= 1u << WMK_CTF_LOST_CLOCK;
	if (!role)
		return;
	list = json_object_new_array();
	append(w, list, json_object_new_string(role));
	put(w, class, "roles", list);
}

/* What all of a fixed number of bits have. */
static void put_bits(struct writer *w, json_object *class, const struct wmk_ctf_op *op)
{
	put_number(w, class, "length", op->width);
	put_text(w, class, "byte-order", op->is_big ? "big-endian" : "little-endian");
	if (op->is_reversed)
		put_text(w, class, "bit-order", op->is_big ? "first-to-last" : "last-to-first");
	if (op->align > 1)
		put_number(w, class, "alignment", op->align);
}

/* A name may have several ranges: they are one mapping, where the first of them stands. Names may share values, as in 1.8. */
static void put_mappings(struct writer *w, json_object *class, const struct wmk_ctf_op *op)
{
	const struct wmk_type *type = op->type;
	json_object *mappings = json_object_new_object();

	for (uint32_t i = 0; i < type->count; i++) {
		json_object *name = text_of(w, type->labels[i].name ? type->labels[i].name : ""), *ranges = NULL;

		if (name && !json_object_object_get_ex(mappings, json_object_get_string(name), &ranges)) {
			ranges = json_object_new_array();
			put(w, mappings, json_object_get_string(name), ranges);
		}
		append_range(w, ranges, (uint64_t)type->labels[i].from, (uint64_t)type->labels[i].to, type->is_signed);
		json_object_put(name);
	}
	put(w, class, "mappings", mappings);
}

static void put_flags(struct writer *w, json_object *class, const struct wmk_type *type)
{
	json_object *flags = json_object_new_object();

	for (uint32_t i = 0; i < type->count; i++) {
		json_object *ranges = json_object_new_array();
		uint64_t mask = (uint64_t)type->labels[i].from;

		for (unsigned from = 0, to; from < 64; from = to + 1) {
			to = from;
			if (!(mask >> from & 1))
				continue;
			while (to < 63 && mask >> (to + 1) & 1)
				to++;
			append_range(w, ranges, from, to, false);
		}
		put(w, flags, type->labels[i].name, ranges);
	}
	put(w, class, "flags", flags);
}

static json_object *number_of(struct writer *w, const struct wmk_ctf_op *op)
{
	json_object *class = json_object_new_object();
	const bool is_integer = op->code == WMK_CTF_INT || op->code == WMK_CTF_ENUM || (op->code == WMK_CTF_FLAGS && !op->type->count);
	/* (what has a role has no sign there: in 1.8 a time may have one) */
	const bool is_signed = op->is_signed && !(is_integer && role_of(w, op));
	char type[64];

	snprintf(type, sizeof(type), "%s-length-%s", op->width ? "fixed" : "variable", op->code == WMK_CTF_BOOL ? "boolean" :
		 op->code == WMK_CTF_FLOAT ? "floating-point-number" : !is_integer ? "bit-map" : is_signed ? "signed-integer" : "unsigned-integer");
	put_text(w, class, "type", type);
	if (op->width)
		put_bits(w, class, op);
	if (is_integer && op->type->base && op->type->base != 10)
		put_number(w, class, "preferred-display-base", op->type->base);
	if (op->code == WMK_CTF_ENUM && op->type->count && is_signed == op->is_signed)
		put_mappings(w, class, op);
	if (!is_integer && op->code == WMK_CTF_FLAGS)
		put_flags(w, class, op->type);
	if (is_integer)
		put_role(w, class, op);
	return class;
}

/* ── what depends on another value ───────────────────────────────────────────────────────────────────── */

/* In 1.8 two names may differ by a '_' in front alone: the second of them keeps it, or gets one. `seen`: those before. */
static json_object *name_of(struct writer *w, const struct wmk_ctf_op *ops, uint32_t in, uint32_t at, json_object *seen)
{
	const char *name = ops[at].name ? ops[at].name : "";
	struct wmk_ctf_text longer = { NULL, 0, 0, 0 };
	json_object *made = text_of(w, name);

	for (bool is_raw = false; made && json_object_object_get_ex(seen, json_object_get_string(made), NULL); is_raw = true) {
		wmk_ctf_put(&longer, "%s%s", is_raw ? "_" : "", is_raw ? json_object_get_string(made) : wmk_ctf_raw_name(ops, in, at));
		json_object_put(made);
		made = longer.err ? NULL : text_of(w, longer.text ? longer.text : "");
		wmk_ctf_text_free(&longer);
	}
	if (made && seen)
		json_object_object_add(seen, json_object_get_string(made), NULL);
	return made;
}

/* What a member on the way is called. The names of the structure that was asked for last are kept: many lengths stand in one. */
static json_object *step_of(struct writer *w, unsigned scope, uint32_t at)
{
	const struct wmk_ctf_op *ops = w->parts.of[scope]->ops;
	uint32_t around[WMK_CTF_TYPE_DEPTH + 1];
	const uint32_t in = around[wmk_ctf_around(ops, at, around) - 1];
	size_t member = 0;

	if (w->named != &ops[in]) {
		json_object *seen = json_object_new_object();

		json_object_put(w->names);
		w->names = json_object_new_array();
		w->named = &ops[in];
		for (uint32_t i = in + 1; ops[i].code != WMK_CTF_END; i = ops[i].next)
			append(w, w->names, name_of(w, ops, in, i, seen));
		json_object_put(seen);
	}
	for (uint32_t i = in + 1; i < at; i = ops[i].next)
		member++;
	return json_object_get(json_object_array_get_idx(w->names, member));
}

static void put_location(struct writer *w, json_object *class, const char *key, uint32_t at)
{
	static const char *const origins[WMK_SCOPES] = { NULL, "packet-header", "packet-context", "event-record-header", "event-record-common-context",
							 "event-record-specific-context", "event-record-payload" };
	const struct wmk_ctf_place from = { w->scope, at };
	json_object *location, *path;
	struct wmk_ctf_place to;
	struct wmk_ctf_way way;

	if (w->err < 0)
		return;
	if (!wmk_ctf_place_of(&w->parts, w->parts.of[w->scope]->ops[at].ref, &to)) {
		w->err = wmk_error(-ENOTSUP, "a field depends on nothing that is there");
		return;
	}
	w->err = wmk_ctf_way_to(&w->parts, &from, &to, &way);
	if (w->err < 0)
		return;
	location = json_object_new_object();
	path = json_object_new_array();
	if (way.is_absolute)
		put_text(w, location, "origin", origins[to.scope]);
	/* (null is what leads outwards) */
	for (unsigned i = 0; i < way.outwards && path; i++)
		json_object_array_add(path, NULL);
	for (unsigned i = 0; i < way.n; i++)
		append(w, path, step_of(w, to.scope, way.ops[i]));
	put(w, location, "path", path);
	put(w, class, key, location);
}

static json_object *class_of(struct writer *w, uint32_t at);

static json_object *array_of(struct writer *w, uint32_t at)
{
	static const char *const encodings[] = { "utf-8", "utf-16le", "utf-16be", "utf-32le", "utf-32be" };
	static const char *const kinds[] = { [WMK_CTF_TEXT] = "string", [WMK_CTF_BLOB] = "blob", [WMK_CTF_ARRAY] = "array" };
	const struct wmk_ctf_op *op = &w->parts.of[w->scope]->ops[at];
	/* The UUID is an array of bytes in 1.8. */
	const bool is_uuid = op->role == WMK_ROLE_UUID && is_fit(w, op);
	json_object *class = json_object_new_object();
	char type[48];

	snprintf(type, sizeof(type), "%s-length-%s", op->ref ? "dynamic" : "static", kinds[is_uuid ? WMK_CTF_BLOB : op->code]);
	put_text(w, class, "type", type);
	if (op->ref)
		put_location(w, class, "length-field-location", at);
	else
		put_number(w, class, "length", op->count);
	if (op->code == WMK_CTF_TEXT && op->type->encoding != WMK_ENCODING_UTF8)
		put_text(w, class, "encoding", encodings[op->type->encoding]);
	if (op->code == WMK_CTF_BLOB)
		put_text(w, class, "media-type", op->type->media);
	if (is_uuid)
		put_role(w, class, op);
	if (op->code != WMK_CTF_ARRAY || is_uuid)
		return class;
	if (op->align > 1)
		put_number(w, class, "minimum-alignment", op->align);
	put(w, class, "element-field-class", class_of(w, at + 1));
	return class;
}

/* Where the pieces of a range go that are left of it. */
struct pieces {
	struct writer *w;
	json_object *ranges;
	bool is_signed;
};

static int append_piece(void *data, uint64_t from, uint64_t to)
{
	const struct pieces *pieces = data;

	if (pieces->ranges)
		append_range(pieces->w, pieces->ranges, wmk_ctf_turned(from, pieces->is_signed), wmk_ctf_turned(to, pieces->is_signed), pieces->is_signed);
	return pieces->w->err;
}

/* The values from `from` to `to` that nobody before has taken, into `ranges`; NULL: they are taken only. */
static void take(struct writer *w, struct wmk_ctf_taken *taken, uint64_t from, uint64_t to, bool is_signed, json_object *ranges)
{
	struct pieces pieces = { w, ranges, is_signed };
	int err = w->err < 0 ? 0 : wmk_ctf_take(taken, wmk_ctf_turned(from, is_signed), wmk_ctf_turned(to, is_signed), append_piece, &pieces);

	if (w->err >= 0)
		w->err = err;
}

/* The values that select each option, into its list: `ranges[i]` is that of the operation at + i. */
static void give_ranges(struct writer *w, uint32_t at, json_object *const *ranges)
{
	const struct wmk_ctf_op *op = &w->parts.of[w->scope]->ops[at];
	struct wmk_ctf_taken taken = { NULL, 0, 0 };

	for (uint32_t i = 0; i < op->n_choices && w->err >= 0; i++)
		take(w, &taken, op->choices[i].from, op->choices[i].to, op->is_signed, ranges[op->choices[i].op - at]);
	free(taken.spans);
}

/* Options that nothing selects are left out: there each has a value that does. */
static json_object *variant_of(struct writer *w, uint32_t at)
{
	const struct wmk_ctf_op *ops = w->parts.of[w->scope]->ops;
	json_object *class = json_object_new_object(), *options = json_object_new_array(), *seen = json_object_new_object();
	json_object **ranges = calloc(ops[at].next - at, sizeof(json_object *));

	put_text(w, class, "type", "variant");
	put_location(w, class, "selector-field-location", at);
	if (!ranges && w->err >= 0)
		w->err = wmk_error(-ENOMEM, "no memory for metadata");
	for (uint32_t i = at + 1; ranges && ops[i].code != WMK_CTF_END; i = ops[i].next)
		ranges[i - at] = json_object_new_array();
	if (ranges)
		give_ranges(w, at, ranges);
	for (uint32_t i = at + 1; ranges && ops[i].code != WMK_CTF_END; i = ops[i].next) {
		json_object *option;

		if (json_object_array_length(ranges[i - at]) == 0) {
			json_object_put(ranges[i - at]);
			continue;
		}
		option = json_object_new_object();
		put(w, option, "name", name_of(w, ops, at, i, seen));
		put(w, option, "field-class", class_of(w, i));
		put(w, option, "selector-field-ranges", ranges[i - at]);
		append(w, options, option);
	}
	if (!json_object_array_length(options) && w->err >= 0)
		w->err = wmk_error(-ENOTSUP, "nothing selects any option of '%.60s': CTF 2 cannot say that", ops[at].name ? ops[at].name : "");
	put(w, class, "options", options);
	json_object_put(seen);
	free(ranges);
	return class;
}

static json_object *optional_of(struct writer *w, uint32_t at)
{
	const struct wmk_ctf_op *op = &w->parts.of[w->scope]->ops[at];
	json_object *class = json_object_new_object(), *ranges[2] = { NULL, json_object_new_array() };

	put_text(w, class, "type", "optional");
	put_location(w, class, "selector-field-location", at);
	if (op->n_choices) {
		give_ranges(w, at, ranges);
		put(w, class, "selector-field-ranges", ranges[1]);
	} else {
		json_object_put(ranges[1]);
	}
	put(w, class, "field-class", class_of(w, at + 1));
	return class;
}

/* ── structures ──────────────────────────────────────────────────────────────────────────────────────── */

static json_object *structure_of(struct writer *w, uint32_t at)
{
	const struct wmk_ctf_op *ops = w->parts.of[w->scope]->ops;
	json_object *class = json_object_new_object(), *members = json_object_new_array(), *seen = json_object_new_object();

	put_text(w, class, "type", "structure");
	if (ops[at].align > 1)
		put_number(w, class, "minimum-alignment", ops[at].align);
	for (uint32_t i = at + 1; ops[i].code != WMK_CTF_END; i = ops[i].next) {
		json_object *member = json_object_new_object();

		put(w, member, "name", name_of(w, ops, at, i, seen));
		put(w, member, "field-class", class_of(w, i));
		append(w, members, member);
	}
	put(w, class, "member-classes", members);
	json_object_put(seen);
	return class;
}

static json_object *string_of(struct writer *w, const struct wmk_ctf_op *op)
{
	static const char *const encodings[] = { NULL, "utf-16le", "utf-16be", "utf-32le", "utf-32be" };
	json_object *class = json_object_new_object();

	put_text(w, class, "type", "null-terminated-string");
	put_text(w, class, "encoding", encodings[op->type->encoding]);
	return class;
}

static json_object *class_of(struct writer *w, uint32_t at)
{
	const struct wmk_ctf_op *op = &w->parts.of[w->scope]->ops[at];

	switch (op->code) {
	case WMK_CTF_STRUCT:
		return structure_of(w, at);
	case WMK_CTF_VARIANT:
		return variant_of(w, at);
	case WMK_CTF_OPTIONAL:
		return optional_of(w, at);
	case WMK_CTF_ARRAY:
	case WMK_CTF_TEXT:
	case WMK_CTF_BLOB:
		return array_of(w, at);
	case WMK_CTF_STRING:
		return string_of(w, op);
	default:
		return number_of(w, op);
	}
}

static void put_root(struct writer *w, json_object *object, const char *key, enum wmk_scope scope)
{
	w->scope = scope;
	if (w->parts.of[scope]->n_ops)
		put(w, object, key, class_of(w, 0));
}

/* ── fragments ───────────────────────────────────────────────────────────────────────────────────────── */

static void put_preamble(struct writer *w)
{
	const struct wmk_ctf_class *class = w->decoder->class;
	json_object *preamble = fragment(w, "preamble"), *uuid;

	put_number(w, preamble, "version", 2);
	if (class->has_uuid) {
		uuid = json_object_new_array();
		for (size_t i = 0; i < sizeof(class->uuid); i++)
			append(w, uuid, json_object_new_int(class->uuid[i]));
		put(w, preamble, "uuid", uuid);
	}
	put_fragment(w, preamble);
}

static void put_trace(struct writer *w)
{
	const struct wmk_ctf_class *class = w->decoder->class;
	json_object *trace = fragment(w, "trace-class"), *env = json_object_new_object();

	put_text(w, trace, "name", class->trace_name);
	for (uint32_t i = 0; i < class->n_env; i++) {
		const struct wmk_ctf_env_entry *e = &class->env[i];

		put(w, env, e->name, e->text ? text_of(w, e->text) : integer_of((uint64_t)e->number, !e->is_unsigned));
	}
	if (class->n_env)
		put(w, trace, "environment", env);
	else
		json_object_put(env);
	w->parts = wmk_ctf_parts_of(w->decoder, NULL, NULL);
	put_root(w, trace, "packet-header-field-class", WMK_SCOPE_PACKET_HEADER);
	put_fragment(w, trace);
}

static json_object *clock_id(const struct writer *w, const struct wmk_ctf_clock_class *clock)
{
	char id[40];

	snprintf(id, sizeof(id), "clock%td", clock - w->decoder->class->clocks);
	return json_object_new_string(id);
}

static void put_clock(struct writer *w, const struct wmk_ctf_clock_class *clock)
{
	json_object *made = fragment(w, "clock-class"), *offset = json_object_new_object();

	put(w, made, "id", clock_id(w, clock));
	if (clock->name[0])
		put_text(w, made, "name", clock->name);
	put_text(w, made, "uid", clock->uuid);
	put_text(w, made, "description", clock->description);
	put_number(w, made, "frequency", clock->freq);
	if (clock->precision)
		put_number(w, made, "precision", clock->precision);
	if (clock->absolute)
		put_text(w, made, "origin", "unix-epoch");
	put(w, offset, "seconds", json_object_new_int64(clock->offset_s));
	put_number(w, offset, "cycles", clock->offset);
	put(w, made, "offset-from-origin", offset);
	put_fragment(w, made);
}

static void put_stream(struct writer *w, const struct wmk_ctf_stream_decoder *stream)
{
	json_object *made = fragment(w, "data-stream-class");

	w->has_clock = stream->class->clock != NULL;
	put_number(w, made, "id", stream->class->id);
	put_text(w, made, "name", stream->class->name);
	if (stream->class->clock)
		put(w, made, "default-clock-class-id", clock_id(w, stream->class->clock));
	w->parts = wmk_ctf_parts_of(w->decoder, stream, NULL);
	put_root(w, made, "packet-context-field-class", WMK_SCOPE_PACKET_CONTEXT);
	put_root(w, made, "event-record-header-field-class", WMK_SCOPE_EVENT_HEADER);
	put_root(w, made, "event-record-common-context-field-class", WMK_SCOPE_COMMON_CONTEXT);
	put_fragment(w, made);
}

static void put_attributes(struct writer *w, json_object *made, const struct wmk_ctf_event_class *class)
{
	/* As enum waymark_level has them. */
	static const char *const levels[] = { "emergency", "alert", "critical", "error", "warning", "notice", "info", "debug:system", "debug:program",
					      "debug:process", "debug:module", "debug:unit", "debug:function", "debug:line", "debug" };
	json_object *all, *ours;

	if (class->level < 0 && !class->emf_uri)
		return;
	all = json_object_new_object();
	ours = json_object_new_object();
	if (class->level >= 0)
		put_text(w, ours, "log-level", levels[class->level]);
	put_text(w, ours, "emf-uri", class->emf_uri);
	put(w, all, SPACE, ours);
	put(w, made, "attributes", all);
}

static void put_event(struct writer *w, const struct wmk_ctf_stream_decoder *stream, const struct wmk_ctf_event_decoder *event)
{
	json_object *made = fragment(w, "event-record-class");

	put_number(w, made, "id", event->class->id);
	put_number(w, made, "data-stream-class-id", stream->class->id);
	put_text(w, made, "name", event->class->name);
	put_attributes(w, made, event->class);
	w->parts = wmk_ctf_parts_of(w->decoder, stream, event);
	put_root(w, made, "specific-context-field-class", WMK_SCOPE_CONTEXT);
	put_root(w, made, "payload-field-class", WMK_SCOPE_PAYLOAD);
	put_fragment(w, made);
	if (w->err < 0)
		wmk_error_add(w->err, "event '%.80s'", event->class->name ? event->class->name : "");
}

static void put_trace_and_clocks(struct writer *w)
{
	put_preamble(w);
	put_trace(w);
	for (uint32_t i = 0; i < w->decoder->class->n_clocks && w->err >= 0; i++)
		put_clock(w, &w->decoder->class->clocks[i]);
}

int wmk_ctf_rewrite_part(const struct wmk_ctf_decoder *decoder, enum wmk_ctf_part part, struct wmk_ctf_text *out)
{
	struct writer w = { .decoder = decoder, .out = out, .has_clock = true };

	if (part == WMK_CTF_PART_TRACE)
		put_trace_and_clocks(&w);
	else if (part == WMK_CTF_PART_STREAM)
		put_stream(&w, &decoder->streams[0]);
	else
		put_event(&w, &decoder->streams[0], &decoder->streams[0].events[0]);
	json_object_put(w.names);
	return w.err;
}

int wmk_ctf_rewrite_json(const struct wmk_ctf_decoder *decoder, struct wmk_ctf_text *out, uint32_t *lost)
{
	struct writer w = { .decoder = decoder, .out = out };

	put_trace_and_clocks(&w);
	for (uint32_t s = 0; s < decoder->n_streams && w.err >= 0; s++) {
		put_stream(&w, &decoder->streams[s]);
		for (uint32_t e = 0; e < decoder->streams[s].n_events && w.err >= 0; e++)
			put_event(&w, &decoder->streams[s], &decoder->streams[s].events[e]);
	}
	json_object_put(w.names);
	*lost = w.lost;
	return w.err;
}
