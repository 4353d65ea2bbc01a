/* SPDX-License-Identifier: MIT */
/*
 * json_write.c - print objects as JSON (see json.h). The writer prints each member when it reads the member's entry in
 * the table, so a long list needs no second copy. When the writer prints to a file, memory never holds the whole text.
 */
#include "ctl/json.h"

#include "base/error.h"
#include "base/json_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define IN_A_LINE (1u << 31)         /* internal flag: print the next object in one line */
#define PIECE 65536u                 /* size of a buffer that is written to the file */

/* ── output buffer ───────────────────────────────────────────────────────────────────────────────────── */

/* Text that is printed. */
struct json_text {
	char *bytes;
	size_t len, cap;
	FILE *to;                  /* a full buffer is written to this file; NULL: the buffer grows */
	int failed;                /* -ENOMEM, or the error of the file: later output is dropped */
};

static void flush(struct json_text *out)
{
	const int before = errno;

	errno = 0;
	if (!out->failed && out->len && fwrite(out->bytes, 1, out->len, out->to) != out->len)
		out->failed = errno ? -errno : -EIO;
	out->len = 0;
	errno = before;
}

static bool grow(struct json_text *out, size_t n)
{
	const size_t least = out->len + n, cap = least > 2 * out->cap ? least + 4096 : 2 * out->cap;
	char *bytes = realloc(out->bytes, cap);

	if (!bytes) {
		out->failed = -ENOMEM;
		return false;
	}
	out->bytes = bytes;
	out->cap = cap;
	return true;
}

/* Return a pointer to space for `n` more bytes, or NULL. */
static inline char *reserve(struct json_text *out, size_t n)
{
	if (__builtin_expect(n > out->cap - out->len, 0)) {
		if (out->to && out->len + n > PIECE)
			flush(out);
		if (out->failed || (n > out->cap - out->len && !grow(out, n)))
			return NULL;
	}
	return out->bytes + out->len;
}

static inline void print_bytes(struct json_text *out, const char *bytes, size_t n)
{
	char *at = reserve(out, n);

	if (at) {
		memcpy(at, bytes, n);
		out->len += n;
	}
}

static inline void print_char(struct json_text *out, char c)
{
	print_bytes(out, &c, 1);
}

static inline void print_string(struct json_text *out, const char *names)
{
	print_bytes(out, names, strlen(names));
}

static void print_text(struct json_text *out, const char *text)
{
	struct wmk_json_piece piece;

	print_char(out, '"');
	for (size_t left = strlen(text), n; left; text += n, left -= n) {
		n = wmk_json_piece(text, left, &piece);
		print_bytes(out, piece.bytes, piece.n);
	}
	print_char(out, '"');
}

static void print_number(struct json_text *out, uint64_t number)
{
	char digits[20];
	unsigned from = sizeof(digits);

	do
		digits[--from] = (char)('0' + number % 10);
	while (number /= 10);
	print_bytes(out, digits + from, sizeof(digits) - from);
}

static void print_signed(struct json_text *out, uint64_t number)
{
	if (number >> 63)
		print_char(out, '-');
	print_number(out, number >> 63 ? 0 - number : number);
}

static void print_uuid(struct json_text *out, const uint8_t *uuid)
{
	static const char digits[] = "0123456789abcdef";

	print_char(out, '"');
	for (unsigned i = 0; i < 16; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			print_char(out, '-');
		print_char(out, digits[uuid[i] >> 4]);
		print_char(out, digits[uuid[i] & 15]);
	}
	print_char(out, '"');
}

static void new_line(struct json_text *out, unsigned depth)
{
	char *at = reserve(out, depth + 1);

	if (!at)
		return;
	*at = '\n';
	memset(at + 1, '\t', depth);
	out->len += depth + 1;
}

/* ── values ──────────────────────────────────────────────────────────────────────────────────────────── */

static const char *text_of(const uint8_t *at)
{
	const char *text;

	memcpy(&text, at, sizeof(text));
	return text ? text : "";
}

static uint64_t number_of(const uint8_t *at, size_t size)
{
	uint64_t number = 0;

	memcpy(&number, at, size);           /* objects are little-endian */
	return number;
}

/* True if the member is zero or empty. json_read.c sets a missing member to zero or empty. */
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

/*
 * True if the object has no nested objects or lists of objects. In a list, an object without nested objects is printed
 * on one line.
 */
static bool is_plain(const struct wmk_object *is)
{
	for (unsigned i = 0; i < is->n_members; i++)
		if (is->members[i].kind == WMK_MEMBER_OBJECT || is->members[i].kind == WMK_MEMBER_LIST)
			return false;
	return true;
}

static int print_object(struct json_text *out, const struct wmk_object *is, const uint8_t *object, unsigned flags,
			unsigned depth);

static int print_list(struct json_text *out, const struct wmk_member *m, const struct wmk_list *list, unsigned flags,
		      unsigned depth)
{
	const uint8_t *items = list->items;
	int err = 0;

	flags |= m->kind == WMK_MEMBER_LIST && is_plain(m->of) ? IN_A_LINE : 0;
	print_char(out, '[');
	for (uint32_t i = 0; err == 0 && i < list->n; i++) {
		if (i)
			print_string(out, m->kind == WMK_MEMBER_LIST ? "," : ", ");
		if (m->kind == WMK_MEMBER_LIST) {
			new_line(out, depth + 1);
			err = print_object(out, m->of, items + i * m->of->size, flags, depth + 1);
		} else if (m->kind == WMK_MEMBER_TEXTS) {
			print_text(out, text_of(items + i * sizeof(const char *)));
		} else {
			print_number(out, number_of(items + i * sizeof(uint64_t), sizeof(uint64_t)));
		}
	}
	if (list->n && m->kind == WMK_MEMBER_LIST)
		new_line(out, depth);
	print_char(out, ']');
	return err;
}

static int print_enum(struct json_text *out, const struct wmk_member *m, uint32_t word)
{
	if (word >= m->n_names)
		return wmk_error(-EINVAL, "%s has the unknown value %" PRIu32, m->name, word);
	print_text(out, m->names[word]);
	return 0;
}

static int print_member(struct json_text *out, const struct wmk_member *m, const uint8_t *at, unsigned flags,
			unsigned depth)
{
	switch (m->kind) {
	case WMK_MEMBER_U32:
		print_number(out, number_of(at, sizeof(uint32_t)));
		return 0;
	case WMK_MEMBER_U64:
		print_number(out, number_of(at, sizeof(uint64_t)));
		return 0;
	case WMK_MEMBER_I64:
		print_signed(out, number_of(at, sizeof(int64_t)));
		return 0;
	case WMK_MEMBER_BOOL:
		print_string(out, *at ? "true" : "false");
		return 0;
	case WMK_MEMBER_ENUM:
		return print_enum(out, m, (uint32_t)number_of(at, sizeof(uint32_t)));
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

static int print_object(struct json_text *out, const struct wmk_object *is, const uint8_t *object, unsigned flags,
			unsigned depth)
{
	const bool is_line = flags & IN_A_LINE;
	bool any = false;
	int err = 0;

	if (depth > 2 * WMK_OBJECT_DEPTH_MAX)
		return wmk_error(-EINVAL, "objects are nested too deep: at most %u levels are allowed",
				 2 * WMK_OBJECT_DEPTH_MAX);
	print_char(out, '{');
	for (unsigned i = 0; err == 0 && i < is->n_members; i++) {
		const struct wmk_member *m = &is->members[i];

		if ((flags & WMK_JSON_SPARSE) && is_empty(m, object + m->offset))
			continue;
		if (any)
			print_char(out, ',');
		any = true;
		if (is_line)
			print_char(out, ' ');
		else
			new_line(out, depth + 1);
		print_char(out, '"');
		print_string(out, m->name);
		print_bytes(out, "\": ", 3);
		err = print_member(out, m, object + m->offset, flags & ~IN_A_LINE, depth + 1);
	}
	if (any && is_line)
		print_char(out, ' ');
	else if (any)
		new_line(out, depth);
	print_char(out, '}');
	return err;
}

static int print_all(struct json_text *out, const struct wmk_object *is, const void *object, unsigned flags)
{
	const int err = print_object(out, is, object, flags, 0);

	print_bytes(out, "\n", out->to ? 1 : 2);         /* text in memory includes the NUL */
	if (out->to)
		flush(out);
	if (err < 0)
		return wmk_error_add(err, "cannot write the object '%s' as JSON", is->name);
	if (out->failed == -ENOMEM)
		return wmk_error(-ENOMEM, "no memory for the object '%s' as JSON", is->name);
	return out->failed ? wmk_error(out->failed, "cannot write the object '%s' as JSON", is->name) : 0;
}

int wmk_json_print(const struct wmk_object *is, const void *object, unsigned flags, FILE *to)
{
	struct json_text out = { .to = to };
	const int err = print_all(&out, is, object, flags);

	free(out.bytes);
	return err;
}

int wmk_json_text(const struct wmk_object *is, const void *object, unsigned flags, char **text)
{
	struct json_text out = { .to = NULL };
	const int err = print_all(&out, is, object, flags);

	*text = NULL;
	if (err < 0)
		free(out.bytes);
	else
		*text = out.bytes;
	return err;
}
