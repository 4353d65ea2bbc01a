/* SPDX-License-Identifier: MIT */
/* data.h - what a report collected, as the JSON that report.js reads. Its head describes the members. */
#ifndef WMK_ANALYZE_REPORT_DATA_H
#define WMK_ANALYZE_REPORT_DATA_H

#include "analyze/report/collect.h"

/* Write one JSON object. Errors are those of `out`. */
void wmk_report_data(const struct wmk_report *report, const struct wmk_result *result, FILE *out);
/* Write titles and columns of the tables of a result: an array of JSON. */
void wmk_report_columns(const struct wmk_result *result, FILE *out);

#endif
