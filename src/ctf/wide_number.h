/* SPDX-License-Identifier: MIT */
/*
 * wide_number.h - numbers that may have more than 64 bits: integers, booleans, bit arrays and maps, and floating point
 * numbers of a larger fixed size, and integers of variable length (LEB128).
 *
 * Such a number stays where it is, in the packet. Its item has its value as far as 64 bits can tell it, which is what
 * lengths, selectors, filters and most readers ask for; where they cannot, `is_wide` is set, and all of it is had from
 * here.
 */
#ifndef WMK_CTF_WIDE_NUMBER_H
#define WMK_CTF_WIDE_NUMBER_H

#include "ctf/decode.h"

/* Is what it decodes such a number? */
static inline bool wmk_ctf_may_be_wide(const struct wmk_ctf_op *op)
{
	return op->code <= WMK_CTF_FLAGS && (!op->width || op->width > 64);
}

/*
 * Take the number of such an operation at walk->at, which is aligned, and step over it. Of *item all is set but `op`,
 * `is_end` and `at`:
 * value.f of a FLOAT, the nearest double; of a BOOL whether any bit is set; else the value or, with is_wide, the
 * nearest of 64 bits; text and len as item->text tells. -ENODATA; -EPROTO: LEB128 of more than WMK_CTF_WIDTH_MAX bits,
 * or another value depends on it and it is_wide.
 */
int wmk_ctf_wide_take(struct wmk_ctf_walk *walk, const struct wmk_ctf_op *op, struct wmk_ctf_item *item);

#define WMK_CTF_WIDE_DIGITS (WMK_CTF_WIDTH_MAX + 2u) /* bytes, for any base */

/*
 * Its digits (as babeltrace2 has them: A to F), of an item that may be wide and is no FLOAT; how many. In base 10 with
 * a sign. Else as the bits are, without a prefix: in base 2 all of them; in base 8 and 16 without zeros in front, where
 * it is negative with its sign to the end of the first digit.
 */
size_t wmk_ctf_wide_digits(const struct wmk_ctf_item *item, unsigned base, char digits[WMK_CTF_WIDE_DIGITS]);

/*
 * Is a number of so many bits, of which those of the mantissa are all there, x87's: of 16 bytes, of i386's 12, or
 * packed into 10? CTF 1.8.3, section 4.1.7, has the digits be LDBL_MANT_DIG and what is left of the bits of a `long
 * double`.
 */
static inline bool wmk_ctf_is_long_double(uint64_t width, uint64_t mantissa)
{
	return mantissa == 64 && (width == 128 || width == 96 || width == 80);
}

/* Bits of the exponent of IEEE 754-2008's binary format of so many bits (table 3.5); 0: there is none. */
unsigned wmk_ctf_exponent_bits(uint64_t width);

#endif
