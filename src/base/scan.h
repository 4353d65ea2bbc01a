/* SPDX-License-Identifier: MIT */
/*
 * scan.h - a part of a text that a parser consumes from its beginning. struct wmk_scan has a pointer to the end of the
 * text. The text therefore needs no final NUL, and the functions never read beyond the end of the text.
 *
 *     struct wmk_scan scan = { line, line + len };
 *     if (wmk_scan_take(&scan, "offset:") && wmk_scan_number(&scan, 10, UINT32_MAX, &offset)) ...
 *
 * Pure; any thread.
 */
#ifndef WMK_BASE_SCAN_H
#define WMK_BASE_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct wmk_scan {
	const char *at, *end;
};

static inline size_t wmk_scan_len(const struct wmk_scan *scan)
{
	return (size_t)(scan->end - scan->at);
}

static inline bool wmk_scan_is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static inline bool wmk_scan_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* A letter, digit or '_'. */
static inline bool wmk_scan_is_word(char c)
{
	return c == '_' || wmk_scan_is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static inline void wmk_scan_space(struct wmk_scan *scan)
{
	while (scan->at < scan->end && wmk_scan_is_space(*scan->at))
		scan->at++;
}

/* Remove white space at both ends. */
static inline void wmk_scan_trim(struct wmk_scan *scan)
{
	wmk_scan_space(scan);
	while (scan->at < scan->end && wmk_scan_is_space(scan->end[-1]))
		scan->end--;
}

/* True if the unread rest of the text equals `word`. */
static inline bool wmk_scan_is(const struct wmk_scan *scan, const char *word)
{
	return wmk_scan_len(scan) == strlen(word) && memcmp(scan->at, word, strlen(word)) == 0;
}

/* Consume `word`. Returns false if the text does not begin with `word`. */
static inline bool wmk_scan_take(struct wmk_scan *scan, const char *word)
{
	const size_t len = strlen(word);

	if (wmk_scan_len(scan) < len || memcmp(scan->at, word, len) != 0)
		return false;
	scan->at += len;
	return true;
}

/*
 * Consume the text up to and including `c`, and set *head to the part before `c`. Returns false if the text does not
 * contain `c`.
 */
static inline bool wmk_scan_cut(struct wmk_scan *scan, char c, struct wmk_scan *head)
{
	const char *at = memchr(scan->at, c, wmk_scan_len(scan));

	if (!at)
		return false;
	*head = (struct wmk_scan){ scan->at, at };
	scan->at = at + 1;
	return true;
}

/* Consume the next line; *line excludes its newline. Returns false at the end of the text. */
static inline bool wmk_scan_line(struct wmk_scan *scan, struct wmk_scan *line)
{
	if (scan->at == scan->end)
		return false;
	if (!wmk_scan_cut(scan, '\n', line)) {
		*line = *scan;
		scan->at = scan->end;
	}
	return true;
}

static inline unsigned wmk_scan_digit(char c)
{
	return wmk_scan_is_digit(c) ? (unsigned)(c - '0')
	       : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a' + 10)
	       : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A' + 10)
				      : 99;
}

/*
 * Consume a number. Returns false, and leaves *number unchanged, if the text does not begin with a digit or the number
 * is above `max`.
 */
static inline bool wmk_scan_number(struct wmk_scan *scan, unsigned base, uint64_t max, uint64_t *number)
{
	const char *begin = scan->at;
	uint64_t sum = 0;

	for (; scan->at < scan->end && wmk_scan_digit(*scan->at) < base; scan->at++) {
		const unsigned digit = wmk_scan_digit(*scan->at);

		if (digit > max || sum > (max - digit) / base)
			return false;
		sum = sum * base + digit;
	}
	if (scan->at == begin)
		return false;
	*number = sum;
	return true;
}

#endif
