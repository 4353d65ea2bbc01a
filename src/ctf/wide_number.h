/* SPDX-License-Identifier: MIT */
/*
 * wide_number.h - numbers that may have more than 64 bits. Such numbers are integers of variable length (LEB128), and
 * integers, booleans, bit arrays, bit maps and floating point numbers with a fixed size above 64 bits.
 *
 * A wide number stays in the packet. The item of a wide number contains the nearest value of 64 bits, which is enough
 * for lengths, selectors, filters and most readers. If the number does not fit 64 bits, `is_wide` is set, and the
 * functions below return all bits.
 */
#ifndef WMK_CTF_WIDE_NUMBER_H
#define WMK_CTF_WIDE_NUMBER_H

#include "ctf/decode.h"

/* Whether the operation can decode a number of more than 64 bits. */
static inline bool wmk_ctf_may_be_wide(const struct wmk_ctf_op *op)
{
	return op->code <= WMK_CTF_FLAGS && (!op->width || op->width > 64);
}

/*
 * Read a number that may be wide, at walk->at, which is aligned, and advance the walk. Sets all of *item except `op`,
 * `is_end` and `at`. For a FLOAT, value.f is the nearest double. For a BOOL, the value is 1 if any bit is set. For
 * other operations, the value is the number or, with is_wide, the nearest number of 64 bits. `text` and `len` are as
 * described at item->text. -ENODATA. -EPROTO: LEB128 of more than WMK_CTF_WIDTH_MAX bits, or another value depends on a
 * number that is wide.
 */
int wmk_ctf_wide_take(struct wmk_ctf_walk *walk, const struct wmk_ctf_op *op, struct wmk_ctf_item *item);

#define WMK_CTF_WIDE_DIGITS (WMK_CTF_WIDTH_MAX + 2u) /* bytes, for any base */

/*
 * Format an item that may be wide and is not a FLOAT; returns the number of digits (A to F, as babeltrace2 prints).
 * Base 10 has a sign. In bases other than 10, the digits show the bits of the number, without a prefix. Base 2 shows
 * all bits; bases 8 and 16 omit leading zeros. For a negative number, copies of the sign bit fill up the first digit.
 */
size_t wmk_ctf_wide_digits(const struct wmk_ctf_item *item, unsigned base, char digits[WMK_CTF_WIDE_DIGITS]);

/*
 * Whether a floating point number has the format of x87: 16 bytes, 12 (i386) or packed into 10, with all bits of the
 * mantissa stored. By CTF 1.8.3, section 4.1.7, a `long double` declares LDBL_MANT_DIG digits and the remaining bits as
 * exponent.
 */
static inline bool wmk_ctf_is_long_double(uint64_t width, uint64_t mantissa)
{
	return mantissa == 64 && (width == 128 || width == 96 || width == 80);
}

/* Exponent bits of the binary format of IEEE 754-2008 with that width (table 3.5); 0: no such format. */
unsigned wmk_ctf_exponent_bits(uint64_t width);

#endif
