/* SPDX-License-Identifier: MIT */
/* fields.h - the analysis `fields`: distributions of the values of fields (docs/analyze.md). */
#ifndef WMK_ANALYZE_FIELDS_H
#define WMK_ANALYZE_FIELDS_H

#include "analyze/analysis.h"

extern const struct wmk_analyze_module wmk_analyze_fields;

/* Before the pipeline, if the module is the first one: only fields of this event. The name lives as long. */
void wmk_fields_choose(struct wmk_analysis *analysis, const char *event);

#endif
