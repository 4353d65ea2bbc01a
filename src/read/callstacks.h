/* SPDX-License-Identifier: MIT */
/*
 * callstacks.h - an output form: the call stacks of records as folded stacks, for flame graphs. Call stacks are
 * recorded in the context fields callstack_user and callstack_kernel.
 *
 *     shop;main;order;price;shop:paid 12          thread, functions, event, number of records
 */
#ifndef WMK_READ_CALLSTACKS_H
#define WMK_READ_CALLSTACKS_H

#include "read/exporter.h"
#include "read/stacks.h"
#include "read/symbolizer.h"

#define WMK_READ_CALLSTACK_MAX 1024u   /* functions of a record */

/*
 * The state of the output format of call stacks, which is passed as `whole`. The report also uses this structure,
 * without the output format. The caller calls wmk_read_stacks_begin() and wmk_read_stacks_free().
 */
struct wmk_read_callstacks {
	const struct wmk_read_symbolizer *symbolizer;
	struct wmk_read_stacks stacks;
	/* the functions of a record, the innermost first */
	char frames[WMK_READ_CALLSTACK_MAX][128];
	unsigned n_frames;
};

/*
 * Count the call stacks of the record; the caller calls this function after WMK_READ_RECORD. -ENOMEM; errors of
 * ctf/decode.h.
 */
int wmk_read_callstacks_add(struct wmk_read_callstacks *callstacks, struct wmk_read_stream *stream);

extern const struct wmk_read_exporter wmk_read_callstacks;

#endif
