/* SPDX-License-Identifier: MIT */
/*
 * callstacks.h - an output form: the call stacks of records as folded stacks, for flame graphs. Call stacks are the
 * contexts callstack_user and callstack_kernel.
 *
 *     shop;main;order;price;shop:paid 12          thread, functions, event, number of records
 */
#ifndef WMK_READ_CALLSTACKS_H
#define WMK_READ_CALLSTACKS_H

#include "read/exporter.h"
#include "read/stacks.h"
#include "read/symbolizer.h"

#define WMK_READ_CALLSTACK_MAX 1024u   /* functions of a record */

/* The member `whole` of the form. The caller initializes it with wmk_read_stacks_begin(), and frees the stacks. */
struct wmk_read_callstacks {
	const struct wmk_read_symbolizer *symbolizer;
	struct wmk_read_stacks stacks;
	/* the functions of a record, the innermost first */
	char frames[WMK_READ_CALLSTACK_MAX][128];
	unsigned n_frames;
};

extern const struct wmk_read_exporter wmk_read_callstacks;

#endif
