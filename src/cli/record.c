/* SPDX-License-Identifier: MIT */
/*
 * record.c - `waymark record`: run a program, record the events of the program and its descendants, and print a
 * summary.
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
#include "cli/record_snapshots.h"
#include "cli/session.h"
#include "filter/filter.h"

#define SUBBUF_DEFAULT (1u << 20)
#define N_SUBBUFS_DEFAULT 8u
/*
 * The limit of each wait after the main program has ended. `waymark record` first waits for the descendants of the main
 * program to end. `waymark record` then waits for other applications to stop recording.
 */
#define GRACE_MS 200
/* TURNS_MAX limits how long busy applications can keep this thread from its other work. */
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
		return wmk_error(-E2BIG, "too many patterns: the maximum is %d", WMK_RECORD_PATTERNS_MAX);
	patterns->items[patterns->n++] = value;
	return 0;
}

/* The kernel events that analyses need, for each word of the option. */
static const char *const preset_sched[] = { "sched_switch", "sched_waking", "sched_wakeup", "sched_wakeup_new",
					    "sched_process_fork", "sched_process_exit", "sched_process_exec", NULL };
/* The system calls in which threads wait for each other, as in analyze/waits.c. */
static const char *const preset_waits[] = { "syscall:futex*",  "syscall:*nanosleep", "syscall:*poll*",
					    "syscall:*select*", "syscall:epoll_*",   "syscall:accept*",
					    "syscall:connect", "syscall:recv*",	     "syscall:send*",
					    "syscall:wait*",   "syscall:*sync",	     NULL };
static const char *const preset_syscalls[] = { "syscall:*", NULL };
static const char *const preset_io[] = { "block_rq_insert", "block_rq_issue", "block_rq_complete",
					 "block_*merge", "block_bio_queue", "block_bio_complete",
					 NULL };
static const char *const preset_irq[] = { "irq_handler_*", "irq_softirq_*", NULL };
static const char *const preset_memory[] = { "kmem_mm_page_alloc", "kmem_mm_page_free", NULL };
static const struct {
	const char *const *lists[4];
} presets[] = { { { preset_sched, preset_waits } },
		{ { preset_syscalls } },
		{ { preset_io } },
		{ { preset_irq } },
		{ { preset_memory } },
		{ { preset_sched, preset_syscalls, preset_io, preset_irq } } };

int wmk_record_preset(struct wmk_record_patterns *patterns, enum wmk_preset which)
{
	const char *const *const *lists = presets[which].lists;
	int err = 0;

	for (unsigned l = 0; l < WMK_ARRAY_LEN(presets[which].lists) && lists[l]; l++)
		for (const char *const *name = lists[l]; *name && err >= 0; name++)
			err = add_pattern(NULL, patterns, *name);
	return err;
}

static int add_preset(const struct wmk_cli_option *option, void *at, const char *value)
{
	const int which = wmk_cli_choice(option->choices, option->wrong, value);

	return which < 0 ? which : wmk_record_preset(at, (enum wmk_preset)which);
}

static int set_filter(const struct wmk_cli_option *option, void *at, const char *value)
{
	struct wmk_filter_expr *expr;
	int err = wmk_filter_parse(value, &expr);

	if (err < 0)
		return wmk_error_add(err, "invalid filter '%.60s'", value);
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
			return wmk_error(-EINVAL, "unknown context \"%.40s\"; did you mean: %s?", value,
					 wmk_nearest_text(&near, names, sizeof(names)));
		return wmk_error(-EINVAL, "unknown context \"%.40s\"; give \"none\", or one of %s", value, all);
	}
	for (unsigned i = 0; i < args->n_contexts; i++)
		if (args->contexts[i] == context->number)
			return 0;
	if (args->n_contexts == WMK_WIRE_CONTEXTS_MAX)
		return wmk_error(-E2BIG, "too many contexts: the maximum is %d", WMK_WIRE_CONTEXTS_MAX);
	args->contexts[args->n_contexts++] = (uint8_t)context->number;
	return 0;
}

static const struct wmk_cli_option record_options[] = {
	{ 'e', "event", "PATTERN",
	  "Record events with a matching provider:name. * matches any text, ? any character, [a-z] one of a set; a "
	  "leading '!' excludes. May be given several times. The default is all events.",
	  .store = add_pattern, WMK_CLI_AT(struct wmk_record_patterns, struct wmk_record_args, patterns),
	  .repeats = true },
	{ 'k', "kernel", "PATTERN",
	  "Record kernel events with a matching name or subsystem:name. syscall:NAME is a system call, its entry and "
	  "its exit; a leading '!' excludes. May be given several times. Records the whole machine, not only the "
	  "program (but see --program-only). Requires root, or root's session daemon and membership in the group "
	  "'tracing'.",
	  .store = add_pattern, WMK_CLI_AT(struct wmk_record_patterns, struct wmk_record_args, kernel),
	  .repeats = true },
	{ 0, "preset", "PRESET",
	  "Record the kernel events that an analysis needs (`waymark analyze`), as -k does. sched: scheduler, and "
	  "system calls in which threads wait; syscalls: all system calls; io: requests of block devices; irq: "
	  "interrupts and softirqs; memory: pages that the kernel allocates and frees; all: all of these except "
	  "memory. May be given several times.",
	  .store = add_preset, WMK_CLI_AT(struct wmk_record_patterns, struct wmk_record_args, kernel),
	  .choices = "sched syscalls io irq memory all",
	  .wrong = "unknown preset '@'; the presets are sched, syscalls, io, irq, memory, all~", .repeats = true },
	{ 0, "syscall-arguments", "WHAT",
	  "How to record arguments of system calls (-k) that are pointers. text: also record the paths, texts, "
	  "addresses and first bytes that they point to, if BPF is available; none: record only the pointers. The "
	  "default is text.",
	  WMK_CHANNEL_CALL_ARGUMENTS(struct wmk_record_args),
	  WMK_CLI_GIVEN(struct wmk_record_args, has_call_arguments) },
	{ 'p', "program-only", NULL, "With --kernel: record only kernel events of the program and its descendants.",
	  WMK_CLI_FLAG(struct wmk_record_args, program_only) },
	{ 'f', "filter", "EXPR",
	  "Only records for which EXPR, a C-like expression over their fields, is true: 'amount > 100 && name == "
	  "\"bo*\"'. An event that lacks a field of EXPR is not recorded. waymark-filter(7) describes the language.",
	  .store = set_filter, WMK_CLI_AT(const char *, struct wmk_record_args, filter) },
	{ 0, "kallsyms", NULL,
	  "With --kernel: save the addresses of kernel functions in DIR/kallsyms, for `waymark view --symbols` (5 "
	  "MB).",
	  WMK_CLI_FLAG(struct wmk_record_args, kallsyms) },
	{ 0, "kernel-filter", "EXPR",
	  "Only kernel records (-k) for which EXPR is true: 'prev_tid == 1 || $ctx.procname == \"sh*\"'. The kernel "
	  "evaluates the parts that its own filters support. See waymark-filter(7).",
	  .store = set_filter, WMK_CLI_AT(const char *, struct wmk_record_args, kernel_filter) },
	{ 'c', "context", "CONTEXT",
	  "Add a context to every record: vpid, vtid, procname, cpu_id, pthread_id or ip; for kernel records tid, pid, "
	  "ppid, prio or another of `waymark add-context --kernel --list`. May be given several times. The default is "
	  "vpid, vtid and procname for records of applications, and pid, tid and procname for kernel records. `-c "
	  "none` removes the defaults.",
	  .store = set_context, .repeats = true },
	{ 'o', "output", "DIR",
	  "The trace directory, which does not exist or is empty. The default is "
	  "~/waymark-traces/PROGRAM-YYYYmmdd-HHMMSS ($WAYMARK_TRACE_DIR replaces ~/waymark-traces).",
	  WMK_CLI_NAME(struct wmk_record_args, output, "a directory") },
	WMK_SESSION_OPTION_URL("to", struct wmk_record_args),
	WMK_SESSION_OPTION_SPOOL_SIZE(struct wmk_record_args),
	{ 0, "subbuf-size", "N",
	  "The size of a sub-buffer in bytes, with k, M or G; rounded up to a power of two. The default is 1M.",
	  WMK_CLI_SUBBUF_SIZE(struct wmk_record_args, subbuf_size) },
	{ 0, "num-subbuf", "N", "The number of sub-buffers per CPU, rounded up to a power of two. The default is 8.",
	  WMK_CLI_NUM_SUBBUF(struct wmk_record_args, n_subbufs) },
	WMK_SESSION_OPTION_FORMAT(struct wmk_record_args),
	WMK_SESSION_OPTION_CLOCK(struct wmk_record_args),
	{ 0, "overwrite", NULL,
	  "Lose the oldest records when the buffers are full, not the newest: a flight recorder. The content of the "
	  "buffers is written when the program has ended.",
	  WMK_CLI_FLAG(struct wmk_record_args, overwrite) },
	{ 0, "snapshot-on", "WHEN",
	  "Keep the newest records in the buffers, and write a snapshot of them at these events (several are "
	  "separated by commas). USR2: this command receives SIGUSR2; crash: the program is ended by a signal; exit: "
	  "the program ends; loss: records are lost.",
	  .choices = WMK_RECORD_SNAPSHOT_WORDS, .choose_many = true,
	  WMK_CLI_WORDS(struct wmk_record_args, snapshot_on) },
	WMK_SESSION_OPTION_NO_STATEDUMP(struct wmk_record_args),
	{ 0, "private", NULL,
	  "Record in this process, even if a session daemon runs. Its sessions then do not record the program.",
	  WMK_CLI_FLAG(struct wmk_record_args, private) },
	{ 0, "json", NULL,
	  "Print the summary as one line of JSON on standard output, after the output of the command. Warnings still "
	  "go to standard error.",
	  WMK_CLI_FLAG(struct wmk_record_args, json) },
};

/* ── the run ─────────────────────────────────────────────────────────────────────────────────────────── */

/* The number of admitted applications that have not ended. */
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
	/*
	 * A closed connection does not count as a registration of the process, because the process may already run
	 * another program.
	 */
	if (info->connected || (info->error && !info->alive))
		wmk_follow_registered(data, info->pid);
	else if (info->alive)
		wmk_follow_left(data, info->pid);
}

/* Receive events of the kernel and of applications in the order that follow.h requires. */
static void hear(struct wmk_recording *rec, struct wmk_follow *follow, int ms)
{
	wmk_follow_poll(follow);
	for (int turn = 0; wmk_shard_run_once(rec->apps, turn ? 0 : ms) > 0; turn++)
		if (turn == TURNS_MAX)
			return;          /* a later call evaluates the programs that have ended */
	wmk_follow_judge(follow);
}

/* Handle registrations, signals and events of the kernel until the program has ended. */
static void run_until_end(struct wmk_recording *rec, struct wmk_child *child, struct wmk_follow *follow)
{
	struct pollfd fds[] = {
		{ .fd = wmk_shard_fd(rec->apps), .events = POLLIN },
		{ .fd = child->signals, .events = POLLIN },
		{ .fd = follow->watch.fd, .events = POLLIN },
	};

	while (!child->ended) {
		poll(fds, WMK_ARRAY_LEN(fds), wmk_follow_wait_ms(follow));
		WMK_TESTPOINT(record_hears);
		hear(rec, follow, 0);
		WMK_TESTPOINT(record_heard);
		wmk_child_handle_signals(child);
	}
}

/*
 * After the main program has ended, wait for its recorded descendants for at most GRACE_MS. Returns the number of
 * descendants that still run.
 */
static unsigned wait_for_rest(struct wmk_recording *rec, struct wmk_child *child, struct wmk_follow *follow)
{
	const int64_t end = wmk_clock_ms() + GRACE_MS;
	unsigned running;

	while ((running = count_running(rec->apps)) && wmk_clock_ms() < end) {
		hear(rec, follow, 10);
		wmk_child_handle_signals(child);
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

/*
 * Return whether to record with the session daemon. If true, *daemon is connected. If the result is false and an option
 * needs a session daemon, the cause chain contains the error of the failed connection.
 */
static bool wants_daemon(const struct wmk_record_args *args, struct wmk_daemon *daemon)
{
	const struct wmk_cli_common common = { 0 };
	const char *clock = getenv("WAYMARK_CLOCK_PLUGIN");
	const bool needs = args->snapshot_on.n || args->url;
	char words[8 * WMK_ERROR_LEN];
	int err;

	/* A daemon keeps the clock that was set when the daemon was started. */
	if (args->private || (clock && *clock))
		return false;
	/* A flight recorder and a relay need a session daemon, so wmk_daemon_open() starts a daemon if none runs. */
	err = wmk_daemon_open(daemon, &common, needs ? WMK_DAEMON_ANY : WMK_DAEMON_RUNNING);
	if (err < 0 && !needs && err != -ENOENT && err != -ECONNREFUSED)
		wmk_cli_warn("cannot use the session daemon: %s", wmk_error_text(words, sizeof(words)));
	if (err < 0 && !needs)
		wmk_error_clear();
	return err >= 0;
}

/* Reject options that need kernel events if no kernel event is recorded. */
static int check_kernel_options(const struct wmk_record_args *args)
{
	if (args->kernel.n)
		return 0;
	if (args->program_only)
		return wmk_error(-EINVAL, "--program-only needs kernel events: give --kernel");
	if (args->kernel_filter)
		return wmk_error(-EINVAL, "--kernel-filter needs kernel events: give --kernel");
	if (args->has_call_arguments)
		return wmk_error(-EINVAL, "--syscall-arguments needs kernel events: give --kernel");
	if (args->kallsyms)
		return wmk_error(-EINVAL, "--kallsyms needs kernel events: give --kernel");
	for (unsigned i = 0; i < args->n_contexts; i++)
		if (wmk_ctf_context(args->contexts[i])->domains == WMK_CONTEXT_KERNEL)
			return wmk_error(-EINVAL, "the context %s needs kernel events: give --kernel",
					 wmk_ctf_context(args->contexts[i])->field.name);
	return 0;
}

/* If a relay is used, the session daemon records, and there is no trace directory on this machine. */
static int check_relay_options(const struct wmk_record_args *args)
{
	const char *other = args->output ? "--output" : args->private ? "--private"
			  : args->snapshot_on.n ? "--snapshot-on" : NULL;

	if (args->kallsyms && (args->url || args->snapshot_on.n))
		return wmk_error(-EINVAL, "--kallsyms and %s exclude each other", args->url ? "--to" : "--snapshot-on");
	if (!args->url)
		return args->spool_size ? wmk_error(-EINVAL, "--spool-size needs a relay: give --to") : 0;
	return other ? wmk_error(-EINVAL, "--to and %s exclude each other", other) : 0;
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

	struct wmk_record_snapshots snapshots;

	if (check_kernel_options(args) < 0 || check_relay_options(args) < 0 ||
	    wmk_record_snapshots_begin(&snapshots, args, "") < 0) {
		wmk_cli_print_error();
		return WMK_CLI_USAGE;
	}
	if (n_rest == 0) {
		wmk_error(-EINVAL, "no command given: use `waymark record -- COMMAND`");
		wmk_cli_print_error();
		return WMK_CLI_USAGE;
	}
	if (recording.n_subbufs < least) {
		wmk_cli_note("--num-subbuf %u: raised to %u, the minimum%s", recording.n_subbufs, least,
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
	if (!wants_daemon(args, &daemon)) {
		if (!args->snapshot_on.n && !args->url)
			return record(args, &recording, path, rest);
		status = wmk_error_number();
		if (status == 0)
			wmk_errorx(-ENOTSUP, "%s needs a session daemon, and `waymark record` uses none with "
					     "WAYMARK_CLOCK_PLUGIN: unset this variable",
				   args->url ? "--to" : "--snapshot-on");
		else
			wmk_error_add(status, "%s needs a session daemon", args->url ? "--to" : "--snapshot-on");
		wmk_cli_print_error();
		return WMK_CLI_FAILED;
	}
	status = wmk_record_through(&daemon, args, &recording, path, rest, GRACE_MS);
	wmk_daemon_close(&daemon, &common, 0);
	return status;
}

static void free_args(void *data)
{
	struct wmk_record_args *args = data;

	wmk_cli_words_free(&args->snapshot_on);
}

static const char *const details[] = {
	"Runs COMMAND and records the events of this program and of its descendants until it ends. The recorded "
	"programs are applications: they include <waymark/trace.h> and link libwaymark. No daemon is needed. If a "
	"session daemon runs, the command records in a temporary session of that daemon; --private avoids that. The "
	"trace is in the Common Trace Format; `waymark view` prints it.",
	"With --kernel, kernel events are also recorded into the same trace. Both domains use the same clock, so "
	"records are ordered correctly. `waymark list --kernel` lists the events of this kernel.",
	"The exit status is that of COMMAND; 128 + N if signal N killed it; 1 if it could not be run or recorded; 2 "
	"for wrong usage of waymark. Ctrl-C is delivered to COMMAND; the trace is complete in that case as well.",
	"At the end, one line on standard error reports the number of event records and of lost records, the option "
	"that avoids the loss, the size, and the directory of the trace. Descendants that continue in the background "
	"are not recorded after COMMAND has ended. Warnings name applications that could not be followed, for example "
	"set-id ones or those with another environment. With a session daemon, recording does not depend on the "
	"environment; root's session daemon also records set-id applications.",
	"With --snapshot-on, the command is a flight recorder: the buffers keep the newest records, and only "
	"snapshots are written, each a trace named REASON-DATE-NUMBER in the trace directory. USR2 and loss record at "
	"most one snapshot per 10 seconds. The environment of the trace has the reason, the program and its process. "
	"A session daemon is started if none runs.",
	"WAYMARK_CLOCK_PLUGIN names a library that provides the clock of the records. The command then does not use a "
	"session daemon, because that has a clock of its own.",
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
	.done = free_args,
};
