/* SPDX-License-Identifier: MIT */
/* utf8.h - characters of UTF-8 (RFC 3629). */
#ifndef WMK_CTL_UTF8_H
#define WMK_CTL_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * The bytes of the character at `text`, of which `len` (>= 1) are there, and its code; 0 when it is none: overlong, a surrogate, past
 * U+10FFFF, cut.
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

/* All of it is. */
static inline bool wmk_utf8_is(const char *text)
{
	size_t left = strlen(text), n = 1;
	uint32_t code;

	for (; left && n; text += n, left -= n)
		n = wmk_utf8_next(text, left, &code);
	return n != 0;
}

#endif
