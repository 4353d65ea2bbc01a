/* SPDX-License-Identifier: MIT */
/*
 * tsdl_block.c - the blocks of TSDL metadata (CTF 1.8.3, section 7.1): trace, env, clock, stream, event, callsite; and
 * the whole text.
 *
 * A block is a list of `path = value;` and `path := type;`, each with a function that knows what the paths mean. What a
 * block may hold besides (later versions, other tools) cannot change how bytes are read: values are kept
 * (tsdl_unknown.h), types passed over.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "ctf/tsdl.h"

#define FREQ_DEFAULT 1000000000u

/* A value of `path = value`. */
struct value {
	const char *text;          /* a string, or words joined by '.'; NULL: a number */
	bool is_word;
	int64_t number;
	bool is_unsigned;
	struct wmk_tsdl_token at;
};

/* What a block is for: `type` of `path := type`, else `value`. The first error ends it. */
struct block {
	const char *name;
	int (*set)(struct wmk_tsdl *in, void *to, const char *path, const struct value *value);
	int (*type)(struct wmk_tsdl *in, void *to, const char *path, const struct wmk_type *type);
};

static int parse_value(struct wmk_tsdl *in, struct value *value)
{
	*value = (struct value){ .at = in->token };
	if (wmk_tsdl_is_declaration(in))
		return wmk_tsdl_wrong(in, "a value");
	if (in->token.kind == WMK_TSDL_STRING) {
		value->text = wmk_tsdl_word(in);
		return value->text ? wmk_tsdl_next(in) : -ENOMEM;
	}
	if (in->token.kind == WMK_TSDL_IDENT) {
		value->is_word = true;
		return wmk_tsdl_path(in, &value->text);
	}
	return wmk_tsdl_number(in, &value->number, &value->is_unsigned);
}

/* A type. What is wrong with it is reported at its begin. */
static int parse_typed(struct wmk_tsdl *in, const struct block *block, void *to, const char *path)
{
	const struct wmk_tsdl_token at = in->token;
	struct wmk_type type;
	int err = wmk_tsdl_type(in, &type);
	const struct wmk_tsdl_token next = in->token;

	if (err < 0)
		return err;
	in->token = at;
	err = block->type(in, to, path, &type);
	if (err >= 0)
		in->token = next;
	return err;
}

static int parse_entry(struct wmk_tsdl *in, const struct block *block, void *to)
{
	const char *path;
	struct value value;
	int err = wmk_tsdl_path(in, &path), got;

	if (err < 0)
		return err;
	got = wmk_tsdl_take(in, '=');
	if (got > 0) {
		err = parse_value(in, &value);
		if (err >= 0)
			err = block->set(in, to, path, &value);
	} else if (got == 0) {
		got = block->type ? wmk_tsdl_take(in, 'D') : 0;
		if (got == 0)
			return wmk_tsdl_wrong(in, block->type ? "'=' or ':='" : "'='");
		err = got < 0 ? got : parse_typed(in, block, to, path);
	}
	if (got < 0 || err < 0)
		return got < 0 ? got : err;
	return wmk_tsdl_expect(in, ';', "behind an entry");
}

static int parse_block(struct wmk_tsdl *in, const struct block *block, void *to)
{
	int err = wmk_tsdl_expect(in, '{', "before the entries of a block"), got = 0;

	if (err >= 0)
		err = wmk_tsdl_enter(in);
	if (err < 0)
		return err;
	while (err >= 0 && (got = wmk_tsdl_take(in, '}')) == 0)
		err = wmk_tsdl_is_declaration(in) ? wmk_tsdl_declaration(in) : parse_entry(in, block, to);
	wmk_tsdl_leave(in);
	if (err < 0 || got < 0)
		return err < 0 ? err : got;
	return wmk_tsdl_expect(in, ';', "behind a block");
}

/* ── what values may be ──────────────────────────────────────────────────────────────────────────────── */

static int want(struct wmk_tsdl *in, const struct value *value, const char *path, const char *what)
{
	in->token = value->at;
	return wmk_tsdl_error(in, -EPROTO, "'%.60s' is %s", path, what);
}

static int want_number(struct wmk_tsdl *in, const struct value *value, const char *path, uint64_t *number)
{
	if (value->text || !value->is_unsigned)
		return want(in, value, path, "a number that is not negative");
	*number = (uint64_t)value->number;
	return 0;
}

static int want_text(struct wmk_tsdl *in, const struct value *value, const char *path, const char **text)
{
	if (!value->text)
		return want(in, value, path, "a string");
	*text = value->text;
	return 0;
}

static int want_struct(struct wmk_tsdl *in, const char *path, const struct wmk_type *type, const struct wmk_type **kept)
{
	struct wmk_type *copy;

	if (type->kind != WMK_TYPE_STRUCT)
		return wmk_tsdl_error(in, -EPROTO, "'%.60s' is a structure", path);
	if (*kept)
		return wmk_tsdl_error(in, -EPROTO, "'%.60s' is given twice", path);
	copy = wmk_scratch_alloc(&in->to->scratch, sizeof(*copy));
	if (!copy)
		return -ENOMEM;
	*copy = *type;
	*kept = copy;
	return 0;
}

/* An entry that means nothing here, to be said again. */
static int keep(struct wmk_tsdl *in, const char *path, const struct value *value)
{
	const struct wmk_tsdl_unknown_value kept = { value->text, value->is_word, value->is_unsigned, value->number };

	return wmk_tsdl_unknown_add(&in->kept, path, &kept);
}

/* A type of what a block does not have. */
static int pass_over(struct wmk_tsdl *in)
{
	in->to->class.has_other_types = true;
	return 0;
}

/* The same in a block that has no types at all. */
static int type_ignored(struct wmk_tsdl *in, void *to, const char *path, const struct wmk_type *type)
{
	(void)to;
	(void)type;
	return wmk_tsdl_warn(in, &in->token, "'%.60s' is a type, where only values are: it is ignored", path);
}

/* ── trace ───────────────────────────────────────────────────────────────────────────────────────────── */

static int set_version(struct wmk_tsdl *in, const struct value *value, const char *path, uint64_t known,
		       unsigned *version)
{
	uint64_t number = 0;
	int err = want_number(in, value, path, &number);

	if (err < 0)
		return err;
	*version = (unsigned)known;
	if (number == known)
		return 0;
	return wmk_tsdl_warn(in, &value->at, "metadata with %s = %" PRIu64 " is read as that of version 1.8", path,
			     number);
}

static int set_trace(struct wmk_tsdl *in, void *to, const char *path, const struct value *value)
{
	struct wmk_ctf_class *class = &in->to->class;
	const char *text = NULL;
	int err;

	(void)to;
	if (strcmp(path, "major") == 0)
		return set_version(in, value, path, 1, &class->major);
	if (strcmp(path, "minor") == 0)
		return set_version(in, value, path, 8, &class->minor);
	if (strcmp(path, "uuid") == 0) {
		err = want_text(in, value, path, &text);
		if (err < 0)
			return err;
		if (!wmk_ctf_parse_uuid(text, class->uuid))
			return want(in, value, path, "32 hexadecimal digits");
		class->has_uuid = true;
		return 0;
	}
	/* byte_order was found before all else: see find_order(). */
	return strcmp(path, "byte_order") == 0 ? 0 : keep(in, path, value);
}

/* What these two are, readers must be able to count on. */
static int check_header(struct wmk_tsdl *in, const struct wmk_type *header)
{
	for (uint32_t i = 0; i < header->count; i++) {
		const struct wmk_type *type = &header->members[i].type;
		const char *name = wmk_ctf_shown_name(&in->to->class, header->members[i].name);

		if (strcmp(name, "magic") == 0 && (type->kind != WMK_TYPE_INT || type->width != 32 || type->is_signed))
			return wmk_tsdl_error(in, -EPROTO, "a packet's 'magic' is an unsigned integer of 32 bits");
		if (strcmp(name, "uuid") == 0 && (type->kind != WMK_TYPE_ARRAY || type->count != 16 ||
						  type->elem->kind != WMK_TYPE_INT || type->elem->width != 8))
			return wmk_tsdl_error(in, -EPROTO, "a packet's 'uuid' is an array of 16 bytes");
	}
	return 0;
}

static int type_trace(struct wmk_tsdl *in, void *to, const char *path, const struct wmk_type *type)
{
	int err;

	(void)to;
	if (strcmp(path, "packet.header") != 0)
		return pass_over(in);
	err = want_struct(in, path, type, &in->to->class.packet_header);
	return err < 0 ? err : check_header(in, type);
}

static int parse_trace(struct wmk_tsdl *in)
{
	static const struct block block = { "trace", set_trace, type_trace };
	const struct wmk_tsdl_token at = in->word;
	int err;

	if (in->to->has_trace)
		return wmk_tsdl_error_at(in, &at, "a second trace block");
	in->to->class.line = at.line;
	in->to->class.column = at.column;
	in->to->class.major = in->to->class.minor = 0;
	err = parse_block(in, &block, NULL);
	if (err >= 0 && (!in->to->class.major || !in->to->class.minor)) {
		in->token = at;
		return wmk_tsdl_error(in, -EPROTO, "a trace block without 'major' and 'minor'");
	}
	in->to->has_trace = err >= 0;
	wmk_tsdl_unknown_of_trace(&in->kept);
	in->to->class.major = 1;
	return err;
}

/* ── env, clock ──────────────────────────────────────────────────────────────────────────────────────── */

static int set_env(struct wmk_tsdl *in, void *to, const char *path, const struct value *value)
{
	struct wmk_ctf_env_entry *entry = wmk_ctf_list_add(in->to, &in->to->env, sizeof(*entry), WMK_CTF_STREAMS_MAX);

	(void)to;
	if (!entry)
		return -ENOMEM;
	if (value->is_word && strchr(value->text, '.') &&
	    wmk_tsdl_warn(in, &value->at,
			  "'%.60s' of the environment is neither a string nor a number: a string is assumed", path) < 0)
		return -ENOMEM;
	*entry = (struct wmk_ctf_env_entry){ .name = path, .text = value->text, .number = value->number,
					     .is_unsigned = value->is_unsigned && value->number < 0 };
	return 0;
}

static int set_clock(struct wmk_tsdl *in, void *to, const char *path, const struct value *value)
{
	struct wmk_ctf_clock_class *clock = to;
	int err = 0;

	if (strcmp(path, "name") == 0) {
		err = want_text(in, value, path, &clock->name);
	} else if (strcmp(path, "uuid") == 0) {
		uint8_t uuid[16];

		err = want_text(in, value, path, &clock->uuid);
		if (err >= 0 && !wmk_ctf_parse_uuid(clock->uuid, uuid)) {
			clock->uuid = NULL;
			err = wmk_tsdl_warn(in, &value->at,
					    "the uuid of a clock is not 32 hexadecimal digits, and is ignored");
		}
	} else if (strcmp(path, "description") == 0) {
		clock->description = value->text;
		err = value->text ? 0 : wmk_tsdl_warn(in, &value->at,
						      "the description of a clock is no string, and is ignored");
	} else if (strcmp(path, "freq") == 0) {
		err = want_number(in, value, path, &clock->freq);
		if (err >= 0 && !clock->freq) {
			clock->freq = FREQ_DEFAULT;
			err = wmk_tsdl_warn(in, &value->at, "the freq of a clock is 0: 1 GHz is assumed");
		}
	} else if (strcmp(path, "precision") == 0) {
		err = want_number(in, value, path, &clock->precision);
	} else if (strcmp(path, "offset_s") == 0) {
		clock->offset_s = value->number;
		err = value->text ? want(in, value, path, "a number") : 0;
	} else if (strcmp(path, "offset") == 0) {
		clock->offset = (uint64_t)value->number;
		err = value->text ? want(in, value, path, "a number") : 0;
	} else if (strcmp(path, "absolute") == 0) {
		clock->absolute = value->text ? value->text[0] == 't' || value->text[0] == 'T' : value->number != 0;
	} else {
		err = keep(in, path, value);
	}
	return err;
}

/* Whole seconds of the cycles belong to the seconds; a negative number of cycles is so many before. */
static int finish_clock(struct wmk_tsdl *in, struct wmk_ctf_clock_class *clock)
{
	int64_t seconds;

	if (!clock->name)
		return wmk_tsdl_error(in, -EPROTO, "a clock without a name");
	if ((int64_t)clock->offset < 0) {
		uint64_t before = 0 - clock->offset, whole = before / clock->freq + (before % clock->freq != 0);

		seconds = -(int64_t)whole;
		clock->offset += whole * clock->freq;
	} else {
		seconds = (int64_t)(clock->offset / clock->freq);
		clock->offset %= clock->freq;
	}
	if (__builtin_add_overflow(clock->offset_s, seconds, &clock->offset_s))
		return wmk_tsdl_error(in, -EPROTO, "a clock whose offset has more than 64 bits of seconds");
	return 0;
}

static int check_clock_name(struct wmk_tsdl *in, const char *name)
{
	const struct wmk_ctf_clock_class *clocks = in->to->clocks.items;

	for (uint32_t i = 0; i + 1 < in->to->clocks.n; i++)
		if (strcmp(clocks[i].name, name) == 0)
			return wmk_tsdl_error(in, -EPROTO, "a second clock '%.60s'", name);
	return 0;
}

static int parse_clock(struct wmk_tsdl *in)
{
	static const struct block block = { "clock", set_clock, type_ignored };
	const struct wmk_tsdl_token at = in->word;
	struct wmk_ctf_clock_class made = { .freq = FREQ_DEFAULT };
	struct wmk_ctf_clock_class *clock =
		wmk_ctf_list_add(in->to, &in->to->clocks, sizeof(*clock), WMK_CTF_CLOCKS_MAX);
	int err;

	if (!clock)
		return -ENOMEM;
	err = parse_block(in, &block, &made);
	if (err >= 0)
		err = wmk_tsdl_unknown_of_class(&in->kept, &in->to->scratch, &made.more);
	if (err >= 0) {
		const struct wmk_tsdl_token next = in->token;

		in->token = at;
		err = finish_clock(in, &made);
		if (err >= 0)
			err = check_clock_name(in, made.name);
		in->token = err < 0 ? at : next;
	}
	if (err < 0)
		in->to->clocks.n--;
	else
		*clock = made;
	return err;
}

/* ── stream, event ───────────────────────────────────────────────────────────────────────────────────── */

static int set_stream(struct wmk_tsdl *in, void *to, const char *path, const struct value *value)
{
	struct wmk_ctf_stream_class *stream = to;

	return strcmp(path, "id") == 0 ? want_number(in, value, path, &stream->id) : keep(in, path, value);
}

static int type_stream(struct wmk_tsdl *in, void *to, const char *path, const struct wmk_type *type)
{
	struct wmk_ctf_stream_class *stream = to;

	if (strcmp(path, "packet.context") == 0)
		return want_struct(in, path, type, &stream->packet_context);
	if (strcmp(path, "event.header") == 0)
		return want_struct(in, path, type, &stream->event_header);
	return strcmp(path, "event.context") == 0 ? want_struct(in, path, type, &stream->event_context) : pass_over(in);
}

static int parse_stream(struct wmk_tsdl *in)
{
	static const struct block block = { "stream", set_stream, type_stream };
	struct wmk_ctf_stream_class **at = wmk_ctf_list_add(in->to, &in->to->streams, sizeof(*at), WMK_CTF_STREAMS_MAX);
	struct wmk_ctf_stream_class *stream = at ? wmk_scratch_alloc(&in->to->scratch, sizeof(*stream)) : NULL;
	int err;

	if (!stream)
		return -ENOMEM;
	*at = stream;
	stream->line = in->word.line;
	stream->column = in->word.column;
	err = parse_block(in, &block, stream);
	if (err >= 0)
		err = wmk_tsdl_unknown_of_class(&in->kept, &in->to->scratch, &stream->more);
	if (err < 0)
		in->to->streams.n--;
	return err;
}

struct event_block {
	struct wmk_ctf_event_class *class;
	struct wmk_ctf_stream_of of;
};

static int set_event(struct wmk_tsdl *in, void *to, const char *path, const struct value *value)
{
	struct event_block *event = to;

	if (strcmp(path, "id") == 0)
		return want_number(in, value, path, &event->class->id);
	if (strcmp(path, "stream_id") == 0) {
		event->of.is_said = true;
		return want_number(in, value, path, &event->of.id);
	}
	if (strcmp(path, "name") == 0)
		return want_text(in, value, path, &event->class->name);
	if (strcmp(path, "model.emf.uri") == 0)
		return want_text(in, value, path, &event->class->emf_uri);
	/* (other tracers' levels have other names and numbers, none of ours) */
	if (strcmp(path, "loglevel") != 0 || value->text || value->number < 0 || value->number > WAYMARK_LEVEL_DEBUG)
		return keep(in, path, value);
	event->class->level = (int32_t)value->number;
	return 0;
}

static int type_event(struct wmk_tsdl *in, void *to, const char *path, const struct wmk_type *type)
{
	struct event_block *event = to;

	if (strcmp(path, "context") == 0)
		return want_struct(in, path, type, &event->class->context);
	return strcmp(path, "fields") == 0 ? want_struct(in, path, type, &event->class->payload) : pass_over(in);
}

static int parse_event(struct wmk_tsdl *in)
{
	static const struct block block = { "event", set_event, type_event };
	struct event_block event = { .class = wmk_scratch_alloc(&in->to->scratch, sizeof(*event.class)) };
	struct wmk_ctf_event_class **at;
	struct wmk_ctf_stream_of *of;
	int err;

	if (!event.class)
		return -ENOMEM;
	event.class->level = -1;
	event.class->line = in->word.line;
	event.class->column = in->word.column;
	err = parse_block(in, &block, &event);
	if (err >= 0)
		err = wmk_tsdl_unknown_of_class(&in->kept, &in->to->scratch, &event.class->more);
	if (err < 0)
		return err;
	at = wmk_ctf_list_add(in->to, &in->to->events, sizeof(*at), WMK_CTF_EVENTS_MAX);
	of = at ? wmk_ctf_list_add(in->to, &in->to->stream_ids, sizeof(*of), WMK_CTF_EVENTS_MAX) : NULL;
	if (!of)
		return -ENOMEM;
	*at = event.class;
	*of = event.of;
	return 0;
}

/* ── the whole ───────────────────────────────────────────────────────────────────────────────────────── */

static int set_callsite(struct wmk_tsdl *in, void *to, const char *path, const struct value *value)
{
	(void)to;
	return keep(in, path, value);
}

static int parse_callsite(struct wmk_tsdl *in)
{
	static const struct block block = { "callsite", set_callsite, NULL };
	int err = parse_block(in, &block, NULL);

	return err < 0 ? err : wmk_tsdl_unknown_callsite(&in->kept);
}

static int parse_top(struct wmk_tsdl *in)
{
	static const struct block env = { "env", set_env, type_ignored };
	int got;

	if (wmk_tsdl_is_declaration(in))
		return wmk_tsdl_declaration(in);
	in->word = in->token;
	if ((got = wmk_tsdl_take_word(in, "trace")))
		return got < 0 ? got : parse_trace(in);
	if ((got = wmk_tsdl_take_word(in, "env")))
		return got < 0 ? got : parse_block(in, &env, NULL);
	if ((got = wmk_tsdl_take_word(in, "clock")))
		return got < 0 ? got : parse_clock(in);
	if ((got = wmk_tsdl_take_word(in, "stream")))
		return got < 0 ? got : parse_stream(in);
	if ((got = wmk_tsdl_take_word(in, "event")))
		return got < 0 ? got : parse_event(in);
	if ((got = wmk_tsdl_take_word(in, "callsite")))
		return got < 0 ? got : parse_callsite(in);
	return wmk_tsdl_wrong(in, "a block (trace, env, clock, stream, event, callsite) or the declaration of a type");
}

/* One declaration after the other. What goes wrong in one is said with where it begins when the text ends in it. */
static int parse_all(struct wmk_tsdl *in)
{
	int err = wmk_tsdl_next(in);

	while (err >= 0 && in->token.kind != WMK_TSDL_END) {
		const struct wmk_tsdl_token at = in->token;

		err = parse_top(in);
		if (err < 0 && in->is_cut)
			wmk_error_add(err, "%s:%" PRIu32 ":%" PRIu32 ": the text ends in what begins here", in->name,
				      at.line, at.column);
	}
	return err;
}

int wmk_tsdl_parse(struct wmk_ctf_builder *to, const char *text, size_t len, const char *name, bool partial)
{
	struct wmk_tsdl in;
	int err = wmk_tsdl_signature(to, text, len), got;

	if (err < 0)
		return err;
	to->class.major = 1;
	wmk_tsdl_open(&in, to, text, len, name);
	in.is_ahead = true;
	err = wmk_tsdl_find_order(&in);
	if (err < 0)
		return err;
	wmk_tsdl_open(&in, to, text, len, name);
	err = wmk_tsdl_enter(&in);
	if (err < 0)
		return err;
	err = parse_all(&in);
	while (in.scope)
		wmk_tsdl_leave(&in);
	got = wmk_tsdl_unknown_end(&in.kept, &to->scratch, &to->class.more);
	if (got < 0)
		return got;
	/* (its end may be another one than was meant) */
	if (err == -EPROTO && in.lines.line)
		wmk_error_add(err, "%s:%" PRIu32 ":%" PRIu32 ": a string of more than one line begins here", name,
			      in.lines.line, in.lines.column);
	if (err == -EPROTO && partial && to->has_trace && in.is_cut)
		return 1;
	if (err >= 0 && !to->has_trace)
		err = wmk_tsdl_error(&in, -EPROTO, "the metadata has no trace block");
	return err < 0 ? err : 0;
}
