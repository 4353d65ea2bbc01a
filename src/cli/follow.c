/* SPDX-License-Identifier: MIT */
/*
 * follow.c - see follow.h. A process may end, or execute another program, at any moment. Therefore data from /proc is
 * used only if later kernel events confirm that the process still runs the same program.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/follow.h"
#include "cli/process_state.h"

#define LOOKS_AT_ONCE 8
/* the maximum time that exec takes: on a busy machine, the process may have no CPU for a while */
#define LOOK_MS 10000
#define LIBRARY "libwaymark.so"

struct wmk_follow_process {
	struct wmk_follow_process *next;
	pid_t pid;
	unsigned threads;
	uint64_t serial;                 /* number of the present program of the process; changes with exec */
	char name[16];
	/*
	 * the process has called exec or mapped libwaymark: it counts as a program of its own, else as part of its
	 * parent's program
	 */
	bool own;
	bool shown;                      /* the kernel has reported a mapping */
	bool uses;                       /* the process uses libwaymark */
	/* a mapped file has tracepoints: the process registers, unless something prevents the registration */
	bool sites;
	bool registered;
	bool is_reported;                       /* the process is already in the list, although it still exists */
	/* reads of the environment that came too early: time of the first one and of the next one, in wmk_clock_ms() */
	int64_t first_ms, due_ms;
	bool looked;                     /* the environment has been read */
	enum wmk_follow_why why;
};

struct wmk_follow_ended {
	struct wmk_follow_ended *next;
	uint64_t round;
	struct wmk_unfollowed one;
};

void wmk_follow_init(struct wmk_follow *follow, const char *rundir)
{
	memset(follow, 0, sizeof(*follow));
	follow->watch.fd = -1;
	follow->look_ms = INT64_MAX;
	snprintf(follow->rundir, sizeof(follow->rundir), "%s", rundir);
}

/* ── processes ───────────────────────────────────────────────────────────────────────────────────────── */

static struct wmk_follow_process **place(struct wmk_follow *follow, pid_t pid)
{
	struct wmk_follow_process **at = &follow->table[(unsigned)pid % WMK_FOLLOW_BUCKETS];

	while (*at && (*at)->pid != pid)
		at = &(*at)->next;
	return at;
}

static struct wmk_follow_process *add(struct wmk_follow *follow, pid_t pid)
{
	struct wmk_follow_process **at = place(follow, pid), *process = *at;

	if (!process) {
		process = calloc(1, sizeof(*process));
		if (!process) {
			follow->watch.lost++;
			return NULL;
		}
		*at = process;
		follow->living++;
	}
	*process = (struct wmk_follow_process){
		.next = process->next, .pid = pid, .threads = 1, .serial = ++follow->serial
	};
	return process;
}

static void drop(struct wmk_follow *follow, pid_t pid)
{
	struct wmk_follow_process **at = place(follow, pid), *process = *at;

	if (!process)
		return;
	*at = process->next;
	follow->living--;
	free(process);
}

static void add_note(struct wmk_follow *follow, const struct wmk_unfollowed *one)
{
	if (follow->n < WMK_FOLLOW_MAX)
		follow->list[follow->n] = *one;
	follow->n++;
}

static void take_name(struct wmk_follow_process *process, const char *name)
{
	snprintf(process->name, sizeof(process->name), "%.15s", name);
	for (char *c = process->name; *c; c++)
		if (*c > 0 && (*c < 0x20 || *c == 0x7f))
			*c = '?';
}

/*
 * A program that links libwaymark but has no tracepoints does not register. If a program has no tracepoints, a missing
 * registration is not an error.
 */
static bool missing(const struct wmk_follow_process *process, enum wmk_follow_why why)
{
	if (!process->own || !process->uses || process->registered)
		return false;
	return process->sites || (why != WMK_FOLLOW_UNKNOWN && why != WMK_FOLLOW_SILENT);
}

/*
 * The program has ended, either because the process exited or because the process called exec. Only after wmk_shard has
 * received all messages of the program is it certain that the program has not registered.
 */
static void end_program(struct wmk_follow *follow, const struct wmk_follow_process *process, enum wmk_follow_why why)
{
	struct wmk_follow_ended *ended;

	if (!missing(process, why))
		return;
	ended = calloc(1, sizeof(*ended));
	if (!ended) {
		follow->watch.lost++;
		return;
	}
	ended->round = follow->round;
	ended->one = (struct wmk_unfollowed){ .pid = process->pid, .ended = true, .why = why };
	memcpy(ended->one.name, process->name, sizeof(process->name));
	ended->next = follow->ended;
	follow->ended = ended;
}

/* ── events of the kernel ────────────────────────────────────────────────────────────────────────────── */

static void take_fork(struct wmk_follow *follow, const struct wmk_watch_event *event)
{
	struct wmk_follow_process *parent = *place(follow, event->parent), *process;

	if (event->pid == event->parent) {
		if (parent)
			parent->threads++;
		return;
	}
	process = add(follow, event->pid);
	if (process && parent) {
		memcpy(process->name, parent->name, sizeof(process->name));
		process->uses = parent->uses;
		process->sites = parent->sites;
	}
}

static void take_exec(struct wmk_follow *follow, const struct wmk_watch_event *event)
{
	struct wmk_follow_process *process = *place(follow, event->pid);

	if (process)
		end_program(follow, process, process->why);
	process = add(follow, event->pid);
	if (!process)
		return;
	process->own = true;
	take_name(process, event->name);
}

static void take_map(struct wmk_follow *follow, const struct wmk_watch_event *event)
{
	struct wmk_follow_process *process = *place(follow, event->pid);
	const char *slash = strrchr(event->name, '/');
	bool library = slash && strncmp(slash + 1, LIBRARY, sizeof(LIBRARY) - 1) == 0, first;

	if (!process || process->registered)
		return;
	/*
	 * The first mapping that the kernel reports is the mapping of the program's own file. A later mapping shows
	 * that exec has finished, so the environment can be read from this moment.
	 */
	if (process->uses && !process->looked) {
		process->due_ms = 0;
		follow->look_ms = 0;
	}
	first = !process->shown && process->own;
	process->shown = true;
	/* (libwaymark itself also has tracepoints: those of its state dump.) */
	if (!library && !process->sites)
		process->sites = wmk_proc_file_has_sites(event->name, event->major, event->minor, event->inode);
	/*
	 * The program's own file is mapped first. If the program's own file has tracepoints, and the library is not
	 * mapped, the program is linked with libwaymark.a.
	 */
	if (process->uses || !(library || (first && process->sites)))
		return;
	/* A forked process can be the first process that uses the library, if it calls dlopen(). */
	process->own = process->uses = true;
	follow->look_ms = 0;
}

/*
 * The kernel stops reporting events of a process that executes a set-id program, or a program that its user cannot
 * read. When the kernel stops reporting events of a process, it reports an exit of the process, although the process
 * continues.
 */
static void take_hidden(struct wmk_follow *follow, const struct wmk_follow_process *process, enum wmk_proc_life life)
{
	struct wmk_follow_process program = *process;
	enum wmk_proc_use use;

	if (life == WMK_PROC_GONE) {
		program.uses = true;
		end_program(follow, &program, WMK_FOLLOW_HIDDEN);
		return;
	}
	/*
	 * The process may have ended after wmk_proc_life() read the ids of the process. The pid has not been reused,
	 * because the ended process is still a zombie. The ids of a zombie can be read, but /proc/PID/exe cannot be
	 * opened.
	 */
	use = wmk_proc_use(process->pid);
	program.uses = use != WMK_PROC_UNUSED;
	if (life == WMK_PROC_SET_ID)
		end_program(follow, &program, WMK_FOLLOW_SET_ID);
}

static void take_exit(struct wmk_follow *follow, const struct wmk_watch_event *event)
{
	struct wmk_follow_process *process = *place(follow, event->pid);

	if (!process || --process->threads > 0)
		return;
	if (process->own && !process->shown)
		take_hidden(follow, process, wmk_proc_life(process->pid));
	else
		end_program(follow, process, process->why);
	drop(follow, event->pid);
}

static void take(void *data, const struct wmk_watch_event *event)
{
	switch (event->kind) {
	case WMK_WATCH_FORK:
		take_fork(data, event);
		break;
	case WMK_WATCH_EXEC:
		take_exec(data, event);
		break;
	case WMK_WATCH_MAP:
		take_map(data, event);
		break;
	case WMK_WATCH_EXIT:
		take_exit(data, event);
		break;
	}
}

/* ── environments ────────────────────────────────────────────────────────────────────────────────────── */

static enum wmk_follow_why why_of(const struct wmk_follow *follow, const struct wmk_proc_environment *environment)
{
	if (environment->other_user)
		return WMK_FOLLOW_USER;
	if (environment->disabled)
		return WMK_FOLLOW_DISABLED;
	if (!environment->has_rundir)
		return WMK_FOLLOW_ENVIRONMENT;
	if (strcmp(environment->rundir, follow->rundir) != 0)
		return WMK_FOLLOW_ELSEWHERE;
	return environment->hides_rundir ? WMK_FOLLOW_MOUNTS : WMK_FOLLOW_SILENT;
}

/*
 * The environment belongs to this program if the process fulfils three conditions after the reading: the process has
 * libwaymark mapped, has not called exec, and has not ended.
 */
static void look_at(struct wmk_follow *follow, struct wmk_follow_process *process, int64_t now)
{
	struct wmk_proc_environment environment;
	const pid_t pid = process->pid;
	const uint64_t serial = process->serial;

	if (!process->first_ms)
		process->first_ms = now;
	/*
	 * If the environment cannot be read yet, retry at once for some ms. If the first attempts fail, retry at
	 * growing intervals, because the process may be waiting for the CPU that this thread uses. (If an event reports
	 * a mapping below, the next retry is due at once.)
	 */
	process->due_ms = now + (now - process->first_ms) / 4;
	bool read = wmk_proc_environment(pid, &environment);

	wmk_watch_read(&follow->watch, take, follow);
	process = *place(follow, pid);
	if (!process || process->serial != serial)
		return;
	if (read)
		process->why = why_of(follow, &environment);
	process->looked = !environment.early || now - process->first_ms >= LOOK_MS;
}

/*
 * Find a process for which the environment is due to be read. If no environment is due now, returns NULL and sets *due
 * to the time of the next read. *due is INT64_MAX if no process has an environment to read.
 */
static struct wmk_follow_process *next_to_look(struct wmk_follow *follow, int64_t now, int64_t *due)
{
	*due = INT64_MAX;
	for (unsigned i = 0; i < WMK_FOLLOW_BUCKETS; i++)
		for (struct wmk_follow_process *process = follow->table[i]; process; process = process->next) {
			if (!process->own || !process->uses || process->registered || process->looked)
				continue;
			if (process->due_ms <= now)
				return process;
			if (process->due_ms < *due)
				*due = process->due_ms;
		}
	return NULL;
}

void wmk_follow_poll(struct wmk_follow *follow)
{
	struct wmk_follow_process *process;
	int64_t now = wmk_clock_ms();

	wmk_watch_read(&follow->watch, take, follow);
	/*
	 * If thousands of processes start at once, processes that register wait for this thread. Therefore one call
	 * reads at most LOOKS_AT_ONCE environments, and the next call continues with the others.
	 */
	for (int i = 0; follow->look_ms <= now && i < LOOKS_AT_ONCE; i++) {
		process = next_to_look(follow, now, &follow->look_ms);
		if (!process)
			break;
		follow->look_ms = 0;
		look_at(follow, process, now);
	}
	follow->round++;
}

void wmk_follow_hurry(struct wmk_follow *follow)
{
	for (unsigned i = 0; i < WMK_FOLLOW_BUCKETS; i++)
		for (struct wmk_follow_process *process = follow->table[i]; process; process = process->next)
			process->due_ms = 0;
	follow->look_ms = 0;
}

int wmk_follow_wait_ms(const struct wmk_follow *follow)
{
	int64_t now = wmk_clock_ms();

	return follow->look_ms == INT64_MAX ? -1 : follow->look_ms <= now ? 0 : (int)(follow->look_ms - now);
}

/* ── evaluation ──────────────────────────────────────────────────────────────────────────────────────── */

void wmk_follow_registered(struct wmk_follow *follow, pid_t pid)
{
	struct wmk_follow_process *process;

	/*
	 * First receive the kernel events that precede the message of this process. These events show which program of
	 * the process has sent the message.
	 */
	wmk_watch_read(&follow->watch, take, follow);
	process = *place(follow, pid);
	if (process)
		process->registered = true;
	/*
	 * The sender of the message may be a program of this process that has just ended. Remove that ended program
	 * from the list of programs that did not register, unless the reason in the list rules out a registration.
	 */
	for (struct wmk_follow_ended **at = &follow->ended, *ended; (ended = *at);) {
		if (ended->one.pid == pid &&
		    (ended->one.why == WMK_FOLLOW_UNKNOWN || ended->one.why == WMK_FOLLOW_SILENT ||
		     ended->one.why == WMK_FOLLOW_HIDDEN)) {
			*at = ended->next;
			free(ended);
		} else {
			at = &ended->next;
		}
	}
}

void wmk_follow_left(struct wmk_follow *follow, pid_t pid)
{
	struct wmk_follow_process *process = *place(follow, pid);
	struct wmk_unfollowed one = { .pid = pid, .why = WMK_FOLLOW_USER };
	uint64_t serial = process ? process->serial : 0;

	if (!process || !wmk_proc_other_user(pid))
		return;
	wmk_watch_read(&follow->watch, take, follow);
	process = *place(follow, pid);
	if (!process || process->serial != serial || !process->registered || process->is_reported)
		return;
	process->is_reported = true;
	memcpy(one.name, process->name, sizeof(process->name));
	add_note(follow, &one);
}

void wmk_follow_judge(struct wmk_follow *follow)
{
	for (struct wmk_follow_ended **at = &follow->ended, *ended; (ended = *at);) {
		if (ended->round == follow->round) {
			/* the program ended after the last wmk_follow_poll(): its messages may not be received yet */
			at = &ended->next;
			continue;
		}
		add_note(follow, &ended->one);
		*at = ended->next;
		free(ended);
	}
}

void wmk_follow_finish(struct wmk_follow *follow)
{
	for (unsigned i = 0; i < WMK_FOLLOW_BUCKETS; i++)
		for (const struct wmk_follow_process *process = follow->table[i]; process; process = process->next) {
			struct wmk_unfollowed one = { .pid = process->pid, .why = process->why };

			memcpy(one.name, process->name, sizeof(process->name));
			if (missing(process, process->why))
				add_note(follow, &one);
		}
}

bool wmk_follow_incomplete(const struct wmk_follow *follow)
{
	return follow->error || follow->watch.lost;
}

void wmk_follow_start(struct wmk_follow *follow, pid_t pid)
{
	follow->error = wmk_watch_open(&follow->watch, pid);
	if (!follow->error)
		add(follow, pid);
}

void wmk_follow_close(struct wmk_follow *follow)
{
	for (unsigned i = 0; i < WMK_FOLLOW_BUCKETS; i++)
		while (follow->table[i])
			drop(follow, follow->table[i]->pid);
	while (follow->ended) {
		struct wmk_follow_ended *next = follow->ended->next;

		free(follow->ended);
		follow->ended = next;
	}
	wmk_watch_close(&follow->watch);
}

/* ── texts ───────────────────────────────────────────────────────────────────────────────────────────── */

const char *wmk_follow_why_text(const struct wmk_unfollowed *one)
{
	switch (one->why) {
	case WMK_FOLLOW_ENVIRONMENT:
		return "was started with an environment without WAYMARK_RUNDIR";
	case WMK_FOLLOW_ELSEWHERE:
		return "was started with another WAYMARK_RUNDIR in its environment";
	case WMK_FOLLOW_DISABLED:
		return "was started with WAYMARK_DISABLE in its environment";
	case WMK_FOLLOW_MOUNTS:
		return "has another mount namespace or root directory, in which WAYMARK_RUNDIR is another directory";
	case WMK_FOLLOW_USER:
		return "runs as another user";
	case WMK_FOLLOW_SET_ID:
		return "is set-id";
	case WMK_FOLLOW_HIDDEN:
		return "did not register, and the kernel does not show its program (as for set-id programs)";
	case WMK_FOLLOW_SILENT:
		return one->ended ? "ended without having registered" : "has not registered";
	default:
		return one->ended ? "ended without having registered, before its environment could be read"
				  : "has not registered, and its environment cannot be read";
	}
}

const char *wmk_follow_why_word(const struct wmk_unfollowed *one)
{
	static const char *const words[] = {
		[WMK_FOLLOW_UNKNOWN] = "unknown",         [WMK_FOLLOW_SILENT] = "unregistered",
		[WMK_FOLLOW_ENVIRONMENT] = "environment", [WMK_FOLLOW_ELSEWHERE] = "other-rundir",
		[WMK_FOLLOW_DISABLED] = "disabled",       [WMK_FOLLOW_USER] = "user",
		[WMK_FOLLOW_SET_ID] = "set-id",           [WMK_FOLLOW_HIDDEN] = "hidden",
		[WMK_FOLLOW_MOUNTS] = "mounts",
	};

	return words[one->why];
}
