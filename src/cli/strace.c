/* SPDX-License-Identifier: MIT */
/*
 * strace.c - `waymark strace`: print the system calls of a program like strace, without stopping the program at each
 * system call (see strace.h).
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/child.h"
#include "cli/command.h"
#include "strace/strace.h"
#include "kernel/proc/pids.h"
#include "kernel/proc/procfs.h"
#include "kernel/proc/namespaces.h"

#define COLUMN_DEFAULT 40u
/*
 * The bounds of the waiting time while no records arrive. The waiting time is short after a record, and then grows.
 * After every REAP_NAPS waits without a record, the table entries of ended threads are removed.
 */
#define NAP_LEAST_MS 1
#define NAP_MOST_MS 16
#define REAP_NAPS 8u
#define PRIORITY (-10)

/* ── options ─────────────────────────────────────────────────────────────────────────────────────────── */

static int set_pid(const struct wmk_cli_option *option, void *at, const char *value)
{
	struct wmk_strace_args *args = at;
	char *list = strdup(value), *rest = NULL, *word;
	uint64_t pid;
	int err = list ? 0 : wmk_error(-ENOMEM, "no memory");

	(void)option;
	if (!err && !list[strspn(list, ", \n\t")])
		err = wmk_error(-EINVAL, "\"%.40s\" is not a number", value);
	for (word = err ? NULL : strtok_r(list, ", \n\t", &rest); word && err == 0;
	     word = strtok_r(NULL, ", \n\t", &rest)) {
		err = wmk_cli_number(word, INT32_MAX, &pid);
		if (err == 0 && (pid == 0 || args->n_pids == WMK_STRACE_PIDS))
			err = pid ? wmk_error(-E2BIG, "too many processes: the maximum is %u", WMK_STRACE_PIDS)
				  : wmk_error(-EINVAL, "invalid process number 0");
		if (err == 0)
			args->pids[args->n_pids++] = (pid_t)pid;
	}
	free(list);
	return err;
}

static int set_expression(const struct wmk_cli_option *option, void *at, const char *value)
{
	struct wmk_strace_args *args = at;

	(void)option;
	if (!args->has_select)
		wmk_strace_select_init(&args->select);
	args->has_select = true;
	return wmk_strace_select_add(&args->select, value);
}

static const struct wmk_cli_option strace_options[] = {
	{ 'f', "follow-forks", NULL, "Also trace all descendants: processes and threads.",
	  WMK_CLI_COUNT(struct wmk_strace_args, follow) },
	{ 'p', "attach", "PID",
	  "Trace a running process until it ends or until Ctrl-C. Several are separated by commas or given in several "
	  "options.",
	  .store = set_pid, .repeats = true },
	{ 'e', "expr", "EXPR",
	  "Select calls: names separated by commas, 'trace=openat,close', 'trace=!futex', classes '%file', '%desc', "
	  "'%network', '%process', '%memory', '%signal', '%ipc', regular expressions '/^get', ?NAME for a call that "
	  "may not exist, all, none. 'signal=LIST' selects signals.",
	  .store = set_expression, .repeats = true },
	{ 'o', "output", "FILE", "Write to FILE instead of standard error.",
	  WMK_CLI_NAME(struct wmk_strace_args, output, "a file") },
	{ 'c', "summary-only", NULL,
	  "Print only a table at the end: for each call the number of calls and errors, and the time from entry to "
	  "exit.",
	  WMK_CLI_FLAG(struct wmk_strace_args, is_summary) },
	{ 'C', "summary", NULL, "Print the calls, and the table of -c at the end.",
	  WMK_CLI_FLAG(struct wmk_strace_args, with_summary), WMK_CLI_GIVEN(struct wmk_strace_args, is_summary) },
	{ 'T', "syscall-times", NULL, "Print the duration of each call.",
	  WMK_CLI_FLAG(struct wmk_strace_args, with_durations) },
	{ 't', "absolute-timestamps", NULL,
	  "Print the time of day before each line; given twice: with microseconds; three times: seconds since 1970.",
	  WMK_CLI_COUNT(struct wmk_strace_args, times), .repeats = true },
	{ 'r', "relative-timestamps", NULL, "Print the time since the previous line.",
	  WMK_CLI_FLAG(struct wmk_strace_args, is_relative) },
	{ 's', "string-limit", "N",
	  "The maximum number of bytes of a string to print. The default is 32, the maximum 4096. File names are "
	  "printed completely.",
	  WMK_CLI_NUMBER(struct wmk_strace_args, strings, UINT32_MAX),
	  WMK_CLI_GIVEN(struct wmk_strace_args, has_strings) },
	{ 'a', "columns", "N", "The column of the results. The default is 40.",
	  WMK_CLI_NUMBER(struct wmk_strace_args, columns, 1000), WMK_CLI_GIVEN(struct wmk_strace_args, has_columns) },
	{ 'q', "quiet", NULL,
	  "Do not print when processes are attached or detached (implied by -o with COMMAND); given twice: also do "
	  "not print how they ended.",
	  WMK_CLI_COUNT(struct wmk_strace_args, quiet), .repeats = true },
	{ 0, "buffer-size", "N",
	  "The size of the buffer of each CPU in bytes, with k, M or G, rounded up to a power of two. The default is "
	  "32M, and less on machines with many CPUs.",
	  WMK_CLI_POWER_OF_TWO(struct wmk_strace_args, buffer, 4096, 1u << 30) },
	{ 0, "no-bpf", NULL,
	  "Do not use BPF: use events of tracefs, print pointer arguments as numbers, and print no signals.",
	  WMK_CLI_FLAG(struct wmk_strace_args, no_bpf) },
	{ 0, "json", NULL,
	  "Print one JSON object per line for each call, signal and end of a thread, on standard output unless -o is "
	  "given.",
	  WMK_CLI_FLAG(struct wmk_strace_args, json) },
};

/* ── the run ─────────────────────────────────────────────────────────────────────────────────────────── */

struct run {
	struct wmk_strace_args *args;
	struct wmk_strace_prints prints;
	struct wmk_strace_source *source;
	struct wmk_strace_lines lines;
	struct wmk_child child;
	bool has_command, is_interrupted;
};

static int make_prints(struct run *run)
{
	for (unsigned abi = 0; abi < WMK_SYSCALLS_ABIS; abi++) {
		run->prints.calls[abi] = calloc(WMK_SYSCALLS_NUMBERS, sizeof(*run->prints.calls[abi]));
		if (!run->prints.calls[abi])
			return wmk_error(-ENOMEM, "no memory for the calls");
		for (unsigned number = 0; number < WMK_SYSCALLS_NUMBERS; number++)
			wmk_kprint_make((enum wmk_kabi)abi, number, (uint32_t)run->args->strings,
					&run->prints.calls[abi][number]);
	}
	return 0;
}

/* (In another time namespace, the times are also correct: the namespace does not affect the trace clock.) */
static int check_machine(void)
{
	if (geteuid() != 0)
		return wmk_errorx(-EPERM, "only root can record system calls of the kernel");
	return wmk_kspaces_check();
}

struct sentences {
	char text[WMK_ERROR_DEPTH][WMK_ERROR_LEN];
	unsigned n;
};

static void take_sentences(struct sentences *why)
{
	const char *sentence;

	for (why->n = 0; why->n < WMK_ERROR_DEPTH && (sentence = wmk_error_get(why->n)); why->n++)
		snprintf(why->text[why->n], sizeof(why->text[0]), "%s", sentence);
}

/* If both BPF and tracefs failed, the cause chain contains the reason for BPF first, then the reason for tracefs. */
static int add_sentences(int err, const struct sentences *why)
{
	wmk_error_add(err, "cannot use events of tracefs either");
	for (unsigned i = why->n; i > 0; i--)
		wmk_error_add(err, "%s", why->text[i - 1]);
	return err;
}

static int open_source(struct run *run)
{
	char words[8 * WMK_ERROR_LEN];
	struct sentences why;
	int err;

	if (run->args->no_bpf)
		return wmk_strace_tracefs_open(run->args, &run->source);
	err = wmk_strace_bpf_open(run->args, &run->prints, &run->source);
	if (err == 0)
		return 0;
	wmk_error_text(words, sizeof(words));
	take_sentences(&why);
	err = wmk_strace_tracefs_open(run->args, &run->source);
	if (err < 0)
		return add_sentences(err, &why);
	wmk_cli_warn("%s; pointer arguments are printed as numbers, and signals are not printed", words);
	return 0;
}

/* The new process waits before execve(), which is the first printed system call. */
static int before_exec(void *data, pid_t pid)
{
	struct run *run = data;
	struct wmk_strace_thread *thread;
	int err = run->source->ops->follow(run->source, pid);

	if (err == 0)
		err = run->source->ops->start(run->source);
	if (err < 0)
		return err;
	thread = wmk_strace_lines_add(&run->lines, (uint32_t)pid, (uint32_t)pid);
	if (!thread)
		return wmk_error(-ENOMEM, "no memory");
	thread->waits_for_exec = true;
	return 0;
}

/* Return the process of a thread, or 0 if there is no such thread. */
static pid_t process_of(pid_t tid)
{
	struct wmk_kproc_lines lines;
	struct wmk_kproc_status status;

	return wmk_kproc_status_of(&lines, tid, &status) < 0 ? 0 : status.tgid;
}

static int attach_thread(struct run *run, pid_t tid, pid_t pid)
{
	struct wmk_strace_thread *thread;
	int err = run->source->ops->follow(run->source, run->source->has_texts ? pid : tid);

	if (err < 0)
		return err;
	thread = wmk_strace_lines_add(&run->lines, (uint32_t)tid, (uint32_t)pid);
	if (!thread)
		return wmk_error(-ENOMEM, "no memory");
	thread->existed = true;
	return 0;
}

struct attaching {
	struct run *run;
	pid_t tid, pid;
};

/*
 * Tracefs events are selected per thread, so add all existing threads. (A thread that starts meanwhile is missed if its
 * creator was not added yet.)
 */
static int attach_other(void *data, int32_t other)
{
	const struct attaching *is = data;

	return other == is->tid ? 0 : attach_thread(is->run, other, is->pid);
}

static int attach(struct run *run, pid_t tid)
{
	const pid_t pid = process_of(tid);
	int err = pid ? attach_thread(run, tid, pid) : wmk_errorx(-ESRCH, "there is no process %d", (int)tid);

	if (err < 0 || !run->args->follow || run->source->has_texts)
		return err;
	err = wmk_kpids_threads(pid, attach_other, &(struct attaching){ run, tid, pid });
	return err == -ESRCH ? 0 : err;          /* the process has ended meanwhile: its end is noticed later */
}

static int begin(struct run *run, char *path, char **argv)
{
	int err = 0;

	for (unsigned i = 0; i < run->args->n_pids && err == 0; i++)
		err = attach(run, run->args->pids[i]);
	if (err == 0 && run->has_command)
		return wmk_child_start(&run->child, path, argv, NULL, before_exec, run);
	if (err == 0)
		err = run->source->ops->start(run->source);
	for (unsigned i = 0; i < run->args->n_pids && err == 0 && !run->args->quiet; i++)
		wmk_cli_note("process %d attached", (int)run->args->pids[i]);
	return err;
}

/* While a command runs, Ctrl-C acts on the command; otherwise Ctrl-C ends the tracing. */
static void read_signals(struct run *run)
{
	struct signalfd_siginfo info;

	if (run->has_command && !run->child.ended)
		wmk_child_handle_signals(&run->child);
	else
		while (read(run->child.signals, &info, sizeof(info)) == (ssize_t)sizeof(info))
			run->is_interrupted |= info.ssi_signo != SIGCHLD;
}

/*
 * If records were lost, the execve record of the first process may be one of the lost records. After a loss, print all
 * system calls of the first process, because its execve record may be lost.
 */
static void look_for_exec(struct run *run, const struct wmk_syscalls_record *record)
{
	struct wmk_strace_thread *thread = wmk_strace_thread_find(&run->lines, record->tid);
	struct wmk_strace_stats stats = { .lost = 0 };

	if (!thread || !thread->waits_for_exec)
		return;
	run->source->ops->stats(run->source, &stats);
	if (stats.lost)
		thread->waits_for_exec = false;
}

static unsigned print_records(struct run *run, bool is_end)
{
	const struct wmk_syscalls_record *record;
	unsigned n = 0;

	wmk_strace_source_refill(run->source, is_end);
	while ((record = wmk_strace_source_take(run->source))) {
		look_for_exec(run, record);
		wmk_strace_lines_record(&run->lines, record);
		n++;
	}
	return n;
}

static bool is_over(struct run *run)
{
	if (run->is_interrupted || run->lines.err)
		return true;
	return run->lines.n_threads == 0 && (!run->has_command || run->child.ended) &&
	       !wmk_strace_lines_has_newborn(&run->lines);
}

static void run_until_end(struct run *run)
{
	unsigned naps = 0;
	int nap = NAP_LEAST_MS;

	/*
	 * Give this thread a higher priority than the processes that fill the buffers. With normal priority, this
	 * thread could not drain the buffers in time on a busy machine. (The command has already been started, and does
	 * not inherit the priority.)
	 */
	setpriority(PRIO_PROCESS, 0, PRIORITY);
	while (!is_over(run)) {
		if (print_records(run, false)) {
			nap = NAP_LEAST_MS;
			naps = 0;
		} else {
			wmk_strace_lines_idle(&run->lines);
			nap = nap < NAP_MOST_MS ? 2 * nap : nap;
			if (++naps % REAP_NAPS == 0)
				wmk_strace_lines_reap(&run->lines);
		}
		run->source->ops->wait(run->source, run->child.signals, nap);
		read_signals(run);
	}
	/* (wait for the command even if writing failed: this process returns the exit status of the command) */
	while (run->has_command && !run->child.ended) {
		run->source->ops->wait(run->source, run->child.signals, NAP_MOST_MS);
		print_records(run, false);
		read_signals(run);
	}
}

static void say_losses(const struct run *run)
{
	struct wmk_strace_stats stats;
	char size[32];

	run->source->ops->stats(run->source, &stats);
	if (stats.lost)
		wmk_cli_warn("%llu records (entries and exits of calls, signals) were lost: the buffers were "
			     "full (use --buffer-size %s)",
			     (unsigned long long)stats.lost, wmk_cli_size_text(2 * stats.buffer, size, sizeof(size)));
	if (stats.missed)
		wmk_cli_warn("%llu system calls were not recorded: the BPF program was already running on that CPU",
			     (unsigned long long)stats.missed);
	if (stats.unfollowed)
		wmk_cli_warn("%llu processes were not followed: too many processes",
			     (unsigned long long)stats.unfollowed);
}

static void say_detached(const struct run *run)
{
	for (size_t i = 0; i < run->lines.n_slots && run->is_interrupted && !run->args->quiet; i++)
		if (run->lines.threads[i].is_used)
			wmk_cli_note("process %u detached", run->lines.threads[i].tid);
}

static int trace(struct run *run, char *path, char **argv)
{
	int err = wmk_child_open(&run->child), status = WMK_CLI_FAILED;

	if (err >= 0)
		err = make_prints(run);
	if (err >= 0)
		err = open_source(run);
	if (err >= 0)
		err = wmk_strace_lines_open(run->args, &run->prints, run->source, &run->lines);
	if (err >= 0) {
		err = begin(run, path, argv);
		if (err >= 0) {
			run_until_end(run);
			/* (stop first: otherwise processes that continue would add records without end) */
			run->source->ops->stop(run->source);
			print_records(run, true);
			wmk_strace_lines_finish(&run->lines);
			say_detached(run);
			say_losses(run);
			status = run->lines.err     ? WMK_CLI_FAILED
				 : run->has_command ? wmk_child_exit_status(&run->child)
						    : 0;
		}
		wmk_strace_lines_close(&run->lines);
	}
	if (err < 0)
		wmk_cli_print_error();
	if (run->source)
		run->source->ops->close(run->source);
	wmk_child_close(&run->child);
	for (unsigned abi = 0; abi < WMK_SYSCALLS_ABIS; abi++)
		free(run->prints.calls[abi]);
	return status;
}

static const struct wmk_strace_messages messages = {
	.error = wmk_cli_print_error, .warn = wmk_cli_warn, .say = wmk_cli_note,
};

static int run_strace(void *data, char **rest, int n_rest)
{
	struct wmk_strace_args *args = data;
	struct run run = { .args = args, .has_command = n_rest > 0, .child = { .signals = -1 } };
	char path[4096] = "";

	args->messages = &messages;
	if (!args->has_select)
		wmk_strace_select_init(&args->select);
	if (!args->has_strings)
		args->strings = WMK_KPRINT_STRINGS;
	if (!args->has_columns)
		args->columns = COLUMN_DEFAULT;
	if (args->strings > WMK_KPRINT_STRINGS_MAX) {
		wmk_cli_note("--string-limit %" PRIu64 ": lowered to %u, the maximum", args->strings,
			     WMK_KPRINT_STRINGS_MAX);
		args->strings = WMK_KPRINT_STRINGS_MAX;
	}
	/* (as strace does) */
	if (args->output && n_rest && !args->quiet)
		args->quiet = 1;
	if (n_rest == 0 && args->n_pids == 0)
		return wmk_error(-EINVAL, "nothing to trace: give a command, or -p PID");
	if (check_machine() < 0 || (n_rest && wmk_child_find(rest[0], path, sizeof(path)) < 0))
		return wmk_cli_failed();
	return trace(&run, path, rest);
}

static const char *const details[] = {
	"Prints the system calls of COMMAND, or of running processes, with their arguments, results and errors, as "
	"strace(1) does. The program is not stopped at its calls: a BPF program in the kernel copies arguments and the "
	"data that they point to into buffers, which this command reads. So the program runs nearly as fast as without "
	"tracing. Requires root.",
	"Some data is not copied and is printed as a pointer: rare structures, and memory that is not present when the "
	"call begins. If the program makes calls faster than they can be printed, the buffers become full and records "
	"are lost; their number is printed at the end. Tracing does not change the behaviour of the program. Signals "
	"that it ignores are not delivered to it, and are not printed.",
	"The exit status is that of COMMAND; 128 + N if signal N killed it; 1 if it could not be run or traced; 2 for "
	"wrong usage of waymark. Ctrl-C is for COMMAND. Without a command it ends the tracing, and the processes "
	"continue.",
	NULL
};

const struct wmk_cli_command wmk_cli_strace = {
	.name = "strace",
	.arguments = "[--] [COMMAND [ARGUMENT]...]",
	.summary = "Print the system calls of a program with little overhead",
	.details = details,
	WMK_CLI_OPTIONS(strace_options),
	.args_size = sizeof(struct wmk_strace_args),
	.takes_command = true,
	.run = run_strace,
};
