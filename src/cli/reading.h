/* SPDX-License-Identifier: MIT */
/*
 * reading.h - shared by `view` and `convert`: options that select records, and reports of read/pipeline.h (damage and
 * losses on standard error, progress on a terminal).
 */
#ifndef WMK_CLI_READING_H
#define WMK_CLI_READING_H

#include "cli/command.h"
#include "cli/pager.h"
#include "read/callstacks.h"
#include "read/pipeline.h"
#include "symbols/symbols.h"

/*
 * Selection of records. If a command uses the options below, its arguments begin with this structure. Strings point
 * into argv.
 */
struct wmk_cli_which {
	struct wmk_cli_common common;
	const char *begin, *end, *filter;
};

#define WMK_CLI_OPTIONS_TIME \
	{ 'b', "begin", "TIME", \
	  "Only records from this time on: seconds since 1970 (1700000000.5), a date (2023-11-14), " \
	  "a time of day (22:13:20.5), or date and time. A time of day is on the day of the trace's first record.", \
	  WMK_CLI_TEXT(struct wmk_cli_which, begin) }, \
	{ 'E', "end", "TIME", "Only records up to this time; a date includes the whole day.", \
	  WMK_CLI_TEXT(struct wmk_cli_which, end) }
#define WMK_CLI_OPTIONS_WHICH \
	WMK_CLI_OPTIONS_TIME, \
	{ 'F', "filter", "EXPR", "Only records for which EXPR, a C-like expression over their fields, is true: " \
	  "'amount > 100 && name == \"bo*\"'. waymark-filter(7) describes the language.", \
	  WMK_CLI_TEXT(struct wmk_cli_which, filter) }

/*
 * Read the traces, and write the records to `out` in the format of `options`. This function sets the other members of
 * `options`. Flushes standard output before it reports a loss. Prints the damage of the traces, and returns the result
 * of wmk_read_pipeline_run(). If `out` is standard output, `pager` is started before the first line; NULL means no
 * pager.
 */
int wmk_cli_read(const struct wmk_cli_which *which, const char *const *paths, unsigned n,
		 struct wmk_read_pipeline_options *options, FILE *out, struct wmk_pager *pager,
		 struct wmk_read_pipeline_result *done);

/* Read the object files of processes, for the option --symbols. Free *symbols by wmk_symbols_free(). */
int wmk_cli_symbols(const char *const *paths, unsigned n, struct wmk_symbols **symbols);
/* Call stacks with symbols. Initialized with zeros. */
struct wmk_cli_callstacks {
	struct wmk_symbols *symbols;
	struct wmk_read_symbolizer symbolizer;
	struct wmk_read_callstacks *callstacks; /* NULL: not open */
};

/* Read the objects of processes. Call wmk_cli_callstacks_close() even after an error. */
int wmk_cli_callstacks_open(const char *const *paths, unsigned n, struct wmk_cli_callstacks *made);
void wmk_cli_callstacks_close(struct wmk_cli_callstacks *made);

#define WMK_CLI_HELP_SYMBOLS \
	"Show functions and lines of the addresses in the contexts ip, callstack_user and callstack_kernel, and in " \
	"fields of kernel events. Programs and libraries are found by their build-ids, also at the servers of " \
	"DEBUGINFOD_URLS. Functions of the kernel are in DIR/kallsyms (`waymark record --kallsyms`)."

#endif
