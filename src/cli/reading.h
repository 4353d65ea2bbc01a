/* SPDX-License-Identifier: MIT */
/*
 * reading.h - shared by `view` and `convert`: options that select records, and the reports of read/pipeline.h: damage
 * and losses on standard error, progress on a terminal.
 */
#ifndef WMK_CLI_READING_H
#define WMK_CLI_READING_H

#include "cli/command.h"
#include "cli/pager.h"
#include "read/pipeline.h"

/*
 * Which records. The arguments of a command that uses the options below begin with it; strings are the command line's
 * own.
 */
struct wmk_cli_which {
	struct wmk_cli_common common;
	const char *begin, *end, *filter;
};

#define WMK_CLI_OPTIONS_WHICH \
	{ 'b', "begin", "TIME", "Only records from this time on: seconds since 1970 (1700000000.5), a date (2023-11-14), " \
	  "a time of day (22:13:20.5), or date and time. A time of day is of the day on which the trace begins.", \
	  WMK_CLI_TEXT(struct wmk_cli_which, begin) }, \
	{ 'E', "end", "TIME", "Only records to this time; a date means all of that day.", \
	  WMK_CLI_TEXT(struct wmk_cli_which, end) }, \
	{ 'F', "filter", "EXPR", "Only records for which EXPR is true, an expression as in C over their fields: " \
	  "'amount > 100 && name == \"bo*\"'. waymark-filter(7) describes the language.", \
	  WMK_CLI_TEXT(struct wmk_cli_which, filter) }

/*
 * Read the traces into `out`, by `options`' form and print; the rest of them is filled in here. Standard output is
 * flushed before a loss is told. As wmk_read_pipeline_run(); what was damaged has been said. `pager`: begun before the
 * first line, for standard output; NULL: none is wanted.
 */
int wmk_cli_read(const struct wmk_cli_which *which, const char *const *paths, unsigned n,
		 struct wmk_read_pipeline_options *options, FILE *out, struct wmk_pager *pager,
		 struct wmk_read_pipeline_result *done);

#endif
