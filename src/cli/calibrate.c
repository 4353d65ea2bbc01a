/* SPDX-License-Identifier: MIT */
/*
 * calibrate.c - `waymark calibrate`: what a record costs on this machine, in each of its parts.
 *
 *     waymark calibrate ──► waymark record --overwrite [-c CONTEXT] -- waymark-calibrate ...   once for each context, once for the rest
 *                                                                          │ lines: name, quartiles in ns (calibrate_work.c)
 *                       ◄──────────────────────────────────────────────────┘
 *
 * Measured is a program like any other, recorded by the command that everybody uses; nothing is written while it
 * measures.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/command.h"
#include "ctf/writer.h"

#define PROGRAM "waymark-calibrate"
#define RESULTS_MAX 32
/*
 * The whole is repeated, since a CPU is slower while it has other work beside: what something costs is what it cost in
 * its best pass.
 */
#define PASSES 5

extern char **environ;

struct result {
	char name[48];
	double low, median, high;        /* ns */
};

struct results {
	char dir[64];                    /* where traces go, removed at the end */
	char program[PATH_MAX];
	char words[320];                 /* the last thing that was said and was no result */
	struct result list[PASSES][RESULTS_MAX];
	unsigned pass, n;                /* n: of this pass; each has the same, in the same order */
};

/* Beside the command (a build tree), or in libexec beneath the same prefix. */
static int find_program(char *path, size_t size)
{
	static const char *const places[] = { "", "/../" WAYMARK_LIBEXEC };
	char dir[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", dir, sizeof(dir) - 1);
	char *slash;

	dir[n > 0 ? n : 0] = '\0';
	slash = strrchr(dir, '/');
	if (!slash)
		return wmk_error(-ENOENT, "cannot tell where waymark is: is /proc there?");
	*slash = '\0';
	for (unsigned i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		int len = snprintf(path, size, "%s%s/" PROGRAM, dir, places[i]);

		if (len > 0 && (size_t)len < size && access(path, X_OK) == 0)
			return 0;
	}
	return wmk_error(-ENOENT,
			 "the program that is measured, " PROGRAM
			 ", is not there: neither in %s nor in %s/../" WAYMARK_LIBEXEC "; install Waymark as a whole",
			 dir, dir);
}

static void take_line(struct results *results, char *line, const char *context)
{
	struct result *result = &results->list[results->pass][results->n];
	char name[24];

	line[strcspn(line, "\n")] = '\0';
	if (results->n + 1 < RESULTS_MAX &&
	    sscanf(line, "%23s %lf %lf %lf", name, &result->low, &result->median, &result->high) == 4) {
		snprintf(result->name, sizeof(result->name), "%s", context ? context : name);
		results->n++;
	} else if (line[0] && line[0] != '{') {
		snprintf(results->words, sizeof(results->words), "%.319s", line);
	}
}

static int start(const struct results *results, const char *context, pid_t *pid)
{
	char exe[] = "/proc/self/exe", trace[sizeof(results->dir) + 8], program[PATH_MAX], words[48];
	char *argv[20] = { (char[]){ "waymark" },
			   (char[]){ "record" },
			   (char[]){ "--json" },
			   (char[]){ "--private" },
			   (char[]){ "--overwrite" },
			   (char[]){ "--subbuf-size=256k" },
			   (char[]){ "--num-subbuf=4" },
			   (char[]){ "-ecalibrate:record_*" },
			   (char[]){ "-o" },
			   trace };
	posix_spawn_file_actions_t actions;
	int out[2], n = 10, err;

	snprintf(trace, sizeof(trace), "%s/trace", results->dir);
	snprintf(program, sizeof(program), "%s", results->program);
	snprintf(words, sizeof(words), "-c%s", context ? context : "");
	if (context)
		argv[n++] = words;
	argv[n++] = (char []){ "--" };
	argv[n++] = program;
	argv[n++] = context ? (char []){ "record" } : (char []){ "all" };
	if (pipe2(out, O_CLOEXEC) < 0)
		return wmk_error(-errno, "cannot make a pipe");
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, out[1], 1);
	posix_spawn_file_actions_adddup2(&actions, out[1], 2);
	err = posix_spawn(pid, exe, &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	close(out[1]);
	if (!err)
		return out[0];
	close(out[0]);
	return wmk_error(-err, "cannot run `waymark record`");
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

/* One recording of the program; what it printed is appended to the results. */
static int measure(struct results *results, const char *context)
{
	unsigned before = results->n;
	char line[1024], trace[sizeof(results->dir) + 8];
	int fd, status;
	pid_t pid;
	FILE *in;

	fd = start(results, context, &pid);
	if (fd < 0)
		return fd;
	in = fdopen(fd, "r");
	while (in && fgets(line, sizeof(line), in))
		take_line(results, line, context);
	if (in)
		fclose(in);
	else
		close(fd);
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return wmk_error(-errno, "cannot wait for `waymark record`");
	snprintf(trace, sizeof(trace), "%s/trace", results->dir);
	nftw(trace, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	if (status != 0 || results->n == before)
		return wmk_error(-EIO, "`waymark record` could not measure it: %s",
				 results->words[0] ? results->words : "it said nothing");
	return 0;
}

static const struct result *find(const struct results *results, unsigned pass, const char *name)
{
	for (unsigned i = 0; i < RESULTS_MAX; i++)
		if (strcmp(results->list[pass][i].name, name) == 0)
			return &results->list[pass][i];
	return NULL;
}

/* The pass with the least median. NULL: it was not measured. */
static const struct result *best(const struct results *results, const char *name)
{
	const struct result *least = NULL;

	for (unsigned i = 0; i < PASSES; i++) {
		const struct result *one = find(results, i, name);

		if (one && (!least || one->median < least->median))
			least = one;
	}
	return least;
}

/* What `name` costs more than `base`; may come out below nothing. */
static double more_than(const struct results *results, const char *name, const char *base)
{
	const struct result *a = best(results, name), *b = best(results, base);

	return a && b ? a->median - b->median : 0;
}

/* ── what is shown ───────────────────────────────────────────────────────────────────────────────────── */

static void print_line(const struct results *results, const char *words, const char *name, const char *base)
{
	const struct result *result = best(results, name);
	char more[32] = "";

	if (!result)
		return;
	if (base)
		snprintf(more, sizeof(more), "%+.1f", more_than(results, name, base));
	printf("%-36s %8.1f %8s   %.1f to %.1f\n", words, result->median, more, result->low, result->high);
}

static void print_text(const struct results *results)
{
	const char *bold = wmk_cli_color(stdout, WMK_CLI_BOLD),
		   *plain = *bold ? wmk_cli_color(stdout, WMK_CLI_PLAIN) : "";
	const double site = more_than(results, "site", "plain");

	printf("%s%-36s %8s %8s   %s%s\n", bold, "ns of one CPU", "median", "more", "middle half", plain);
	printf("%-36s %8.1f\n", "site that nobody records", site > -0.05 && site < 0 ? 0.0 : site);
	print_line(results,
		   wmk_clock_detect() == WMK_CLOCK_COUNTER ? "reading the clock (counter)"
							   : "reading the clock (monotonic)",
		   "clock", NULL);
	print_line(results, "record without fields", "record_0", "clock");
	print_line(results, "record of 4 bytes", "record_4", "record_0");
	print_line(results, "record of 64 bytes", "record_64", "record_0");
	for (const struct wmk_ctf_context *c = NULL; (c = wmk_ctf_context_next(WMK_CONTEXT_USER, c));) {
		char name[48];

		snprintf(name, sizeof(name), "record of 4 bytes, with %s", c->field.name);
		print_line(results, name, c->field.name, "record_4");
	}
}

static void json_result(const struct results *results, struct wmk_cli_json *json, const char *what, const char *name,
			const char *base)
{
	const struct result *result = best(results, name);

	if (!result)
		return;
	wmk_cli_json_open(json, NULL, '{');
	wmk_cli_json_text(json, "what", what);
	if (what != name)
		wmk_cli_json_text(json, "context", name);
	wmk_cli_json_double(json, "median_ns", result->median);
	wmk_cli_json_double(json, "low_ns", result->low);
	wmk_cli_json_double(json, "high_ns", result->high);
	if (base)
		wmk_cli_json_double(json, "more_ns", more_than(results, name, base));
	wmk_cli_json_close(json, '}');
}

static void print_json(const struct results *results)
{
	static const char clock[] = "clock", record_0[] = "record_0", record_4[] = "record_4",
			  record_64[] = "record_64";
	struct wmk_cli_json json = { .out = stdout };

	wmk_cli_json_open(&json, NULL, '{');
	wmk_cli_json_text(&json, "clock", wmk_clock_detect() == WMK_CLOCK_COUNTER ? "counter" : "monotonic");
	wmk_cli_json_double(&json, "disabled_site_ns", more_than(results, "site", "plain"));
	wmk_cli_json_open(&json, "results", '[');
	json_result(results, &json, clock, clock, NULL);
	json_result(results, &json, record_0, record_0, clock);
	json_result(results, &json, record_4, record_4, record_0);
	json_result(results, &json, record_64, record_64, record_0);
	for (const struct wmk_ctf_context *c = NULL; (c = wmk_ctf_context_next(WMK_CONTEXT_USER, c));)
		json_result(results, &json, "context", c->field.name, record_4);
	wmk_cli_json_close(&json, ']');
	wmk_cli_json_close(&json, '}');
	fputc('\n', stdout);
}

static int measure_all(struct results *results)
{
	int err = 0;

	for (results->pass = 0; err == 0 && results->pass < PASSES; results->pass++) {
		results->n = 0;
		err = measure(results, NULL);
		for (const struct wmk_ctf_context *c = NULL;
		     err == 0 && (c = wmk_ctf_context_next(WMK_CONTEXT_USER, c));)
			err = measure(results, c->field.name);
	}
	return err;
}

static int run_calibrate(void *data, char **rest, int n_rest)
{
	static struct results results;
	const struct wmk_cli_common *args = data;
	int err;

	(void)rest;
	if (n_rest)
		return wmk_error(-EINVAL, "calibrate takes no arguments");
	err = find_program(results.program, sizeof(results.program));
	strcpy(results.dir, "/tmp/waymark-calibrate-XXXXXX");
	if (err == 0 && !mkdtemp(results.dir))
		err = wmk_error(-errno, "cannot make a directory in /tmp");
	else if (err == 0) {
		err = measure_all(&results);
		nftw(results.dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	}
	if (err < 0) {
		wmk_error_add(err, "cannot calibrate");
		return wmk_cli_failed();
	}
	if (args->json)
		print_json(&results);
	else
		print_text(&results);
	return 0;
}

static const char *const details[] = {
	"Measures the cost of a record for an application, on the CPU where the command runs: a disabled "
	"tracepoint, reading the clock, a record without fields, what fields of 4 and of 64 bytes add, and what each "
	"context adds. A small program is recorded by `waymark record` for each context, five times over, which takes "
	"a few seconds; nothing is written meanwhile, and a daemon is neither needed nor disturbed.",
	"Times are CPU time of the recording thread: medians of 21 batches of 20,000, of the best of five passes, and "
	"between which two the middle half of its batches lies. Where that half is wide, the machine is busy with "
	"something else: measure again.",
	"The column `more` is what a part costs: of a record without fields, what is not the clock (the call, a place "
	"in the ring, the header and the commit, which are one restartable sequence); of fields, against a record "
	"without; of a context, against a record of 4 bytes.",
	NULL
};

static const struct wmk_cli_option options[] = { WMK_CLI_OPTION_JSON };

const struct wmk_cli_command wmk_cli_calibrate = {
	.name = "calibrate",
	.arguments = "",
	.summary = "Measure what a record costs on this machine",
	.details = details,
	WMK_CLI_OPTIONS(options),
	.args_size = sizeof(struct wmk_cli_common),
	.run = run_calibrate,
};
