/* SPDX-License-Identifier: MIT */
/*
 * json_case.h - metadata of CTF 2 for tests: fragments in single quotes that are parsed, or rejected with certain
 * words.
 */
#ifndef WMK_CTF_T_JSON_CASE_H
#define WMK_CTF_T_JSON_CASE_H

#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "ctf/class.h"

#define PREAMBLE "{'type': 'preamble', 'version': 2}"
#define STREAM "{'type': 'data-stream-class'}"
#define CLOCK "{'type': 'clock-class', 'id': 'c', 'frequency': 1000}"
#define U8 "{'type': 'fixed-length-unsigned-integer', 'length': 8, 'byte-order': 'little-endian'}"
#define BITS(kind, more) "{'type': 'fixed-length-" kind "', 'byte-order': 'little-endian', " more "}"
#define STRUCT(members) "{'type': 'structure', 'member-classes': [" members "]}"
#define MEMBER(name, class) "{'name': '" name "', 'field-class': " class "}"
#define ALIAS(name, class) "{'type': 'field-class-alias', 'name': '" name "', 'field-class': " class "}"
#define EVENT(class) "{'type': 'event-record-class', 'payload-field-class': " class "}"

static struct wmk_ctf_class *class;   /* of the current test */

static inline int drop(void **state)
{
	(void)state;
	wmk_ctf_class_free(class);
	class = NULL;
	wmk_error_clear();
	return 0;
}

/* Put each fragment between a record separator and a newline; NULL ends the list. malloc'd. */
static inline char *sequence(const char *const *fragments, size_t *len)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, len);

	assert_non_null(out);
	for (; *fragments; fragments++) {
		fputc(0x1e, out);
		for (const char *at = *fragments; *at; at++)
			fputc(*at == '\'' ? '"' : *at, out);
		fputc('\n', out);
	}
	fclose(out);
	return text;
}

static inline int parse(const char *const *fragments)
{
	size_t len;
	char *text = sequence(fragments, &len);
	int err;

	drop(NULL);
	err = wmk_ctf_metadata_parse(text, len, "meta", false, &class);
	free(text);
	return err;
}

static inline void accept(const char *const *fragments)
{
	char words[1000];
	int err = parse(fragments);

	if (err)
		fail_msg("%s", wmk_error_text(words, sizeof(words)));
}

/* The metadata must be rejected, and the error must contain each of the words, which are joined by " + ". */
static inline void refuse(int wanted, const char *wanted_words, const char *const *fragments)
{
	char words[1000], want[200];
	int err = parse(fragments);

	wmk_error_text(words, sizeof(words));
	if (err != wanted)
		fail_msg("%d, not %d: %s (wanted: %s)", err, wanted, words, wanted_words);
	snprintf(want, sizeof(want), "%s", wanted_words);
	for (char *at = want, *next; at; at = next) {
		next = strstr(at, " + ");
		if (next) {
			*next = '\0';
			next += 3;
		}
		for (char *quote = at; (quote = strchr(quote, '\'')); )
			*quote = '"';
		if (!strstr(words, at))
			fail_msg("no '%s' in: %s", at, words);
	}
}

#define ACCEPT(...) accept((const char *const[]){ PREAMBLE, __VA_ARGS__, NULL })
#define REFUSE(err, wanted_words, ...) refuse(err, wanted_words, (const char *const[]){ PREAMBLE, __VA_ARGS__, NULL })

/* The field class of the only member of the only event's payload. */
static inline const struct wmk_type *field(const char *fc)
{
	char event[2000];

	snprintf(event, sizeof(event), EVENT(STRUCT("{'name': 'x', 'field-class': %s}")), fc);
	ACCEPT(STREAM, event);
	assert_int_equal(class->n_streams, 1);
	assert_int_equal(class->streams[0]->n_events, 1);
	return &class->streams[0]->events[0]->payload->members[0].type;
}

static inline void refuse_field(int err, const char *wanted_words, const char *fc)
{
	char event[2000];

	snprintf(event, sizeof(event), EVENT(STRUCT("{'name': 'x', 'field-class': %s}")), fc);
	REFUSE(err, wanted_words, STREAM, event);
}

#endif
