/* SPDX-License-Identifier: MIT */
/*
 * wide_number.c - numbers that may have more than 64 bits (see wide_number.h). wide_number.c processes a number in
 * limbs of 64 bits, the least significant limb first.
 */
#include "ctf/wide_number.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/error.h"

#define LIMBS (WMK_CTF_WIDTH_MAX / 64 + 1)
#define GROUP 1000000000u          /* decimal digits that are computed together */
#define GROUP_DIGITS 9u

/* ── bits ────────────────────────────────────────────────────────────────────────────────────────────── */

/* Get `n` bits, at most 64, from bit `from` of a number with bits in normal order. */
static uint64_t straight(const struct wmk_ctf_item *item, unsigned from, unsigned n)
{
	const uint8_t *bytes = (const uint8_t *)item->text;
	const unsigned width = (unsigned)item->len;

	return item->op->is_big ? wmk_bits_slow(bytes, item->at + width - from - n, n, true)
				: wmk_bits_slow(bytes, item->at + from, n, false);
}

/*
 * Get `n` bits, at most 64, of a LEB128 number. Each byte contains seven bits of the number, the least significant bits
 * first (CTF 2, variable-length integers).
 */
static uint64_t of_groups(const struct wmk_ctf_item *item, unsigned from, unsigned n)
{
	const uint8_t *bytes = (const uint8_t *)item->text + item->at / 8;
	uint64_t value = 0;

	for (unsigned done = 0; done < n;) {
		const unsigned bit = (from + done) % 7, take = n - done < 7 - bit ? n - done : 7 - bit;

		value |= ((uint64_t)bytes[(from + done) / 7] >> bit & wmk_bits_mask(take)) << done;
		done += take;
	}
	return value;
}

/* Get `n` bits, at most 64, from bit `from` of the number. The number must have at least `from` + `n` bits. */
static uint64_t part(const struct wmk_ctf_item *item, unsigned from, unsigned n)
{
	if (!item->op->width)
		return of_groups(item, from, n);
	if (item->op->is_reversed)
		return wmk_bits_reverse(straight(item, (unsigned)item->len - from - n, n), n);
	return straight(item, from, n);
}

static bool is_negative(const struct wmk_ctf_item *item)
{
	return item->op->is_signed && part(item, (unsigned)item->len - 1, 1);
}

/* Get a 64-bit limb of the number, with sign extension beyond the last bit of the number. */
static uint64_t limb(const struct wmk_ctf_item *item, unsigned i)
{
	const unsigned from = 64 * i, width = (unsigned)item->len;
	const uint64_t sign = is_negative(item) ? UINT64_MAX : 0;
	unsigned n;

	if (from >= width)
		return sign;
	n = width - from < 64 ? width - from : 64;
	return part(item, from, n) | (n < 64 ? sign << n : 0);
}

/* ── values ──────────────────────────────────────────────────────────────────────────────────────────── */

/* Measure the number of bits of the LEB128 number at the position of the walk; the result is a multiple of seven. */
static int measure(const struct wmk_ctf_walk *walk, const struct wmk_ctf_op *op, size_t *bits)
{
	const uint8_t *bytes = walk->in.bytes + walk->at / 8;
	const uint64_t room = walk->at <= walk->in.end ? (walk->in.end - walk->at) / 8 : 0;
	uint64_t n = 0;

	while (n < room && bytes[n] & 0x80)
		if ((++n + 1) * 7 > WMK_CTF_WIDTH_MAX)
			return wmk_error(-EPROTO, "the integer '%.40s' has more than %u bits, at byte %" PRIu64,
					 wmk_or_empty(op->name), WMK_CTF_WIDTH_MAX, walk->at / 8);
	if (n == room)
		return -ENODATA;
	*bits = (size_t)(n + 1) * 7;
	return 0;
}

unsigned wmk_ctf_exponent_bits(uint64_t width)
{
	unsigned __int128 power = 1;
	unsigned bits = 0;

	if (width == 16 || width == 32 || width == 64)
		return width == 16 ? 5 : width == 32 ? 8 : 11;
	if (width < 128 || width % 32 != 0 || width > WMK_CTF_WIDTH_MAX)
		return 0;
	/*
	 * IEEE 754-2008 (table 3.5) defines the number of exponent bits as round(4 log2(width)) - 13. The code computes
	 * half of log2(width^8), which equals 4 log2(width); width^8 has at most 97 bits.
	 */
	for (unsigned i = 0; i < 8; i++)
		power *= width;
	while (power >>= 1)
		bits++;
	return (bits + 1) / 2 - 13;
}

/* Return the nearest double; a subnormal result may have an error of half a unit in the last place. */
static double real(const struct wmk_ctf_item *item)
{
	const unsigned width = (unsigned)item->len, exponent_bits = wmk_ctf_exponent_bits(width),
		       fraction_bits = width - 1 - exponent_bits;
	const uint64_t most = wmk_bits_mask(exponent_bits), exponent = part(item, fraction_bits, exponent_bits);
	const int64_t power = (int64_t)exponent - (int64_t)(most >> 1);
	uint64_t mantissa = part(item, fraction_bits - 63, 63), rest = 0;
	double value;

	for (unsigned at = 0; at < fraction_bits - 63; at += 64)
		rest |= part(item, at, fraction_bits - 63 - at < 64 ? fraction_bits - 63 - at : 64);
	if (exponent == most)
		value = mantissa || rest ? __builtin_nan("") : __builtin_inf();
	else if (!exponent || power < -1200)
		value = 0;
	else if (power > 1100)
		value = __builtin_inf();
	else
		value = __builtin_ldexp((double)(UINT64_C(1) << 63 | mantissa | (rest != 0)), (int)power - 63);
	return part(item, width - 1, 1) ? -value : value;
}

/*
 * Convert a number in the format of x87, in which the first bit of the mantissa is explicit (Intel's manual, volume 1,
 * section 4.2). If the first bit of the mantissa is 0, only a number with exponent 0 is valid.
 */
static double extended(const struct wmk_ctf_item *item)
{
	const uint64_t mantissa = part(item, 0, 64), exponent = part(item, 64, 15);
	double value;

	if (exponent == 0x7fff)
		value = mantissa << 1 ? __builtin_nan("") : __builtin_inf();
	else if (exponent && !(mantissa >> 63))
		value = __builtin_nan("");
	else
		value = __builtin_ldexp((double)mantissa, (int)exponent - 16383 - 63);
	return part(item, 79, 1) ? -value : value;
}

/* Set is_wide, and set the value to the nearest value of 64 bits. */
static void narrow(struct wmk_ctf_item *item)
{
	const unsigned n = (unsigned)(item->len + 63) / 64;
	const uint64_t low = limb(item, 0), sign = is_negative(item) ? UINT64_MAX : 0;

	item->value.u = low;
	/* (if it fits, its upper bits equal the sign of the low 64 bits) */
	item->is_wide = item->op->is_signed && (low >> 63 != sign >> 63);
	for (unsigned i = 1; i < n && !item->is_wide; i++)
		item->is_wide = limb(item, i) != sign;
	if (item->is_wide && item->op->is_signed)
		item->value.u = sign ? (uint64_t)INT64_MIN : INT64_MAX;
	else if (item->is_wide)
		item->value.u = UINT64_MAX;
	if (item->op->code == WMK_CTF_BOOL) {
		item->value.u = low || item->is_wide;
		item->is_wide = false;
	}
}

int wmk_ctf_wide_take(struct wmk_ctf_walk *walk, const struct wmk_ctf_op *op, struct wmk_ctf_item *item)
{
	struct wmk_ctf_item number = {
		.op = op, .text = (const char *)walk->in.bytes, .len = op->width, .at = walk->at
	};
	int err = op->width ? 0 : measure(walk, op, &number.len);

	if (err < 0)
		return err;
	if (walk->at > walk->in.end || op->width > walk->in.end - walk->at)
		return -ENODATA;
	walk->at += op->width ? op->width : number.len / 7 * 8;
	if (op->code == WMK_CTF_FLOAT)
		number.value.f = op->type->is_extended ? extended(&number) : real(&number);
	else
		narrow(&number);
	item->is_wide = number.is_wide;
	item->value = number.value;
	item->text = number.text;
	item->len = number.len;
	if (op->save && item->is_wide)
		return wmk_error(
			-EPROTO,
			"the value of '%.40s', which another field depends on, has more than 64 bits, at byte %" PRIu64,
			wmk_or_empty(op->name), number.at / 8);
	walk->registers[op->save] = item->value.u;     /* (register 0 is unused) */
	return 0;
}

/* ── digits ──────────────────────────────────────────────────────────────────────────────────────────── */

static size_t put_group(char *digits, uint32_t group, bool is_first)
{
	char text[GROUP_DIGITS];
	unsigned from = GROUP_DIGITS;

	for (; group || (from && (!is_first || from == GROUP_DIGITS)); group /= 10)
		text[--from] = (char)('0' + group % 10);
	memcpy(digits, text + from, GROUP_DIGITS - from);
	return GROUP_DIGITS - from;
}

/* Compute decimal digits by repeated division, the last digits first. */
static size_t decimal(const struct wmk_ctf_item *item, char *digits)
{
	uint32_t halves[2 * LIMBS], groups[2 * LIMBS + 2 * LIMBS / 8];
	unsigned n = 2 * (unsigned)((item->len + 63) / 64), n_groups = 0;
	const bool negative = is_negative(item);
	uint64_t carry = negative;
	size_t len = negative;

	for (unsigned i = 0; i < n; i += 2) {
		uint64_t word = limb(item, i / 2);

		word = negative ? ~word + carry : word;
		carry = carry && !word;
		halves[i] = (uint32_t)word;
		halves[i + 1] = (uint32_t)(word >> 32);
	}
	do {
		uint64_t rest = 0;

		for (unsigned i = n; i-- > 0; rest %= GROUP) {
			rest = rest << 32 | halves[i];
			halves[i] = (uint32_t)(rest / GROUP);
		}
		groups[n_groups++] = (uint32_t)rest;
		while (n && !halves[n - 1])
			n--;
	} while (n);
	if (negative)
		digits[0] = '-';
	for (unsigned i = n_groups; i-- > 0;)
		len += put_group(digits + len, groups[i], i + 1 == n_groups);
	return len;
}

size_t wmk_ctf_wide_digits(const struct wmk_ctf_item *item, unsigned base, char digits[WMK_CTF_WIDE_DIGITS])
{
	const unsigned bits = base == 16 ? 4 : base == 8 ? 3 : 1;
	unsigned n = ((unsigned)item->len + bits - 1) / bits;
	size_t len = 0;

	if (base == 10)
		return decimal(item, digits);
	while (n-- > 0) {
		const unsigned from = n * bits, in = from % 64;
		uint64_t digit = limb(item, from / 64) >> in;

		if (in + bits > 64)
			digit |= limb(item, from / 64 + 1) << (64 - in);
		digit &= wmk_bits_mask(bits);
		if (digit || len || base == 2 || !n)
			digits[len++] = "0123456789ABCDEF"[digit];
	}
	return len;
}
