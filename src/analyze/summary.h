/* SPDX-License-Identifier: MIT */
/*
 * summary.h - the one-page summary: what stands out, then the first rows of the tables of several analyses.
 */
#ifndef WMK_ANALYZE_SUMMARY_H
#define WMK_ANALYZE_SUMMARY_H

#include "analyze/analysis.h"

/* The modules of a summary; NULL marks the end of the list. */
extern const struct wmk_analyze_module *const wmk_summary_modules[];

/*
 * Reduce the sorted result to about one page. The findings become notes of the result, and are printed first. -ENOMEM.
 */
int wmk_summary_make(struct wmk_result *result);

#endif
