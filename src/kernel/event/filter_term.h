/* SPDX-License-Identifier: MIT */
/*
 * filter_term.h - shared by filter_split.c (which part goes where) and filter_tracefs.c (the kernel's language).
 *
 * A term is what the kernel's language says of a condition: a constant, or a text. One that is not exact is true of
 * more records than the condition; nothing at all is TRUE, and not exact.
 */
#ifndef WMK_KERNEL_FILTER_TERM_H
#define WMK_KERNEL_FILTER_TERM_H

#include "filter/compile.h"
#include "kernel/event/filter_split.h"

enum wmk_kterm_kind {
	WMK_KTERM_ABSENT,      /* it has no value */
	WMK_KTERM_FALSE, WMK_KTERM_TRUE,
	WMK_KTERM_TEST,        /* a single one, or what stands in parentheses */
	WMK_KTERM_AND, WMK_KTERM_OR,
};

struct wmk_kterm {
	uint8_t kind;                    /* enum wmk_kterm_kind */
	bool exact;
	unsigned equal;                  /* TEST: where its == or != stands, if that is all it is; else 0 */
	char *text;                      /* from TEST on */
};

struct wmk_kterms {
	struct wmk_compiler c;           /* checked: what each node is in this event */
	const struct wmk_kfilter_event *event;
};

/* What the kernel can say of the condition. */
struct wmk_kterm wmk_kterm_of(const struct wmk_kterms *terms, const struct wmk_node *node);
/* Both are taken. */
struct wmk_kterm wmk_kterm_and(struct wmk_kterm a, struct wmk_kterm b);
struct wmk_kterm wmk_kterm_or(struct wmk_kterm a, struct wmk_kterm b);
void wmk_kterm_free(struct wmk_kterm *term);

#endif
