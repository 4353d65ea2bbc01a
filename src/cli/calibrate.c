/* SPDX-License-Identifier: MIT */
/*
 * calibrate.c - `waymark calibrate`: measure the cost of a record on this machine.
 *
 *     waymark calibrate ──► waymark record --overwrite [-c CONTEXT] -- waymark-calibrate ...
 *            ▲                  once for each context, once for the rest │
 *            └────── lines: name, quartiles in ns (calibrate_work.c) ◄──┘
 *
 * The measured program is an ordinary application, and an ordinary `waymark record` records the program. Nothing is
 * written to a disk while the program measures.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/command.h"
#include "cli/path.h"
#include "ctf/writer.h"

#define PROGRAM "waymark-calibrate"
#define RESULTS_MAX 32
/*
 * Other load on a CPU slows measurements down, so `calibrate` repeats all measurements in several passes. The result of
 * a measurement comes from its best pass.
 */
#define PASSES 5

extern char **environ;

struct result {
	char name[48];
	double low, median, high;        /* ns */
};

struct results {
	char dir[64];                    /* holds the traces; removed at the end */
	char program[PATH_MAX];
	char words[320];                 /* the last line of output that is not a result */
	struct result list[PASSES][RESULTS_MAX];
	/* n: results of this pass; all passes have the same results in the same order */
	unsigned pass, n;
};

/* The program is in the directory of the command (a build tree), or in libexec of the same prefix. */
static int find_program(char *path, size_t size)
{
	static const char *const places[] = { "", "/../" WAYMARK_LIBEXEC };
	char dir[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", dir, sizeof(dir) - 1);
	char *slash;

	dir[n > 0 ? n : 0] = '\0';
	slash = strrchr(dir, '/');
	if (!slash)
		return wmk_error(-ENOENT,
				 "cannot find the path of waymark: cannot read /proc/self/exe (is /proc mounted?)");
	*slash = '\0';
	for (unsigned i = 0; i < WMK_ARRAY_LEN(places); i++) {
		int len = snprintf(path, size, "%s%s/" PROGRAM, dir, places[i]);

		if (len > 0 && (size_t)len < size && access(path, X_OK) == 0)
			return 0;
	}
	return wmk_error(-ENOENT,
			 "cannot find " PROGRAM
			 ", the program to measure, in %s or in %s/../" WAYMARK_LIBEXEC "; install all of Waymark",
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
		return wmk_error(-errno, "cannot create a pipe");
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

/* Run `record` once with the measured program, and append the measurements that the program prints to the results. */
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
	wmk_cli_remove_tree(trace);
	if (status != 0 || results->n == before)
		return wmk_error(-EIO, "`waymark record` could not measure: %s",
				 results->words[0] ? results->words : "no output");
	return 0;
}

static const struct result *find(const struct results *results, unsigned pass, const char *name)
{
	for (unsigned i = 0; i < RESULTS_MAX; i++)
		if (strcmp(results->list[pass][i].name, name) == 0)
			return &results->list[pass][i];
	return NULL;
}

/* Return the result of the pass with the smallest median. NULL: not measured. */
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

/* Return the median cost of `name` minus the median cost of `base`, in ns. Noise can make the difference negative. */
static double more_than(const struct results *results, const char *name, const char *base)
{
	const struct result *a = best(results, name), *b = best(results, base);

	return a && b ? a->median - b->median : 0;
}

/* ── output ──────────────────────────────────────────────────────────────────────────────────────────── */

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
	printf("%-36s %8.1f\n", "disabled tracepoint", site > -0.05 && site < 0 ? 0.0 : site);
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
		err = wmk_error(-errno, "cannot create a directory in /tmp");
	else if (err == 0) {
		err = measure_all(&results);
		wmk_cli_remove_tree(results.dir);
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
	"Measures the cost of a record for an application, on the CPU where the command runs: a disabled tracepoint, "
	"reading the clock, a record without fields, and the additional cost of 4 bytes, of 64 bytes, and of each "
	"context. `waymark record` runs a small program for each context, five times, which takes a few seconds. "
	"Nothing is written to a disk meanwhile. The command neither needs nor affects a session daemon.",
	"Times are CPU time of the recording thread. Each is the median of 21 batches of 20,000 records, in the best "
	"of five passes. The column `middle half` is the interquartile range of these batches. A wide range means that "
	"other load disturbed the measurement: measure again.",
	"The column `more` is the additional cost of a part. For a record without fields, it is the cost without the "
	"clock (the function call, the reservation, the header and the commit, which are one restartable sequence). "
	"For fields, it is the difference from a record without fields; for a context, from a record of 4 bytes.",
	NULL
};

static const struct wmk_cli_option options[] = { WMK_CLI_OPTION_JSON };

const struct wmk_cli_command wmk_cli_calibrate = {
	.name = "calibrate",
	.arguments = "",
	.summary = "Measure the cost of a record on this machine",
	.details = details,
	WMK_CLI_OPTIONS(options),
	.args_size = sizeof(struct wmk_cli_common),
	.run = run_calibrate,
};
