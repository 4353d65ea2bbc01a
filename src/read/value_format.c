/* SPDX-License-Identifier: MIT */
/*
 * value_format.c - format single values (see value_format.h).
 */
#include "read/value_format.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>

#include "schema/schema.h"

const char wmk_print_pairs[201] =
	"0001020304050607080910111213141516171819" "2021222324252627282930313233343536373839"
	"4041424344454647484950515253545556575859" "6061626364656667686970717273747576777879"
	"8081828384858687888990919293949596979899";

char *wmk_print_octal(char *p, uint64_t value)
{
	const unsigned digits = (66 - (unsigned)__builtin_clzll(value | 1)) / 3;

	for (unsigned i = digits; i-- > 0; value >>= 3)
		p[i] = (char)('0' + (value & 7));
	return p + digits;
}

char *wmk_print_binary(char *p, uint64_t value, unsigned width)
{
	for (unsigned i = width; i-- > 0; value >>= 1)
		p[i] = (char)('0' + (value & 1));
	return p + width;
}

char *wmk_print_wide_u64(char *p, uint64_t value, unsigned width)
{
	for (unsigned digits = wmk_print_digits(value); digits < width; digits++)
		*p++ = '0';
	return wmk_print_u64(p, value);
}

/* ── floating point ──────────────────────────────────────────────────────────────────────────────────── */

/*
 * Print the six decimal digits `digits` without trailing zeros after the point. The first digit has the weight 10 to
 * the power of `exponent`; `exponent` is -4 to 5.
 */
static char *place_digits(char *p, uint32_t digits, int exponent)
{
	char six[6];
	int n = 6, i = 0;

	memcpy(six, wmk_print_pairs + 2 * (digits / 10000), 2);
	memcpy(six + 2, wmk_print_pairs + 2 * (digits / 100 % 100), 2);
	memcpy(six + 4, wmk_print_pairs + 2 * (digits % 100), 2);
	while (n > 1 && six[n - 1] == '0')
		n--;
	if (exponent >= 0) {
		for (; i <= exponent; i++)
			*p++ = six[i];
		if (i < n)
			*p++ = '.';
	} else {
		memcpy(p, "0.000", 5);
		p += 1 - exponent;
	}
	for (; i < n; i++)
		*p++ = six[i];
	return p;
}

/*
 * Compute the six significant digits of a value that %g prints without an exponent. The product of the value's 53 bits
 * and a power of ten has at most 84 bits. The six digits result from a right shift of the product. The result is exact
 * and rounded as in printf: a tie is rounded to the even digit. False: an exponent is needed.
 */
static bool plain_digits(double value, uint32_t *digits, int *exponent)
{
	static const double powers[] = { 1e-4, 1e-3, 1e-2, 1e-1, 1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6 };
	static const uint32_t scales[] = { 1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000 };
	unsigned __int128 product, rest, half;
	unsigned power = 0, shift;
	uint64_t bits;

	if (!(value >= powers[0] && value < powers[10]))
		return false;
	while (value >= powers[power + 1])
		power++;
	memcpy(&bits, &value, sizeof(bits));
	shift = 1075 - (unsigned)(bits >> 52);     /* the value is its 53 bits, shifted right by this: 33 to 66 */
	product = (unsigned __int128)((bits & ((1ull << 52) - 1)) | 1ull << 52) * scales[9 - power];
	half = (unsigned __int128)1 << (shift - 1);
	rest = product & ((half << 1) - 1);
	*digits = (uint32_t)(product >> shift);
	*digits += rest > half || (rest == half && (*digits & 1));
	*exponent = (int)power - 4;
	if (*digits == 1000000) {
		*digits = 100000;
		++*exponent;
	}
	return *exponent <= 5;
}

char *wmk_print_real(char *p, double value)
{
	const double size = fabs(value);
	uint32_t digits;
	int exponent, n;

	if (size == 0) {
		if (signbit(value))
			*p++ = '-';
		*p++ = '0';
		return p;
	}
	if (plain_digits(size, &digits, &exponent)) {
		if (value < 0)
			*p++ = '-';
		return place_digits(p, digits, exponent);
	}
	n = snprintf(p, WMK_PRINT_NUMBER, "%g", value);
	return p + (n > 0 ? n : 0);
}

/* ── strings ─────────────────────────────────────────────────────────────────────────────────────────── */

/* The character that follows the backslash in an escape sequence; 0: no escape; 'x': two hexadecimal digits follow. */
static const char escapes[256] = {
	[0] = '0',    [1 ... 6] = 'x', ['\a'] = 'a', ['\b'] = 'b',      ['\t'] = 't', ['\n'] = 'n',
	['\v'] = 'v', ['\f'] = 'f',    ['\r'] = 'r', [14 ... 26] = 'x', [27] = 'e',   [28 ... 31] = 'x',
	['"'] = '"',  ['\''] = '\'',   ['?'] = '?',  ['\\'] = '\\',     [127] = 'x',
};

static inline char *escape(char *p, unsigned char c)
{
	const char how = escapes[c];

	*p++ = '\\';
	*p++ = how;
	if (how == 'x') {
		*p++ = "0123456789abcdef"[c >> 4];
		*p++ = "0123456789abcdef"[c & 15];
	}
	return p;
}

#define EACH 0x0101010101010101ull /* times a byte's value: that byte in each of eight bytes */

/*
 * Return whether one of eight bytes must be escaped. (A byte is less than n if its highest bit is clear, and the
 * subtraction of n sets that bit. A borrow comes only from a lower byte that needs an escape.)
 */
static inline bool any_escape(uint64_t eight)
{
	const uint64_t quote = eight ^ EACH * '"', single = eight ^ EACH * '\'', ask = eight ^ EACH * '?',
		       back = eight ^ EACH * '\\', rubout = eight ^ EACH * 127;
	uint64_t found = (eight - EACH * ' ') & ~eight;

	found |= ((quote - EACH) & ~quote) | ((single - EACH) & ~single) | ((ask - EACH) & ~ask) |
		 ((back - EACH) & ~back) | ((rubout - EACH) & ~rubout);
	return found & EACH << 7;
}

char *wmk_print_escaped(char *p, const char *s, size_t len)
{
	uint64_t eight;

	while (len >= sizeof(eight)) {
		memcpy(&eight, s, sizeof(eight));
		if (__builtin_expect(!any_escape(eight), 1)) {
			memcpy(p, &eight, sizeof(eight));
			p += sizeof(eight);
		} else {
			for (size_t i = 0; i < sizeof(eight); i++) {
				if (escapes[(unsigned char)s[i]])
					p = escape(p, (unsigned char)s[i]);
				else
					*p++ = s[i];
			}
		}
		s += sizeof(eight);
		len -= sizeof(eight);
	}
	for (; len; len--, s++) {
		if (escapes[(unsigned char)*s])
			p = escape(p, (unsigned char)*s);
		else
			*p++ = *s;
	}
	return p;
}

char *wmk_print_name(char *p, const char *s, size_t len)
{
	for (; len; len--, s++) {
		if ((unsigned char)*s < ' ' || *s == 127)
			p = escape(p, (unsigned char)*s);
		else
			*p++ = *s;
	}
	return p;
}

/* ── other encodings ─────────────────────────────────────────────────────────────────────────────────── */

#define NO_CHARACTER 0xfffdu

static uint32_t unit_at(const unsigned char *s, unsigned size, bool is_big)
{
	uint32_t unit = 0;

	for (unsigned i = 0; i < size; i++)
		unit = unit << 8 | s[is_big ? i : size - 1 - i];
	return unit;
}

size_t wmk_print_character(const char *s, size_t len, unsigned encoding, uint32_t *character)
{
	const unsigned size = encoding <= WMK_ENCODING_UTF16BE ? 2 : 4;
	const bool is_big = encoding == WMK_ENCODING_UTF16BE || encoding == WMK_ENCODING_UTF32BE;
	const unsigned char *bytes = (const unsigned char *)s;
	uint32_t unit, second;

	if (len < size) {
		*character = NO_CHARACTER;     /* truncated */
		return len;
	}
	unit = unit_at(bytes, size, is_big);
	if (!unit)
		return 0;
	*character = unit;
	if (size == 2 && unit >= 0xd800 && unit < 0xdc00 && len >= 4) {
		second = unit_at(bytes + 2, 2, is_big);
		if (second >= 0xdc00 && second < 0xe000) {
			*character = 0x10000 + ((unit - 0xd800) << 10) + (second - 0xdc00);
			return 4;
		}
	}
	if (unit > 0x10ffff || (unit >= 0xd800 && unit < 0xe000))
		*character = NO_CHARACTER;
	return size;
}

size_t wmk_print_narrow(char *to, size_t size, const char *s, size_t len, unsigned encoding)
{
	char bytes[4], *p = to;
	uint32_t character;
	size_t taken, n;

	if (encoding == WMK_ENCODING_UTF8) {
		n = len < size ? len : size - 1;
		while (n < len && n && ((unsigned char)s[n] & 0xc0) == 0x80)
			n--;
		memcpy(to, s, n);
		to[n] = '\0';
		return n;
	}
	for (; (taken = wmk_print_character(s, len, encoding, &character)) != 0; s += taken, len -= taken) {
		n = (size_t)(wmk_print_encode(bytes, character) - bytes);
		if (n >= size - (size_t)(p - to))
			break;
		memcpy(p, bytes, n);
		p += n;
	}
	*p = '\0';
	return (size_t)(p - to);
}

char *wmk_print_utf8(char *p, uint32_t c)
{
	return c < 0x80 && escapes[c] ? escape(p, (unsigned char)c) : wmk_print_encode(p, c);
}

char *wmk_print_encode(char *p, uint32_t c)
{
	if (c < 0x80) {
		*p++ = (char)c;
		return p;
	}
	if (c < 0x800) {
		*p++ = (char)(0xc0 | c >> 6);
	} else {
		if (c < 0x10000) {
			*p++ = (char)(0xe0 | c >> 12);
		} else {
			*p++ = (char)(0xf0 | c >> 18);
			*p++ = (char)(0x80 | (c >> 12 & 0x3f));
		}
		*p++ = (char)(0x80 | (c >> 6 & 0x3f));
	}
	*p++ = (char)(0x80 | (c & 0x3f));
	return p;
}
