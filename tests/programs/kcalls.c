/* SPDX-License-Identifier: MIT */
/*
 * kcalls.c - a program with a known number of system calls, for tests that record the kernel.
 *
 *     kcalls triples N          N times: test:before, openat() of a path that does not exist, test:after; it moves
 *                               from CPU to CPU between the three
 *     kcalls calls THREADS N    N turns of each thread, each of five calls that no other program makes
 *     kcalls until THREADS N [EVERY]
 *                               the same with a pause after EVERY turns (50), until its standard input ends
 *     kcalls lives N FILE       N families: processes and threads that start, rename themselves, execute another
 *                               program, end
 *     kcalls crowd EVERY FILE   a child makes two marks, each under another name. Before the first mark and between
 *                               them, its parent renames itself until the kernel's buffer of task events is full,
 *                               with a pause after EVERY renames. Then both end; if EVERY is 0, they stay until they
 *                               are killed.
 *
 * `calls` and `until` print the total number of turns of all threads, and each thread id: "turns N", "tid T". The
 * arguments of the calls contain the turn. The calls fail and change nothing.
 *
 * For each mark, `lives` and `crowd` write a line about its thread to FILE: "marker pid tid ppid prio name". A mark is
 * getsid(-marker).
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <waymark/trace.h>

#define THREADS_MAX 64
#define RENAMES 50
/*
 * The number of renames: more than fit into the buffer if no reader drains it (kernel/tasks/task_context.c: TASKS_KB)
 */
#define CROWD 18000
#define CROWD_PAUSE_US 10000

static _Atomic uint64_t turns;
static _Atomic bool ended;
static uint64_t wanted;
static uint64_t pause_every;               /* turns; 0: no pauses */
static pid_t tids[THREADS_MAX];

static pid_t own_tid(void)
{
	return (pid_t)syscall(SYS_gettid);
}

/* ── triples ─────────────────────────────────────────────────────────────────────────────────────────── */

static void move_to(unsigned cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

/* The openat() runs on the CPU of the first event, on that of the second, or all three on one CPU. */
static int triples(uint64_t n)
{
	const unsigned cpus = (unsigned)sysconf(_SC_NPROCESSORS_ONLN);

	for (uint64_t i = 0; i < n; i++) {
		waymark(test, before, i);
		if (i % 4 == 1)
			move_to((unsigned)(i / 4 % cpus));
		syscall(SYS_openat, AT_FDCWD, "/nowhere/at/all", O_RDONLY, (unsigned)i);
		if (i % 4 == 3)
			move_to((unsigned)((i / 4 + 1) % cpus));
		waymark(test, after, i);
	}
	return 0;
}

/* ── calls ───────────────────────────────────────────────────────────────────────────────────────────── */

static void turn(uint64_t i)
{
	const int number = -2 - (int)(i % 1000000000);

	syscall(SYS_sched_setparam, number, NULL);
	syscall(SYS_sched_rr_get_interval, number, NULL);
	syscall(SYS_timer_getoverrun, number);
	syscall(SYS_timer_delete, number);
	syscall(SYS_sched_getattr, number, NULL, 0, 0);
}

static void *thread(void *arg)
{
	uint64_t i = 0;

	*(pid_t *)arg = own_tid();
	for (; i < wanted && !atomic_load_explicit(&ended, memory_order_relaxed); i++) {
		turn(i);
		if (pause_every && i % pause_every == 0)
			nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	}
	atomic_fetch_add(&turns, i);
	return NULL;
}

static int calls(unsigned n_threads, bool until)
{
	pthread_t threads[THREADS_MAX];
	char byte;

	for (unsigned i = 0; i < n_threads; i++)
		if (pthread_create(&threads[i], NULL, thread, &tids[i]))
			return 1;
	if (until) {
		puts("ready");
		fflush(stdout);
		while (read(0, &byte, 1) > 0)
			;
		atomic_store(&ended, true);
	}
	for (unsigned i = 0; i < n_threads; i++)
		pthread_join(threads[i], NULL);
	printf("turns %llu\n", (unsigned long long)turns);
	for (unsigned i = 0; i < n_threads; i++)
		printf("tid %d\n", (int)tids[i]);
	return 0;
}

/* ── lives ───────────────────────────────────────────────────────────────────────────────────────────── */

static int marks;
static const char *marks_path;

/* Lines of processes that may end at any time: each line is one write(). */
static void mark(int marker)
{
	char name[17] = "", line[120];
	const int prio = 20 + getpriority(PRIO_PROCESS, (id_t)own_tid());

	prctl(PR_GET_NAME, name);
	const int n = snprintf(line, sizeof(line), "%d %d %d %d %d %s\n", marker, (int)getpid(), (int)own_tid(),
			       (int)getppid(), 100 + prio, name);

	if (write(marks, line, (size_t)n) != n)
		abort();
	syscall(SYS_getsid, -marker);
}

static void *life_of_thread(void *arg)
{
	char name[16];
	const int marker = *(int *)arg;

	mark(marker);
	snprintf(name, sizeof(name), "t%d", marker);
	prctl(PR_SET_NAME, name);
	mark(marker + 1);
	return NULL;
}

static void wait_for(pid_t pid)
{
	int status;

	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		abort();
}

static void life_of_child(int marker, const char *self)
{
	char name[16], number[16];

	mark(marker);
	snprintf(name, sizeof(name), "c %d", marker);
	prctl(PR_SET_NAME, name);
	mark(marker + 1);
	pid_t pid = fork();

	if (pid == 0) {
		mark(marker + 2);
		_exit(0);
	}
	wait_for(pid);
	snprintf(number, sizeof(number), "%d", marker + 3);
	execl(self, "kcalls", "mark", number, marks_path, (char *)NULL);
	_exit(1);
}

static int lives(int n, const char *self)
{
	char name[16];

	for (int i = 0; i < n; i++) {
		const int base = 100 + 10 * i;
		int of_thread = base + 5;
		pthread_t thread;

		mark(base);
		pid_t pid = fork();

		if (pid == 0)
			life_of_child(base + 1, self);
		if (pthread_create(&thread, NULL, life_of_thread, &of_thread))
			return 1;
		pthread_join(thread, NULL);
		wait_for(pid);
		/* (the kernel keeps this many names for one thread id) */
		if (i < RENAMES) {
			snprintf(name, sizeof(name), "main %d", i % 7);
			prctl(PR_SET_NAME, name);
		}
		mark(base + 7);
	}
	return 0;
}

static void send_byte(int fd)
{
	if (write(fd, "", 1) != 1)
		abort();
}

static void receive_byte(int fd)
{
	char byte;

	if (read(fd, &byte, 1) != 1)
		abort();
}

static void crowd_child(int in, int out, bool stays)
{
	receive_byte(in);
	mark(100);
	prctl(PR_SET_NAME, "early");
	send_byte(out);
	receive_byte(in);
	mark(101);
	send_byte(out);
	while (stays)
		pause();
	_exit(0);
}

static void rename_often(int every)
{
	char name[16];

	for (int i = 1; i <= CROWD; i++) {
		snprintf(name, sizeof(name), "crowd %d", i % 7);
		prctl(PR_SET_NAME, name);
		if (every && i % every == 0)
			usleep(CROWD_PAUSE_US);
	}
}

static int crowd(int every)
{
	int there[2], back[2];

	/* (the buffers are per CPU) */
	move_to((unsigned)sched_getcpu());
	if (pipe(there) || pipe(back))
		return 1;
	pid_t pid = fork();

	if (pid == 0)
		crowd_child(there[0], back[1], every == 0);
	for (int i = 0; i < 2; i++) {
		rename_often(every);
		send_byte(there[1]);
		receive_byte(back[0]);
	}
	while (!every)
		pause();
	mark(102);
	wait_for(pid);
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[1] : "";
	const uint64_t number = argc > 2 ? strtoull(argv[2], NULL, 0) : 0;

	wanted = argc > 3 ? strtoull(argv[3], NULL, 0) : 0;
	if (!strcmp(what, "until"))
		pause_every = argc > 4 ? strtoull(argv[4], NULL, 0) : 50;
	if (!strcmp(what, "triples"))
		return triples(number);
	if (!strcmp(what, "calls") && argc > 3 && number <= THREADS_MAX)
		return calls((unsigned)number, false);
	if (!strcmp(what, "until") && argc > 3 && number <= THREADS_MAX)
		return calls((unsigned)number, true);
	if (argc > 3 && (!strcmp(what, "lives") || !strcmp(what, "crowd") || !strcmp(what, "mark"))) {
		marks_path = argv[3];
		marks = open(marks_path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
		if (marks < 0)
			return 1;
		if (!strcmp(what, "lives"))
			return lives((int)number, "/proc/self/exe");
		if (!strcmp(what, "crowd"))
			return crowd((int)number);
		mark((int)number);
		return 0;
	}
	return 2;
}
