/* SPDX-License-Identifier: MIT */
/*
 * test_json_text.c - text as JSON: each character is itself or a valid escape, control characters are escaped, and
 * invalid UTF-8 becomes U+FFFD.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/json_text.h"

static size_t encode(char text[4], uint32_t code)
{
	if (code < 0x80) {
		text[0] = (char)code;
		return 1;
	}
	const size_t n = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;

	for (size_t i = n - 1; i; i--, code >>= 6)
		text[i] = (char)(0x80 | (code & 0x3f));
	text[0] = (char)((0xf00u >> n & 0xf0) | code);
	return n;
}

/* Decode a piece as a JSON reader does. */
static uint32_t meaning(const struct wmk_json_piece *piece)
{
	uint32_t code = 0;

	if (piece->bytes[0] != '\\') {
		assert_int_equal(wmk_utf8_next(piece->bytes, piece->n, &code), piece->n);
		assert_true(code >= 0x20 && code != '"' && (code < 0x7f || code >= 0xa0));
		return code;
	}
	if (piece->n == 2) {
		assert_non_null(strchr("\"\\", piece->bytes[1]));
		return (unsigned char)piece->bytes[1];
	}
	assert_int_equal(piece->n, 6);
	assert_int_equal(piece->bytes[1], 'u');
	return (uint32_t)strtoul((char[]){ piece->bytes[2], piece->bytes[3], piece->bytes[4], piece->bytes[5], 0 },
				 NULL, 16);
}

static void every_character_in_json_decodes_to_itself(void **state)
{
	struct wmk_json_piece piece;
	char text[4];

	(void)state;
	for (uint32_t code = 0; code < 0x110000; code++) {
		const size_t n = encode(text, code);

		if (code >= 0xd800 && code < 0xe000) {
			assert_int_equal(wmk_json_piece(text, n, &piece), 1);
			assert_int_equal(meaning(&piece), 0xfffd);
			continue;
		}
		assert_int_equal(wmk_json_piece(text, n, &piece), n);
		assert_int_equal(meaning(&piece), code);
	}
}

/* All pairs of bytes: every byte is consumed, and the output has no control characters. */
static void any_bytes_become_json_without_control_characters(void **state)
{
	struct wmk_json_piece piece;

	(void)state;
	for (unsigned i = 0; i < 65536; i++) {
		const char text[2] = { (char)(i >> 8), (char)i };

		for (size_t at = 0; at < 2;) {
			const size_t n = wmk_json_piece(text + at, 2 - at, &piece);

			assert_in_range(n, 1, 2 - at);
			for (size_t k = 0; k < piece.n; k++)
				assert_true((unsigned char)piece.bytes[k] >= 0x20 && piece.bytes[k] != 0x7f);
			if (n == 1)
				meaning(&piece);
			at += n;
		}
	}
}

static void json_encoder_returns_plain_characters_as_one_piece(void **state)
{
	const char text[] = "plain text\x1b[1m";
	struct wmk_json_piece piece;

	(void)state;
	assert_int_equal(wmk_json_piece(text, sizeof(text) - 1, &piece), 10);
	assert_ptr_equal(piece.bytes, text);
	assert_int_equal(piece.n, 10);
	assert_int_equal(wmk_json_piece(text, 3, &piece), 3);
	assert_int_equal(piece.n, 3);
	assert_int_equal(wmk_json_piece(text + 10, 1, &piece), 1);
	assert_int_equal(meaning(&piece), 0x1b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_character_in_json_decodes_to_itself),
		cmocka_unit_test(any_bytes_become_json_without_control_characters),
		cmocka_unit_test(json_encoder_returns_plain_characters_as_one_piece),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
