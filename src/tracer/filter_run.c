/* SPDX-License-Identifier: MIT */
/*
 * filter_run.c - evaluate filters on the recording path (see filter.h). No lock, no allocation. Every value that is
 * read from a block is checked.
 */
#include <errno.h>
#include <string.h>

#include "base/testpoint.h"
#include "tracer/compiler.h"
#include "tracer/context.h"
#include "tracer/filter_block.h"
#include "tracer/filter_run.h"

/* Limit of a compared text: no channel records a longer string. */
#define TEXT_MAX 65536u

struct filter_run {
	struct wmk_filter_values values;
	char procname[16];
};

static uint64_t swapped(uint64_t value, unsigned bytes)
{
	switch (bytes) {
	case 2: return __builtin_bswap16((uint16_t)value);
	case 4: return __builtin_bswap32((uint32_t)value);
	case 8: return __builtin_bswap64(value);
	default: return value;
	}
}

/* Load a scalar as 64 bits: an integer, or the bits of a double. */
static inline uint64_t scalar(const void *from, struct wmk_filter_location place)
{
	uint64_t value = 0;
	uint8_t v8;
	uint16_t v16;
	uint32_t v32;
	float f;
	double d;

	switch (place.bytes) {
	case 1: memcpy(&v8, from, 1); value = v8; break;
	case 2: memcpy(&v16, from, 2); value = v16; break;
	case 4: memcpy(&v32, from, 4); value = v32; break;
	default: memcpy(&value, from, 8); break;
	}
	if (place.is_swapped)
		value = swapped(value, place.bytes);
	if (place.is_double && place.bytes == 4) {
		v32 = (uint32_t)value;
		memcpy(&f, &v32, 4);
		d = (double)f;
		memcpy(&value, &d, 8);
	} else if (place.is_signed && place.bytes < 8) {
		const unsigned shift = 64 - 8u * place.bytes;

		value = (uint64_t)((int64_t)(value << shift) >> shift);
	}
	return value;
}

/* Return the operation of the event for the reference `ref`, or NULL if the reference does not exist. */
static const struct wmk_op *op_of(const struct wmk_event *event, unsigned ref)
{
	return ref < event->n_refs ? &event->ops[event->refs[ref].op] : NULL;
}

/*
 * Load an element. Returns false if the array element does not exist. The elements of a NULL array are zeros, as in the
 * record.
 */
static bool element(const struct wmk_event *event, const struct waymark_ref *refs, struct wmk_filter_location place,
		    uint64_t *value)
{
	const struct wmk_op *op = op_of(event, place.ref);
	const struct waymark_ref *ref = &refs[place.ref];
	size_t len;

	if (!op || (op->kind != WMK_OP_SEQ && op->kind != WMK_OP_ARRAY && op->kind != WMK_OP_BLOB))
		return false;
	len = op->kind == WMK_OP_ARRAY ? op->bytes : ref->base ? ref->len : 0;
	if (place.at > len || place.bytes > len - place.at)
		return false;
	*value = ref->base ? scalar((const char *)ref->base + place.at, place) : 0;
	return true;
}

/* Find the text of a reference by the rules of record.c, but without the limit of the channel. */
static bool text(const struct wmk_event *event, const uint64_t *words, const struct waymark_ref *refs,
		 struct wmk_filter_location place, struct wmk_filter_text *is)
{
	const struct wmk_op *op = op_of(event, place.ref);
	const struct waymark_ref *ref = &refs[place.ref];
	size_t max = TEXT_MAX;
	int32_t precision;

	if (!op || op->kind < WMK_OP_STRING || op->kind > WMK_OP_TEXT)
		return false;
	if (!ref->base) {
		*is = (struct wmk_filter_text){ "(null)", 6 };
		return true;
	}
	if (op->kind == WMK_OP_STRING_MAX && op->bytes < max)
		max = op->bytes;
	if (op->kind == WMK_OP_STRING_ARG) {
		memcpy(&precision, (const char *)(words + event->refs[place.ref].words) - op->bytes, sizeof(precision));
		if (precision >= 0 && (size_t)precision < max)
			max = (size_t)precision;
	}
	is->text = ref->base;
	is->len = ref->len < max ? ref->len : max;
	if (ref->len == SIZE_MAX)
		is->len = strnlen(ref->base, max);
	return true;
}

static void context(struct filter_run *run, unsigned i, unsigned number, const void *ip)
{
	const struct wmk_context_desc *is = wmk_context_get(number);
	int32_t s32;

	run->values.numbers[i] = 0;
	if (!is)
		return;
	if (is->filter_type == WMK_FILTER_TEXT) {
		is->fill(run->procname, ip);
		run->values.texts[i] =
			(struct wmk_filter_text){ run->procname, strnlen(run->procname, sizeof(run->procname)) };
		run->values.given |= UINT64_C(1) << i;
	} else if (is->bytes == 4) {
		is->fill(&s32, ip);
		run->values.numbers[i] = (uint64_t)(int64_t)s32;
	} else {
		is->fill(&run->values.numbers[i], ip);
	}
}

static inline struct wmk_filter_location location_at(const struct wmk_filter_block *block, unsigned i)
{
	const uint64_t bits = __atomic_load_n((const uint64_t *)(const void *)&block->places[i], __ATOMIC_RELAXED);
	struct wmk_filter_location place;

	memcpy(&place, &bits, sizeof(place));
	return place;
}

static inline void gather(struct filter_run *run, const struct wmk_filter_block *block, const struct wmk_event *event,
			  const uint64_t *words, const struct waymark_ref *refs, const void *ip)
{
	const uint32_t n = wmk_read_guarded(block->n_inputs);

	run->values.lacking = run->values.given = 0;
	for (uint32_t i = 0; i < n && i < WMK_FILTER_INPUTS_MAX; i++) {
		const struct wmk_filter_location place = location_at(block, i);
		bool has = true;

		run->values.numbers[i] = 0;
		if (place.kind == WMK_LOCATION_WORDS) {
			has = place.at <= 8u * event->n_words && place.bytes <= 8u * event->n_words - place.at;
			run->values.numbers[i] = has ? scalar((const char *)words + place.at, place) : 0;
		} else if (place.kind == WMK_LOCATION_TEXT) {
			has = text(event, words, refs, place, &run->values.texts[i]);
			run->values.given |= (uint64_t)has << i;
		} else if (place.kind == WMK_LOCATION_ELEMENT) {
			has = element(event, refs, place, &run->values.numbers[i]);
		} else if (place.kind == WMK_LOCATION_CONTEXT) {
			context(run, i, place.at, ip);
		}
		run->values.lacking |= (uint64_t)!has << i;
	}
}

static inline int run_block(const struct wmk_filter_block *block, const struct wmk_event *event, const uint64_t *words,
			    const struct waymark_ref *refs, const void *ip)
{
	struct filter_run run;
	const uint32_t n_insns = wmk_read_guarded(block->n_insns), pool_bytes = wmk_read_guarded(block->pool_bytes);
	const struct wmk_filter_code code = { block->insns, block->pool,
					      n_insns < block->capacity ? n_insns : block->capacity,
					      pool_bytes < block->pool_max ? pool_bytes : block->pool_max };

	gather(&run, block, event, words, refs, ip);
	return wmk_filter_run_code(&code, &run.values);
}

/*
 * Run the filter with floating-point exceptions masked, because the application may have enabled SIGFPE, or may test
 * the exception flags later.
 */
static __attribute__((noinline)) int run_with_fp_masked(const struct wmk_filter_block *block,
							const struct wmk_event *event, const uint64_t *words,
							const struct waymark_ref *refs, const void *ip)
{
	int wanted;

#if defined(__x86_64__)
	const unsigned before = __builtin_ia32_stmxcsr();

	__builtin_ia32_ldmxcsr(0x1f80);
	wanted = run_block(block, event, words, refs, ip);
	__builtin_ia32_ldmxcsr(before);
#elif defined(__aarch64__)
	uint64_t control, status;

	__asm__ __volatile__("mrs %0, fpcr\n\tmrs %1, fpsr\n\tmsr fpcr, xzr"
			     : "=r"(control), "=r"(status)
			     :
			     : "memory");
	wanted = run_block(block, event, words, refs, ip);
	__asm__ __volatile__("msr fpcr, %0\n\tmsr fpsr, %1" : : "r"(control), "r"(status) : "memory");
#else
#error "cannot mask floating-point exceptions on this architecture"
#endif
	return wanted;
}

int wmk_filter_accepts(const struct waymark_recorder *e, uint64_t gen, const struct wmk_filter_block *block,
		     const struct wmk_event *event, const uint64_t *words, const struct waymark_ref *refs,
		     const void *ip)
{
	int wanted;

	if (wmk_unlikely(wmk_read_guarded(block->has_doubles)))
		wanted = run_with_fp_masked(block, event, words, refs, ip);
	else
		wanted = run_block(block, event, words, refs, ip);
	WMK_TESTPOINT(record_filtered);
	/* (T8) acquire: the block is read before the guard; pairs with the release in block_fill() */
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (wmk_unlikely(__atomic_load_n(&e->gen, __ATOMIC_RELAXED) != gen || wmk_read_guarded(e->event) != event))
		return -ESTALE;
	return wanted;
}
