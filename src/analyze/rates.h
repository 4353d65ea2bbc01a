/* SPDX-License-Identifier: MIT */
/* rates.h - the analysis `events`: counts and rates of all events over time (docs/analyze.md). */
#ifndef WMK_ANALYZE_RATES_H
#define WMK_ANALYZE_RATES_H

#include "analyze/analysis.h"

extern const struct wmk_analyze_module wmk_analyze_events;

#endif
