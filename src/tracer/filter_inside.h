/* SPDX-License-Identifier: MIT */
/*
 * filter_inside.h - private to filter.c, which makes blocks, and filter_run.c, which runs them.
 */
#ifndef WMK_TRACER_FILTER_INSIDE_H
#define WMK_TRACER_FILTER_INSIDE_H

#include "tracer/filter.h"

enum wmk_place_kind {
	WMK_PLACE_ZERO,     /* no place: 0 */
	WMK_PLACE_WORDS,    /* a scalar, `at` bytes into the words */
	WMK_PLACE_ELEMENT,  /* a scalar, `at` bytes behind the reference `ref` */
	WMK_PLACE_TEXT,     /* the reference `ref` */
	WMK_PLACE_CONTEXT,  /* number `at` */
};

/* 8 bytes, which are read at once. */
struct wmk_filter_place {
	uint8_t kind;              /* enum wmk_place_kind */
	uint8_t bytes : 4;         /* of a scalar */
	uint8_t is_signed : 1, is_double : 1, is_swapped : 1;
	uint16_t ref;
	uint32_t at;
};

struct wmk_filter_block {
	uint32_t capacity;         /* instructions; never changes */
	uint32_t n_inputs, n_insns, pool_bytes;
	uint32_t has_doubles;
	struct wmk_filter_block *next_free; /* control's own */
	struct wmk_filter_place places[WMK_FILTER_INPUTS_MAX];
	struct wmk_filter_insn insns[]; /* `capacity`; behind them as many bytes for the pool */
};

#endif
