/* SPDX-License-Identifier: MIT */
/*
 * bits.h - read numbers from the bits of a packet. src/ctf and the inline functions of decode.h use it. The caller has
 * checked that the bits are within the packet.
 *
 * Bit i of a little-endian number at position `at` is bit `at` + i of the stream. In a little-endian stream, the first
 * bit of each byte is the least significant bit of the byte. A big-endian number begins with its most significant bit,
 * and each of its bytes begins with the most significant bit (CTF 1.8.3, section 4.1.5).
 */
#ifndef WMK_CTF_BITS_H
#define WMK_CTF_BITS_H

#include <endian.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

static inline uint64_t wmk_bits_reverse(uint64_t value, unsigned width)
{
	uint64_t reversed = 0;

	for (unsigned i = 0; i < width; i++, value >>= 1)
		reversed = reversed << 1 | (value & 1);
	return reversed;
}

static inline uint64_t wmk_bits_mask(unsigned width)
{
	return width >= 64 ? UINT64_MAX : ((uint64_t)1 << width) - 1;
}

/* Read a number of 1 to 64 bits at any position. The function accesses only the bytes that contain the number. */
static inline uint64_t wmk_bits_slow(const uint8_t *bytes, uint64_t at, unsigned width, bool is_big)
{
	uint64_t value = 0;

	for (unsigned done = 0; done < width;) {
		const unsigned from = (unsigned)((at + done) % 8);
		const unsigned n = width - done < 8 - from ? width - done : 8 - from;
		const uint8_t byte = bytes[(at + done) / 8];

		if (is_big)
			value = value << n | ((uint64_t)(byte >> (8 - from - n)) & wmk_bits_mask(n));
		else
			value |= ((uint64_t)(byte >> from) & wmk_bits_mask(n)) << done;
		done += n;
	}
	return value;
}

/*
 * `end` is the limit of readable memory, in bits. If 8 bytes are readable from the number's first byte, the function
 * needs only one load.
 */
static inline uint64_t wmk_bits_get(const uint8_t *bytes, uint64_t at, unsigned width, bool is_big, uint64_t end)
{
	const unsigned from = (unsigned)(at % 8);
	uint64_t value;

	if (__builtin_expect(from + width > 64 || at - from + 64 > end, 0))
		return wmk_bits_slow(bytes, at, width, is_big);
	memcpy(&value, bytes + at / 8, sizeof(value));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	value = __builtin_bswap64(value);
#endif
	if (is_big)
		return __builtin_bswap64(value) << from >> (64 - width);
	return value >> from & wmk_bits_mask(width);
}

/*
 * Read a number that consists of whole bytes and has 64 - `shift` bits. If `is_signed` is true, the result is
 * sign-extended. The 8 bytes that follow the start of the number must be readable.
 */
static inline uint64_t wmk_bits_load(const uint8_t *bytes, uint64_t at, unsigned shift, bool is_big, bool is_signed)
{
	uint64_t value;

	memcpy(&value, bytes + at / 8, sizeof(value));
	value = is_big ? be64toh(value) : le64toh(value) << shift;
	return is_signed ? (uint64_t)((int64_t)value >> shift) : value >> shift;
}

static inline int64_t wmk_bits_sign(uint64_t value, unsigned width)
{
	return (int64_t)(value << (64 - width)) >> (64 - width);
}

#define WMK_BITS_NEAR 64u            /* bytes */
#define WMK_BITS_FAR UINT64_MAX

/*
 * Return the number of bytes before the first NUL. The result is WMK_BITS_FAR if the first WMK_BITS_NEAR bytes contain
 * no NUL, if `n` is less than WMK_BITS_NEAR, or on machines without SSE2. The function makes no calls.
 */
static inline uint64_t wmk_bits_text_near(const uint8_t *bytes, uint64_t n)
{
#ifdef __SSE2__
	for (uint64_t i = 0; i < WMK_BITS_NEAR && n >= WMK_BITS_NEAR; i += 16) {
		const __m128i part = _mm_loadu_si128((const __m128i *)(const void *)(bytes + i));
		const uint64_t nuls = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(part, _mm_setzero_si128()));

		if (nuls)
			return i + (unsigned)__builtin_ctzll(nuls);
	}
#else
	(void)bytes, (void)n;
#endif
	return WMK_BITS_FAR;
}

/* Return the number of bytes before the first NUL within `n` bytes, or `n` if there is no NUL. */
static inline uint64_t wmk_bits_text(const uint8_t *bytes, uint64_t n)
{
	const uint64_t near = wmk_bits_text_near(bytes, n);

	return near != WMK_BITS_FAR ? near : strnlen((const char *)bytes, n);
}

static inline uint64_t wmk_bits_align(uint64_t at, uint32_t align)
{
	return (at + align - 1) & -(uint64_t)align;
}

#endif
