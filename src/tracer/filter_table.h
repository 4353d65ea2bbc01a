/* SPDX-License-Identifier: MIT */
/*
 * filter_table.h - filters without an interpreter. Most filters compare a few fields with constants. wmk_filter_bind()
 * converts the program of such a filter to a table of branches, which the recording path follows instead of running the
 * program:
 *
 *     a == 3 || b & 7 < 2 && name == "x*"        0: a in [3, 3]        ? accepted : 1
 *                                                1: (b & 7) in [.., 1] ? 2        : rejected
 *                                                2: name starts with x ? accepted : rejected
 *
 * Comparisons of one field with neighbouring constants are merged into one branch. If the table has a single branch
 * that compares a field without an operation, the recorder itself stores the comparison (struct wmk_filter_quick). The
 * interpreter (filter_run.c) handles all other programs, for example with doubles, context fields, elements,
 * byte-swapped numbers, or comparisons of two fields.
 *
 * A block may be reused for another filter while a thread follows the table in the block (filter.h). A thread that
 * follows a table reads the branches by relaxed loads of whole words. The memory of the branches is never used for
 * other data, and initially contains zeros ("rejected"). Every value that a thread reads from a branch leads to a
 * result or to a later branch of the block. The thread checks the offsets in a branch against the event and the pool.
 */
#ifndef WMK_TRACER_FILTER_TABLE_H
#define WMK_TRACER_FILTER_TABLE_H

#include <errno.h>
#include <string.h>

#include "base/testpoint.h"
#include "filter/calculate.h"
#include "tracer/filter_block.h"
#include "tracer/filter_run.h"

enum wmk_filter_branch_kind {
	WMK_BRANCH_NUMBER, /* the field is within bounds */
	WMK_BRANCH_RESULT, /* an operation on the field and a constant has a result within bounds */
	WMK_BRANCH_TEXT,   /* the field is a text of the pool */
	WMK_BRANCH_PREFIX, /* the field starts with a text of the pool */
};

/*
 * A number is within the bounds of a branch under the same condition as in struct wmk_filter_quick. A 64-bit result of
 * an operation is within the bounds if `result - low < count`. `operand` is the mask, the operand of the operation, or
 * the offset of a text in the pool with the length of the text from bit 32 upward.
 */
struct wmk_filter_branch {
	uint64_t low, count;
	uint64_t operand;
	uint64_t what;             /* WMK_BRANCH_... */
};
_Static_assert(sizeof(struct wmk_filter_branch) == 4 * sizeof(uint64_t), "read word by word");

/*
 * Parts of `what`:
 * - AT: of a number, the offset in the words of the eight bytes with the number; of a text, its reference;
 * - YES, NO: the next step. 0: reject, 1: accept, n: continue n - 1 branches later;
 * - KIND: enum wmk_filter_branch_kind.
 *
 * For RESULT only:
 * - OP: enum wmk_filter_op;
 * - LEFT: shift that moves the number to the top of the eight bytes;
 * - RIGHT: shift from there to a 64-bit value, arithmetic if SIGNED.
 */
#define WMK_BRANCH_AT(what) ((uint16_t)(what))
#define WMK_BRANCH_YES(what) ((uint8_t)((what) >> 16))
#define WMK_BRANCH_NO(what) ((uint8_t)((what) >> 24))
#define WMK_BRANCH_KIND(what) ((uint8_t)((what) >> 32))
#define WMK_BRANCH_OP(what) ((uint8_t)((what) >> 40))
#define WMK_BRANCH_LEFT(what) ((what) >> 48 & 63)
#define WMK_BRANCH_RIGHT(what) ((what) >> 56 & 63)
#define WMK_BRANCH_SIGNED (UINT64_C(1) << 63)

/* The table of a filter program, before wmk_filter_bind() copies the table into a block. */
struct wmk_filter_table {
	uint32_t n;                /* 0: the interpreter runs the program */
	bool is_short;             /* all are WMK_BRANCH_NUMBER */
	struct wmk_filter_branch branches[WMK_FILTER_BRANCHES_MAX];
};

/* Make the table of a verified filter program. `places` are the locations of the program's inputs in the event. */
void wmk_filter_table_make(const struct wmk_event *event, const struct wmk_filter_location *places,
			   const struct wmk_filter_program *program, struct wmk_filter_table *table);

/* ── on the recording path ───────────────────────────────────────────────────────────────────────────── */

/*
 * Compare a text. Returns 1: match, 0: no match, -ESTALE. The function compares byte by byte, and reads nothing past
 * the end of the text. The pattern of a branch that another thread is replacing may contain a NUL.
 */
static inline int wmk_filter_text_fits(const struct wmk_filter_block *block, uint64_t what, uint64_t operand,
				       const struct wmk_event *event, const struct waymark_ref *refs)
{
	const uint64_t at = (uint32_t)operand, len = operand >> 32;
	const unsigned ref = WMK_BRANCH_AT(what) & 31;

	if (wmk_unlikely(!(event->text_refs >> ref & 1)) || wmk_unlikely(at + len > block->pool_max))
		return -ESTALE;
	const char *text = refs[ref].base, *const pattern = block->pool + at;
	size_t max = refs[ref].len;
	const bool ends_with_nul = max == SIZE_MAX;

	if (wmk_unlikely(!text)) {
		text = "(null)";
		max = 6;
	}
	for (size_t i = 0; i < len; i++) {
		if (wmk_unlikely(i >= max))
			return 0;
		const char c = __atomic_load_n(&text[i], __ATOMIC_RELAXED);

		if (c != __atomic_load_n(&pattern[i], __ATOMIC_RELAXED) || wmk_unlikely(!c && ends_with_nul))
			return 0;
	}
	return WMK_BRANCH_KIND(what) == WMK_BRANCH_PREFIX ||
	       (ends_with_nul ? !__atomic_load_n(&text[len], __ATOMIC_RELAXED) : len == max);
}

/* The comparison has separate steps, so that the compiler needs only one register. */
static inline bool wmk_filter_number_fits(const struct wmk_filter_branch *is, uint64_t bytes)
{
	bytes -= wmk_read_guarded(is->low);
	__asm__("" : "+r"(bytes));
	bytes &= wmk_read_guarded(is->operand);
	__asm__("" : "+r"(bytes));
	return bytes < wmk_read_guarded(is->count);
}

static inline bool wmk_filter_result_fits(const struct wmk_filter_branch *is, uint64_t what, uint64_t bytes)
{
	const uint64_t top = bytes << WMK_BRANCH_LEFT(what);
	const uint64_t shifted = top >> WMK_BRANCH_RIGHT(what);
	uint64_t value = what & WMK_BRANCH_SIGNED ? (uint64_t)((int64_t)top >> WMK_BRANCH_RIGHT(what)) : shifted;

	return wmk_filter_calculate(WMK_BRANCH_OP(what), value, wmk_read_guarded(is->operand), &value) &&
	       value - wmk_read_guarded(is->low) < wmk_read_guarded(is->count);
}

/*
 * Follow the table. Returns 1 if the record is accepted, 0 if it is rejected, -ESTALE if the block was reused.
 * With `is_short`, all branches are treated as WMK_BRANCH_NUMBER, which needs fewer registers.
 */
static inline __attribute__((always_inline)) int wmk_filter_table_run(const struct wmk_filter_block *block,
								      const struct wmk_event *event,
								      const uint64_t *words,
								      const struct waymark_ref *refs, bool is_short)
{
	const struct wmk_filter_branch *is = block->branches;
	const int last = (int)(8 * event->n_words) - 8;

	for (;;) {
		const uint64_t what = wmk_read_guarded(is->what);
		uint64_t bytes;
		int fits;

		if (!is_short && WMK_BRANCH_KIND(what) >= WMK_BRANCH_TEXT) {
			fits = wmk_filter_text_fits(block, what, wmk_read_guarded(is->operand), event, refs);
			if (wmk_unlikely(fits < 0))
				return fits;
		} else {
			if (wmk_unlikely(WMK_BRANCH_AT(what) > last))
				return -ESTALE;
			memcpy(&bytes, (const char *)words + WMK_BRANCH_AT(what), 8);
			if (!is_short && WMK_BRANCH_KIND(what) == WMK_BRANCH_RESULT)
				fits = wmk_filter_result_fits(is, what, bytes);
			else
				fits = wmk_filter_number_fits(is, bytes);
		}
		unsigned next = WMK_BRANCH_NO(what);

		if (fits) {
			/* keeps a predicted jump, so that the next branch need not wait for the loads of this branch */
			__asm__ __volatile__("");
			next = WMK_BRANCH_YES(what);
		}
		if (next <= 1)
			return (int)next;
		is += next - 1;
	}
}

/*
 * wmk_filter_accepts() for a filter of one comparison. `end` is the quick_end of the recorder, and is not 0. The
 * function also returns -ESTALE for a filter with a table, because the `end` of such a filter is larger than any offset
 * in the words of an event. Uses no callee-saved register.
 */
static inline __attribute__((always_inline)) int wmk_filter_quick_accepts(const struct waymark_recorder *e,
									  uint64_t gen, const struct wmk_event *event,
									  const uint64_t *words, uint32_t end)
{
	uint64_t bytes;

	if (wmk_unlikely(end > 8u * event->n_words))
		return -ESTALE;
	memcpy(&bytes, (const char *)words + end - 8, 8);
	if (wmk_unlikely(((bytes - wmk_read_guarded(e->quick_low)) & wmk_read_guarded(e->quick_mask)) <
			 wmk_read_guarded(e->quick_count)))
		return 1; /* the guard is checked when the record is committed */
	/* (T8) acquire, as in wmk_filter_accepts() */
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return wmk_likely(__atomic_load_n(&e->gen, __ATOMIC_RELAXED) == gen) ? 0 : -ESTALE;
}

/*
 * wmk_filter_accepts() for a table. The event belongs to the recorder as long as the generation of the recorder is
 * `gen`.
 */
static inline __attribute__((always_inline)) int wmk_filter_table_accepts(
	const struct waymark_recorder *e, uint64_t gen, const struct wmk_filter_block *block,
	const struct wmk_event *event, const uint64_t *words, const struct waymark_ref *refs, bool is_short)
{
	const int wanted = wmk_filter_table_run(block, event, words, refs, is_short);

	WMK_TESTPOINT(record_tabled);
	if (wanted > 0)
		return wanted;
	/* (T8) acquire, as in wmk_filter_accepts() */
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return wmk_likely(__atomic_load_n(&e->gen, __ATOMIC_RELAXED) == gen) ? wanted : -ESTALE;
}

/* wmk_filter_accepts() for any filter: select the function for its kind. */
static inline int wmk_filter_any_accepts(const struct waymark_recorder *e, uint64_t gen,
				       const struct wmk_filter_block *block, const struct wmk_event *event,
				       const uint64_t *words, const struct waymark_ref *refs, const void *ip)
{
	const uint32_t end = wmk_read_guarded(e->quick_end);

	if (!end)
		return wmk_filter_accepts(e, gen, block, event, words, refs, ip);
	return end >= WMK_FILTER_QUICK_SHORT_TABLE ? wmk_filter_table_accepts(e, gen, block, event, words, refs, false)
						   : wmk_filter_quick_accepts(e, gen, event, words, end);
}

#endif
