/* SPDX-License-Identifier: MIT */
/*
 * json.c - parse CTF 2's metadata (CTF2-SPEC-2.0, section 5): a JSON text sequence (RFC 7464) of fragments. A separate
 * function parses each kind of fragment. Each such function stores the properties for which the class has members, and
 * only validates all other known properties.
 *
 * The parser ignores unknown properties, as the specification demands. An attribute with invalid content is not an
 * error, because a reader needs no attributes to decode the streams.
 */
#include "ctf/json.h"

#include "base/array.h"
#include "base/error.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SEPARATOR '\x1e'

/* The namespace, name and unique id of a fragment, or of the origin of a clock. */
struct identity {
	const char *space, *name, *uid;
};

static struct identity take_identity(const struct wmk_ctf_json_at *at, bool must)
{
	struct identity identity = { .space = wmk_ctf_json_text(at, "namespace", false) };

	identity.name = wmk_ctf_json_text(at, "name", must);
	identity.uid = wmk_ctf_json_text(at, "uid", must);
	return identity;
}

/* Add a key to a set or a table and take ownership of `value`; NULL as `value` reports that its allocation failed. */
static void remember(struct wmk_ctf_json *in, json_object *table, const char *key, json_object *value)
{
	if (value && json_object_object_add(table, key, value) == 0)
		return;
	json_object_put(value);
	wmk_ctf_fail(in->to, wmk_error(-ENOMEM, "no memory for a name"));
}

/* ── preamble ────────────────────────────────────────────────────────────────────────────────────────── */

static void preamble(const struct wmk_ctf_json_at *at)
{
	struct wmk_ctf_class *class = &at->in->to->class;
	struct wmk_ctf_json_at list;
	const uint64_t version = wmk_ctf_json_number(at, "version", true, 0, UINT64_MAX);
	size_t n;

	if (version != 2)
		wmk_ctf_json_error(at, -ENOTSUP, "expected metadata of version 2, found version %" PRIu64,
				   version);
	wmk_ctf_json_extras(at);
	class->preamble_more = wmk_ctf_json_keep(at, WMK_CTF_JSON_OF_CLASSES);
	n = wmk_ctf_json_list(at, "uuid", false, &list);
	if (!list.value)
		return;
	if (n != sizeof(class->uuid)) {
		wmk_ctf_json_wrong(&list, "a list of 16 bytes");
		return;
	}
	for (size_t i = 0; i < n; i++) {
		struct wmk_ctf_json_at byte = wmk_ctf_json_item(&list, i, "byte");

		byte.up = &list;
		class->uuid[i] = (uint8_t)wmk_ctf_json_number_at(&byte, 0, UINT8_MAX);
	}
	class->has_uuid = true;
}

/* ── field class alias ───────────────────────────────────────────────────────────────────────────────── */

static void field_class_alias(const struct wmk_ctf_json_at *at)
{
	const char *name = wmk_ctf_json_text(at, "name", true);
	struct wmk_ctf_json_at class;

	if (name && wmk_ctf_json_need(at, "field-class", &class))
		wmk_ctf_json_alias(&class, name);
}

/* ── trace class ─────────────────────────────────────────────────────────────────────────────────────── */

static void take_entry(const struct wmk_ctf_json_at *at)
{
	struct wmk_ctf_builder *to = at->in->to;
	struct wmk_ctf_env_entry *entry = wmk_ctf_list_add(to, &to->env, sizeof(*entry), WMK_CTF_STREAMS_MAX);

	if (!entry)
		return;
	entry->name = wmk_ctf_copy_text(to, at->name, strlen(at->name));
	if (json_object_is_type(at->value, json_type_string))
		entry->text = wmk_ctf_json_text_at(at);
	else if (json_object_is_type(at->value, json_type_int))
		entry->is_unsigned = wmk_ctf_json_bits(at, &entry->number);
	else
		wmk_ctf_json_wrong(at, "a whole number or a string");
}

static void trace_class(const struct wmk_ctf_json_at *at)
{
	struct wmk_ctf_builder *to = at->in->to;
	struct wmk_ctf_json_at env;

	if (to->has_trace)
		wmk_ctf_json_error(at, -EPROTO, "expected one trace class, found a second one");
	if (to->streams.n)
		wmk_ctf_json_error(at, -EPROTO, "expected the trace class before the first data stream class");
	to->has_trace = true;
	to->class.line = at->in->line;
	to->class.trace_name = take_identity(at, false).name;
	to->class.more = wmk_ctf_json_keep(at, WMK_CTF_JSON_OF_CLASSES);
	if (wmk_ctf_json_get(at, "environment", &env) && wmk_ctf_json_is(&env, json_type_object)) {
		json_object_object_foreach(env.value, name, value) {
			const struct wmk_ctf_json_at entry = wmk_ctf_json_member(&env, name, value);

			take_entry(&entry);
		}
	}
	to->class.packet_header =
		wmk_ctf_json_structure(at, "packet-header-field-class", WMK_SCOPE_PACKET_HEADER);
}

/* ── clock class ─────────────────────────────────────────────────────────────────────────────────────── */

static void take_origin(const struct wmk_ctf_json_at *of, struct wmk_ctf_clock_class *clock)
{
	struct wmk_ctf_json_at at;

	if (!wmk_ctf_json_get(of, "origin", &at))
		return;
	clock->absolute = wmk_ctf_json_equals(&at, "unix-epoch");
	if (json_object_is_type(at.value, json_type_object))
		take_identity(&at, true);              /* (only validated; kept as text) */
	else if (!clock->absolute)
		wmk_ctf_json_wrong(&at, "\"unix-epoch\" or an object that describes an origin");
}

static void take_offset(const struct wmk_ctf_json_at *of, struct wmk_ctf_clock_class *clock)
{
	struct wmk_ctf_json_at at, seconds;

	if (!wmk_ctf_json_get(of, "offset-from-origin", &at) || !wmk_ctf_json_is(&at, json_type_object))
		return;
	if (wmk_ctf_json_get(&at, "seconds", &seconds) &&
	    (wmk_ctf_json_bits(&seconds, &clock->offset_s) || !json_object_is_type(seconds.value, json_type_int)))
		wmk_ctf_json_wrong(&seconds, "a whole number of seconds that fits 64 bits");
	clock->offset = wmk_ctf_json_number(&at, "cycles", false, 0, clock->freq - 1);
}

static void clock_class(const struct wmk_ctf_json_at *at)
{
	struct wmk_ctf_json *in = at->in;
	struct wmk_ctf_clock_class made = { .name = "" }, *clock;
	const char *id = wmk_ctf_json_text(at, "id", true);
	struct identity identity;

	if (!id)
		return;
	if (json_object_object_get_ex(in->clocks, id, NULL))
		wmk_ctf_json_error(at, -EPROTO, "duplicate id: a clock class \"%.*s\" exists",
				   wmk_ctf_json_shown(id), id);
	identity = take_identity(at, false);
	if (identity.name)
		made.name = identity.name;
	made.uuid = identity.uid;
	made.description = wmk_ctf_json_text(at, "description", false);
	made.freq = wmk_ctf_json_number(at, "frequency", true, 1, UINT64_MAX);
	made.precision = wmk_ctf_json_number(at, "precision", false, 0, UINT64_MAX);
	wmk_ctf_json_number(at, "accuracy", false, 0, UINT64_MAX);   /* (only validated) */
	take_origin(at, &made);
	take_offset(at, &made);
	made.more = wmk_ctf_json_keep(at, WMK_CTF_JSON_OF_CLOCKS);
	clock = wmk_ctf_list_add(in->to, &in->to->clocks, sizeof(*clock), WMK_CTF_CLOCKS_MAX);
	if (!clock)
		return;
	*clock = made;
	remember(in, in->clocks, id, json_object_new_int64(in->to->clocks.n - 1));
}

/* ── data stream class ───────────────────────────────────────────────────────────────────────────────── */

/* Return the index of a stream's clock plus 1, or 0 if there is no clock or after an error. */
static uint32_t take_clock(const struct wmk_ctf_json_at *of)
{
	struct wmk_ctf_json_at at;
	json_object *index;

	if (!wmk_ctf_json_get(of, "default-clock-class-id", &at) || !wmk_ctf_json_is(&at, json_type_string))
		return 0;
	if (json_object_object_get_ex(of->in->clocks, json_object_get_string(at.value), &index))
		return (uint32_t)json_object_get_int64(index) + 1;
	wmk_ctf_json_wrong(&at, "the id of a clock class that was declared before");
	return 0;
}

/* Get a structure of the stream class. The structure must not contain times if the stream has no clock. */
static const struct wmk_type *take_part(const struct wmk_ctf_json_at *of, const char *name,
					enum wmk_scope root, uint32_t clock)
{
	const struct wmk_type *type = wmk_ctf_json_structure(of, name, root);

	if (of->in->has_time && !clock)
		wmk_ctf_json_error(of, -EPROTO, "missing \"default-clock-class-id\": the \"%s\" contains times",
				   name);
	return type;
}

static void id_key(char key[24], uint64_t id)
{
	snprintf(key, 24, "%" PRIu64, id);
}

static void stream_class(const struct wmk_ctf_json_at *at)
{
	struct wmk_ctf_json *in = at->in;
	struct wmk_ctf_stream_class *stream = wmk_ctf_alloc(in->to, sizeof(*stream)), **kept;
	uint32_t clock, *kept_clock;
	char key[24];

	if (!stream)
		return;
	stream->id = wmk_ctf_json_number(at, "id", false, 0, UINT64_MAX);
	id_key(key, stream->id);
	if (json_object_object_get_ex(in->streams, key, NULL))
		wmk_ctf_json_error(at, -EPROTO, "duplicate id: a data stream class %s exists", key);
	stream->name = take_identity(at, false).name;
	stream->line = in->line;
	stream->more = wmk_ctf_json_keep(at, WMK_CTF_JSON_OF_CLASSES);
	clock = take_clock(at);
	stream->packet_context =
		take_part(at, "packet-context-field-class", WMK_SCOPE_PACKET_CONTEXT, clock);
	stream->event_header =
		take_part(at, "event-record-header-field-class", WMK_SCOPE_EVENT_HEADER, clock);
	stream->event_context =
		take_part(at, "event-record-common-context-field-class", WMK_SCOPE_NEAR, clock);
	kept = wmk_ctf_list_add(in->to, &in->to->streams, sizeof(*kept), WMK_CTF_STREAMS_MAX);
	kept_clock = wmk_ctf_list_add(in->to, &in->stream_clocks, sizeof(*kept_clock), WMK_CTF_STREAMS_MAX);
	if (!kept_clock)
		return;
	*kept = stream;
	*kept_clock = clock;
	remember(in, in->streams, key, json_object_new_boolean(true));
}

/* Set the clocks of streams after all clocks are parsed, because the list of clocks moves in memory when it grows. */
static void give_clocks(struct wmk_ctf_json *in)
{
	struct wmk_ctf_stream_class **streams = in->to->streams.items;
	const struct wmk_ctf_clock_class *clocks = in->to->clocks.items;
	const uint32_t *which = in->stream_clocks.items;

	for (uint32_t i = 0; i < in->stream_clocks.n; i++)
		streams[i]->clock = which[i] ? &clocks[which[i] - 1] : NULL;
}

/* ── event record class ──────────────────────────────────────────────────────────────────────────────── */

static void event_class(const struct wmk_ctf_json_at *at)
{
	struct wmk_ctf_json *in = at->in;
	struct wmk_ctf_event_class *event = wmk_ctf_alloc(in->to, sizeof(*event));
	struct wmk_ctf_stream_of of = { .is_named = true };
	char key[24];

	if (!event)
		return;
	event->id = wmk_ctf_json_number(at, "id", false, 0, UINT64_MAX);
	of.id = wmk_ctf_json_number(at, "data-stream-class-id", false, 0, UINT64_MAX);
	id_key(key, of.id);
	if (!json_object_object_get_ex(in->streams, key, NULL))
		wmk_ctf_json_error(at, -EPROTO,
				   "data stream class %s does not exist, or comes after this event record class", key);
	event->name = take_identity(at, false).name;
	event->line = in->line;
	wmk_ctf_json_attributes(at, event);
	event->context = wmk_ctf_json_structure(at, "specific-context-field-class", WMK_SCOPE_NEAR);
	event->payload = wmk_ctf_json_structure(at, "payload-field-class", WMK_SCOPE_NEAR);
	wmk_ctf_add_event(in->to, event, &of);
}

/* ── fragments ───────────────────────────────────────────────────────────────────────────────────────── */

struct sequence {
	struct wmk_ctf_json in;
	struct json_tokener *tokener;
	const char *name;              /* name of the file */
	const char *text;              /* the whole text */
	bool is_cut;                   /* cause of the error: the last fragment is incomplete or missing */
	unsigned number;               /* number of the current fragment, from 1 */
};

/* Process a fragment; the function returns the fragment's type for error messages, if the type is known. */
static const char *take_fragment(struct wmk_ctf_json *in, json_object *tree, bool is_first)
{
	static const struct {
		const char *type;
		void (*take)(const struct wmk_ctf_json_at *at);
	} kinds[] = { { "preamble", preamble },
		      { "field-class-alias", field_class_alias },
		      { "trace-class", trace_class },
		      { "clock-class", clock_class },
		      { "data-stream-class", stream_class },
		      { "event-record-class", event_class } };
	const struct wmk_ctf_json_at at = { .in = in, .value = tree };
	struct wmk_ctf_json_at kind;
	size_t i = 0;

	if (!wmk_ctf_json_is(&at, json_type_object) || !wmk_ctf_json_need(&at, "type", &kind) ||
	    !wmk_ctf_json_is(&kind, json_type_string))
		return NULL;
	while (i < WMK_ARRAY_LEN(kinds) && !wmk_ctf_json_equals(&kind, kinds[i].type))
		i++;
	if (i == WMK_ARRAY_LEN(kinds)) {
		wmk_ctf_json_wrong(&kind, "a known type of fragment");
		return NULL;
	}
	if (is_first != (i == 0))
		wmk_ctf_json_error(&kind, -EPROTO, "expected %s",
				   is_first ? "the preamble first" : "one preamble, found a second one");
	/* The rest of a preamble of another version may have another meaning. */
	if (!is_first)
		wmk_ctf_json_extras(&at);
	if (in->to->err >= 0)
		kinds[i].take(&at);
	return kinds[i].type;
}

/* ── the text ────────────────────────────────────────────────────────────────────────────────────────── */

/*
 * Check the syntax rules that json-c does not check: json-c clamps numbers that are too large, and accepts single
 * quotes.
 */
struct look {
	bool is_whole;                 /* brackets and quotes are balanced */
	const char *wrong;             /* the error at `at`; NULL: none */
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
			at += c == '\\' ? 2 : 1;   /* skip the escaped character, which does not end the text */
		} else if (c == '-' || (c >= '0' && c <= '9')) {
			at = look_at_number(text, len, at, &look);
		} else {
			is_quoted = c == '"';
			depth += (c == '{' || c == '[') - (c == '}' || c == ']');
			look.is_whole = look.is_whole || c == '}' || c == ']';
			if (c == '\'' && !look.wrong) {
				look.wrong = "a string in single quotes";
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

/* Report malformed JSON at `at`, with the line number, and the column in bytes. */
static void parse_error(struct sequence *of, const char *at, int err, const char *words)
{
	const char *line = at;
	char where[WMK_CTF_AT];

	while (line > of->text && line[-1] != '\n')
		line--;
	wmk_ctf_at(where, of->name, 1 + count_lines(of->text, (size_t)(line - of->text)), (uint32_t)(at - line) + 1);
	of->in.to->err = wmk_errorx(err, "%sfragment %u is not JSON: %s", where, of->number, words);
}

static void ends_early(struct sequence *of, const char *text, size_t len)
{
	while (len && is_space(text[len - 1]))
		len--;
	parse_error(of, text + len, -EPROTO, "unexpected end");
}

/* Parse one JSON value; the caller frees the tree even after an error. */
static json_object *parse(struct sequence *of, const char *text, size_t len)
{
	json_object *tree;

	json_tokener_reset(of->tokener);
	tree = json_tokener_parse_ex(of->tokener, text, (int)len);
	enum json_tokener_error error = json_tokener_get_error(of->tokener);
	size_t at = json_tokener_get_parse_end(of->tokener);

	if (error == json_tokener_error_depth)
		parse_error(of, text + at, -E2BIG, "too many levels of nested values");
	else if (error == json_tokener_continue)
		ends_early(of, text, len);
	else if (error != json_tokener_success)
		parse_error(of, text + at, -EPROTO, json_tokener_error_desc(error));
	while (at < len && is_space(text[at]))
		at++;
	if (of->in.to->err >= 0 && at < len)
		parse_error(of, text + at, -EPROTO, "unexpected text after its end");
	return tree;
}

/*
 * Return whether the text begins with an object. Each fragment is an object, so a text of another kind is not an
 * incomplete fragment.
 */
static bool begins_with_object(const char *text, size_t len)
{
	while (len && is_space(*text)) {
		text++;
		len--;
	}
	return len && *text == '{';
}

static void read_fragment(struct sequence *of, const char *text, size_t len, bool is_last)
{
	const struct look look = look_at(text, len);
	const char *type = NULL;
	json_object *tree = NULL;

	of->number++;
	of->is_cut = !look.is_whole && is_last && begins_with_object(text, len);
	if (!look.is_whole)
		ends_early(of, text, len);
	else if (look.wrong)
		parse_error(of, text + look.at, -EPROTO, look.wrong);
	else
		tree = parse(of, text, len);
	if (of->in.to->err >= 0) {
		type = take_fragment(&of->in, tree, of->number == 1);
		if (of->in.to->err < 0)
			wmk_error_add(of->in.to->err, "%s:%u: fragment %u%s%s%s", of->name, of->in.line, of->number,
				      type ? " (" : "", wmk_or_empty(type), type ? ")" : "");
	}
	json_object_put(tree);
}

static bool is_blank(const char *text, size_t len)
{
	while (len && is_space(text[len - 1]))
		len--;
	return len == 0;
}

static void read_sequence(struct sequence *of, const char *text, size_t len)
{
	struct wmk_ctf_builder *to = of->in.to;
	const char *end = text + len, *next;

	for (of->in.line = 1; text < end && to->err >= 0; text = next) {
		next = *text == SEPARATOR ? memchr(text + 1, SEPARATOR, (size_t)(end - text) - 1)
					  : memchr(text, SEPARATOR, len);
		next = next ? next : end;
		if (*text == SEPARATOR && !is_blank(text + 1, (size_t)(next - text) - 1))
			read_fragment(of, text + 1, (size_t)(next - text) - 1, next == end);
		else if (*text != SEPARATOR && !is_blank(text, (size_t)(next - text)))
			to->err = wmk_errorx(-EPROTO,
					     "%s:1:1: expected a record separator (0x1e) before the first fragment",
					     of->name);
		of->in.line += count_lines(text, (size_t)(next - text));
	}
	if (to->err >= 0 && of->number == 0) {
		to->err = wmk_errorx(-EPROTO, "%s: expected a preamble, found no fragment", of->name);
		of->is_cut = true;
	}
}

int wmk_ctf_json_parse(struct wmk_ctf_builder *to, const char *text, size_t len, const char *name, bool partial)
{
	struct sequence of = { .in = { .to = to,
				       .aliases = json_object_new_object(),
				       .clocks = json_object_new_object(),
				       .streams = json_object_new_object() },
			       .tokener = json_tokener_new_ex(WMK_CTF_JSON_DEPTH),
			       .text = text,
			       .name = name };
	bool is_cut;

	to->class.major = 2;
	to->class.minor = 0;
	to->class.order = WMK_ORDER_LITTLE;   /* every field class has a byte order of its own */
	to->has_order = true;
	if (!of.in.aliases || !of.in.clocks || !of.in.streams || !of.tokener) {
		to->err = wmk_error(-ENOMEM, "no memory to read JSON");
	} else {
		json_tokener_set_flags(of.tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
		read_sequence(&of, text, len);
	}
	is_cut = partial && of.is_cut && to->err < 0;
	if (is_cut)
		to->err = 0;
	if (to->err >= 0)
		give_clocks(&of.in);
	json_object_put(of.in.aliases);
	json_object_put(of.in.clocks);
	json_object_put(of.in.streams);
	if (of.tokener)
		json_tokener_free(of.tokener);
	return is_cut ? 1 : to->err;
}
