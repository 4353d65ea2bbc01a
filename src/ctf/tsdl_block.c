/* SPDX-License-Identifier: MIT */
/*
 * tsdl_block.c - parse the blocks of TSDL metadata (CTF 1.8.3, section 7.1): trace, env, clock, stream, event,
 * callsite; and the whole text.
 *
 * A block is a list of entries of the forms `path = value;` and `path := type;`. Each kind of block has functions that
 * interpret the paths. Unknown entries (of later versions or other tools) do not change how a reader decodes streams.
 * The parser keeps the values of unknown entries (tsdl_unknown.h), and ignores the types that unknown entries declare.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "ctf/tsdl.h"

#define FREQ_DEFAULT 1000000000u

/* A value of `path = value`. */
struct entry_value {
	const char *text;          /* a string, or words joined by '.'; NULL: a number */
	bool is_word;
	int64_t number;
	bool is_unsigned;
	struct wmk_tsdl_token at;
};

/*
 * The functions that interpret the entries of a block: `path = value` and `path := type`. After the first error, the
 * parser ignores the rest of the block.
 */
struct block {
	void (*set)(struct wmk_tsdl *in, void *to, const char *path, const struct entry_value *value);
	void (*type)(struct wmk_tsdl *in, void *to, const char *path, const struct wmk_type *type);
};

static struct entry_value parse_value(struct wmk_tsdl *in)
{
	struct entry_value value = { .at = in->token };

	if (wmk_tsdl_is_declaration(in)) {
		wmk_tsdl_wrong(in, NULL, "a value");
	} else if (in->token.kind == WMK_TSDL_STRING) {
		value.text = wmk_tsdl_take_text(in);
	} else if (in->token.kind == WMK_TSDL_IDENT) {
		value.is_word = true;
		value.text = wmk_tsdl_path(in);
	} else {
		value.number = wmk_tsdl_number(in, &value.is_unsigned);
	}
	return value;
}

/* Parse a type. If a type does not fit the block, the parser reports an error at the first token of the type. */
static void parse_typed(struct wmk_tsdl *in, const struct block *block, void *to, const char *path)
{
	const struct wmk_tsdl_token at = in->token;
	struct wmk_tsdl_token next;
	struct wmk_type type;

	wmk_tsdl_type(in, &type);
	if (in->to->err < 0)
		return;
	next = in->token;
	in->token = at;
	block->type(in, to, path, &type);
	in->token = next;
}

static void parse_entry(struct wmk_tsdl *in, const struct block *block, void *to)
{
	const char *path = wmk_tsdl_path(in);
	struct entry_value value;

	if (wmk_tsdl_take(in, '=')) {
		value = parse_value(in);
		if (in->to->err >= 0)
			block->set(in, to, path, &value);
	} else if (block->type && wmk_tsdl_take(in, 'D')) {
		parse_typed(in, block, to, path);
	} else {
		wmk_tsdl_wrong(in, NULL, block->type ? "'=' or ':='" : "'='");
	}
	wmk_tsdl_expect(in, ';', "after an entry");
}

static void parse_block(struct wmk_tsdl *in, const struct block *block, void *to)
{
	wmk_tsdl_expect(in, '{', "before the entries of a block");
	wmk_tsdl_enter(in);
	while (wmk_tsdl_before(in, '}')) {
		if (wmk_tsdl_is_declaration(in))
			wmk_tsdl_declaration(in);
		else
			parse_entry(in, block, to);
	}
	wmk_tsdl_leave(in);
	wmk_tsdl_expect(in, ';', "after a block");
}

/* ── values ──────────────────────────────────────────────────────────────────────────────────────────── */

static void want(struct wmk_tsdl *in, const struct entry_value *value, const char *path, const char *what)
{
	wmk_tsdl_error(in, &value->at, -EPROTO, "'%.60s' must be %s", path, what);
}

static uint64_t want_number(struct wmk_tsdl *in, const struct entry_value *value, const char *path)
{
	if (value->text || !value->is_unsigned)
		want(in, value, path, "a non-negative number");
	return (uint64_t)value->number;
}

static const char *want_text(struct wmk_tsdl *in, const struct entry_value *value, const char *path)
{
	if (!value->text)
		want(in, value, path, "a string");
	return value->text;
}

static void want_struct(struct wmk_tsdl *in, const char *path, const struct wmk_type *type,
			const struct wmk_type **kept)
{
	struct wmk_type *copy;

	if (type->kind != WMK_TYPE_STRUCT)
		wmk_tsdl_error(in, NULL, -EPROTO, "'%.60s' must be a structure", path);
	if (*kept)
		wmk_tsdl_error(in, NULL, -EPROTO, "duplicate '%.60s'", path);
	copy = wmk_ctf_alloc(in->to, sizeof(*copy));
	if (!copy)
		return;
	*copy = *type;
	*kept = copy;
}

/* Keep an entry that has no meaning in the format, so that a writer can write the entry again. */
static void keep(struct wmk_tsdl *in, const char *path, const struct entry_value *value)
{
	const struct wmk_tsdl_unknown_value kept = { value->text, value->is_word, value->is_unsigned, value->number };

	wmk_ctf_fail(in->to, wmk_tsdl_unknown_add(&in->kept, path, &kept));
}

/* Record that the block declares a type for an unknown part of the trace. The parser ignores this type. */
static void pass_over(struct wmk_tsdl *in)
{
	in->to->class.has_other_types = true;
}

/* Ignore a type in a block that has no types. */
static void type_ignored(struct wmk_tsdl *in, void *to, const char *path, const struct wmk_type *type)
{
	(void)to;
	(void)type;
	wmk_tsdl_warn(in, &in->token, "'%.60s' is a type, but this block has only values: ignored", path);
}

/* ── trace ───────────────────────────────────────────────────────────────────────────────────────────── */

static unsigned version_of(struct wmk_tsdl *in, const struct entry_value *value, const char *path, unsigned known)
{
	const uint64_t number = want_number(in, value, path);

	if (number != known)
		wmk_tsdl_warn(in, &value->at, "metadata with %s = %" PRIu64 " is read as version 1.8", path,
			      number);
	return known;
}

static void set_trace(struct wmk_tsdl *in, void *to, const char *path, const struct entry_value *value)
{
	struct wmk_ctf_class *class = to;

	if (strcmp(path, "major") == 0) {
		class->major = version_of(in, value, path, 1);
	} else if (strcmp(path, "minor") == 0) {
		class->minor = version_of(in, value, path, 8);
	} else if (strcmp(path, "uuid") == 0) {
		const char *text = want_text(in, value, path);

		class->has_uuid = text && wmk_ctf_parse_uuid(text, class->uuid);
		if (!class->has_uuid)
			want(in, value, path, "32 hexadecimal digits");
	} else if (strcmp(path, "byte_order") != 0) {  /* (parsed before: see wmk_tsdl_find_order()) */
		keep(in, path, value);
	}
}

/* Check the types of the fields `magic` and `uuid`, because readers depend on these types. */
static void check_header(struct wmk_tsdl *in, const struct wmk_type *header)
{
	for (uint32_t i = 0; i < header->count; i++) {
		const struct wmk_type *type = &header->members[i].type;
		const char *name = wmk_ctf_shown_name(&in->to->class, header->members[i].name);

		if (strcmp(name, "magic") == 0 && (type->kind != WMK_TYPE_INT || type->width != 32 || type->is_signed))
			wmk_tsdl_error(in, NULL, -EPROTO, "a packet's 'magic' must be an unsigned integer of 32 bits");
		if (strcmp(name, "uuid") == 0 && (type->kind != WMK_TYPE_ARRAY || type->count != 16 ||
						  type->elem->kind != WMK_TYPE_INT || type->elem->width != 8))
			wmk_tsdl_error(in, NULL, -EPROTO, "a packet's 'uuid' must be an array of 16 bytes");
	}
}

static void type_trace(struct wmk_tsdl *in, void *to, const char *path, const struct wmk_type *type)
{
	struct wmk_ctf_class *class = to;

	if (strcmp(path, "packet.header") != 0) {
		pass_over(in);
		return;
	}
	want_struct(in, path, type, &class->packet_header);
	if (in->to->err >= 0)
		check_header(in, type);
}

static void parse_trace(struct wmk_tsdl *in)
{
	static const struct block block = { set_trace, type_trace };
	const struct wmk_tsdl_token at = in->word;
	struct wmk_ctf_class *class = &in->to->class;

	if (in->to->has_trace)
		wmk_tsdl_error(in, &at, -EPROTO, "duplicate trace block");
	class->line = at.line;
	class->column = at.column;
	class->major = class->minor = 0;
	parse_block(in, &block, class);
	if (!class->major || !class->minor)
		wmk_tsdl_error(in, &at, -EPROTO, "the trace block has no 'major' or no 'minor'");
	in->to->has_trace = in->to->has_trace || in->to->err >= 0;
	wmk_tsdl_unknown_of_trace(&in->kept);
	class->major = 1;
}

/* ── env, clock ──────────────────────────────────────────────────────────────────────────────────────── */

static void set_env(struct wmk_tsdl *in, void *to, const char *path, const struct entry_value *value)
{
	struct wmk_ctf_env_entry *entry = wmk_ctf_list_add(in->to, to, sizeof(*entry), WMK_CTF_STREAMS_MAX);

	if (!entry)
		return;
	*entry = (struct wmk_ctf_env_entry){ .name = path, .text = value->text, .number = value->number,
					     .is_unsigned = value->is_unsigned && value->number < 0 };
	if (value->is_word && strchr(value->text, '.'))
		wmk_tsdl_warn(in, &value->at,
			      "'%.60s' of the environment is neither a string nor a number: read as a string", path);
}

static void parse_env(struct wmk_tsdl *in)
{
	static const struct block block = { set_env, type_ignored };

	parse_block(in, &block, &in->to->env);
}

static void set_clock(struct wmk_tsdl *in, void *to, const char *path, const struct entry_value *value)
{
	struct wmk_ctf_clock_class *clock = to;

	if (strcmp(path, "name") == 0) {
		clock->name = want_text(in, value, path);
	} else if (strcmp(path, "uuid") == 0) {
		uint8_t uuid[16];

		clock->uuid = want_text(in, value, path);
		if (clock->uuid && !wmk_ctf_parse_uuid(clock->uuid, uuid)) {
			clock->uuid = NULL;
			wmk_tsdl_warn(in, &value->at,
				      "the uuid of a clock is not 32 hexadecimal digits: ignored");
		}
	} else if (strcmp(path, "description") == 0) {
		clock->description = value->text;
		if (!value->text)
			wmk_tsdl_warn(in, &value->at, "the description of a clock is not a string: ignored");
	} else if (strcmp(path, "freq") == 0) {
		clock->freq = want_number(in, value, path);
		if (!clock->freq) {
			clock->freq = FREQ_DEFAULT;
			wmk_tsdl_warn(in, &value->at, "the freq of a clock is 0: read as 1 GHz");
		}
	} else if (strcmp(path, "precision") == 0) {
		clock->precision = want_number(in, value, path);
	} else if (strcmp(path, "offset_s") == 0 || strcmp(path, "offset") == 0) {
		if (value->text)
			want(in, value, path, "a number");
		if (path[strlen("offset")])
			clock->offset_s = value->number;
		else
			clock->offset = (uint64_t)value->number;
	} else if (strcmp(path, "absolute") == 0) {
		clock->absolute = value->text ? value->text[0] == 't' || value->text[0] == 'T' : value->number != 0;
	} else {
		keep(in, path, value);
	}
}

/*
 * Normalize the offset: add the whole seconds of the cycles to the seconds, so that the cycles are less than one second
 * and not negative.
 */
static void finish_clock(struct wmk_tsdl *in, const struct wmk_tsdl_token *at, struct wmk_ctf_clock_class *clock)
{
	const struct wmk_ctf_clock_class *clocks = in->to->clocks.items;
	int64_t seconds;

	if (!clock->name) {
		wmk_tsdl_error(in, at, -EPROTO, "the clock has no name");
		return;
	}
	if ((int64_t)clock->offset < 0) {
		uint64_t before = 0 - clock->offset, whole = before / clock->freq + (before % clock->freq != 0);

		seconds = -(int64_t)whole;
		clock->offset += whole * clock->freq;
	} else {
		seconds = (int64_t)(clock->offset / clock->freq);
		clock->offset %= clock->freq;
	}
	if (__builtin_add_overflow(clock->offset_s, seconds, &clock->offset_s))
		wmk_tsdl_error(in, at, -EPROTO, "the offset of the clock in seconds does not fit 64 bits");
	for (uint32_t i = 0; i < in->to->clocks.n; i++)
		if (strcmp(clocks[i].name, clock->name) == 0)
			wmk_tsdl_error(in, at, -EPROTO, "duplicate clock '%.60s'", clock->name);
}

/* Keep the unknown entries of a complete block, so that a writer can write them again. */
static void keep_unknown(struct wmk_tsdl *in, const char **more)
{
	wmk_ctf_fail(in->to, wmk_tsdl_unknown_of_class(&in->kept, &in->to->scratch, more));
}

static void parse_clock(struct wmk_tsdl *in)
{
	static const struct block block = { set_clock, type_ignored };
	const struct wmk_tsdl_token at = in->word;
	struct wmk_ctf_clock_class made = { .freq = FREQ_DEFAULT }, *clock;

	parse_block(in, &block, &made);
	if (in->to->err < 0)
		return;
	keep_unknown(in, &made.more);
	finish_clock(in, &at, &made);
	clock = wmk_ctf_list_add(in->to, &in->to->clocks, sizeof(*clock), WMK_CTF_CLOCKS_MAX);
	if (clock)
		*clock = made;
}

/* ── stream, event ───────────────────────────────────────────────────────────────────────────────────── */

static void set_stream(struct wmk_tsdl *in, void *to, const char *path, const struct entry_value *value)
{
	struct wmk_ctf_stream_class *stream = to;

	if (strcmp(path, "id") == 0)
		stream->id = want_number(in, value, path);
	else
		keep(in, path, value);
}

static void type_stream(struct wmk_tsdl *in, void *to, const char *path, const struct wmk_type *type)
{
	struct wmk_ctf_stream_class *stream = to;

	if (strcmp(path, "packet.context") == 0)
		want_struct(in, path, type, &stream->packet_context);
	else if (strcmp(path, "event.header") == 0)
		want_struct(in, path, type, &stream->event_header);
	else if (strcmp(path, "event.context") == 0)
		want_struct(in, path, type, &stream->event_context);
	else
		pass_over(in);
}

static void parse_stream(struct wmk_tsdl *in)
{
	static const struct block block = { set_stream, type_stream };
	struct wmk_ctf_stream_class *stream = wmk_ctf_alloc(in->to, sizeof(*stream)), **at;

	if (!stream)
		return;
	stream->line = in->word.line;
	stream->column = in->word.column;
	parse_block(in, &block, stream);
	keep_unknown(in, &stream->more);
	at = wmk_ctf_list_add(in->to, &in->to->streams, sizeof(*at), WMK_CTF_STREAMS_MAX);
	if (at)
		*at = stream;
}

struct event_block {
	struct wmk_ctf_event_class *class;
	struct wmk_ctf_stream_of of;
};

static void set_event(struct wmk_tsdl *in, void *to, const char *path, const struct entry_value *value)
{
	struct event_block *event = to;

	if (strcmp(path, "id") == 0) {
		event->class->id = want_number(in, value, path);
	} else if (strcmp(path, "stream_id") == 0) {
		event->of.is_named = true;
		event->of.id = want_number(in, value, path);
	} else if (strcmp(path, "name") == 0) {
		event->class->name = want_text(in, value, path);
	} else if (strcmp(path, "model.emf.uri") == 0) {
		event->class->emf_uri = want_text(in, value, path);
	} else if (strcmp(path, "loglevel") == 0 && !value->text && value->number >= 0 &&
		   value->number <= WAYMARK_LEVEL_DEBUG) {
		event->class->level = (int32_t)value->number;
	} else {
		/* (also for log levels of other tracers, which have other names or numbers) */
		keep(in, path, value);
	}
}

static void type_event(struct wmk_tsdl *in, void *to, const char *path, const struct wmk_type *type)
{
	struct event_block *event = to;

	if (strcmp(path, "context") == 0)
		want_struct(in, path, type, &event->class->context);
	else if (strcmp(path, "fields") == 0)
		want_struct(in, path, type, &event->class->payload);
	else
		pass_over(in);
}

static void parse_event(struct wmk_tsdl *in)
{
	static const struct block block = { set_event, type_event };
	struct event_block event = { .class = wmk_ctf_alloc(in->to, sizeof(*event.class)) };

	if (!event.class)
		return;
	event.class->level = -1;
	event.class->line = in->word.line;
	event.class->column = in->word.column;
	parse_block(in, &block, &event);
	keep_unknown(in, &event.class->more);
	wmk_ctf_add_event(in->to, event.class, &event.of);
}

/* ── the whole ───────────────────────────────────────────────────────────────────────────────────────── */

static void set_callsite(struct wmk_tsdl *in, void *to, const char *path, const struct entry_value *value)
{
	(void)to;
	keep(in, path, value);
}

static void parse_callsite(struct wmk_tsdl *in)
{
	static const struct block block = { set_callsite, NULL };

	parse_block(in, &block, NULL);
	if (in->to->err >= 0)
		wmk_ctf_fail(in->to, wmk_tsdl_unknown_callsite(&in->kept));
}

static void parse_top(struct wmk_tsdl *in)
{
	static const struct {
		const char *word;
		void (*parse)(struct wmk_tsdl *in);
	} blocks[] = { { "trace", parse_trace },   { "env", parse_env },     { "clock", parse_clock },
		       { "stream", parse_stream }, { "event", parse_event }, { "callsite", parse_callsite } };

	if (wmk_tsdl_is_declaration(in)) {
		wmk_tsdl_declaration(in);
		return;
	}
	in->word = in->token;
	for (size_t i = 0; i < WMK_ARRAY_LEN(blocks); i++)
		if (wmk_tsdl_take_word(in, blocks[i].word)) {
			blocks[i].parse(in);
			return;
		}
	wmk_tsdl_wrong(in, NULL,
		       "a block (trace, env, clock, stream, event, callsite) or the declaration of a type");
}

/*
 * Parse all declarations. If the text ends within a declaration, the error message also contains the place where the
 * declaration begins.
 */
static void parse_all(struct wmk_tsdl *in)
{
	for (wmk_tsdl_next(in); in->to->err >= 0 && in->token.kind != WMK_TSDL_END;) {
		const struct wmk_tsdl_token at = in->token;

		parse_top(in);
		if (in->to->err < 0 && in->is_cut)
			wmk_error_add(in->to->err,
				      "%s:%" PRIu32 ":%" PRIu32
				      ": the text ends within the declaration that begins here",
				      in->name, at.line, at.column);
	}
	if (!in->to->has_trace)
		wmk_tsdl_error(in, NULL, -EPROTO, "the metadata has no trace block");
}

int wmk_tsdl_parse(struct wmk_ctf_builder *to, const char *text, size_t len, const char *name, bool partial)
{
	struct wmk_tsdl in;

	wmk_tsdl_signature(to, text, len);
	to->class.major = 1;
	wmk_tsdl_open(&in, to, text, len, name);
	in.is_ahead = true;
	wmk_tsdl_find_order(&in);
	if (to->err < 0)
		return to->err;
	wmk_tsdl_open(&in, to, text, len, name);
	wmk_tsdl_enter(&in);
	parse_all(&in);
	while (in.scope)
		wmk_tsdl_leave(&in);
	wmk_ctf_fail(to, wmk_tsdl_unknown_end(&in.kept, &to->scratch, &to->class.more));
	/* (the string may end at another quote than intended) */
	if (to->err == -EPROTO && in.lines.line)
		wmk_error_add(to->err, "%s:%" PRIu32 ":%" PRIu32 ": a string of more than one line begins here", name,
			      in.lines.line, in.lines.column);
	if (to->err != -EPROTO || !partial || !to->has_trace || !in.is_cut)
		return to->err;
	to->err = 0;
	return 1;
}
