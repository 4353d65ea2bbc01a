/* SPDX-License-Identifier: MIT */
/* fields.h - the analysis `fields`: distributions of the values of fields (docs/analyze.md). */
#ifndef WMK_ANALYZE_FIELDS_H
#define WMK_ANALYZE_FIELDS_H

#include "analyze/analysis.h"

extern const struct wmk_analyze_module wmk_analyze_fields;

/*
 * Select only the fields of `event`. Call this before the pipeline, if wmk_analyze_fields is the first module. `event`
 * must stay valid as long as the analysis exists.
 */
void wmk_fields_choose(struct wmk_analysis *analysis, const char *event);

#endif
