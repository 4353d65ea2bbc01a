/* SPDX-License-Identifier: MIT */
/*
 * print_notice.c - texts that are formatted rarely: lost records, names of options; and growing text (see print.h).
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/error.h"
#include "ctf/writer.h"
#include "read/print_state.h"

/* ── growing text ────────────────────────────────────────────────────────────────────────────────────── */

#define FIRST_CAP 256u

char *wmk_print_grow(struct wmk_print_text *out, size_t used, size_t need)
{
	const size_t max = out->max ? out->max : WMK_PRINT_LINE_MAX;
	size_t cap = out->cap ? out->cap : FIRST_CAP;
	char *text;

	/*
	 * The text of a packet is usually only a few times longer than the packet. The text of overlapping labels can
	 * be much longer than the packet, so the function checks the length of the line.
	 */
	if (need > max || used - out->len > max - need) {
		wmk_error(-E2BIG, "the line of text is too long: the maximum is %zu bytes", max);
		return NULL;
	}
	while (cap - used < need) {
		if (cap > SIZE_MAX / 4) {
			wmk_error(-ENOMEM, "no memory for a line of text");
			return NULL;
		}
		cap *= 2;
	}
	text = realloc(out->text, cap);
	if (!text) {
		wmk_error(-ENOMEM, "no memory for %zu bytes of text", cap);
		return NULL;
	}
	out->text = text;
	out->cap = cap;
	return text + used;
}

int wmk_print_error(void)
{
	const int err = wmk_error_number();

	return err < 0 ? err : -ENOMEM;
}

void wmk_print_text_free(struct wmk_print_text *text)
{
	free(text->text);
	*text = (struct wmk_print_text){ .max = text->max };
}

/* Make room for `need` bytes after out->len; the result is NULL after an error. */
static char *words_room(struct wmk_print_words *words, size_t need)
{
	char *p;

	if (words->err < 0)
		return NULL;
	p = wmk_print_begin(words->out, need);
	if (!p)
		words->err = wmk_print_error();
	return p;
}

static void words_end(struct wmk_print_words *words, const char *p)
{
	words->out->len = (size_t)(p - words->out->text);
}

void wmk_print_add_bytes(struct wmk_print_words *words, const char *s, size_t len)
{
	char *p = words_room(words, len);

	if (!p)
		return;
	memcpy(p, s, len);
	words_end(words, p + len);
}

void wmk_print_add(struct wmk_print_words *words, const char *s)
{
	wmk_print_add_bytes(words, s, strlen(s));
}

void wmk_print_add_name(struct wmk_print_words *words, const char *name)
{
	const size_t len = strlen(name);
	char *p = words_room(words, len * WMK_PRINT_ESCAPE);

	if (p)
		words_end(words, wmk_print_name(p, name, len));
}

void wmk_print_add_quoted(struct wmk_print_words *words, const char *s)
{
	const size_t len = strlen(s);
	char *p = words_room(words, len * WMK_PRINT_ESCAPE + 8);

	if (!p)
		return;
	*p = '"';
	p = wmk_print_escaped(p + 1, s, len);
	*p = '"';
	words_end(words, p + 1);
}

void wmk_print_add_number(struct wmk_print_words *words, int64_t number)
{
	char *p = words_room(words, WMK_PRINT_NUMBER);

	if (p)
		words_end(words, wmk_print_s64(p, number));
}

void wmk_print_add_unsigned(struct wmk_print_words *words, uint64_t number)
{
	char *p = words_room(words, WMK_PRINT_NUMBER);

	if (p)
		words_end(words, wmk_print_u64(p, number));
}

/* ── losses ──────────────────────────────────────────────────────────────────────────────────────────── */

static void add_time(struct wmk_print_words *words, struct wmk_print_stream *stream, uint64_t value)
{
	char *p = words_room(words, WMK_PRINT_STAMP);

	if (p)
		words_end(words, wmk_print_wall(stream->trace->print, p, &stream->class->scale, value));
}

static void add_uuid(struct wmk_print_words *words, const struct wmk_ctf_class *class)
{
	char text[WMK_CTF_UUID_TEXT];

	if (!class->has_uuid) {
		wmk_print_add(words, "(no UUID) ");
		return;
	}
	wmk_print_add(words, "(UUID: ");
	wmk_print_add(words, wmk_ctf_uuid_text(text, class->uuid));
	wmk_print_add(words, ") ");
}

static void add_what(struct wmk_print_words *words, const struct wmk_print_loss *loss)
{
	const bool known = loss->count != WMK_PRINT_LOST_UNKNOWN;

	wmk_print_add(words, known ? "WARNING: Tracer discarded " : "WARNING: Tracer may have discarded ");
	if (known) {
		wmk_print_add_unsigned(words, loss->count);
		wmk_print_add(words, " ");
	}
	wmk_print_add(words, loss->is_packets ? "packet" : "event");
	wmk_print_add(words, loss->count == 1 ? " " : "s ");
}

/* Write the message about a loss for the style with columns, in which times have the same form as in the lines. */
static void add_loss(struct wmk_print_words *words, struct wmk_print_stream *stream, const struct wmk_print_loss *loss)
{
	const char *what = loss->is_packets ? "packet" : "record";

	if (loss->count == WMK_PRINT_LOST_UNKNOWN)
		wmk_print_add(words, "an unknown number");
	else
		wmk_print_add_unsigned(words, loss->count);
	wmk_print_add(words, loss->count == WMK_PRINT_LOST_UNKNOWN ? " of " : " ");
	wmk_print_add(words, what);
	wmk_print_add(words, loss->count == 1 ? " was lost" : "s were lost");
	if (loss->has_times && stream->class->scale.is_there) {
		wmk_print_add(words, " between ");
		add_time(words, stream, loss->begin);
		wmk_print_add(words, " and ");
		add_time(words, stream, loss->end);
	}
	wmk_print_add(words, ": stream \"");
	wmk_print_add_name(words, loss->stream_name ? loss->stream_name : "(unknown)");
	wmk_print_add(words, "\"\n");
}

static void add_babeltrace_loss(struct wmk_print_words *words, struct wmk_print_stream *stream,
				const struct wmk_print_loss *loss)
{
	const char *trace = stream->trace->name;

	add_what(words, loss);
	if (loss->has_times && stream->class->scale.is_there) {
		wmk_print_add(words, "between [");
		add_time(words, stream, loss->begin);
		wmk_print_add(words, "] and [");
		add_time(words, stream, loss->end);
		wmk_print_add(words, "]");
	} else {
		wmk_print_add(words, "(unknown time range)");
	}
	wmk_print_add(words, " in trace \"");
	wmk_print_add_name(words, trace ? trace : "(unknown)");
	wmk_print_add(words, "\" ");
	add_uuid(words, stream->trace->decoder->class);
	wmk_print_add(words, "within stream \"");
	wmk_print_add_name(words, loss->stream_name ? loss->stream_name : "(unknown)");
	wmk_print_add(words, "\" (stream class ID: ");
	wmk_print_add_unsigned(words, stream->class->decoder->class->id);
	if (loss->stream_id >= 0) {
		wmk_print_add(words, ", stream ID: ");
		wmk_print_add_number(words, loss->stream_id);
		wmk_print_add(words, ").\n");
	} else {
		wmk_print_add(words, ", no stream ID).\n");
	}
}

int wmk_print_lost(struct wmk_print_stream *stream, const struct wmk_print_loss *loss, struct wmk_print_text *out)
{
	struct wmk_print_words words = { .out = out };
	const size_t begin = out->len;

	if (stream->trace->print->options.style == WMK_PRINT_COLUMNS)
		add_loss(&words, stream, loss);
	else
		add_babeltrace_loss(&words, stream, loss);
	if (words.err >= 0)
		return 0;
	out->len = begin;
	return wmk_error_add(words.err, "cannot report a loss");
}

/* ── names of options ────────────────────────────────────────────────────────────────────────────────── */

struct option_word {
	const char *word;
	uint8_t bits;
};

static int parse_words(const char *words, const struct option_word *table, const char *option, const char *known,
		       uint8_t *bits)
{
	const char *end;
	size_t i;

	*bits = 0;
	for (;; words = end + 1) {
		end = strchrnul(words, ',');
		const size_t len = (size_t)(end - words);

		for (i = 0; table[i].word && (strlen(table[i].word) != len || strncmp(table[i].word, words, len) != 0);
		     i++)
			;
		if (!table[i].word)
			return wmk_error(-EINVAL,
					 "unknown word \"%.*s\" in the list of %s: the words are %s, all, none",
					 len < 40 ? (int)len : 40, words, option, known);
		*bits |= table[i].bits;
		if (!*end)
			return 0;
	}
}

int wmk_print_names(const char *words, uint8_t *names)
{
	static const struct option_word table[] = {
		{ "payload", WMK_PRINT_NAME_PAYLOAD },
		{ "args", WMK_PRINT_NAME_PAYLOAD },
		{ "arg", WMK_PRINT_NAME_PAYLOAD },
		{ "context", WMK_PRINT_NAME_CONTEXT },
		{ "ctx", WMK_PRINT_NAME_CONTEXT },
		{ "header", WMK_PRINT_NAME_HEADER },
		{ "scope", WMK_PRINT_NAME_SCOPE },
		{ "all", WMK_PRINT_NAMES_ALL },
		{ "none", 0 },
		{ NULL, 0 },
	};

	return parse_words(words, table, "names", "payload, context, header, scope", names);
}

int wmk_print_fields(const char *words, uint8_t *fields)
{
	static const struct option_word table[] = {
		{ "trace", WMK_PRINT_FIELD_TRACE },
		{ "trace:hostname", WMK_PRINT_FIELD_HOSTNAME },
		{ "trace:domain", WMK_PRINT_FIELD_DOMAIN },
		{ "trace:procname", WMK_PRINT_FIELD_PROCNAME },
		{ "trace:vpid", WMK_PRINT_FIELD_VPID },
		{ "loglevel", WMK_PRINT_FIELD_LEVEL },
		{ "emf", WMK_PRINT_FIELD_EMF },
		{ "all", WMK_PRINT_FIELDS_ALL },
		{ "none", 0 },
		{ NULL, 0 },
	};

	return parse_words(words, table, "fields",
			   "trace, trace:hostname, trace:domain, trace:procname, trace:vpid, loglevel, emf", fields);
}
