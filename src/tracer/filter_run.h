/* SPDX-License-Identifier: MIT */
/*
 * filter_run.h - filters on the recording path that need the interpreter.
 */
#ifndef WMK_TRACER_FILTER_RUN_H
#define WMK_TRACER_FILTER_RUN_H

#include "tracer/compiler.h"
#include "tracer/filter.h"

/*
 * Evaluate a filter. Returns 1 if the filter accepts the record, 0 if it rejects the record, -ESTALE if the recorder
 * `e` has been reused since generation `gen`. Any thread; async-signal-safe. The function raises no floating-point
 * exception in the application.
 */
int wmk_filter_accepts(const struct waymark_recorder *e, uint64_t gen, const struct wmk_filter_block *block,
		       const struct wmk_event *event, const uint64_t *words, const struct waymark_ref *refs,
		       const void *ip) WMK_HIDDEN;

#endif
