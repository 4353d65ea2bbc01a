/* SPDX-License-Identifier: MIT */
/*
 * line_buffer.h - builds a line of text in memory of the caller. These functions never write beyond the end of the
 * caller's memory. The functions drop text that does not fit, and set is_cut. These functions parse no format strings,
 * because they must be fast enough for millions of lines per second.
 *
 * Pure. Only one thread at a time uses a line.
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
	bool is_cut;             /* text was dropped */
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
/* Appends at least `width` characters, padded with `fill` on the left. */
void wmk_kline_wide(struct wmk_kline *line, uint64_t number, unsigned width, char fill);
/* "0x1f"; 0 is "0". */
void wmk_kline_hex(struct wmk_kline *line, uint64_t number);
/* "0x1f"; 0 is "NULL". */
void wmk_kline_pointer(struct wmk_kline *line, uint64_t number);
/* "0644"; 0 is "0". `digits` is the minimum number of digits after the leading 0. */
void wmk_kline_octal(struct wmk_kline *line, uint64_t number, unsigned digits);
/* Seconds with `digits` decimals, truncated: "1.000042". */
void wmk_kline_seconds(struct wmk_kline *line, uint64_t ns, unsigned digits);
/* Appends a text in quotes with C escapes; octal escapes are as short as possible. is_hex: each byte as \x00. */
void wmk_kline_quoted(struct wmk_kline *line, const uint8_t *bytes, size_t n, bool is_hex);
/* Appends spaces up to column `column`, counted from byte `begin`. */
void wmk_kline_pad(struct wmk_kline *line, size_t begin, unsigned column);

/* An entry with a NULL name ends a list of names. */
struct wmk_kname {
	uint64_t value;
	const char *name;
};

const char *wmk_kname_of(const struct wmk_kname *names, uint64_t value);
/*
 * The name of the value. A value without a name is appended in hex, followed by a C comment with `unknown` and "???".
 */
void wmk_kline_name(struct wmk_kline *line, const struct wmk_kname *names, uint64_t value, const char *unknown);
/*
 * Names of the bits, separated by '|', and the remaining bits in hex. If no bit has a name, a C comment with `unknown`
 * follows. For 0: the name of 0, or "0".
 */
void wmk_kline_flags(struct wmk_kline *line, const struct wmk_kname *names, uint64_t value, const char *unknown);

#endif
