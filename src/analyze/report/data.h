/* SPDX-License-Identifier: MIT */
/* data.h - write the collected data of a report as the JSON that report.js reads. data.c describes the members. */
#ifndef WMK_ANALYZE_REPORT_DATA_H
#define WMK_ANALYZE_REPORT_DATA_H

#include "analyze/report/collect.h"

/* Write one JSON object. Write errors are kept in the error flag of `out` (ferror()). -ENOMEM with a cause chain. */
int wmk_report_data(const struct wmk_report *report, const struct wmk_result *result, FILE *out);
/* Write the titles and columns of the tables of a result, as a JSON array. */
void wmk_report_columns(const struct wmk_result *result, FILE *out);

#endif
