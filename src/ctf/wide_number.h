/* SPDX-License-Identifier: MIT */
/*
 * wide_number.h - numbers that may have more than 64 bits. Wide numbers are integers of variable length (LEB128), and
 * integers, booleans, bit arrays, bit maps and floating point numbers with a fixed size above 64 bits.
 *
 * A wide number is used directly in the packet, without a copy. The item of a wide number contains the nearest value of
 * 64 bits, which is enough for lengths, selectors, filters and most readers. If the number does not fit 64 bits,
 * `is_wide` is set, and the functions of wide_number.h return all bits.
 */
#ifndef WMK_CTF_WIDE_NUMBER_H
#define WMK_CTF_WIDE_NUMBER_H

#include "ctf/decode.h"

/* Return whether the operation can decode a number of more than 64 bits. */
static inline bool wmk_ctf_may_be_wide(const struct wmk_ctf_op *op)
{
	return op->code <= WMK_CTF_FLAGS && (!op->width || op->width > 64);
}

/*
 * Read a number that may be wide at the aligned position walk->at, and advance the walk. The function sets all members
 * of *item except `op`, `is_end` and `at`. For a FLOAT, value.f is the nearest double. For a BOOL, the value is 1 if
 * any bit is set. For other operations, value is the number itself or, if is_wide is set, the nearest number of 64
 * bits. The function sets `text` and `len` as described at item->text. -ENODATA. -EPROTO: LEB128 of more than
 * WMK_CTF_WIDTH_MAX bits, or another value depends on a number that is wide.
 */
int wmk_ctf_wide_take(struct wmk_ctf_walk *walk, const struct wmk_ctf_op *op, struct wmk_ctf_item *item);

#define WMK_CTF_WIDE_DIGITS (WMK_CTF_WIDTH_MAX + 2u) /* bytes, for any base */

/*
 * Format an item that may be wide and is not a FLOAT; the function returns the number of digits (A to F in capital
 * letters, as in babeltrace2). Base 10 has a sign. In bases other than 10, the digits show the bits of the number,
 * without a prefix. Base 2 shows all bits; bases 8 and 16 omit leading zeros. For a negative number, the first digit is
 * filled up with copies of the sign bit.
 */
size_t wmk_ctf_wide_digits(const struct wmk_ctf_item *item, unsigned base, char digits[WMK_CTF_WIDE_DIGITS]);

/*
 * Return whether a floating point number has the format of x87: 16 bytes, 12 bytes (i386) or 10 bytes (packed), with
 * all bits of the mantissa stored. According to CTF 1.8.3, section 4.1.7, a `long double` declares LDBL_MANT_DIG
 * mantissa digits, and the remaining bits as exponent.
 */
static inline bool wmk_ctf_is_long_double(uint64_t width, uint64_t mantissa)
{
	return mantissa == 64 && (width == 128 || width == 96 || width == 80);
}

/*
 * Return the number of exponent bits of the binary format of IEEE 754-2008 with that width (table 3.5); 0: no such
 * format.
 */
unsigned wmk_ctf_exponent_bits(uint64_t width);

#endif
