/* SPDX-License-Identifier: MIT */
/* sched.h - the analysis `sched`: states of threads, wake-up latencies, CPUs (docs/analyze.md). */
#ifndef WMK_ANALYZE_SCHED_H
#define WMK_ANALYZE_SCHED_H

#include "analyze/analysis.h"

extern const struct wmk_analyze_module wmk_analyze_sched;

#endif
