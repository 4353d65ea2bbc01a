/* SPDX-License-Identifier: MIT */
/*
 * procs.c - processes that create processes, and record before, during and after that.
 *
 *     procs fork N | vfork N | exec N | clone N | spawn N | unshare N | storm N    (N children, each making N records)
 *     procs leaf N                    N records, no children
 *     procs status CODE               one record, then exit with CODE
 *     procs forever                   records until it is killed; SIGINT ends it with status 7
 *     procs trapped N                 for trap.c: 50 records, SIGTRAP, N records of all shapes, SIGTRAP
 *     procs stopped N                 stops the library's helper thread, then forks: the child makes N records
 *     procs clearenv N                executes itself with an environment that is empty except for the ledger
 *
 * A child that shares its parent's memory (vfork, clone) uses slots that the parent took for it.
 */
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <waymark/runtime.h>
#include "ledger.h"

extern char **environ;

static uint64_t n;
static uint32_t shared_writer;

static void emit_many(uint32_t w, uint64_t times)
{
	for (uint64_t i = 0; i < times; i++)
		writer_emit(w);
}

/*
 * Records for each way through the recording path: short and long texts, and a pause after which a record needs a full
 * timestamp.
 */
static void emit_shapes(uint32_t w, uint64_t times)
{
	static char text[4096];
	for (uint64_t i = 0; i < times; i++) {
		if (i % 64 == 40)
			usleep(150000);
		if (i % 8 == 7)
			writer_emit_text(w, text, i % 64 == 63 ? sizeof(text) - 1 : i % 32);
		else
			writer_emit(w);
	}
}

static void reap(pid_t pid)
{
	int status = 0;
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status) {
		fprintf(stderr, "procs: child %d: status %x\n", (int)pid, status);
		exit(9);
	}
}

static int do_stopped(void)
{
	pid_t pid;
	waymark_helper_stop();
	pid = fork();
	if (!pid) {
		uint32_t own = writer_new();
		for (int i = 0; i < 20000 && !wm_enabled(test, seq); i++)
			usleep(1000);
		emit_many(own, n);
		exit(0);
	}
	reap(pid);
	return 0;
}

static void do_fork(uint32_t w)
{
	pid_t pids[64];
	for (uint64_t i = 0; i < n && i < 64; i++) {
		pids[i] = fork();
		if (!pids[i]) {
			uint32_t own = writer_new();
			emit_many(own, n);
			pid_t grandchild = fork();
			if (!grandchild) {
				emit_many(writer_new(), n);
				exit(0);
			}
			emit_many(own, n);
			reap(grandchild);
			exit(0);
		}
		writer_emit(w);
	}
	for (uint64_t i = 0; i < n && i < 64; i++)
		reap(pids[i]);
}

static void do_vfork(uint32_t w, char *self)
{
	for (volatile uint64_t i = 0; i < n; i++) {
		uint32_t child_writer = writer_new();
		pid_t pid = vfork();
		if (!pid) {
			writer_emit(child_writer);
			if (i % 2)
				execl(self, self, "leaf", "3", (char *)NULL);
			writer_emit(child_writer);
			_exit(0);
		}
		writer_emit(w);
		reap(pid);
		writer_emit(w);
	}
}

static int clone_child(void *arg)
{
	(void)arg;
	emit_many(shared_writer, n);
	return 0;
}

static void do_clone(uint32_t w)
{
	static char stack[1 << 18] __attribute__((aligned(64)));
	static const int flags[] = { SIGCHLD, CLONE_VM | SIGCHLD, CLONE_VM | CLONE_VFORK | SIGCHLD };
	for (uint64_t i = 0; i < n; i++) {
		shared_writer = writer_new();
		pid_t pid = clone(clone_child, stack + sizeof(stack), flags[i % 3], NULL);
		emit_many(w, n);
		reap(pid);
	}
}

static void do_spawn(uint32_t w, char *self)
{
	char *argv[] = { self, (char[]){ "leaf" }, (char[]){ "5" }, NULL };
	for (uint64_t i = 0; i < n; i++) {
		pid_t pid = 0;
		writer_emit(w);
		if (posix_spawn(&pid, self, NULL, NULL, argv, environ))
			exit(8);
		writer_emit(w);
		reap(pid);
	}
}

static void do_unshare(uint32_t w)
{
	emit_many(w, n);
	if (unshare(CLONE_FILES | CLONE_FS | CLONE_NEWNS))
		perror("procs: unshare");
	emit_many(w, n);
	pid_t pid = fork();
	if (!pid) {
		uint32_t own = writer_new();
		if (unshare(CLONE_NEWPID))
			perror("procs: unshare pid");
		emit_many(own, n);
		pid_t inside = fork();
		if (!inside) {
			emit_many(writer_new(), n);
			_exit(0);
		}
		reap(inside);
		exit(0);
	}
	reap(pid);
}

/* Generations of short-lived processes; only some of them record. */
static void do_storm(void)
{
	for (uint64_t i = 0; i < n; i++) {
		pid_t pid = fork();
		if (!pid) {
			if (i % 3)
				emit_many(writer_new(), i % 5);
			_exit(0);
		}
		if (i % 2)
			reap(pid);
		else
			while (waitpid(pid, NULL, 0) < 0)
				;
	}
}

static void on_interrupt(int sig)
{
	(void)sig;
	_exit(7);
}

static __attribute__((noreturn)) void forever(uint32_t w)
{
	signal(SIGINT, on_interrupt);
	ledger->flag[0] = (uint64_t)getpid();
	for (;;) {
		writer_emit(w);
		usleep(100);
	}
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	n = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
	ledger_map();
	uint32_t w = writer_new();
	if (!strcmp(mode, "status")) {
		writer_emit(w);
		return (int)n;
	}
	if (!strcmp(mode, "forever"))
		forever(w);
	if (!strcmp(mode, "trapped")) {
		emit_many(w, 50);
		raise(SIGTRAP);
		emit_shapes(w, n);
		raise(SIGTRAP);
		return 0;
	}
	emit_many(w, n);
	if (!strcmp(mode, "stopped"))
		return do_stopped();
	if (!strcmp(mode, "fork"))
		do_fork(w);
	else if (!strcmp(mode, "vfork"))
		do_vfork(w, argv[0]);
	else if (!strcmp(mode, "clone"))
		do_clone(w);
	else if (!strcmp(mode, "spawn"))
		do_spawn(w, argv[0]);
	else if (!strcmp(mode, "unshare"))
		do_unshare(w);
	else if (!strcmp(mode, "storm"))
		do_storm();
	else if (!strcmp(mode, "exec") && n > 0) {
		char next[32];
		snprintf(next, sizeof(next), "%llu", (unsigned long long)n - 1);
		execl(argv[0], argv[0], "exec", next, (char *)NULL);
		return 4;
	} else if (!strcmp(mode, "clearenv")) {
		char keep[4200];
		snprintf(keep, sizeof(keep), "WMK_TEST_LEDGER=%s", getenv("WMK_TEST_LEDGER"));
		char *env[] = { keep, NULL }, *args[] = { argv[0], (char[]){ "leaf" }, (char[]){ "5" }, NULL };
		execve(argv[0], args, env);
		return 4;
	}
	writer_emit(w);
	return 0;
}
