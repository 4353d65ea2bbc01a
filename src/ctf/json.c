/* SPDX-License-Identifier: MIT */
/*
 * json.c - CTF 2's metadata (CTF2-SPEC-2.0, section 5): a JSON text sequence (RFC 7464) of fragments, each with a
 * function that takes what the class has room for, and holds against the specification what it does not keep.
 *
 * Properties that the specification does not know are passed over, as it wants it. What an attribute says can never be
 * an error either:
 * nobody needs it to read the streams.
 */
#include "ctf/json.h"

#include "base/error.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SEPARATOR '\x1e'
/* ── what many fragments have ────────────────────────────────────────────────────────────────────────── */

struct identity {
	const char *space, *name, *uid;
};

static int take_identity(struct wmk_ctf_json *in, const struct wmk_ctf_json_at *at, bool must,
			 struct identity *identity)
{
	int err = wmk_ctf_json_text(in, at, "namespace", false, &identity->space);

	if (err >= 0)
		err = wmk_ctf_json_text(in, at, "name", must, &identity->name);
	return err < 0 ? err : wmk_ctf_json_text(in, at, "uid", must, &identity->uid);
}

/* Remember a key of a set or a table; `value` is taken over, NULL: there was no memory for it. */
static int remember(json_object *table, const char *key, json_object *value)
{
	if (value && json_object_object_add(table, key, value) == 0)
		return 0;
	json_object_put(value);
	return wmk_error(-ENOMEM, "no memory for a name");
}

/* ── preamble ────────────────────────────────────────────────────────────────────────────────────────── */

static int preamble(struct wmk_ctf_json *in, const struct wmk_ctf_json_at *at)
{
	struct wmk_ctf_class *class = &in->to->class;
	struct wmk_ctf_json_at list;
	uint64_t number = 0;
	size_t n;
	int err = wmk_ctf_json_number(at, "version", true, 0, UINT64_MAX, &number);

	if (err < 0)
		return err;
	if (number != 2)
		return wmk_ctf_json_error(at, -ENOTSUP, "metadata of version 2 is understood, and this is version %" PRIu64, number);
	err = wmk_ctf_json_extras(at);
	if (err >= 0)
		err = wmk_ctf_json_keep(in, at, WMK_CTF_JSON_OF_CLASSES, &class->preamble_more);
	if (err >= 0)
		err = wmk_ctf_json_list(at, "uuid", false, &list, &n);
	if (err < 0 || !list.value)
		return err;
	if (n != sizeof(class->uuid))
		return wmk_ctf_json_wrong(&list, "a list of 16 bytes");
	for (size_t i = 0; i < n; i++) {
		struct wmk_ctf_json_at byte = wmk_ctf_json_item(&list, i, "byte");

		byte.up = &list;
		err = wmk_ctf_json_number_at(&byte, 0, UINT8_MAX, &number);
		if (err < 0)
			return err;
		class->uuid[i] = (uint8_t)number;
	}
	class->has_uuid = true;
	return 0;
}

/* ── field class alias ───────────────────────────────────────────────────────────────────────────────── */

static int field_class_alias(struct wmk_ctf_json *in, const struct wmk_ctf_json_at *at)
{
	struct wmk_ctf_json_at class;
	const char *name;
	int err = wmk_ctf_json_text(in, at, "name", true, &name);

	if (err >= 0)
		err = wmk_ctf_json_need(at, "field-class", &class);
	return err < 0 ? err : wmk_ctf_json_alias(in, &class, name);
}

/* ── trace class ─────────────────────────────────────────────────────────────────────────────────────── */

static int take_entry(struct wmk_ctf_json *in, const struct wmk_ctf_json_at *at)
{
	struct wmk_ctf_env_entry *entry = wmk_ctf_list_add(in->to, &in->to->env, sizeof(*entry), WMK_CTF_STREAMS_MAX);

	if (!entry)
		return wmk_error_number();
	entry->name = wmk_scratch_text(&in->to->scratch, at->name, strlen(at->name));
	if (!entry->name)
		return -ENOMEM;
	if (json_object_is_type(at->value, json_type_string))
		return wmk_ctf_json_text_at(in, at, &entry->text);
	if (!json_object_is_type(at->value, json_type_int))
		return wmk_ctf_json_wrong(at, "a whole number or a text");
	entry->number = json_object_get_int64(at->value);
	entry->is_unsigned = entry->number >= 0 && json_object_get_uint64(at->value) > INT64_MAX;
	if (entry->is_unsigned)
		entry->number = (int64_t)json_object_get_uint64(at->value);
	return 0;
}

static int trace_class(struct wmk_ctf_json *in, const struct wmk_ctf_json_at *at)
{
	struct identity identity = { NULL, NULL, NULL };
	struct wmk_ctf_json_at env;
	int err;

	if (in->to->has_trace)
		return wmk_ctf_json_error(at, -EPROTO, "expected one trace class, and this is the second");
	if (in->to->streams.n)
		return wmk_ctf_json_error(at, -EPROTO, "expected the trace class before the first data stream class");
	in->to->has_trace = true;
	in->to->class.line = in->line;
	err = take_identity(in, at, false, &identity);
	in->to->class.trace_name = identity.name;
	if (err >= 0)
		err = wmk_ctf_json_keep(in, at, WMK_CTF_JSON_OF_CLASSES, &in->to->class.more);
	if (err >= 0 && wmk_ctf_json_get(at, "environment", &env)) {
		err = wmk_ctf_json_is(&env, json_type_object);
		if (err < 0)
			return err;
		json_object_object_foreach(env.value, name, value) {
			struct wmk_ctf_json_at entry = { .up = &env, .name = name, .value = value };

			err = take_entry(in, &entry);
			if (err < 0)
				return err;
		}
	}
	if (err < 0)
		return err;
	return wmk_ctf_json_structure(in, at, "packet-header-field-class", WMK_CTF_JSON_PACKET_HEADER,
				      &in->to->class.packet_header);
}

/* ── clock class ─────────────────────────────────────────────────────────────────────────────────────── */

static int take_origin(struct wmk_ctf_json *in, const struct wmk_ctf_json_at *of, struct wmk_ctf_clock_class *clock)
{
	struct identity identity = { NULL, NULL, NULL };
	struct wmk_ctf_json_at at;

	if (!wmk_ctf_json_get(of, "origin", &at))
		return 0;
	if (json_object_is_type(at.value, json_type_object))
		return take_identity(in, &at, true, &identity);   /* (kept with the rest) */
	clock->absolute = json_object_is_type(at.value, json_type_string) &&
			  strcmp(json_object_get_string(at.value), "unix-epoch") == 0;
	return clock->absolute ? 0 : wmk_ctf_json_wrong(&at, "\"unix-epoch\", or an object that tells an origin");
}

static int take_offset(const struct wmk_ctf_json_at *of, struct wmk_ctf_clock_class *clock)
{
	struct wmk_ctf_json_at at, seconds;
	int err;

	if (!wmk_ctf_json_get(of, "offset-from-origin", &at))
		return 0;
	err = wmk_ctf_json_is(&at, json_type_object);
	if (err < 0)
		return err;
	if (wmk_ctf_json_get(&at, "seconds", &seconds)) {
		clock->offset_s = json_object_get_int64(seconds.value);
		if (!json_object_is_type(seconds.value, json_type_int) ||
		    (clock->offset_s >= 0 && json_object_get_uint64(seconds.value) > INT64_MAX))
			return wmk_ctf_json_wrong(&seconds, "a whole number of seconds, of 64 bits");
	}
	return wmk_ctf_json_number(&at, "cycles", false, 0, clock->freq - 1, &clock->offset);
}

static int clock_class(struct wmk_ctf_json *in, const struct wmk_ctf_json_at *at)
{
	struct wmk_ctf_clock_class made = { .name = "" }, *clock;
	struct identity identity = { NULL, NULL, NULL };
	uint64_t accuracy;             /* (kept) */
	const char *id;
	int err = wmk_ctf_json_text(in, at, "id", true, &id);

	if (err >= 0 && json_object_object_get_ex(in->clocks, id, NULL))
		return wmk_ctf_json_error(at, -EPROTO, "expected another id: there is a clock class \"%.*s\" already",
					  wmk_ctf_json_shown(id), id);
	if (err >= 0)
		err = take_identity(in, at, false, &identity);
	if (identity.name)
		made.name = identity.name;
	made.uuid = identity.uid;
	if (err >= 0)
		err = wmk_ctf_json_text(in, at, "description", false, &made.description);
	if (err >= 0)
		err = wmk_ctf_json_number(at, "frequency", true, 1, UINT64_MAX, &made.freq);
	if (err >= 0)
		err = wmk_ctf_json_number(at, "precision", false, 0, UINT64_MAX, &made.precision);
	if (err >= 0)
		err = wmk_ctf_json_number(at, "accuracy", false, 0, UINT64_MAX, &accuracy);
	if (err >= 0)
		err = take_origin(in, at, &made);
	if (err >= 0)
		err = take_offset(at, &made);
	if (err >= 0)
		err = wmk_ctf_json_keep(in, at, WMK_CTF_JSON_OF_CLOCKS, &made.more);
	if (err < 0)
		return err;
	clock = wmk_ctf_list_add(in->to, &in->to->clocks, sizeof(*clock), WMK_CTF_CLOCKS_MAX);
	if (!clock)
		return wmk_error_number();
	*clock = made;
	return remember(in->clocks, id, json_object_new_int64(in->to->clocks.n - 1));
}

/* ── data stream class ───────────────────────────────────────────────────────────────────────────────── */

/* Where the stream's clock is among all: 1 + index, or 0. */
static int take_clock(struct wmk_ctf_json *in, const struct wmk_ctf_json_at *of, uint32_t *clock)
{
	struct wmk_ctf_json_at at;
	json_object *index;
	int err;

	*clock = 0;
	if (!wmk_ctf_json_get(of, "default-clock-class-id", &at))
		return 0;
	err = wmk_ctf_json_is(&at, json_type_string);
	if (err < 0)
		return err;
	if (!json_object_object_get_ex(in->clocks, json_object_get_string(at.value), &index))
		return wmk_ctf_json_wrong(&at, "the id of a clock class that was declared before");
	*clock = (uint32_t)json_object_get_int64(index) + 1;
	return 0;
}

/* A structure of the stream class, with times only where there is a clock. */
static int take_part(struct wmk_ctf_json *in, const struct wmk_ctf_json_at *of, const char *name,
		     enum wmk_ctf_json_root root, uint32_t clock, const struct wmk_type **type)
{
	int err = wmk_ctf_json_structure(in, of, name, root, type);

	if (err < 0 || !in->has_time || clock)
		return err;
	return wmk_ctf_json_error(of, -EPROTO, "expected a \"default-clock-class-id\", as the \"%s\" has times", name);
}

static void id_key(char key[24], uint64_t id)
{
	snprintf(key, 24, "%" PRIu64, id);
}

static int stream_class(struct wmk_ctf_json *in, const struct wmk_ctf_json_at *at)
{
	struct wmk_ctf_stream_class *stream = wmk_scratch_alloc(&in->to->scratch, sizeof(*stream)), **kept;
	struct identity identity = { NULL, NULL, NULL };
	uint32_t clock, *kept_clock;
	char key[24];
	int err = stream ? wmk_ctf_json_number(at, "id", false, 0, UINT64_MAX, &stream->id) : -ENOMEM;

	if (err < 0)
		return err;
	id_key(key, stream->id);
	if (json_object_object_get_ex(in->streams, key, NULL))
		return wmk_ctf_json_error(at, -EPROTO, "expected another id: there is a data stream class %s already", key);
	err = take_identity(in, at, false, &identity);
	stream->name = identity.name;
	stream->line = in->line;
	if (err >= 0)
		err = wmk_ctf_json_keep(in, at, WMK_CTF_JSON_OF_CLASSES, &stream->more);
	if (err >= 0)
		err = take_clock(in, at, &clock);
	if (err >= 0)
		err = take_part(in, at, "packet-context-field-class", WMK_CTF_JSON_PACKET_CONTEXT, clock, &stream->packet_context);
	if (err >= 0)
		err = take_part(in, at, "event-record-header-field-class", WMK_CTF_JSON_EVENT_HEADER, clock, &stream->event_header);
	if (err >= 0)
		err = take_part(in, at, "event-record-common-context-field-class", WMK_CTF_JSON_OTHER, clock, &stream->event_context);
	if (err < 0)
		return err;
	kept = wmk_ctf_list_add(in->to, &in->to->streams, sizeof(*kept), WMK_CTF_STREAMS_MAX);
	kept_clock = kept ? wmk_ctf_list_add(in->to, &in->stream_clocks, sizeof(*kept_clock), WMK_CTF_STREAMS_MAX) : NULL;
	if (!kept_clock)
		return wmk_error_number();
	*kept = stream;
	*kept_clock = clock;
	return remember(in->streams, key, json_object_new_boolean(true));
}

/* Not before all clocks are read: their list moves when it grows. */
static void give_clocks(struct wmk_ctf_json *in)
{
	struct wmk_ctf_stream_class **streams = in->to->streams.items;
	const struct wmk_ctf_clock_class *clocks = in->to->clocks.items;
	const uint32_t *which = in->stream_clocks.items;

	for (uint32_t i = 0; i < in->stream_clocks.n; i++)
		streams[i]->clock = which[i] ? &clocks[which[i] - 1] : NULL;
}

/* ── event record class ──────────────────────────────────────────────────────────────────────────────── */

static int event_class(struct wmk_ctf_json *in, const struct wmk_ctf_json_at *at)
{
	struct wmk_ctf_event_class *event = wmk_scratch_alloc(&in->to->scratch, sizeof(*event)), **kept;
	struct wmk_ctf_stream_of of = { .id = 0, .is_said = true }, *kept_of;
	struct identity identity = { NULL, NULL, NULL };
	char key[24];
	int err = event ? wmk_ctf_json_number(at, "id", false, 0, UINT64_MAX, &event->id) : -ENOMEM;

	if (err >= 0)
		err = wmk_ctf_json_number(at, "data-stream-class-id", false, 0, UINT64_MAX, &of.id);
	if (err < 0)
		return err;
	id_key(key, of.id);
	if (!json_object_object_get_ex(in->streams, key, NULL))
		return wmk_ctf_json_error(at, -EPROTO, "expected its data stream class %s before it, and there is none", key);
	err = take_identity(in, at, false, &identity);
	event->name = identity.name;
	event->line = in->line;
	if (err >= 0)
		err = wmk_ctf_json_attributes(in, at, event);
	if (err >= 0)
		err = wmk_ctf_json_structure(in, at, "specific-context-field-class", WMK_CTF_JSON_OTHER, &event->context);
	if (err >= 0)
		err = wmk_ctf_json_structure(in, at, "payload-field-class", WMK_CTF_JSON_OTHER, &event->payload);
	if (err < 0)
		return err;
	kept = wmk_ctf_list_add(in->to, &in->to->events, sizeof(*kept), WMK_CTF_EVENTS_MAX);
	kept_of = kept ? wmk_ctf_list_add(in->to, &in->to->stream_ids, sizeof(*kept_of), WMK_CTF_EVENTS_MAX) : NULL;
	if (!kept_of)
		return wmk_error_number();
	*kept = event;
	*kept_of = of;
	return 0;
}

/* ── fragments ───────────────────────────────────────────────────────────────────────────────────────── */

struct sequence {
	struct wmk_ctf_json in;
	struct json_tokener *tokener;
	const char *name;              /* of the file */
	const char *text;              /* all of it */
	bool partial;
	unsigned number;               /* of the fragment, from 1 */
};

static int take_fragment(struct wmk_ctf_json *in, json_object *tree, bool is_first, const char **type)
{
	static const struct {
		const char *type;
		int (*take)(struct wmk_ctf_json *in, const struct wmk_ctf_json_at *at);
	} kinds[] = { { "preamble", preamble }, { "field-class-alias", field_class_alias }, { "trace-class", trace_class },
		      { "clock-class", clock_class }, { "data-stream-class", stream_class }, { "event-record-class", event_class } };
	const struct wmk_ctf_json_at at = { .value = tree };
	struct wmk_ctf_json_at kind;
	size_t i = 0;
	int err = wmk_ctf_json_is(&at, json_type_object);

	if (err >= 0)
		err = wmk_ctf_json_need(&at, "type", &kind);
	if (err >= 0)
		err = wmk_ctf_json_is(&kind, json_type_string);
	if (err < 0)
		return err;
	while (i < sizeof(kinds) / sizeof(kinds[0]) && strcmp(kinds[i].type, json_object_get_string(kind.value)) != 0)
		i++;
	if (i == sizeof(kinds) / sizeof(kinds[0]))
		return wmk_ctf_json_wrong(&kind, "a type of fragment");
	*type = kinds[i].type;
	if (is_first != (i == 0))
		return wmk_ctf_json_error(&kind, -EPROTO, "expected %s",
					  is_first ? "the preamble first" : "one preamble, and this is the second");
	/* The preamble's version tells whether the rest of it means what is thought here. */
	if (!is_first)
		err = wmk_ctf_json_extras(&at);
	return err < 0 ? err : kinds[i].take(in, &at);
}

/* ── the text ────────────────────────────────────────────────────────────────────────────────────────── */

/* What json-c does not tell: it takes the nearest number for one that is too large, and quotes of both kinds. */
struct look {
	bool is_whole;                 /* each bracket has its other one */
	const char *wrong;             /* what is wrong at `at`; NULL: nothing */
	size_t at;
};

static size_t look_at_number(const char *text, size_t len, size_t at, struct look *look)
{
	bool is_minus = text[at] == '-', is_whole = true, is_over = false;
	size_t begin = at;
	uint64_t value = 0;

	for (; at < len && memchr("0123456789+-.eE", text[at], 15); at++) {
		if (text[at] >= '0' && text[at] <= '9')
			is_over = is_over || __builtin_mul_overflow(value, 10, &value) ||
				  __builtin_add_overflow(value, (uint64_t)(text[at] - '0'), &value);
		else if (text[at] != '-' && text[at] != '+')
			is_whole = false;
	}
	if (is_whole && (is_over || (is_minus && value > (uint64_t)INT64_MAX + 1)) && !look->wrong) {
		look->wrong = "a number of more than 64 bits";
		look->at = begin;
	}
	return at;
}

static struct look look_at(const char *text, size_t len)
{
	struct look look = { .wrong = NULL };
	bool is_quoted = false;
	int depth = 0;

	for (size_t at = 0; at < len;) {
		char c = text[at];

		if (is_quoted) {
			is_quoted = c != '"';
			at += c == '\\' ? 2 : 1;   /* the one behind it ends no text */
		} else if (c == '-' || (c >= '0' && c <= '9')) {
			at = look_at_number(text, len, at, &look);
		} else {
			is_quoted = c == '"';
			depth += (c == '{' || c == '[') - (c == '}' || c == ']');
			look.is_whole = look.is_whole || c == '}' || c == ']';
			if (c == '\'' && !look.wrong) {
				look.wrong = "a text in single quotes";
				look.at = at;
			}
			at++;
		}
	}
	look.is_whole = look.is_whole && !is_quoted && depth <= 0;
	return look;
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static unsigned count_lines(const char *text, size_t len)
{
	unsigned lines = 0;

	for (size_t i = 0; i < len; i++)
		lines += text[i] == '\n';
	return lines;
}

/* What begins at `at` is no JSON: its line, and its column in bytes. */
static int parse_error(const struct sequence *of, const char *at, int err, const char *words)
{
	const char *line = at;
	char where[WMK_CTF_AT];

	while (line > of->text && line[-1] != '\n')
		line--;
	wmk_ctf_at(where, of->name, 1 + count_lines(of->text, (size_t)(line - of->text)), (uint32_t)(at - line) + 1);
	return wmk_error_said(err, "%sfragment %u is not JSON: %s", where, of->number, words);
}

static int ends_early(const struct sequence *of, const char *text, size_t len)
{
	while (len && is_space(text[len - 1]))
		len--;
	return parse_error(of, text + len, -EPROTO, "it ends too early");
}

static int parse(struct sequence *of, const char *text, size_t len, const struct look *look, json_object **tree)
{
	*tree = NULL;
	if (!look->is_whole)
		return ends_early(of, text, len);
	if (look->wrong)
		return parse_error(of, text + look->at, -EPROTO, look->wrong);
	json_tokener_reset(of->tokener);
	*tree = json_tokener_parse_ex(of->tokener, text, (int)len);
	enum json_tokener_error error = json_tokener_get_error(of->tokener);
	size_t at = json_tokener_get_parse_end(of->tokener);

	if (error == json_tokener_error_depth)
		return parse_error(of, text + at, -E2BIG, "values within values in too many levels");
	if (error == json_tokener_continue)
		return ends_early(of, text, len);
	if (error != json_tokener_success)
		return parse_error(of, text + at, -EPROTO, json_tokener_error_desc(error));
	while (at < len && is_space(text[at]))
		at++;
	return at == len ? 0 : parse_error(of, text + at, -EPROTO, "something follows its end");
}

/* What does not is no fragment that is being written, whatever its end will be. */
static bool begins_with_object(const char *text, size_t len)
{
	while (len && is_space(*text)) {
		text++;
		len--;
	}
	return len && *text == '{';
}

static int read_fragment(struct sequence *of, const char *text, size_t len, bool is_last)
{
	struct look look = look_at(text, len);
	const char *type = NULL;
	json_object *tree;
	int err;

	of->number++;
	if (!look.is_whole && is_last && of->partial && begins_with_object(text, len))
		return ends_early(of, text, len) < 0;
	err = parse(of, text, len, &look, &tree);
	if (err < 0) {
		json_object_put(tree);
		return err;
	}
	err = take_fragment(&of->in, tree, of->number == 1, &type);
	json_object_put(tree);
	if (err >= 0)
		return 0;
	return wmk_error_add(err, "%s:%u: fragment %u%s%s%s", of->name, of->in.line, of->number, type ? " (" : "",
			     type ? type : "",
			     type ? ")" : "");
}

static bool is_blank(const char *text, size_t len)
{
	while (len && is_space(text[len - 1]))
		len--;
	return len == 0;
}

static int read_sequence(struct sequence *of, const char *text, size_t len)
{
	const char *end = text + len, *next;
	int err = 0;

	for (of->in.line = 1; text < end && err >= 0; text = next) {
		next = *text == SEPARATOR ? memchr(text + 1, SEPARATOR, (size_t)(end - text) - 1) : memchr(text, SEPARATOR, len);
		next = next ? next : end;
		if (*text == SEPARATOR && !is_blank(text + 1, (size_t)(next - text) - 1))
			err = read_fragment(of, text + 1, (size_t)(next - text) - 1, next == end);
		else if (*text != SEPARATOR && !is_blank(text, (size_t)(next - text)))
			err = wmk_error_said(-EPROTO,
					     "%s:1:1: expected a record separator (0x1e) before the first fragment", of->name);
		of->in.line += count_lines(text, (size_t)(next - text));
	}
	if (err >= 0 && of->number == 0) {
		err = wmk_error_said(-EPROTO, "%s: expected a preamble, and there is no fragment", of->name);
		return of->partial ? 1 : err;
	}
	return err;
}

int wmk_ctf_json_parse(struct wmk_ctf_builder *to, const char *text, size_t len, const char *name, bool partial)
{
	struct sequence of = { .in = { .to = to, .aliases = json_object_new_object(), .clocks = json_object_new_object(),
				       .streams = json_object_new_object() },
			       .tokener = json_tokener_new_ex(WMK_CTF_JSON_DEPTH), .text = text, .name = name, .partial = partial };
	int err = 0;

	to->class.major = 2;
	to->class.minor = 0;
	to->class.order = WMK_ORDER_LITTLE;   /* no field class leaves its order to the trace */
	to->has_order = true;
	if (len > WMK_CTF_METADATA_MAX)
		err = wmk_error_said(-E2BIG, "%s: metadata of %zu bytes: up to %u are understood", name, len,
				     WMK_CTF_METADATA_MAX);
	else if (!of.in.aliases || !of.in.clocks || !of.in.streams || !of.tokener)
		err = wmk_error(-ENOMEM, "no memory to read JSON");
	if (err >= 0) {
		json_tokener_set_flags(of.tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
		err = read_sequence(&of, text, len);
	}
	if (err >= 0)
		give_clocks(&of.in);
	json_object_put(of.in.aliases);
	json_object_put(of.in.clocks);
	json_object_put(of.in.streams);
	if (of.tokener)
		json_tokener_free(of.tokener);
	return err;
}
