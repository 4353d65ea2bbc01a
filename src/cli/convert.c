/* SPDX-License-Identifier: MIT */
/*
 * convert.c - `waymark convert`: export traces to other formats (read/exporter.h).
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "cli/import.h"
#include "cli/reading.h"
#include "read/convert.h"
#include "read/json.h"

struct convert_args {
	struct wmk_cli_which which;
	const char *to;
	const struct wmk_read_exporter *form;    /* NULL: text, or no format given */
	const char *output;
	bool callstacks;
	struct wmk_cli_import import;
};

static const struct wmk_read_exporter *const forms[] = { &wmk_read_json,     &wmk_read_csv,   &wmk_read_chrome,
							 &wmk_read_perfetto, &wmk_read_ctf18, &wmk_read_ctf2,
							 &wmk_read_folded };

static int read_callstacks(const struct convert_args *args, const char *const *paths, unsigned n,
			   struct wmk_read_pipeline_options *options, FILE *out, struct wmk_read_pipeline_result *done)
{
	struct wmk_cli_callstacks callstacks = { .symbols = NULL };
	int err = wmk_cli_callstacks_open(paths, n, &callstacks);

	options->form = &wmk_read_callstacks;
	options->whole = callstacks.callstacks;
	if (err >= 0)
		err = wmk_cli_read(&args->which, paths, n, options, out, NULL, done);
	wmk_cli_callstacks_close(&callstacks);
	return err;
}

static int convert(const struct convert_args *args, const char *const *paths, unsigned n)
{
	const bool makes_files = args->form && args->form->is_directory;
	struct wmk_read_pipeline_options options = { .form = args->form,
						     .print = WMK_PRINT_OPTIONS,
						     .directory = args->output };
	struct wmk_read_pipeline_result done;
	FILE *out = args->output && !makes_files ? fopen(args->output, "we") : stdout;
	int err;

	if (!out) {
		wmk_error(-errno, "cannot write '%.200s'", args->output);
		return wmk_cli_failed();
	}
	err = args->callstacks ? read_callstacks(args, paths, n, &options, out, &done)
			       : wmk_cli_read(&args->which, paths, n, &options, out, NULL, &done);
	if ((out != stdout ? fclose(out) : fflush(out)) != 0 && err >= 0)
		err = wmk_error(-errno, "cannot write %s%.200s", args->output ? "" : "the records",
				args->output ? args->output : "");
	if (err < 0)
		return wmk_cli_failed();
	return done.damages ? WMK_CLI_FAILED : 0;
}

/* Convert the trace that was created from a log. */
static int convert_made(void *data, const char *made)
{
	return convert(data, &made, 1);
}

static int run_import(const struct convert_args *args, char **rest, int n_rest)
{
	if (args->to && args->form != &wmk_read_ctf18)
		return wmk_error(-EINVAL,
				 "--from converts a log only to a trace: use --to ctf, then convert the trace");
	if (!args->output)
		return wmk_error(-EINVAL, "no output given: give -o DIR, a directory that does not exist or is empty");
	if (!n_rest)
		return wmk_error(-EINVAL, "no log given: give its file, or - for standard input");
	if (!args->which.begin && !args->which.end && !args->which.filter)
		return wmk_cli_import(&args->import, args->output, (const char *const *)rest, (unsigned)n_rest);
	struct convert_args part = *args;

	part.form = &wmk_read_ctf18;
	return wmk_cli_import_part(&args->import, args->output, (const char *const *)rest, (unsigned)n_rest,
				   convert_made, &part);
}

static int run_convert(void *data, char **rest, int n_rest)
{
	struct convert_args *args = data;

	for (size_t i = 0; i < WMK_ARRAY_LEN(forms); i++)
		if (args->to && strcmp(args->to, forms[i]->name) == 0)
			args->form = forms[i];
	if (args->import.format)
		return run_import(args, rest, n_rest);
	if (args->import.is_told)
		return wmk_error(-EINVAL, "--year and --boot-time need --from");
	if (!args->to)
		return wmk_error(-EINVAL,
				 "no format given: give --to text, json, csv, chrome, perfetto, folded, ctf or ctf-2");
	if (args->callstacks && args->form != &wmk_read_folded)
		return wmk_error(-EINVAL, "--callstacks needs --to folded");
	if (!n_rest)
		return wmk_error(-EINVAL, "no trace given: give its directory, or a directory above it");
	if (args->form && args->form->is_directory && !args->output)
		return wmk_error(-EINVAL, "no output given: give -o DIR, a directory that does not exist or is empty");
	if (args->form && args->form->is_binary && !args->output && isatty(1))
		return wmk_error(-EINVAL, "cannot write binary output to a terminal: give -o FILE, or use a pipe");
	return convert(args, (const char *const *)rest, (unsigned)n_rest);
}

static const char *const details[] = {
	"Converts traces in Common Trace Format 1.8 and 2 to another format. Reads all traces in and below the "
	"directories, in the order of time.",
	"text: the lines of `waymark view --style=babeltrace`. json: one object per line for each record, as "
	"`waymark view --json`. csv: a table with a column for each field of any event; structured values are "
	"JSON. chrome: the Trace Event Format, for chrome://tracing, Speedscope and others. perfetto: for "
	"ui.perfetto.dev and trace_processor. In "
	"chrome and perfetto, records are instants on the track of their thread, if the channel has the contexts vpid "
	"and vtid (and procname, for its name), else on the track of their CPU. Spans (waymark_span(), "
	"waymark_begin(), waymark_end()) and system calls are slices on the same track. Counters (waymark_counter()) "
	"are counter tracks. In perfetto, the kernel's scheduler events (`record --preset=sched`) are drawn as CPUs, "
	"states of threads and wake-ups.",
	"folded: stacks for flame graphs (flamegraph.pl, speedscope), one per line, with the nanoseconds that "
	"belong to no inner span or system call. A stack begins with the name of the thread. Needs the contexts vpid "
	"and vtid, or pid and tid, which `waymark record` adds.",
	"ctf, ctf-2: Common Trace Format again, 1.8 or 2: one trace below the output directory for each input trace, "
	"with the selected records. If all records are selected, the copy lacks only what CTF 1.8 cannot express, and "
	"a message reports that.",
	"With --from, FILEs are logs of other programs, which become a trace in the directory DIR (-o), one record per "
	"line. `waymark view DIR OTHER` shows it together with other traces. syslog: files in /var/log, the output of "
	"`journalctl` (-o short and related formats), RFC 3164 and 5424. dmesg: the output of `dmesg`, also with -T, "
	"-x or -r. perf: the output of `perf script`. strace: the output of `strace`, preferably with -f -ttt -T. "
	"Processes, threads and names become the contexts vpid, vtid and procname, so that each thread has its own "
	"track in Perfetto. A line in an unknown form becomes a record with its whole text (syslog:line, ...), and is "
	"counted. --begin, --end and --filter apply to the resulting records.",
	"Missing parts of times are assumed, and a message reports that. Dates without a year (--year): the latest "
	"year in which the line is at most one day later than the file's modification time. Times without a date "
	"(`strace -tt`): the first line is at most 24 hours older than the modification time. Times since the "
	"machine's start (dmesg, perf): counted from --boot-time, or else from 1970. `date -d \"$(uptime -s)\" +%s` "
	"prints when this machine started.",
	"Damaged parts and lost records are reported on standard error; the exit status is 1 if a part is damaged.",
	NULL
};

static const struct wmk_cli_option options[] = {
	{ 't', "to", "FORMAT",
	  "The output format: text, json, csv, chrome, perfetto, folded, ctf or ctf-2. With --from, ctf is the "
	  "default and the only format.",
	  WMK_CLI_WORD(struct convert_args, to, "text json csv chrome perfetto folded ctf ctf-2",
		       "unknown format '@'; the formats are text, json, csv, chrome, perfetto, folded, ctf, ctf-2~") },
	{ 'o', "output", "FILE",
	  "The output file. The default is standard output. For ctf and ctf-2, and with --from, a directory, which is "
	  "created.",
	  WMK_CLI_NAME(struct convert_args, output, "a file") },
	{ 0, "callstacks", NULL,
	  "With --to folded: stacks of the contexts callstack_user and callstack_kernel, with functions, and the "
	  "number of records. The innermost frame is the event.",
	  WMK_CLI_FLAG(struct convert_args, callstacks) },
	{ 0, "from", "FORMAT", "Make a trace of logs of other programs: syslog, dmesg, perf or strace.",
	  WMK_CLI_WORD(struct convert_args, import.format, "syslog dmesg perf strace",
		       "unknown log format '@'; the formats are syslog, dmesg, perf, strace~") },
	{ 0, "year", "YEAR", "With --from: the year of the first line of a log with dates without a year.",
	  .store = wmk_cli_store_import_year, WMK_CLI_AT(struct wmk_cli_import, struct convert_args, import) },
	{ 0, "boot-time", "TIME",
	  "With --from: the origin of times without a date, as seconds since 1970 or a date. For dmesg and perf, the "
	  "start of the machine; for `strace -r`, the time of the first line; for `strace -tt`, any time on the day "
	  "of the first line.",
	  .store = wmk_cli_store_import_origin, WMK_CLI_AT(struct wmk_cli_import, struct convert_args, import) },
	WMK_CLI_OPTIONS_WHICH,
};

const struct wmk_cli_command wmk_cli_convert = {
	.name = "convert",
	.arguments = "DIR... | --from FORMAT -o DIR FILE...",
	.summary = "Convert traces to other formats, or logs to traces",
	.details = details,
	WMK_CLI_OPTIONS(options),
	.args_size = sizeof(struct convert_args),
	.run = run_convert,
};
