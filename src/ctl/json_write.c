/* SPDX-License-Identifier: MIT */
/*
 * json_write.c - objects to JSON (see json.h), by hand: a walk over the table that prints as it goes, so that a long list needs no second
 * copy of itself.
 */
#include "ctl/json.h"

#include "base/error.h"
#include "base/json_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* (all of it under one lock of the stream: lists are long, and made of little) */
static void print_bytes(FILE *out, const char *bytes, size_t n)
{
	fwrite_unlocked(bytes, 1, n, out);
}

static void print_words(FILE *out, const char *words)
{
	print_bytes(out, words, strlen(words));
}

static void print_text(FILE *out, const char *text)
{
	struct wmk_json_piece piece;

	putc_unlocked('"', out);
	for (size_t left = strlen(text), n; left; text += n, left -= n) {
		n = wmk_json_piece(text, left, &piece);
		print_bytes(out, piece.bytes, piece.n);
	}
	putc_unlocked('"', out);
}

static void print_uuid(FILE *out, const uint8_t *uuid)
{
	putc_unlocked('"', out);
	for (unsigned i = 0; i < 16; i++)
		fprintf(out, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid[i]);
	putc_unlocked('"', out);
}

static void new_line(FILE *out, unsigned depth)
{
	putc_unlocked('\n', out);
	while (depth--)
		putc_unlocked('\t', out);
}

static const char *text_of(const uint8_t *at)
{
	const char *text;

	memcpy(&text, at, sizeof(text));
	return text ? text : "";
}

static uint64_t number_of(const uint8_t *at, size_t size)
{
	uint64_t number = 0;

	memcpy(&number, at, size);           /* little-endian, as objects are everywhere */
	return number;
}

/* Zero or empty: what the reader makes of a member that is missing. */
static bool is_empty(const struct wmk_member *m, const uint8_t *at)
{
	static const uint8_t zero[16];

	switch (m->kind) {
	case WMK_MEMBER_TEXT:
		return *text_of(at) == '\0';
	case WMK_MEMBER_LIST:
	case WMK_MEMBER_TEXTS:
	case WMK_MEMBER_NUMBERS:
		return ((const struct wmk_list *)(const void *)at)->n == 0;
	case WMK_MEMBER_OBJECT:
		for (unsigned i = 0; i < m->of->n_members; i++)
			if (!is_empty(&m->of->members[i], at + m->of->members[i].offset))
				return false;
		return true;
	case WMK_MEMBER_BOOL:
		return *at == 0;
	case WMK_MEMBER_U32:
	case WMK_MEMBER_ENUM:
		return memcmp(at, zero, sizeof(uint32_t)) == 0;
	case WMK_MEMBER_UUID:
		return memcmp(at, zero, 16) == 0;
	default:
		return memcmp(at, zero, sizeof(uint64_t)) == 0;
	}
}

static int print_object(FILE *out, const struct wmk_object *is, const uint8_t *object, unsigned flags, unsigned depth);

static int print_list(FILE *out, const struct wmk_member *m, const struct wmk_list *list, unsigned flags, unsigned depth)
{
	const uint8_t *items = list->items;
	int err = 0;

	putc_unlocked('[', out);
	for (uint32_t i = 0; err == 0 && i < list->n; i++) {
		if (i)
			print_words(out, m->kind == WMK_MEMBER_LIST ? "," : ", ");
		if (m->kind == WMK_MEMBER_LIST) {
			new_line(out, depth + 1);
			err = print_object(out, m->of, items + i * m->of->size, flags, depth + 1);
		} else if (m->kind == WMK_MEMBER_TEXTS) {
			print_text(out, text_of(items + i * sizeof(const char *)));
		} else {
			fprintf(out, "%" PRIu64, number_of(items + i * sizeof(uint64_t), sizeof(uint64_t)));
		}
	}
	if (list->n && m->kind == WMK_MEMBER_LIST)
		new_line(out, depth);
	putc_unlocked(']', out);
	return err;
}

static int print_word(FILE *out, const struct wmk_member *m, uint32_t word)
{
	if (word >= m->n_words)
		return wmk_error(-EINVAL, "%s is %" PRIu32 ", which has no word", m->name, word);
	print_text(out, m->words[word]);
	return 0;
}

static int print_member(FILE *out, const struct wmk_member *m, const uint8_t *at, unsigned flags, unsigned depth)
{
	switch (m->kind) {
	case WMK_MEMBER_U32:
		fprintf(out, "%" PRIu64, number_of(at, sizeof(uint32_t)));
		return 0;
	case WMK_MEMBER_U64:
		fprintf(out, "%" PRIu64, number_of(at, sizeof(uint64_t)));
		return 0;
	case WMK_MEMBER_I64:
		fprintf(out, "%" PRId64, (int64_t)number_of(at, sizeof(int64_t)));
		return 0;
	case WMK_MEMBER_BOOL:
		print_words(out, *at ? "true" : "false");
		return 0;
	case WMK_MEMBER_ENUM:
		return print_word(out, m, (uint32_t)number_of(at, sizeof(uint32_t)));
	case WMK_MEMBER_TEXT:
		print_text(out, text_of(at));
		return 0;
	case WMK_MEMBER_UUID:
		print_uuid(out, at);
		return 0;
	case WMK_MEMBER_OBJECT:
		return print_object(out, m->of, at, flags, depth);
	default:
		return print_list(out, m, (const void *)at, flags, depth);
	}
}

static int print_object(FILE *out, const struct wmk_object *is, const uint8_t *object, unsigned flags, unsigned depth)
{
	bool any = false;
	int err = 0;

	if (depth > 2 * WMK_OBJECT_DEPTH_MAX)
		return wmk_error(-EINVAL, "an object in more than %u others", 2 * WMK_OBJECT_DEPTH_MAX);
	putc_unlocked('{', out);
	for (unsigned i = 0; err == 0 && i < is->n_members; i++) {
		const struct wmk_member *m = &is->members[i];

		if ((flags & WMK_JSON_SPARSE) && is_empty(m, object + m->offset))
			continue;
		if (any)
			putc_unlocked(',', out);
		any = true;
		new_line(out, depth + 1);
		putc_unlocked('"', out);
		print_words(out, m->name);
		print_words(out, "\": ");
		err = print_member(out, m, object + m->offset, flags, depth + 1);
	}
	if (any)
		new_line(out, depth);
	putc_unlocked('}', out);
	return err;
}

int wmk_json_write(const struct wmk_object *is, const void *object, unsigned flags, FILE *out)
{
	errno = 0;
	flockfile(out);
	int err = print_object(out, is, object, flags, 0);
	putc_unlocked('\n', out);
	funlockfile(out);
	if (err < 0)
		return wmk_error_add(err, "the object '%s' cannot be written as JSON", is->name);
	if (fflush(out) != 0 || ferror(out))
		return wmk_error(errno ? -errno : -EIO, "cannot write the object '%s' as JSON", is->name);
	return 0;
}

int wmk_json_text(const struct wmk_object *is, const void *object, unsigned flags, char **text)
{
	size_t len;

	*text = NULL;
	FILE *out = open_memstream(text, &len);
	if (!out)
		return wmk_error(-errno, "no memory for JSON");
	int err = wmk_json_write(is, object, flags, out);
	if (fclose(out) != 0 && err == 0)
		err = wmk_error(-ENOMEM, "no memory for JSON");
	if (err < 0) {
		free(*text);
		*text = NULL;
	}
	return err;
}
