/* SPDX-License-Identifier: MIT */
/*
 * filter_term.h - terms of the kernel's filter language, which filter_split.c (split between kernel and consumer) and
 * filter_tracefs.c (translation) share.
 *
 * A term is the translation of a condition: a constant, or a text. A term that is not exact accepts more records than
 * the condition. A condition that cannot be translated is TRUE and not exact.
 */
#ifndef WMK_KERNEL_FILTER_TERM_H
#define WMK_KERNEL_FILTER_TERM_H

#include "filter/compile.h"
#include "kernel/event/filter_split.h"

enum wmk_kterm_kind {
	WMK_KTERM_ABSENT,      /* the condition has no value */
	WMK_KTERM_FALSE, WMK_KTERM_TRUE,
	WMK_KTERM_TEST,        /* a single test, or an expression in parentheses */
	WMK_KTERM_AND, WMK_KTERM_OR,
};

struct wmk_kterm {
	uint8_t kind;                    /* enum wmk_kterm_kind */
	bool exact;
	unsigned equal;                  /* TEST: position of == or !=, if the test is a single comparison; else 0 */
	char *text;                      /* set if the kind is TEST, AND or OR */
};

struct wmk_kterms {
	struct wmk_compiler c;           /* the type of each node in this event, after the check */
	const struct wmk_kfilter_event *event;
};

/* Translates a condition as far as possible. */
struct wmk_kterm wmk_kterm_of(const struct wmk_kterms *terms, const struct wmk_node *node);
/* Both functions take ownership of their arguments. */
struct wmk_kterm wmk_kterm_and(struct wmk_kterm a, struct wmk_kterm b);
struct wmk_kterm wmk_kterm_or(struct wmk_kterm a, struct wmk_kterm b);
void wmk_kterm_free(struct wmk_kterm *term);

#endif
