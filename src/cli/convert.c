/* SPDX-License-Identifier: MIT */
/*
 * convert.c - `waymark convert`: traces in a form for other programs (read/exporter.h).
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/import.h"
#include "cli/reading.h"
#include "read/convert.h"
#include "read/json.h"

struct convert_args {
	struct wmk_cli_which which;
	const char *to;
	const struct wmk_read_exporter *form;    /* NULL: text, or none was named */
	const char *output;
	struct wmk_cli_import import;
};

static const struct wmk_read_exporter *const forms[] = { &wmk_read_json,     &wmk_read_csv,   &wmk_read_chrome,
							 &wmk_read_perfetto, &wmk_read_ctf18, &wmk_read_ctf2 };

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
	err = wmk_cli_read(&args->which, paths, n, &options, out, NULL, &done);
	if ((out != stdout ? fclose(out) : fflush(out)) != 0 && err >= 0)
		err = wmk_error(-errno, "cannot write %s%.200s", args->output ? "" : "the records",
				args->output ? args->output : "");
	if (err < 0)
		return wmk_cli_failed();
	return done.damages ? WMK_CLI_FAILED : 0;
}

/* A trace that was made of a log, as one that was given. */
static int convert_made(void *data, const char *made)
{
	return convert(data, &made, 1);
}

static int run_import(const struct convert_args *args, char **rest, int n_rest)
{
	if (args->to && args->form != &wmk_read_ctf18)
		return wmk_error(-EINVAL,
				 "--from makes a trace of a log: --to ctf. Convert that to other formats then");
	if (!args->output)
		return wmk_error(-EINVAL, "where to? Say -o DIR, a directory that is absent or empty");
	if (!n_rest)
		return wmk_error(-EINVAL, "which log? Name its file, or - for standard input");
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

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
		if (args->to && strcmp(args->to, forms[i]->name) == 0)
			args->form = forms[i];
	if (args->import.format)
		return run_import(args, rest, n_rest);
	if (args->import.is_told)
		return wmk_error(-EINVAL, "--year and --boot-time are of logs: say of which format (--from)");
	if (!args->to)
		return wmk_error(-EINVAL, "into what? Say --to text, json, csv, chrome, perfetto, ctf or ctf-2");
	if (!n_rest)
		return wmk_error(-EINVAL, "which trace? Name its directory, or one above it");
	if (args->form && args->form->is_directory && !args->output)
		return wmk_error(-EINVAL, "where to? Say -o DIR, a directory that is not there yet, or empty");
	if (args->form && args->form->is_binary && !args->output && isatty(1))
		return wmk_error(-EINVAL, "what comes out is no text: give it a file (-o FILE), or pipe it on");
	return convert(args, (const char *const *)rest, (unsigned)n_rest);
}

static const char *const details[] = {
	"Makes another form of traces in Common Trace Format 1.8 and 2: all that is at and below the directories, in "
	"the order of time.",
	"text: the lines of `waymark view`. json: an object on a line for each record, as `waymark view --json`. csv: "
	"a table with a column for each field that any event has; what has something in it, as JSON. chrome: the Trace "
	"Event Format, for chrome://tracing, Speedscope and others. perfetto: for ui.perfetto.dev and trace_processor. "
	"In the last two, records are instants on the line of their thread, if the channel had the contexts vpid and "
	"vtid (and procname, for its name), else on that of their CPU; spans (waymark_span(), waymark_begin(), "
	"waymark_end()) are bars on the same line, counters (waymark_counter()) curves.",
	"ctf, ctf-2: Common Trace Format again, 1.8 or 2: below the directory a trace for each, with the selected "
	"records. If all records are selected, the copy lacks only what CTF 1.8 cannot express, and a message reports "
	"that.",
	"With --from, FILEs are logs of other programs, which become a trace in the directory DIR (-o), one record for "
	"each line, to be viewed together with other traces: `waymark view DIR OTHER`. syslog: files in /var/log, what "
	"`journalctl` prints (-o short and its relatives), RFC 3164 and 5424. dmesg: what `dmesg` prints, with -T, -x, "
	"-r too. perf: what `perf script` prints. strace: what `strace` writes, best with -f -ttt -T. Processes, "
	"threads and names become the contexts vpid, vtid and procname, so that a thread has a line of its own in "
	"Perfetto. A line that is not understood is a record too, with all its text (syslog:line, ...), and is "
	"counted. --begin, --end and --filter are of the records that it makes.",
	"Missing parts of times are assumed, and a message reports that: a year (--year) is the last that fits "
	"before the file's last change; a day (`strace -tt`) is that of the last change; times since the "
	"machine's start (dmesg, perf) count from --boot-time, or else from 1970. `date -d \"$(uptime -s)\" +%s` "
	"prints when this machine started.",
	"What is damaged, and what was lost while it was recorded, is said on standard error; the exit status is 1 if "
	"something was damaged.",
	NULL
};

static const struct wmk_cli_option options[] = {
	{ 't', "to", "FORMAT", "text, json, csv, chrome, perfetto, ctf or ctf-2. With --from, ctf, which may be left "
	  "out.", WMK_CLI_WORD(struct convert_args, to, "text json csv chrome perfetto ctf ctf-2",
		       "there is no format '@'~: there are text, json, csv, chrome, perfetto, ctf, ctf-2") },
	{ 'o', "output", "FILE", "Where to. Without it, standard output. For ctf and ctf-2, and with --from, a "
	  "directory, which is made.", WMK_CLI_NAME(struct convert_args, output, "a file") },
	{ 0, "from", "FORMAT", "Make a trace of logs of other programs: syslog, dmesg, perf or strace.",
	  WMK_CLI_WORD(struct convert_args, import.format, "syslog dmesg perf strace",
		       "no logs of format '@' are known~: there are syslog, dmesg, perf, strace") },
	{ 0, "year", "YEAR", "With --from: the year of a log's first line, for dates without.",
	  .store = wmk_cli_store_import_year, WMK_CLI_AT(struct wmk_cli_import, struct convert_args, import) },
	{ 0, "boot-time", "TIME", "With --from: from when times without a date count, as seconds since 1970 or a date: "
	  "the machine's start; for `strace -r` its first line, for `strace -tt` any time of its first day.",
	  .store = wmk_cli_store_import_origin, WMK_CLI_AT(struct wmk_cli_import, struct convert_args, import) },
	WMK_CLI_OPTIONS_WHICH,
};

const struct wmk_cli_command wmk_cli_convert = {
	.name = "convert",
	.arguments = "DIR... | --from FORMAT -o DIR FILE...",
	.summary = "Make traces into other formats",
	.details = details,
	WMK_CLI_OPTIONS(options),
	.args_size = sizeof(struct convert_args),
	.run = run_convert,
};
