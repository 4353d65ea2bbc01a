/* SPDX-License-Identifier: MIT */
/*
 * text_buffer.c - growing text for the metadata. Names, labels and host names come from applications that are not
 * trusted: wmk_ctf_put_quoted() escapes every text in quotes, and wmk_ctf_ident() converts every identifier.
 */
#include "base/utf8.h"
#include "ctf/text_buffer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void wmk_ctf_text_free(struct wmk_ctf_text_buffer *text)
{
	free(text->text);
	memset(text, 0, sizeof(*text));
}

void wmk_ctf_text_cut(struct wmk_ctf_text_buffer *out, size_t len)
{
	if (len < out->len) {
		out->len = len;
		out->text[len] = '\0';
	}
}

/* Ensure that the buffer has room for `more` bytes and a NUL. */
static bool text_room(struct wmk_ctf_text_buffer *out, size_t more)
{
	size_t cap = out->cap ? out->cap : 4096;
	char *text;

	if (out->err)
		return false;
	while (cap < out->len + more + 1)
		cap *= 2;
	if (cap == out->cap)
		return true;
	text = realloc(out->text, cap);
	if (!text) {
		out->err = -ENOMEM;
		return false;
	}
	out->text = text;
	out->cap = cap;
	return true;
}

static void text_add(struct wmk_ctf_text_buffer *out, const char *bytes, size_t len)
{
	if (!text_room(out, len))
		return;
	memcpy(out->text + out->len, bytes, len);
	out->len += len;
	out->text[out->len] = '\0';
}

int wmk_ctf_text_add(struct wmk_ctf_text_buffer *out, const struct wmk_ctf_text_buffer *more)
{
	if (more->err)
		out->err = more->err;
	else if (more->len)
		text_add(out, more->text, more->len);
	return out->err;
}

void wmk_ctf_put(struct wmk_ctf_text_buffer *out, const char *format, ...)
{
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(NULL, 0, format, args);
	va_end(args);
	if (len < 0 || !text_room(out, (size_t)len))
		return;
	va_start(args, format);
	vsnprintf(out->text + out->len, (size_t)len + 1, format, args);
	va_end(args);
	out->len += (size_t)len;
}

void wmk_ctf_put_indent(struct wmk_ctf_text_buffer *out, unsigned depth)
{
	while (depth--)
		text_add(out, "\t", 1);
}

void wmk_ctf_put_quoted(struct wmk_ctf_text_buffer *out, const char *words)
{
	const unsigned char *s = (const unsigned char *)wmk_or_empty(words);
	size_t len;

	text_add(out, "\"", 1);
	for (; *s; s += len) {
		len = wmk_utf8_length((const char *)s, WMK_UTF8_MAX);
		if (!len) {
			text_add(out, "\xef\xbf\xbd", 3);
			len = 1;
		} else if (*s == '"' || *s == '\\') {
			wmk_ctf_put(out, "\\%c", *s);
		} else if (*s == '\n' || *s == '\t') {
			text_add(out, *s == '\n' ? "\\n" : "\\t", 2);
		} else if (*s < 0x20 || *s == 0x7f) {
			wmk_ctf_put(out, "\\%03o", *s);
		} else {
			text_add(out, (const char *)s, len);
		}
	}
	text_add(out, "\"", 1);
}

static bool ident_byte(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

void wmk_ctf_ident(char ident[WMK_CTF_IDENT], const char *prefix, const char *name, const char *suffix)
{
	size_t at, i;

	/* Readers remove a leading '_' of names; the remaining name must not be empty. (Callers make names unique.) */
	at = (size_t)snprintf(ident, WMK_CTF_IDENT, "%s%.*s", prefix, WMK_NAME_MAX, name && name[0] ? name : "unnamed");
	for (i = 0; i < at; i++)
		if (!ident_byte(ident[i]))
			ident[i] = '_';
	snprintf(ident + at, WMK_CTF_IDENT - at, "%s", suffix);
}

void wmk_ctf_put_entry(struct wmk_ctf_text_buffer *out, const char *name, const char *words)
{
	wmk_ctf_put(out, "\t%s = ", name);
	wmk_ctf_put_quoted(out, words);
	wmk_ctf_put(out, ";\n");
}

void wmk_ctf_put_range(struct wmk_ctf_text_buffer *out, const char *label, uint64_t from, uint64_t to, bool is_signed,
		       bool is_first)
{
	wmk_ctf_put(out, is_first ? " " : ", ");
	wmk_ctf_put_quoted(out, label);
	wmk_ctf_put(out, is_signed ? " = %" PRId64 : " = %" PRIu64, from);
	if (from != to)
		wmk_ctf_put(out, is_signed ? " ... %" PRId64 : " ... %" PRIu64, to);
}

const char *wmk_ctf_uuid_text(char text[WMK_CTF_UUID_TEXT], const uint8_t uuid[16])
{
	size_t len = 0;

	for (unsigned i = 0; i < 16; i++)
		len += (size_t)snprintf(text + len, WMK_CTF_UUID_TEXT - len, "%s%02x",
					i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid[i]);
	return text;
}

int wmk_ctf_comment_text(struct wmk_ctf_text_buffer *out, const char *words)
{
	wmk_ctf_put(out, "/* ");
	for (; *words; words++) {
		unsigned char c = (unsigned char)*words;

		if ((c == '/' && out->text && out->text[out->len - 1] == '*') || c < 0x20 || c >= 0x7f)
			c = ' ';
		wmk_ctf_put(out, "%c", c);
	}
	wmk_ctf_put(out, " */\n");
	return out->err;
}

void wmk_ctf_chunk_uuid(uint8_t uuid[16], const uint8_t trace_uuid[16], uint64_t number)
{
	/* (an odd factor: two numbers below 2^48 never have the same product modulo 2^48) */
	const uint64_t mixed = number * 0x9e3779b97f4bu;

	memcpy(uuid, trace_uuid, 16);
	/* The last 48 bits of a random UUID are purely random. */
	for (unsigned i = 0; i < 6; i++)
		uuid[10 + i] ^= (uint8_t)(mixed >> (8 * i));
}
