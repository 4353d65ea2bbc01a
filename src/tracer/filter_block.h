/* SPDX-License-Identifier: MIT */
/*
 * filter_block.h - blocks of filters: private to filter.c and filter_table.c, which create them, and to the recording
 * path, which reads them.
 */
#ifndef WMK_TRACER_FILTER_BLOCK_H
#define WMK_TRACER_FILTER_BLOCK_H

#include "tracer/filter.h"

#define WMK_FILTER_BRANCHES_MAX 64u

struct wmk_filter_branch;          /* filter_table.h */

enum wmk_filter_location_kind {
	WMK_LOCATION_ZERO,     /* no location: the value is 0 */
	WMK_LOCATION_WORDS,    /* a scalar, `at` bytes into the words */
	WMK_LOCATION_ELEMENT,  /* a scalar, `at` bytes after the base of reference `ref` */
	WMK_LOCATION_TEXT,     /* the reference `ref` */
	WMK_LOCATION_CONTEXT,  /* context field number `at` */
};

/* 8 bytes, read by one load. */
struct wmk_filter_location {
	uint8_t kind;              /* enum wmk_filter_location_kind */
	uint8_t bytes : 4;         /* of a scalar */
	uint8_t is_signed : 1, is_double : 1, is_swapped : 1;
	uint16_t ref;
	uint32_t at;
};

struct wmk_filter_block {
	/* constant: */
	uint32_t capacity;         /* instructions */
	uint32_t pool_max;         /* bytes */
	const char *pool;          /* after the instructions */
	struct wmk_filter_branch *branches; /* after the pool */
	uint32_t n_inputs, n_insns, pool_bytes;
	uint32_t has_doubles;
	uint32_t n_branches;       /* not for the recording path; 0: the program runs ... */
	bool is_short;             /* ... and is_short of struct wmk_filter_table */
	struct wmk_filter_block *next_free; /* not for the recording path */
	struct wmk_filter_location places[WMK_FILTER_INPUTS_MAX];
	struct wmk_filter_insn insns[]; /* `capacity`; followed by as many bytes for the pool, then the branches */
};

/* Return the maximum number of branches that fit into a block (filter_table.h). */
static inline uint32_t wmk_filter_branches_max(uint32_t capacity)
{
	return capacity < WMK_FILTER_BRANCHES_MAX ? capacity : WMK_FILTER_BRANCHES_MAX;
}

#endif
