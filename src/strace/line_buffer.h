/* SPDX-License-Identifier: MIT */
/*
 * line_buffer.h - a line of text while it is put together: in memory of the caller's, never behind its end; what does
 * not fit is left out, and that is remembered. Made for millions of lines in a second: no formats are read.
 *
 * Pure; one thread for a line.
 */
#ifndef WMK_STRACE_LINE_BUFFER_H
#define WMK_STRACE_LINE_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct wmk_kline {
	char *text;              /* `room` bytes, `len` of them used; no NUL at the end */
	size_t len, room;
	bool is_cut;             /* something did not fit */
};

static inline void wmk_kline_bytes(struct wmk_kline *line, const char *bytes, size_t n)
{
#ifdef WMK_PLANTED_BUG_KPRINT
	if (n > line->room - line->len + 1) {
#else
	if (n > line->room - line->len) {
#endif
		n = line->room - line->len;
		line->is_cut = true;
	}
	memcpy(line->text + line->len, bytes, n);
	line->len += n;
}

static inline void wmk_kline_char(struct wmk_kline *line, char c)
{
	wmk_kline_bytes(line, &c, 1);
}

static inline void wmk_kline_put(struct wmk_kline *line, const char *text)
{
	wmk_kline_bytes(line, text, strlen(text));
}

void wmk_kline_unsigned(struct wmk_kline *line, uint64_t number);
void wmk_kline_signed(struct wmk_kline *line, int64_t number);
/* At least `width` characters, with `fill` in front. */
void wmk_kline_wide(struct wmk_kline *line, uint64_t number, unsigned width, char fill);
/* "0x1f"; 0 is "0". */
void wmk_kline_hex(struct wmk_kline *line, uint64_t number);
/* "0x1f"; 0 is "NULL". */
void wmk_kline_pointer(struct wmk_kline *line, uint64_t number);
/* "0644"; 0 is "0" ... or with `digits` of them at least, behind a 0. */
void wmk_kline_octal(struct wmk_kline *line, uint64_t number, unsigned digits);
/* Seconds with so many digits behind the point, cut and not rounded: "1.000042". */
void wmk_kline_seconds(struct wmk_kline *line, uint64_t ns, unsigned digits);
/* In quotes, with C's escapes, octal ones as short as they can be. is_hex: all of it as \x00. */
void wmk_kline_quoted(struct wmk_kline *line, const uint8_t *bytes, size_t n, bool is_hex);
/* Spaces up to column `column`, counted from the byte `begin`. */
void wmk_kline_pad(struct wmk_kline *line, size_t begin, unsigned column);

/* Names, up to the one that is NULL. */
struct wmk_kname {
	uint64_t value;
	const char *name;
};

const char *wmk_kname_of(const struct wmk_kname *names, uint64_t value);
/* The value's name; or the number in hex, and behind it, in a comment of C, `unknown` with "???". */
void wmk_kline_name(struct wmk_kline *line, const struct wmk_kname *names, uint64_t value, const char *unknown);
/*
 * Names of the bits with '|' between; what is left over in hex; `unknown` in a comment where there is nothing else. Of
 * no bits, the name of 0, or "0".
 */
void wmk_kline_flags(struct wmk_kline *line, const struct wmk_kname *names, uint64_t value, const char *unknown);

#endif
