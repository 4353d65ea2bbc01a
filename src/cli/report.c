/* SPDX-License-Identifier: MIT */
/* report.c - `waymark report`: convert a trace to one HTML file (analyze/report/page.h). */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "analyze/report/page.h"
#include "base/error.h"
#include "cli/reading.h"

struct report_args {
	struct wmk_cli_which which;
	const char *output;
	bool symbols;
};

/* Create the file after reading the traces, so that an error does not damage an earlier report. */
static int write_page(const struct report_args *args, struct wmk_analysis *analysis)
{
	FILE *out = args->output ? fopen(args->output, "we") : stdout;
	int err;

	if (!out)
		return wmk_error(-errno, "cannot write '%.200s'", args->output);
	err = wmk_report_write(analysis, out);
	if (out != stdout && fclose(out) != 0 && err >= 0)
		err = wmk_error(-errno, "cannot write '%.200s'", args->output);
	return err;
}

static int report(const struct report_args *args, const char *const *paths, unsigned n, uint64_t *damages)
{
	struct wmk_read_pipeline_options options = { .form = &wmk_analysis_form, .print = WMK_PRINT_OPTIONS };
	struct wmk_cli_callstacks callstacks = { .symbols = NULL };
	struct wmk_read_pipeline_result done;
	struct wmk_analysis *analysis = NULL;
	int err = args->symbols ? wmk_cli_callstacks_open(paths, n, &callstacks) : 0;

	if (err >= 0)
		err = wmk_analysis_create(wmk_report_modules, &analysis);
	if (err >= 0)
		wmk_report_callstacks(wmk_report_of(analysis), callstacks.callstacks);
	options.whole = analysis;
	if (err >= 0)
		err = wmk_cli_read(&args->which, paths, n, &options, stdout, NULL, &done);
	if (err >= 0) {
		err = write_page(args, analysis);
		*damages = done.damages;
	}
	wmk_analysis_free(analysis);
	wmk_cli_callstacks_close(&callstacks);
	return err;
}

static int run_report(void *data, char **rest, int n_rest)
{
	const struct report_args *args = data;
	uint64_t damages = 0;

	if (!n_rest)
		return wmk_error(-EINVAL, "no trace given: give its directory, or a directory above it");
	if (!args->output && isatty(1))
		return wmk_error(-EINVAL, "cannot write HTML to a terminal: give -o FILE, or use a pipe");
	if (report(args, (const char *const *)rest, (unsigned)n_rest, &damages) < 0)
		return wmk_cli_failed();
	return damages ? WMK_CLI_FAILED : 0;
}

static const char *const details[] = {
	"Reads all traces in and below the directories once, and writes one HTML file. The file is self-contained: a "
	"browser opens it from disk, without a network.",
	"The page has the summary of `waymark analyze`; charts of records, lost records and CPU use over time; a "
	"timeline of CPUs and threads with their states and spans; a flame graph of spans and system calls; and the "
	"tables of the summary with all rows. A click on a column heading sorts the table. States need the kernel "
	"events of `waymark record --preset=sched`.",
	"The timeline zooms (wheel, + and -) and moves (drag, arrow keys). A click on a span, a state or a record "
	"shows its fields. The page lists the keys.",
	"If a trace has at most 100,000 records, the page has each record, with its fields if all fields have at most "
	"3 MiB. For a larger trace, the page has no individual records, and sums short states and spans. Each span "
	"longer than 1/2000 of the trace is in the page. Sums and tables are exact. For details of a part, select it "
	"with --begin and --end.",
	"Damaged parts and lost records are reported on standard error; the exit status is 1 if a part is damaged.",
	NULL
};

static const struct wmk_cli_option options[] = {
	{ 'o', "output", "FILE", "The HTML file. The default is standard output.",
	  WMK_CLI_NAME(struct report_args, output, "a file") },
	{ 0, "symbols", NULL,
	  "Also draw the call stacks of records (contexts callstack_user and callstack_kernel) as a flame graph, with "
	  "functions. Programs and libraries are found by their build-ids.",
	  WMK_CLI_FLAG(struct report_args, symbols) },
	WMK_CLI_OPTIONS_TIME,
};

const struct wmk_cli_command wmk_cli_report = {
	.name = "report",
	.arguments = "TRACE...",
	.summary = "Write a trace as an HTML page with charts and a timeline",
	.details = details,
	WMK_CLI_OPTIONS(options),
	.args_size = sizeof(struct report_args),
	.run = run_report,
};
