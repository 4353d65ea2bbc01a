/* SPDX-License-Identifier: MIT */
/*
 * record.c - `waymark record`: run a program, record what it and its children say, say what became of it.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/nearest.h"
#include "base/testpoint.h"
#include "cli/channel.h"
#include "cli/command.h"
#include "cli/current.h"
#include "cli/record_daemon.h"
#include "cli/session.h"
#include "filter/filter.h"

#define SUBBUF_DEFAULT (1u << 20)
#define N_SUBBUFS_DEFAULT 8u
/* Programs that end together with the main one get this long to do so, and those that go on to stop recording. */
#define GRACE_MS 200
/* Programs that talk all the time do not keep us from the rest. */
#define TURNS_MAX 1000

/* ── options ─────────────────────────────────────────────────────────────────────────────────────────── */

static int add_pattern(const struct wmk_cli_option *option, void *at, const char *value)
{
	struct wmk_record_patterns *patterns = at;
	int err = wmk_pattern_check(value);

	(void)option;
	if (err < 0)
		return err;
	if (patterns->n == WMK_RECORD_PATTERNS_MAX)
		return wmk_error(-E2BIG, "more than %d patterns", WMK_RECORD_PATTERNS_MAX);
	patterns->items[patterns->n++] = value;
	return 0;
}

static int set_filter(const struct wmk_cli_option *option, void *at, const char *value)
{
	struct wmk_filter_expr *expr;
	int err = wmk_filter_parse(value, &expr);

	if (err < 0)
		return wmk_error_add(err, "the filter '%.60s'", value);
	wmk_filter_expr_free(expr);
	return wmk_cli_store_text(option, at, value);
}

static int set_context(const struct wmk_cli_option *option, void *at, const char *value)
{
	struct wmk_record_args *args = at;
	const struct wmk_ctf_context *context = wmk_ctf_context_find(value);
	struct wmk_nearest near;
	char names[120], all[240] = "";

	(void)option;
	if (strcmp(value, "none") == 0) {
		args->no_contexts = true;
		return 0;
	}
	if (!context) {
		wmk_nearest_init(&near, value);
		while ((context = wmk_ctf_context_next(WMK_CONTEXT_USER | WMK_CONTEXT_KERNEL, context))) {
			wmk_nearest_offer(&near, context->field.name);
			snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s%s", all[0] ? ", " : "",
				 context->field.name);
		}
		if (near.n)
			return wmk_error(-EINVAL, "there is no context \"%.40s\"; did you mean: %s?", value,
					 wmk_nearest_text(&near, names, sizeof(names)));
		return wmk_error(-EINVAL, "there is no context \"%.40s\"; there are: none, %s", value, all);
	}
	for (unsigned i = 0; i < args->n_contexts; i++)
		if (args->contexts[i] == context->number)
			return 0;
	if (args->n_contexts == WMK_WIRE_CONTEXTS_MAX)
		return wmk_error(-E2BIG, "more than %d contexts", WMK_WIRE_CONTEXTS_MAX);
	args->contexts[args->n_contexts++] = (uint8_t)context->number;
	return 0;
}

static const struct wmk_cli_option record_options[] = {
	{ 'e', "event", "PATTERN", "Record the events whose provider:name matches: * stands for anything, ? for a "
	  "character, [a-z] for one of them; '!' in front excludes. May be given several times. Without it, every "
	  "event.", .store = add_pattern, WMK_CLI_AT(struct wmk_record_patterns, struct wmk_record_args, patterns),
	  .repeats = true },
	{ 'k', "kernel", "PATTERN", "Record the kernel's events that match, by name or subsystem:name; syscall:NAME is "
	  "a system call, its entry and its exit; '!' in front excludes. May be given several times. The whole machine "
	  "is recorded meanwhile, not the program alone (but see --program-only). Needs root, or root's session daemon "
	  "and membership in the group 'tracing'.", .store = add_pattern,
	  WMK_CLI_AT(struct wmk_record_patterns, struct wmk_record_args, kernel), .repeats = true },
	{ 0, "syscall-arguments", "WHAT", "Of the arguments of system calls (-k) that point to something: text records "
	  "paths, texts, addresses and first bytes, where BPF can be had; none the pointers alone, as numbers. The "
	  "default is text.", WMK_CHANNEL_CALL_ARGUMENTS(struct wmk_record_args),
	  WMK_CLI_GIVEN(struct wmk_record_args, has_call_arguments) },
	{ 'p', "program-only", NULL, "With --kernel: of the kernel's events only those of the program, and of what it "
	  "starts.", WMK_CLI_FLAG(struct wmk_record_args, program_only) },
	{ 'f', "filter", "EXPR", "Only records for which EXPR is true, an expression as in C over their fields: "
	  "'amount > 100 && name == \"bo*\"'. Of an event that does not have what it asks for, none. waymark-filter(7) "
	  "tells the whole language.", .store = set_filter, WMK_CLI_AT(const char *, struct wmk_record_args, filter) },
	{ 0, "kernel-filter", "EXPR", "Of the kernel's events (-k), only records for which EXPR is true: 'prev_tid == "
	  "1 || $ctx.procname == \"sh*\"'. The kernel itself leaves out what its own filters can tell. "
	  "waymark-filter(7).", .store = set_filter, WMK_CLI_AT(const char *, struct wmk_record_args, kernel_filter) },
	{ 'c', "context", "CONTEXT", "Add to every record: vpid, vtid, procname, cpu_id, pthread_id or ip; to the "
	  "kernel's, tid, pid, ppid, prio or another of `waymark add-context --kernel --list`. May be given several "
	  "times. Where none that the records can have is named, the program's have vpid, vtid and procname, the "
	  "kernel's pid, tid and procname; `-c none` leaves these out.", .store = set_context, .repeats = true },
	{ 'o', "output", "DIR", "The trace's directory: one that does not exist yet, or an empty one. Without it, "
	  "~/waymark-traces/PROGRAM-YYYYmmdd-HHMMSS ($WAYMARK_TRACE_DIR in place of ~/waymark-traces).",
	  WMK_CLI_NAME(struct wmk_record_args, output, "a directory") },
	{ 0, "subbuf-size", "N", "Bytes of a sub-buffer, with k, M or G; rounded up to a power of two. The default is "
	  "1M.", WMK_CLI_SUBBUF_SIZE(struct wmk_record_args, subbuf_size) },
	{ 0, "num-subbuf", "N", "Sub-buffers for each CPU, rounded up to a power of two. The default is 8.",
	  WMK_CLI_NUM_SUBBUF(struct wmk_record_args, n_subbufs) },
	WMK_SESSION_OPTION_FORMAT(struct wmk_record_args),
	WMK_SESSION_OPTION_CLOCK(struct wmk_record_args),
	{ 0, "overwrite", NULL, "Keep the newest records when the buffers are full, not the oldest: a flight recorder. "
	  "Nothing is written until the program has ended, then what the buffers hold.",
	  WMK_CLI_FLAG(struct wmk_record_args, overwrite) },
	WMK_SESSION_OPTION_NO_STATEDUMP(struct wmk_record_args),
	{ 0, "private", NULL, "Record in this process, also when a session daemon runs, which then does not see the "
	  "programs.", WMK_CLI_FLAG(struct wmk_record_args, private) },
	{ 0, "json", NULL, "Print the figures as one line of JSON on standard output, after whatever the command "
	  "printed there. Warnings still go to standard error.", WMK_CLI_FLAG(struct wmk_record_args, json) },
};

/* ── the run ─────────────────────────────────────────────────────────────────────────────────────────── */

/* Programs that were admitted and have not ended. */
static unsigned count_running(const struct wmk_shard *apps)
{
	struct wmk_app_info info;
	unsigned n = 0;

	for (unsigned i = 0; wmk_shard_get(apps, i, &info); i++)
		n += info.connected && info.alive;
	return n;
}

static void on_app(void *data, const struct wmk_app_info *info)
{
	/* Not when a socket closes: by then the process may be another program. */
	if (info->connected || (info->error && !info->alive))
		wmk_follow_registered(data, info->pid);
	else if (info->alive)
		wmk_follow_left(data, info->pid);
}

/* Hear what the kernel and the programs say, in the order in which one can be told by the other (follow.h). */
static void hear(struct wmk_recording *rec, struct wmk_follow *follow, int ms)
{
	wmk_follow_look(follow);
	for (int turn = 0; wmk_shard_run_once(rec->apps, turn ? 0 : ms) > 0; turn++)
		if (turn == TURNS_MAX)
			return;          /* judged another time */
	wmk_follow_judge(follow);
}

/* Serve registrations, signals, and what the kernel tells, until the program has ended. */
static void run_until_end(struct wmk_recording *rec, struct wmk_child *child, struct wmk_follow *follow)
{
	struct pollfd fds[] = {
		{ .fd = wmk_shard_fd(rec->apps), .events = POLLIN },
		{ .fd = child->signals, .events = POLLIN },
		{ .fd = follow->watch.fd, .events = POLLIN },
	};

	while (!child->ended) {
		poll(fds, sizeof(fds) / sizeof(fds[0]), wmk_follow_wait_ms(follow));
		WMK_TESTPOINT(record_hears);
		hear(rec, follow, 0);
		WMK_TESTPOINT(record_heard);
		wmk_child_look(child);
	}
}

/* Those that end with the main program shall have ended, those that go on are counted. */
static unsigned wait_for_rest(struct wmk_recording *rec, struct wmk_child *child, struct wmk_follow *follow)
{
	const int64_t end = wmk_clock_ms() + GRACE_MS;
	unsigned running;

	while ((running = count_running(rec->apps)) && wmk_clock_ms() < end) {
		hear(rec, follow, 10);
		wmk_child_look(child);
	}
	wmk_follow_hurry(follow);
	hear(rec, follow, 0);
	wmk_follow_finish(follow);
	return running;
}

static int before_exec(void *data, pid_t pid)
{
	wmk_follow_start(data, pid);
	return 0;
}

static int record(const struct wmk_record_args *args, struct wmk_recording_options *options, char *path, char **argv)
{
	struct wmk_child child;
	struct wmk_follow follow;
	struct wmk_recording *rec = NULL;
	struct wmk_record_result result = {
		.args = args, .options = options, .child = &child, .follow = &follow, .program = argv[0]
	};
	int err = wmk_child_open(&child);

	options->on_app = on_app;
	options->data = &follow;
	if (err >= 0)
		err = wmk_recording_open(options, &rec);
	if (err >= 0) {
		wmk_follow_init(&follow, rec->rundir);
		err = wmk_child_start(&child, path, argv, rec->rundir, before_exec, &follow);
		if (err < 0)
			wmk_follow_close(&follow);
	}
	if (err < 0) {
		wmk_cli_print_error();
		wmk_recording_close(rec);
		wmk_child_close(&child);
		return WMK_CLI_FAILED;
	}
	rec->keep = true;
	if (rec->kernel_words[0])
		wmk_cli_warn("%s", rec->kernel_words);
	run_until_end(rec, &child, &follow);
	result.running = wait_for_rest(rec, &child, &follow);
	wmk_recording_stop(rec, GRACE_MS);
	result.rec = rec;
	result.counts = &rec->stats.counts;
	result.path = rec->path;
	wmk_record_summary(&result);
	wmk_recorded_set(rec->path);
	wmk_recording_close(rec);
	wmk_follow_close(&follow);
	wmk_child_close(&child);
	return wmk_child_exit_status(&child);
}

/* Is there a daemon that shall do it? Connects. */
static bool wants_daemon(const struct wmk_record_args *args, struct wmk_daemon *daemon)
{
	const struct wmk_cli_common common = { 0 };
	const char *clock = getenv("WAYMARK_CLOCK_PLUGIN");
	char words[8 * WMK_ERROR_LEN];
	int err;

	/* The daemon has the clock that it was started with. */
	if (args->private || (clock && *clock))
		return false;
	err = wmk_daemon_open(daemon, &common, WMK_DAEMON_RUNNING);
	if (err < 0 && err != -ENOENT && err != -ECONNREFUSED)
		wmk_cli_warn("the session daemon is not used: %s", wmk_error_text(words, sizeof(words)));
	if (err < 0)
		wmk_error_clear();
	return err >= 0;
}

/* What is of the kernel's events alone does nothing without them. */
static int check_kernel_options(const struct wmk_record_args *args)
{
	if (args->kernel.n)
		return 0;
	if (args->program_only)
		return wmk_error(-EINVAL, "--program-only is about the kernel's events: name some with --kernel");
	if (args->kernel_filter)
		return wmk_error(-EINVAL, "--kernel-filter is of the kernel's events: name them with --kernel");
	if (args->has_call_arguments)
		return wmk_error(-EINVAL, "--syscall-arguments is of the kernel's events: name them with --kernel");
	for (unsigned i = 0; i < args->n_contexts; i++)
		if (wmk_ctf_context(args->contexts[i])->domains == WMK_CONTEXT_KERNEL)
			return wmk_error(-EINVAL, "the context %s is of the kernel's events: name them with --kernel",
					 wmk_ctf_context(args->contexts[i])->field.name);
	return 0;
}

static int run_record(void *data, char **rest, int n_rest)
{
	struct wmk_record_args *args = data;
	struct wmk_recording_options recording = {
		.output = args->output,
		.patterns = args->patterns.items,
		.n_patterns = args->patterns.n,
		.kernel = args->kernel.items, .n_kernel = args->kernel.n, .program_only = args->program_only,
		.call_arguments = args->call_arguments,
		.filter = args->filter, .kernel_filter = args->kernel_filter,
		.n_contexts = args->n_contexts, .no_contexts = args->no_contexts,
		.subbuf_size = args->subbuf_size ? (uint32_t)args->subbuf_size : SUBBUF_DEFAULT,
		.n_subbufs = args->n_subbufs ? (uint32_t)args->n_subbufs : N_SUBBUFS_DEFAULT,
		.overwrite = args->overwrite, .trace_format = args->trace_format, .clock = args->clock,
		.no_statedump = args->no_statedump,
	};
	const struct wmk_cli_common common = { 0 };
	uint32_t least = args->overwrite ? 4 : 2;
	struct wmk_daemon daemon;
	char path[4096], *slash;
	int status;

	if (check_kernel_options(args) < 0) {
		wmk_cli_print_error();
		return WMK_CLI_USAGE;
	}
	if (n_rest == 0) {
		wmk_error(-EINVAL, "what is to be recorded? Say `waymark record -- COMMAND`");
		wmk_cli_print_error();
		return WMK_CLI_USAGE;
	}
	if (recording.n_subbufs < least) {
		wmk_cli_say("--num-subbuf %u: made %u, the least%s", recording.n_subbufs, least,
			    args->overwrite ? " with --overwrite" : "");
		recording.n_subbufs = least;
	}
	memcpy(recording.contexts, args->contexts, sizeof(recording.contexts));
	if (wmk_child_find(rest[0], path, sizeof(path)) < 0) {
		wmk_cli_print_error();
		return WMK_CLI_FAILED;
	}
	slash = strrchr(rest[0], '/');
	recording.name = slash ? slash + 1 : rest[0];
	if (!wants_daemon(args, &daemon))
		return record(args, &recording, path, rest);
	status = wmk_record_through(&daemon, args, &recording, path, rest, GRACE_MS);
	wmk_daemon_close(&daemon, &common, 0);
	return status;
}

static const char *const details[] = {
	"Runs COMMAND and records the events of it and of the programs that it starts, until it ends. No daemon is "
	"needed. Where a session daemon runs, it records them in a session of its own for as long; --private does "
	"without it. The programs are those that include <waymark/trace.h> and link libwaymark. The trace is in the "
	"Common Trace Format; `waymark view` prints it.",
	"With --kernel, what the kernel does is recorded too, by the same clock into the same trace: records of both "
	"stand in the true order. `waymark list --kernel` shows which events this kernel has.",
	"The exit status is the command's; 128 + N when signal N killed it; 1 when it could not be run or recorded; 2 "
	"when waymark itself was used wrongly. Ctrl-C goes to the command, and the trace is whole.",
	"At the end one line on standard error tells how many event records there are, how many were lost and which "
	"option would have avoided it, how many bytes, and where. Programs that go on in the background are no longer "
	"recorded once COMMAND has ended. Programs that use libwaymark and could not be followed, such as those that "
	"were started with another environment, or set-id ones, are named; a session daemon does not depend on the "
	"environment, and root's follows set-id ones.",
	"WAYMARK_CLOCK_PLUGIN names a library whose clock stamps the records, in place of the machine's; a session "
	"daemon, which has its own, is not used then.",
	NULL
};

const struct wmk_cli_command wmk_cli_record = {
	.name = "record",
	.arguments = "-- COMMAND [ARGUMENT]...",
	.summary = "Run a program and record its events into a trace",
	.details = details,
	WMK_CLI_OPTIONS(record_options),
	.args_size = sizeof(struct wmk_record_args),
	.takes_command = true,
	.run = run_record,
};
