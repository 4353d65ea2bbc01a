/* SPDX-License-Identifier: MIT */
/*
 * page.h - write a report: one HTML file that needs no other file.
 *
 *     analysis.h: modules of the summary, and collect.h ──► result, struct wmk_report
 *                                                         └─data.h──► JSON ──page.c────────────┐
 *     report.html, .css, .js, timeline.js, flame.js, third_party/uPlot ──embed.py, in the build─┴─► FILE
 */
#ifndef WMK_ANALYZE_REPORT_PAGE_H
#define WMK_ANALYZE_REPORT_PAGE_H

#include "analyze/report/collect.h"

/* The modules of a report; NULL marks the end of the list. */
extern const struct wmk_analyze_module *const wmk_report_modules[];

/* Return the state of the report module. */
struct wmk_report *wmk_report_of(struct wmk_analysis *analysis);
/*
 * Call this after the pipeline has ended: reduce the result to a summary, and write the page. -ENOMEM; -errno: `out`
 * cannot be written.
 */
int wmk_report_write(struct wmk_analysis *analysis, FILE *out);

#endif
