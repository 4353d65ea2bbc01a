/* SPDX-License-Identifier: MIT */
/*
 * value_format.h - format single values as babeltrace2 does: numbers, strings with escapes, floating point. Internal to
 * src/read.
 *
 * Each function writes at `p`, where the caller has reserved room (WMK_PRINT_NUMBER bytes for any number), and returns
 * the position after the text. No function writes a NUL, allocates memory, or fails. Any thread.
 *
 *     integer    -12   0xFFE   07777   0b11101      (the last three show the bits, without a sign)
 *     real       like printf's %g
 *     string     \a \b \t \n \v \f \r \e \0 \' \" \? \\, other control characters as \x1f; other bytes unchanged
 */
#ifndef WMK_READ_VALUE_FORMAT_H
#define WMK_READ_VALUE_FORMAT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define WMK_PRINT_NUMBER 72u       /* room for the longest number, 64 binary digits */
#define WMK_PRINT_ESCAPE 4u        /* maximum bytes for one byte of a string */

/* "00" to "99". */
extern const char wmk_print_pairs[201];

/* Return the number of decimal digits of `value`, which is 1 to 20. */
static inline unsigned wmk_print_digits(uint64_t value)
{
	/* The number of bits gives an estimate, because 1233 / 4096 is about the decimal logarithm of 2. */
	static const uint64_t tens[] = { 0,
					 10,
					 100,
					 1000,
					 10000,
					 100000,
					 1000000,
					 10000000,
					 100000000,
					 1000000000,
					 10000000000,
					 100000000000,
					 1000000000000,
					 10000000000000,
					 100000000000000,
					 1000000000000000,
					 10000000000000000,
					 100000000000000000,
					 1000000000000000000,
					 10000000000000000000u };
	const unsigned guess = (64 - (unsigned)__builtin_clzll(value | 1)) * 1233 >> 12;

	return guess + (value >= tens[guess]);
}

static inline char *wmk_print_u64(char *p, uint64_t value)
{
	char *const end = p + wmk_print_digits(value), *at = end;

	for (; value >= 100; value /= 100) {
		at -= 2;
		memcpy(at, wmk_print_pairs + 2 * (value % 100), 2);
	}
	if (value >= 10)
		memcpy(at - 2, wmk_print_pairs + 2 * value, 2);
	else
		at[-1] = (char)('0' + value);
	return end;
}

static inline char *wmk_print_s64(char *p, int64_t value)
{
	if (value >= 0)
		return wmk_print_u64(p, (uint64_t)value);
	*p = '-';
	return wmk_print_u64(p + 1, -(uint64_t)value);
}

/* Write nine digits with leading zeros, as for the nanoseconds of a second. */
static inline char *wmk_print_nine(char *p, uint32_t value)
{
	const uint32_t low = value % 10000, rest = value / 10000, middle = rest % 10000;

	p[0] = (char)('0' + rest / 10000);
	memcpy(p + 1, wmk_print_pairs + 2 * (middle / 100), 2);
	memcpy(p + 3, wmk_print_pairs + 2 * (middle % 100), 2);
	memcpy(p + 5, wmk_print_pairs + 2 * (low / 100), 2);
	memcpy(p + 7, wmk_print_pairs + 2 * (low % 100), 2);
	return p + 9;
}

/* Capital digits, without "0x". */
static inline char *wmk_print_hex(char *p, uint64_t value)
{
	const unsigned digits = (67 - (unsigned)__builtin_clzll(value | 1)) / 4;

	for (unsigned i = digits; i-- > 0; value >>= 4)
		p[i] = "0123456789ABCDEF"[value & 15];
	return p + digits;
}

/* Without the leading "0". */
char *wmk_print_octal(char *p, uint64_t value);
/* Write the last `width` bits of the value without "0b"; `width` is 1 to 64. */
char *wmk_print_binary(char *p, uint64_t value, unsigned width);
/* Write at least `width` digits, with leading zeros. */
char *wmk_print_wide_u64(char *p, uint64_t value, unsigned width);
/* Like %g; at most 16 bytes. */
char *wmk_print_real(char *p, double value);

/*
 * Write the text between the quotes of a string. The caller reserves WMK_PRINT_ESCAPE times `len` bytes, and 8 more
 * bytes.
 */
char *wmk_print_escaped(char *p, const char *s, size_t len);
/*
 * Print a name without quotes. Only control characters are escaped, so that a name can neither start a new line nor
 * control a terminal.
 */
char *wmk_print_name(char *p, const char *s, size_t len);
/*
 * Decode the next character of a text in UTF-16 or UTF-32 (enum wmk_encoding). Returns the number of bytes of the
 * character; 0 at the end or at U+0000. Invalid input gives U+FFFD.
 */
size_t wmk_print_character(const char *s, size_t len, unsigned encoding, uint32_t *character);
/*
 * Convert a text of any encoding to UTF-8 with a NUL at the end; the result contains as many complete characters as
 * fit. Returns the length.
 */
size_t wmk_print_narrow(char *to, size_t size, const char *s, size_t len, unsigned encoding);
/* Write a character as UTF-8, with an escape if needed. At most 4 bytes. */
char *wmk_print_utf8(char *p, uint32_t character);
/* Write a character as UTF-8, without escapes, in 1 to 4 bytes. */
char *wmk_print_encode(char *p, uint32_t character);

#endif
