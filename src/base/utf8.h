/* SPDX-License-Identifier: MIT */
/* utf8.h - decode and check UTF-8 (RFC 3629). */
#ifndef WMK_BASE_UTF8_H
#define WMK_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define WMK_UTF8_MAX 4u            /* bytes of a character */

/*
 * Decode the character at `text`; `len` (>= 1) bytes can be read. Stores the code of the character and returns its
 * number of bytes. Returns 0 if the character is invalid: overlong, a surrogate, above U+10FFFF, truncated. If the text
 * ends in a NUL, `len` may be WMK_UTF8_MAX: nothing after the NUL is read.
 */
static inline size_t wmk_utf8_next(const char *text, size_t len, uint32_t *code)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	const uint8_t *at = (const uint8_t *)text;
	size_t n = at[0] < 0x80 ? 1 : at[0] < 0xc2 ? 0 : at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3 : at[0] < 0xf5 ? 4 : 0;

	if (n == 0 || n > len)
		return 0;
	*code = n == 1 ? at[0] : at[0] & (0x7fu >> n);
	for (size_t i = 1; i < n; i++) {
		if ((at[i] & 0xc0) != 0x80)
			return 0;
		*code = *code << 6 | (at[i] & 0x3f);
	}
	return *code < least[n] || *code > 0x10ffff || (*code >= 0xd800 && *code < 0xe000) ? 0 : n;
}

/* As wmk_utf8_next(), without the code. */
static inline size_t wmk_utf8_length(const char *text, size_t len)
{
	uint32_t code;

	return wmk_utf8_next(text, len, &code);
}

/* True if the whole text is valid UTF-8. */
static inline bool wmk_utf8_is(const char *text)
{
	size_t left = strlen(text), n = 1;

	for (; left && n; text += n, left -= n)
		n = wmk_utf8_length(text, left);
	return n != 0;
}

/*
 * Return the length of the longest prefix of `text[0..len)` that does not end inside a character. `len` is the position
 * at which the caller cuts a longer text.
 */
static inline size_t wmk_utf8_whole(const char *text, size_t len)
{
	for (size_t back = 1; back < WMK_UTF8_MAX && back <= len; back++) {
		const uint8_t first = (uint8_t)text[len - back];

		if ((first & 0xc0) != 0x80)
			return back < (first < 0xc2   ? 1u
				       : first < 0xe0 ? 2u
				       : first < 0xf0 ? 3u
				       : first < 0xf5 ? 4u
						      : 1u)
				       ? len - back
				       : len;
	}
	return len;
}

#endif
