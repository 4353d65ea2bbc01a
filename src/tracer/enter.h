/* SPDX-License-Identifier: MIT */
/*
 * enter.h - offsets of structure members as plain numbers for enter.S. recorder.c includes this file, so a structure
 * with other offsets does not compile.
 */
#ifndef WMK_TRACER_ENTER_H
#define WMK_TRACER_ENTER_H

#define DESC_CHAIN 8
#define DESC_EVENT 16
#define EVENT_TAIL 3
#define EVENT_TAIL_BYTES 8
#define EVENT_TAIL_SHIFT 12
#define RECORDER_GEN 0
#define RECORDER_SET 16
#define RECORDER_ID 24
#define RECORDER_RUN_BYTES 28
#define RECORDER_NEXT 32
#define RECORDER_LIMIT 48
#define RECORDER_CTX_KEY 52
#define RECORDER_CTX_WORDS 54
#define RECORDER_DIRECT 8
#define THREAD_MARK 0
#define THREAD_CTX_KEY 14
#define THREAD_CTX_CACHE 40
#define SET_RSEQ_OFFSET 0
#define SET_SEQ_CPUS 8
#define SET_RING_MASK 16
#define SET_RING 256
#define VIEW_SHIFT 6
#define VIEW_CTL 0
#define VIEW_DATA 8
#define VIEW_LIMIT 16
#define CTL_WRITE_POS 0
#define CTL_SLOT 8
#define CTL_FLOOR 272
#define CTL_ARMED 280
#define SLOT_TAG 0
#define SLOT_TIME 8
#define SLOT_RECORDS 16
#define TS_BITS 27
#define TAIL_MAX 1024

#define OP_STRING 2
#define OP_TEXT 5
#define OP_ARRAY 8

#ifndef __ASSEMBLER__
#include "ring/set.h"
#include "ring/writer.h"
#include "tracer/recorder.h"
#include "tracer/thread_state.h"

#define WMK_AT(name, type, member) _Static_assert((name) == offsetof(type, member), "written out in enter.S")

WMK_AT(DESC_CHAIN, struct waymark_desc, chain);
WMK_AT(DESC_EVENT, struct waymark_desc, event);
WMK_AT(EVENT_TAIL, struct wmk_event, tail);
WMK_AT(EVENT_TAIL_BYTES, struct wmk_event, tail_bytes);
WMK_AT(EVENT_TAIL_SHIFT, struct wmk_event, tail_shift);
WMK_AT(RECORDER_GEN, struct waymark_recorder, gen);
WMK_AT(RECORDER_SET, struct waymark_recorder, set);
WMK_AT(RECORDER_ID, struct waymark_recorder, id);
WMK_AT(RECORDER_RUN_BYTES, struct waymark_recorder, run_bytes);
WMK_AT(RECORDER_NEXT, struct waymark_recorder, next);
WMK_AT(RECORDER_LIMIT, struct waymark_recorder, field_limit);
WMK_AT(RECORDER_CTX_KEY, struct waymark_recorder, ctx_key);
WMK_AT(RECORDER_CTX_WORDS, struct waymark_recorder, ctx_words);
WMK_AT(RECORDER_DIRECT, struct waymark_recorder, direct);
WMK_AT(THREAD_MARK, struct wmk_thread, mark);
WMK_AT(THREAD_CTX_KEY, struct wmk_thread, ctx_key);
WMK_AT(THREAD_CTX_CACHE, struct wmk_thread, ctx_cache);
WMK_AT(SET_RSEQ_OFFSET, struct waymark_ring_set, rseq_offset);
WMK_AT(SET_SEQ_CPUS, struct waymark_ring_set, seq_cpus);
WMK_AT(SET_RING_MASK, struct waymark_ring_set, ring_mask);
WMK_AT(SET_RING, struct waymark_ring_set, ring);
WMK_AT(VIEW_CTL, struct wmk_ring_view, ctl);
WMK_AT(VIEW_DATA, struct wmk_ring_view, data);
WMK_AT(VIEW_LIMIT, struct wmk_ring_view, limit);
WMK_AT(CTL_WRITE_POS, struct wmk_ring_ctl, write_pos);
WMK_AT(CTL_SLOT, struct wmk_ring_ctl, slot);
WMK_AT(CTL_FLOOR, struct wmk_ring_ctl, floor_ts);
WMK_AT(CTL_ARMED, struct wmk_ring_ctl, armed);
WMK_AT(SLOT_TAG, struct wmk_ring_slot, tag);
WMK_AT(SLOT_TIME, struct wmk_ring_slot, last_ts);
WMK_AT(SLOT_RECORDS, struct wmk_ring_slot, records);
_Static_assert(sizeof(struct wmk_ring_view) == 1 << VIEW_SHIFT && sizeof(struct wmk_ring_slot) == 3 * 8,
	       "written out in enter.S");
_Static_assert(TS_BITS == WMK_RING_TS_BITS && TAIL_MAX == WMK_RING_TAIL_MAX, "written out in enter.S");
_Static_assert(OP_STRING == WMK_OP_STRING && OP_TEXT == WMK_OP_TEXT && OP_ARRAY == WMK_OP_ARRAY && WMK_OP_RUN == 0,
	       "written out in enter.S");
#endif
#endif
