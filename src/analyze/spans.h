/* SPDX-License-Identifier: MIT */
/* spans.h - the analysis `spans`: durations of spans of applications, and the slowest ones (docs/analyze.md). */
#ifndef WMK_ANALYZE_SPANS_H
#define WMK_ANALYZE_SPANS_H

#include "analyze/analysis.h"

extern const struct wmk_analyze_module wmk_analyze_spans;

#endif
