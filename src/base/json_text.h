/* SPDX-License-Identifier: MIT */
/*
 * json_text.h - texts as JSON has them (RFC 8259), piece by piece. Controls are escaped: what is printed cannot steer a
 * terminal.
 */
#ifndef WMK_BASE_JSON_TEXT_H
#define WMK_BASE_JSON_TEXT_H

#include <stdbool.h>
#include <stdio.h>

#include "base/utf8.h"

struct wmk_json_piece {
	const char *bytes;         /* what is to be written: of the text itself, or below */
	size_t n;
	char escape[8];
};

static inline bool wmk_json_is_escaped(uint32_t code)
{
	return code == '"' || code == '\\' || code < 0x20 || (code >= 0x7f && code < 0xa0);
}

static inline void wmk_json_escape(struct wmk_json_piece *piece, uint32_t code)
{
	piece->bytes = piece->escape;
	piece->n = (size_t)snprintf(piece->escape, sizeof(piece->escape),
				    code == '"' || code == '\\' ? "\\%c" : "\\u%04x", code & 0xffff);
}

/* How many of the bytes from here on stand for themselves. */
static inline size_t wmk_json_plain(const char *text, size_t len)
{
	size_t n = 0;

	while (n < len && (unsigned char)(text[n] - 0x20) < 0x5f && text[n] != '"' && text[n] != '\\')
		n++;
	return n;
}

/*
 * How the beginning of the text is written, of which `len` (>= 1) bytes are there; what is no UTF-8 is U+FFFD. The
 * bytes of the text that this was.
 */
static inline size_t wmk_json_piece(const char *text, size_t len, struct wmk_json_piece *piece)
{
	size_t n = wmk_json_plain(text, len);
	uint32_t code = ' ';

	piece->bytes = text;
	piece->n = n ? n : (n = wmk_utf8_next(text, len, &code));
	if (n == 0) {
		piece->bytes = "\xef\xbf\xbd";
		piece->n = 3;
	} else if (wmk_json_is_escaped(code)) {
		wmk_json_escape(piece, code);
	}
	return n ? n : 1;
}

#endif
