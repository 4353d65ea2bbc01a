/* SPDX-License-Identifier: MIT */
/* counters.h - the analysis `counters`: values of waymark_counter() by name and process (docs/analyze.md). */
#ifndef WMK_ANALYZE_COUNTERS_H
#define WMK_ANALYZE_COUNTERS_H

#include "analyze/analysis.h"

extern const struct wmk_analyze_module wmk_analyze_counters;

#endif
