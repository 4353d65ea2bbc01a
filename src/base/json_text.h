/* SPDX-License-Identifier: MIT */
/*
 * json_text.h - encode text as JSON (RFC 8259), piece by piece. Control characters are escaped, so that printed text
 * cannot control a terminal.
 */
#ifndef WMK_BASE_JSON_TEXT_H
#define WMK_BASE_JSON_TEXT_H

#include <stdbool.h>
#include <stdio.h>

#include "base/utf8.h"

struct wmk_json_piece {
	const char *bytes;         /* output: points into the text or to `escape` */
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

/* Return the number of leading bytes that need no escape. */
static inline size_t wmk_json_plain(const char *text, size_t len)
{
	size_t n = 0;

	while (n < len && (unsigned char)(text[n] - 0x20) < 0x5f && text[n] != '"' && text[n] != '\\')
		n++;
	return n;
}

/*
 * Encode the beginning of `text`; `len` (>= 1) bytes of it can be read. An invalid UTF-8 byte becomes U+FFFD. Returns
 * the number of bytes of the text that *piece represents.
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

/* Print `len` bytes of text as a JSON string. An error is stored in `out` (ferror()). */
static inline void wmk_json_quote(FILE *out, const char *text, size_t len)
{
	struct wmk_json_piece piece;

	putc_unlocked('"', out);
	for (size_t n; len; text += n, len -= n) {
		n = wmk_json_piece(text, len, &piece);
		fwrite(piece.bytes, 1, piece.n, out);
	}
	putc_unlocked('"', out);
}

#endif
