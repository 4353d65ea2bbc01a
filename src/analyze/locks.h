/* SPDX-License-Identifier: MIT */
/* locks.h - the analysis `locks`: threads that wait for futexes (docs/analyze.md). */
#ifndef WMK_ANALYZE_LOCKS_H
#define WMK_ANALYZE_LOCKS_H

#include "analyze/analysis.h"
#include "read/symbolizer.h"

extern const struct wmk_analyze_module wmk_analyze_locks;

/*
 * Show futex addresses as symbols, for example names of global variables. Call this before the pipeline. `symbolizer`
 * must stay valid as long as the analysis exists.
 */
void wmk_locks_symbols(struct wmk_analysis *analysis, const struct wmk_read_symbolizer *symbolizer);

#endif
