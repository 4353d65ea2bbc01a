/* SPDX-License-Identifier: MIT */
/*
 * intervals.h - the tables of `waymark top`: figures of one interval, computed by the modules of src/analyze.
 *
 *     pipeline ──wmk_analysis_form──► modules ──wmk_analysis_interval()──► tables of modules ──► tables of `top`
 *
 * A rate is a count divided by the length of the interval. The length of an interval is a difference of timestamps of
 * records. One thread.
 */
#ifndef WMK_TOP_INTERVALS_H
#define WMK_TOP_INTERVALS_H

#include <sys/types.h>

#include "analyze/analysis.h"

/* The modules, for wmk_analysis_create(). */
extern const struct wmk_analyze_module *const wmk_top_modules[];

/*
 * End the interval. The caller frees `shown` by wmk_result_free(), even after an error. `own`: the process that the
 * tables omit.
 */
int wmk_top_interval(struct wmk_analysis *analysis, int64_t elapsed_ns, pid_t own, struct wmk_result *shown);
/* Convert the result of an interval. */
int wmk_top_convert(const struct wmk_result *result, pid_t own, struct wmk_result *shown);

#endif
