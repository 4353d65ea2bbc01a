/* SPDX-License-Identifier: MIT */
/*
 * filter_tracefs.h - single tests in the kernel's language: a number in an interval, bits of it, a text. Private to
 * src/kernel; filter_tracefs.c puts them together, filter_test.c makes them.
 */
#ifndef WMK_KERNEL_FILTER_TRACEFS_H
#define WMK_KERNEL_FILTER_TRACEFS_H

#include "kernel/event/filter_term.h"
#include "kernel/event/event_names.h"

/* As wide as what two numbers of 64 bits, signed or not, are compared in. */
__extension__ typedef __int128 wmk_kwide;

/* What the kernel's filter knows an operand by. */
struct wmk_koperand {
	const char *name;
	const struct wmk_type *type;     /* in the trace */
	int add;                         /* the trace's number is the kernel's and this */
	uint8_t width;                   /* bits of the kernel's number; 0: it is none */
	bool is_signed;                  /* likewise */
	bool has_bits;                   /* & can be asked of it */
	uint32_t text_size;              /* bytes of an array of characters */
	bool is_far;                     /* a text that lies elsewhere in the record, with or without a NUL behind it */
	bool has_end;                    /* a text that has a NUL behind it for certain */
};

/* Nothing can be said. */
struct wmk_kterm wmk_kterm_unknown(void);
struct wmk_kterm wmk_kterm_constant(bool is);
struct wmk_kterm wmk_kterm_not(struct wmk_kterm a);
/* The operand's number, as the trace has it, is one from `low` to `high`. */
struct wmk_kterm wmk_kterm_between(const struct wmk_koperand *operand, wmk_kwide low, wmk_kwide high);
/* One of these bits is set. */
struct wmk_kterm wmk_kterm_bits(const struct wmk_koperand *operand, uint64_t mask);
/* The operand's text fits the pattern: a TEXT of the expression's. */
struct wmk_kterm wmk_kterm_matches(const struct wmk_koperand *operand, const struct wmk_node *pattern);

#endif
