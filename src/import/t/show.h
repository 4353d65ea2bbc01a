/* SPDX-License-Identifier: MIT */
/*
 * show.h - print a parsed line as one text to compare in tests, and check a table of lines.
 */
#ifndef WMK_IMPORT_T_SHOW_H
#define WMK_IMPORT_T_SHOW_H

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/array.h"
#include "import/log_line.h"

struct expected {
	const char *line, *shown;
};

/*
 * "since seconds.ns [pid, tid, comm, cpu] provider:name{name=value|...}"; hexadecimal values with 0x, texts in quotes;
 * "unknown", "blank", "frame ...".
 */
static inline void show(const struct wmk_import_line *line, FILE *out)
{
	static const char *const whats[] = {
		"unknown", "blank", "", "ends ", "splits ", "opens ", "resumes ", "frame "
	};
	static const char *const sinces[] = { "none", "epoch", "origin", "step", "day", "date" };
	const struct wmk_import_timestamp *stamp = &line->stamp;

	fputs(whats[line->what], out);
	if (line->what == WMK_IMPORT_UNKNOWN || line->what == WMK_IMPORT_BLANK)
		return;
	if (line->what != WMK_IMPORT_FRAME) {
		fputs(sinces[stamp->since], out);
		if (stamp->since == WMK_IMPORT_DATE)
			fprintf(out, " %u-%u", stamp->month, stamp->day);
		if (stamp->since)
			fprintf(out, " %" PRId64 ".%09" PRIu32 "%s", stamp->seconds, stamp->ns,
				stamp->is_local ? "L" : "");
		if (line->has_pid)
			fprintf(out, " p%" PRId32, line->pid);
		if (line->has_tid)
			fprintf(out, " t%" PRId32, line->tid);
		if (line->comm.at)
			fprintf(out, " (%.*s)", (int)line->comm.len, line->comm.at);
		if (line->has_cpu)
			fprintf(out, " c%" PRId32, line->cpu);
		fprintf(out, " %.*s:%.*s", (int)line->provider.len, line->provider.at, (int)line->name.len,
			line->name.at);
	}
	fputs("{", out);
	for (unsigned i = 0; i < line->n; i++) {
		const struct wmk_import_value *value = &line->values[i];

		fprintf(out, "%s%.*s=", i ? "|" : "", (int)value->name.len, value->name.at);
		if (value->kind == WMK_IMPORT_TEXT)
			fprintf(out, "'%.*s'", (int)value->text.len, value->text.at);
		else
			fprintf(out, value->kind == WMK_IMPORT_HEX ? "0x%" PRIx64 : "%" PRId64, value->number);
	}
	fputs("}", out);
	if (line->what == WMK_IMPORT_SPLITS)
		fprintf(out, " rest '%.*s'", (int)line->rest.len, line->rest.at);
}

/* Each line is copied to the end of an allocation of its size, so that a sanitizer finds reads beyond its end. */
static inline void check_lines(wmk_import_parser *parse, const struct expected *table, size_t n)
{
	static struct wmk_import_line line;
	char shown[2048];

	for (size_t i = 0; i < n; i++) {
		const size_t len = strlen(table[i].line);
		char *copy = malloc(len ? len : 1);
		FILE *out = fmemopen(shown, sizeof(shown), "w");

		assert_non_null(copy);
		assert_non_null(out);
		memcpy(copy, table[i].line, len);
		memset(&line, 0xee, sizeof(line));
		parse((struct wmk_import_text){ copy, len }, &line);
		show(&line, out);
		fclose(out);
		assert_string_equal(shown, table[i].shown);
		/* Every part of the parsed line is read within its bounds, too. */
		for (size_t cut = 0; cut < len; cut++) {
			char *part = malloc(cut ? cut : 1);

			assert_non_null(part);
			memcpy(part, copy, cut);
			parse((struct wmk_import_text){ part, cut }, &line);
			assert_true(line.what <= WMK_IMPORT_FRAME && line.n <= WMK_IMPORT_VALUES);
			free(part);
		}
		free(copy);
	}
}

#define CHECK_LINES(parse, table) check_lines(parse, table, WMK_ARRAY_LEN(table))

#endif
