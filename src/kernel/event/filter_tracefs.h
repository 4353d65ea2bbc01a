/* SPDX-License-Identifier: MIT */
/*
 * filter_tracefs.h - single tests in the kernel's filter language: a number in an interval, bits, a text. Private to
 * src/kernel. filter_test.c makes the tests; filter_tracefs.c combines the tests with && || !.
 */
#ifndef WMK_KERNEL_FILTER_TRACEFS_H
#define WMK_KERNEL_FILTER_TRACEFS_H

#include "kernel/event/filter_term.h"
#include "kernel/event/event_names.h"

/* This type is wide enough to compare any two 64-bit numbers, signed or unsigned. */
__extension__ typedef __int128 wmk_kwide;

/* An operand of the kernel's filter. */
struct wmk_koperand {
	const char *name;
	const struct wmk_type *type;     /* in the trace */
	int add;                         /* the trace's number is the kernel's plus this */
	uint8_t width;                   /* bits of the kernel's number; 0: no number */
	bool is_signed;                  /* the kernel's number is signed */
	bool has_bits;                   /* the operator & works with it */
	uint32_t text_size;              /* size of an array of characters */
	bool is_far;                     /* a text outside of the fixed part of the record, with or without a
					  * terminating NUL */
	bool has_end;                    /* a text that is always terminated by a NUL */
};

/* Return the term for a condition without a translation: TRUE and not exact. */
struct wmk_kterm wmk_kterm_unknown(void);
struct wmk_kterm wmk_kterm_constant(bool is);
struct wmk_kterm wmk_kterm_not(struct wmk_kterm a);
/* Tests that the operand's number, as in the trace, is in the interval `low` to `high`. */
struct wmk_kterm wmk_kterm_between(const struct wmk_koperand *operand, wmk_kwide low, wmk_kwide high);
/* Tests that at least one of the given bits is set in the operand's number. */
struct wmk_kterm wmk_kterm_bits(const struct wmk_koperand *operand, uint64_t mask);
/* Tests that the operand's text matches the pattern, a TEXT node of the expression. */
struct wmk_kterm wmk_kterm_matches(const struct wmk_koperand *operand, const struct wmk_node *pattern);

#endif
