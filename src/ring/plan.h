/* SPDX-License-Identifier: MIT */
/*
 * plan.h - a record that is ready to be committed: the input of the restartable sequence in arch/, and of commit() in
 * claim.c.
 */
#ifndef WMK_RING_PLAN_H
#define WMK_RING_PLAN_H

#include <stddef.h>

#include "ring/layout.h"

/* Describes any record. The assembly in arch/ contains the offsets of the members as numbers. */
struct wmk_seq_plan {
	uint64_t cpu;                  /* 0 */
	struct wmk_ring_ctl *ctl;      /* 8 */
	uint64_t pos;                  /* 16 */
	const uint64_t *guard;         /* 24 */
	uint64_t expect;               /* 32 */
	uint64_t ts;                   /* 40 */
	unsigned char *dst;            /* 48 */
	uint64_t header[2];            /* 56 */
	uint64_t header_len;           /* 72 */
	const struct waymark_ring_frag *frags, *frags_end; /* 80, 88 */
	struct wmk_ring_slot *next;    /* 96: the slot to write */
	uint64_t records;              /* 104: the count for the next slot */
	uint64_t new_pos;              /* 112 */
	struct wmk_ring_sub *enter;    /* 120: the sub-buffer to open, or NULL */
	struct wmk_ring_sub *leave;    /* 128: the sub-buffer to close, or NULL */
	uint64_t content_end;          /* 136: of the sub-buffer to close */
	uint64_t last_ts;              /* 144 */
	uint64_t lost;                 /* 152: records lost so far */
	uint64_t sequence;             /* 160: of the sub-buffer to open */
	uint64_t records_before;       /* 168 */
};

_Static_assert(offsetof(struct wmk_seq_plan, dst) == 48 && offsetof(struct wmk_seq_plan, frags) == 80 &&
	       offsetof(struct wmk_seq_plan, enter) == 120 && offsetof(struct wmk_seq_plan, records_before) == 168,
	       "written out in arch/");

#endif
