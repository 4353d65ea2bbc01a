/* SPDX-License-Identifier: MIT */
/*
 * stage.h - collect the values of a record in the form that waymark_record() takes: whole words, and references.
 *
 * All staging functions are inlined into the enabled block. Positions of staged values depend on types only, so the
 * optimiser folds every shift and test. A u32, a u64 and a double become three full-word stores, without byte-wise
 * stores that would stall a later wide load.
 */
#ifndef WAYMARK_DETAIL_STAGE_H
#define WAYMARK_DETAIL_STAGE_H

#include <waymark/detail/abi.h>
#include <waymark/detail/call.h>
#include <waymark/detail/pp.h>

#define WMK_INLINE static inline __attribute__((always_inline, unused))

struct wmk_stage {
	uint64_t *words;
	struct waymark_ref *refs;
	uint64_t acc;             /* the word that is being built */
	unsigned bits;            /* used bits of acc, 0 to 63 */
	unsigned n_words, n_refs;
};

WMK_INLINE void wmk_stage_scalar(struct wmk_stage *s, uint64_t value, unsigned width)
{
	if (width < 64)
		value &= (UINT64_C(1) << (width & 63)) - 1;
	s->acc |= value << s->bits;
	if (s->bits + width < 64) {
		s->bits += width;
		return;
	}
	s->words[s->n_words++] = s->acc;
	s->acc = s->bits ? value >> ((64 - s->bits) & 63) : 0;
	s->bits = s->bits + width - 64;
}

/* End a run of scalars: the unused bytes of the last word are zero. */
WMK_INLINE void wmk_stage_flush(struct wmk_stage *s)
{
	if (s->bits)
		s->words[s->n_words++] = s->acc;
	s->acc = 0;
	s->bits = 0;
}

WMK_INLINE void wmk_stage_ref(struct wmk_stage *s, const void *base, size_t len)
{
	wmk_stage_flush(s);
	s->refs[s->n_refs].base = base;
	s->refs[s->n_refs].len = len;
	s->n_refs++;
}

WMK_INLINE void wmk_stage_record(struct wmk_stage *s, struct waymark_desc *desc)
{
	wmk_stage_flush(s);
	wmk_call_record(desc, s->n_words ? s->words : WMK_NULL, s->n_refs ? s->refs : WMK_NULL);
}

/* The bit pattern of a floating point value. */
WMK_INLINE uint64_t wmk_float_bits(float value)
{
	uint32_t bits;

	__builtin_memcpy(&bits, &value, sizeof(bits));
	return bits;
}

WMK_INLINE uint64_t wmk_double_bits(double value)
{
	uint64_t bits;

	__builtin_memcpy(&bits, &value, sizeof(bits));
	return bits;
}

#endif
