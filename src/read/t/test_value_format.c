/* SPDX-License-Identifier: MIT */
/*
 * test_value_format.c - unit tests of value_format.h: numbers are compared with printf, strings with a simple copy of
 * the rules.
 */
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/array.h"
#include "read/value_format.h"
#include "schema/schema.h"

static uint64_t seed;

static uint64_t any(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static unsigned rounds(unsigned n)
{
	const char *percent = getenv("WMK_ROUNDS_PERCENT");
	unsigned long part = percent ? strtoul(percent, NULL, 10) : 10;

	return (unsigned)(n * part / 100 + 1);
}

/* `end` is the end of the text at `text`. */
static void same(char *text, char *end, const char *wanted)
{
	assert_true(end >= text && end < text + WMK_PRINT_NUMBER + 8);
	*end = '\0';
	assert_string_equal(text, wanted);
}

static void check_number(uint64_t value)
{
	char text[128], wanted[128];
	int len;

	snprintf(wanted, sizeof(wanted), "%" PRIu64, value);
	same(text, wmk_print_u64(text, value), wanted);
	assert_int_equal(wmk_print_digits(value), strlen(wanted));
	snprintf(wanted, sizeof(wanted), "%" PRId64, (int64_t)value);
	same(text, wmk_print_s64(text, (int64_t)value), wanted);
	snprintf(wanted, sizeof(wanted), "%" PRIX64, value);
	same(text, wmk_print_hex(text, value), wanted);
	snprintf(wanted, sizeof(wanted), "%" PRIo64, value);
	same(text, wmk_print_octal(text, value), wanted);
	snprintf(wanted, sizeof(wanted), "%020" PRIu64, value);
	same(text, wmk_print_wide_u64(text, value, 20), wanted);
	snprintf(wanted, sizeof(wanted), "%09u", (unsigned)(value % 1000000000));
	same(text, wmk_print_nine(text, (uint32_t)(value % 1000000000)), wanted);
	for (len = 0; len < 64; len++)
		wanted[len] = value >> (63 - len) & 1 ? '1' : '0';
	wanted[len] = '\0';
	same(text, wmk_print_binary(text, value, 64), wanted);
	same(text, wmk_print_binary(text, value, 5), wanted + 59);
}

static void printed_integers_equal_those_of_printf(void **state)
{
	uint64_t power = 1;

	(void)state;
	for (unsigned i = 0; i < 20; i++, power *= 10) {
		check_number(power - 1);
		check_number(power);
		check_number(power + 1);
	}
	for (unsigned i = 0; i < 64; i++) {
		check_number(((uint64_t)1 << i) - 1);
		check_number((uint64_t)1 << i);
		check_number(-((uint64_t)1 << i));
	}
	check_number(UINT64_MAX);
	for (unsigned i = rounds(1000000); i-- > 0;)
		check_number(any() >> any() % 64);
}

static void check_real(double value)
{
	char text[128], wanted[128];

	snprintf(wanted, sizeof(wanted), "%g", value);
	same(text, wmk_print_real(text, value), wanted);
}

static void printed_reals_equal_those_of_printf(void **state)
{
	static const double some[] = {
		0,           0.1,      0.5,       1,        10,       99999.95,     999999,
		999999.4999, 999999.5, 1e6,       1e5,      1e-4,     9.9999949e-5, 0.00012345650,
		1e300,       5e-324,   0.1 + 0.2, 123456.5, 123457.5, 0.0001234565, 2.5,
		1.5,         1e15,     INFINITY,  NAN
	};
	double value;

	(void)state;
	for (size_t i = 0; i < WMK_ARRAY_LEN(some); i++) {
		check_real(some[i]);
		check_real(-some[i]);
		check_real(nextafter(some[i], 0));
		check_real(nextafter(some[i], 1e9));
		check_real((float)some[i]);
	}
	for (unsigned i = rounds(1000000); i-- > 0;) {
		uint64_t bits = any();

		memcpy(&value, &bits, sizeof(value));
		check_real(value);
		/* Values without an exponent: any, and ties, which end with a 5. */
		check_real(ldexp((double)(any() >> 11), -(int)(33 + any() % 34)));
		check_real(((double)(any() % 2000000) + 0.5) / (1 << any() % 12));
		check_real((double)(int64_t)(any() % 4000000) / 1000 - 2000);
	}
}

/* The rules of value_format.h. */
static char *plain(char *p, unsigned char c)
{
	static const char from[] = "\a\b\t\n\v\f\r\033\"'?\\", to[] = "abtnvfre\"'?\\";
	const char *at = c ? strchr(from, c) : NULL;

	if (c == 0 || at)
		return p + sprintf(p, "\\%c", c ? to[at - from] : '0');
	if (c < ' ' || c == 127)
		return p + sprintf(p, "\\x%02x", c);
	*p = (char)c;
	return p + 1;
}

static void printed_strings_are_escaped(void **state)
{
	char s[40], text[256], wanted[256], *p;

	(void)state;
	for (unsigned c = 0; c < 256; c++) {
		for (size_t len = 1; len < 20; len++) {
			for (size_t at = 0; at < len; at++) {
				memset(s, c == 'e' ? 'f' : 'e', len);
				s[at] = (char)c;
				p = wanted;
				for (size_t i = 0; i < len; i++)
					p = plain(p, (unsigned char)s[i]);
				*p = '\0';
				*wmk_print_escaped(text, s, len) = '\0';
				assert_string_equal(text, wanted);
			}
		}
	}
	for (unsigned i = rounds(1000000); i-- > 0;) {
		size_t len = any() % sizeof(s);

		p = wanted;
		for (size_t j = 0; j < len; j++) {
			s[j] = (char)(any() % 8 ? any() % 128 : any());
			p = plain(p, (unsigned char)s[j]);
		}
		*p = '\0';
		*wmk_print_escaped(text, s, len) = '\0';
		assert_string_equal(text, wanted);
	}
	*wmk_print_name(text, "a\"b\\c'?\n\033\177\xff", 11) = '\0';
	assert_string_equal(text, "a\"b\\c'?\\n\\e\\x7f\xff");
}

static const char *utf8_of(const char *s, size_t len, unsigned encoding)
{
	static char text[256];
	char *p = text;
	uint32_t character;
	size_t taken;

	while ((taken = wmk_print_character(s, len, encoding, &character)) != 0) {
		assert_true(taken <= len);
		p = wmk_print_utf8(p, character);
		s += taken;
		len -= taken;
	}
	*p = '\0';
	return text;
}

static void strings_of_each_encoding_are_printed_as_utf8(void **state)
{
	(void)state;
	assert_string_equal(utf8_of("a\0\xe9\0\xac\x20\x3d\xd8\0\xde", 10, WMK_ENCODING_UTF16LE),
			    "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
	assert_string_equal(utf8_of("\0a\0\xe9\x20\xac\xd8\x3d\xde\0", 10, WMK_ENCODING_UTF16BE),
			    "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
	assert_string_equal(utf8_of("a\0\0\0\0\xf6\1\0", 8, WMK_ENCODING_UTF32LE), "a\xf0\x9f\x98\x80");
	assert_string_equal(utf8_of("\0\0\0a\0\1\xf6\0", 8, WMK_ENCODING_UTF32BE), "a\xf0\x9f\x98\x80");
	/*
	 * A lone first and second half of a pair, a truncated pair, half a unit, a value above the last character; the
	 * end.
	 */
	assert_string_equal(utf8_of("\x3d\xd8"
				    "a\0\0\xdc"
				    "\x3d\xd8",
				    8, WMK_ENCODING_UTF16LE),
			    "\xef\xbf\xbd"
			    "a\xef\xbf\xbd\xef\xbf\xbd");
	assert_string_equal(utf8_of("b\0c", 3, WMK_ENCODING_UTF16LE), "b\xef\xbf\xbd");
	assert_string_equal(utf8_of("\0\0\x11\0\0\xd8\0\0", 8, WMK_ENCODING_UTF32LE), "\xef\xbf\xbd\xef\xbf\xbd");
	assert_string_equal(utf8_of("?\0\n\0\0\0b\0", 8, WMK_ENCODING_UTF16LE), "\\?\\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(printed_integers_equal_those_of_printf),
		cmocka_unit_test(printed_reals_equal_those_of_printf),
		cmocka_unit_test(printed_strings_are_escaped),
		cmocka_unit_test(strings_of_each_encoding_are_printed_as_utf8),
	};
	const char *given = getenv("WMK_SEED");

	seed = given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL) * 2654435761u + 1;
	printf("seed %" PRIu64 "\n", seed);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
