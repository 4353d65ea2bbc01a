/* SPDX-License-Identifier: MIT */
/* locks.h - the analysis `locks`: threads that wait for futexes (docs/analyze.md). */
#ifndef WMK_ANALYZE_LOCKS_H
#define WMK_ANALYZE_LOCKS_H

#include "analyze/analysis.h"

extern const struct wmk_analyze_module wmk_analyze_locks;

#endif
