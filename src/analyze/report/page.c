/* SPDX-License-Identifier: MIT */
/* page.c - write a report (see page.h). The template report.html has placeholders: names between two '@' characters. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/io.h"
#include "analyze/locks.h"
#include "analyze/loss.h"
#include "analyze/rates.h"
#include "analyze/report/data.h"
#include "analyze/report/page.h"
#include "analyze/sched.h"
#include "analyze/spans.h"
#include "analyze/summary.h"
#include "analyze/syscalls.h"
#include "base/array.h"
#include "base/error.h"
#include "report_files.h"

#define ROWS_MAX 2000u                 /* rows of a table in the page */

/* Modules that a summary and a report both use. */
const struct wmk_analyze_module *const wmk_report_modules[] = {
	&wmk_analyze_sched,  &wmk_analyze_spans, &wmk_analyze_syscalls, &wmk_analyze_io, &wmk_analyze_locks,
	&wmk_analyze_events, &wmk_analyze_loss,  &wmk_report_module,    NULL
};

/*
 * Write JSON into a <script> element, with three characters escaped. '<' could begin the end of the element, or a
 * comment. U+2028 and U+2029 are line ends in JavaScript. In JSON, these characters occur only in strings, where
 * escapes are allowed.
 */
static void put_safely(const char *json, size_t len, FILE *out)
{
	for (size_t i = 0; i < len; i++) {
		const char *const rest = json + i;

		if (*rest == '<') {
			fputs("\\u003c", out);
		} else if (len - i >= 3 && rest[0] == '\xe2' && rest[1] == '\x80' &&
			   (rest[2] == '\xa8' || rest[2] == '\xa9')) {
			fputs(rest[2] == '\xa8' ? "\\u2028" : "\\u2029", out);
			i += 2;
		} else {
			fputc(*rest, out);
		}
	}
}

static void put_part(const char *name, size_t len, const struct wmk_report *report, const char *result, FILE *out)
{
	static const struct {
		const char *name, *text;
	} files[] = { { "STYLE", report_css },
		      { "SCRIPT", report_js },
		      { "TIMELINE", timeline_js },
		      { "FLAME", flame_js },
		      { "UPLOT_STYLE", uplot_css },
		      { "UPLOT_SCRIPT", uplot_js },
		      { "UPLOT_LICENSE", uplot_license } };

	for (unsigned i = 0; i < WMK_ARRAY_LEN(files); i++)
		if (strlen(files[i].name) == len && !memcmp(files[i].name, name, len))
			fputs(files[i].text, out);
	if (len == 6 && !memcmp(name, "RESULT", len))
		put_safely(result, strlen(result), out);
	if (len == 4 && !memcmp(name, "DATA", len))
		put_safely(report->data, report->data_size, out);
	if (len == 6 && !memcmp(name, "FIELDS", len) && report->fields)
		put_safely(report->fields, report->fields_size, out);
}

static void put_page(const struct wmk_report *report, const char *result, FILE *out)
{
	const char *at = report_html, *mark, *end;

	while ((mark = strchr(at, '@')) && (end = strchr(mark + 1, '@'))) {
		fwrite(at, 1, (size_t)(mark - at), out);
		put_part(mark + 1, (size_t)(end - mark) - 1, report, result, out);
		at = end + 1;
	}
	fputs(at, out);
}

struct wmk_report *wmk_report_of(struct wmk_analysis *analysis)
{
	return wmk_analysis_state(analysis, WMK_ARRAY_LEN(wmk_report_modules) - 2);
}

int wmk_report_write(struct wmk_analysis *analysis, FILE *out)
{
	struct wmk_result *result = wmk_analysis_result(analysis);
	const struct wmk_report *report = wmk_report_of(analysis);
	char *text = NULL;
	size_t size = 0;
	FILE *json;
	int err = wmk_result_sort(result, NULL);

	if (err >= 0)
		err = wmk_summary_make(result);
	if (err < 0)
		return err;
	wmk_result_limit(result, ROWS_MAX);
	json = open_memstream(&text, &size);
	if (json) {
		fputs("{\"result\":", json);
		wmk_result_json(result, json);
		fputs(",\"tables\":", json);
		wmk_report_columns(result, json);
		fputs("}\n", json);
	}
	if (!json || fclose(json) != 0) {
		free(text);
		return wmk_error(-ENOMEM, "no memory for a report");
	}
	put_page(report, text, out);
	free(text);
	return fflush(out) == 0 && !ferror(out) ? 0 : wmk_error(-errno, "cannot write the report");
}
