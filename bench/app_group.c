/* SPDX-License-Identifier: MIT */
/*
 * app_group.c - start many applications (member.c), report when all of them run and when the events of all are enabled,
 * and end them.
 *
 *     app_group PROGRAM N at-once|in-turn        in-turn: start each one after the previous one has reached main()
 *
 * It then reads commands from standard input, and answers each with a line of "key value ...". At the end of the input
 * it kills its members. Times are CLOCK_MONOTONIC in ns. The first line is
 *     begin T ready T on N latency NS       start of the first member; last one in main(); members enabled by then;
 *                                           median time of constructors
 * The commands are
 *     on SECONDS / off SECONDS              wait until all are enabled / disabled:   at T left N   (N: after a timeout)
 *     stop I / cont I                       send SIGSTOP or SIGCONT to member I:     pid P
 *     pid I                                                                          pid P
 *
 * The program reads in the memory of a member whether it is enabled, so that the member need not wake up. It checks
 * them one after the other, because the last one counts.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "member_times.h"

#define MEMBERS_MAX 100000
#define READY_MS 120000
#define LOOK_NS 200000

extern char **environ;

static struct member_times *times;
static pid_t *pids;
static unsigned started;

static void end_all(void)
{
	for (unsigned i = 0; i < started; i++)
		kill(pids[i], SIGKILL);
	for (unsigned i = 0; i < started; i++)
		waitpid(pids[i], NULL, 0);
}

static _Noreturn void fail(const char *what, int err)
{
	fprintf(stderr, "app_group: %s: %s\n", what, strerror(err));
	end_all();
	exit(1);
}

static void start_one(const char *program, int memory, int to)
{
	posix_spawn_file_actions_t actions;
	char place[16];
	char *argv[] = { (char *)(uintptr_t)program, place, NULL };

	snprintf(place, sizeof(place), "%u", started);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, memory, MEMBER_TIMES_FD);
	posix_spawn_file_actions_adddup2(&actions, to, MEMBER_TIMES_PIPE);
	posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, 2, 1);
	int err = posix_spawn(&pids[started], program, &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	if (err)
		fail(program, err);
	started++;
}

/* Wait until `n` more members have reported that they run. */
static void wait_ready(int from, unsigned n)
{
	struct pollfd fd = { .fd = from, .events = POLLIN };
	char bytes[256];

	while (n > 0) {
		ssize_t got =
			poll(&fd, 1, READY_MS) == 1 ? read(from, bytes, n < sizeof(bytes) ? n : sizeof(bytes)) : 0;

		if (got <= 0)
			fail("a member has not reached main()", ETIMEDOUT);
		n -= (unsigned)got;
	}
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void print_ready(uint64_t begin, unsigned n)
{
	uint64_t *latency = calloc(n, sizeof(*latency)), ready = 0, on = 0;

	if (!latency)
		fail("cannot allocate times", ENOMEM);
	for (unsigned i = 0; i < n; i++) {
		latency[i] = times[i].ready - times[i].first;
		ready = times[i].ready > ready ? times[i].ready : ready;
		on += times[i].on != 0;
	}
	qsort(latency, n, sizeof(*latency), by_value);
	printf("begin %llu ready %llu on %llu latency %llu\n", (unsigned long long)begin, (unsigned long long)ready,
	       (unsigned long long)on, (unsigned long long)latency[n / 2]);
	free(latency);
}

static bool is_on(unsigned i)
{
	unsigned char bytes[16], any = 0;
	size_t len = times[i].flag_bytes;
	struct iovec here = { bytes, len }, there = { (void *)(uintptr_t)times[i].flag, len };

	if (!times[i].flag || len > sizeof(bytes))
		fail("a member has no flag to watch", EINVAL);
	if (process_vm_readv(pids[i], &here, 1, &there, 1, 0) != (ssize_t)len)
		fail("cannot read a member's memory", errno);
	for (size_t k = 0; k < len; k++)
		any |= bytes[k];
	return any != 0;
}

static void watch(bool on, double seconds)
{
	uint64_t end = now_ns() + (uint64_t)(seconds * 1e9);
	unsigned i = 0, left = 0;

	while (i < started) {
		bool late = now_ns() > end;

		if (is_on(i) == on || late)
			left += is_on(i++) != on;
		else
			nanosleep(&(struct timespec){ .tv_nsec = LOOK_NS }, NULL);
	}
	printf("at %llu left %u\n", (unsigned long long)now_ns(), left);
}

static void run_command(const char *line)
{
	double seconds;
	char word[8];
	unsigned i;

	if (sscanf(line, "on %lf", &seconds) == 1)
		watch(true, seconds);
	else if (sscanf(line, "off %lf", &seconds) == 1)
		watch(false, seconds);
	else if (sscanf(line, "%7s %u", word, &i) == 2 && i < started) {
		if (strcmp(word, "stop") == 0)
			kill(pids[i], SIGSTOP);
		else if (strcmp(word, "cont") == 0)
			kill(pids[i], SIGCONT);
		printf("pid %d\n", (int)pids[i]);
	} else {
		fail(line, EINVAL);
	}
}

int main(int argc, char **argv)
{
	unsigned n = argc == 4 ? (unsigned)strtoul(argv[2], NULL, 10) : 0;
	bool in_turn = argc == 4 && strcmp(argv[3], "in-turn") == 0;
	char line[256];
	int ends[2];

	if (n < 1 || n > MEMBERS_MAX) {
		fprintf(stderr, "usage: %s PROGRAM N at-once|in-turn\n", argv[0]);
		return 2;
	}
	int memory = memfd_create("times", MFD_CLOEXEC), high = MEMBER_TIMES_PIPE + 1;
	if (memory < 0 || ftruncate(memory, (off_t)(n * sizeof(*times))) != 0 || pipe2(ends, O_CLOEXEC) != 0)
		fail("cannot create the shared memory", errno);
	/* not the numbers that members use for them */
	memory = fcntl(memory, F_DUPFD_CLOEXEC, high);
	ends[1] = fcntl(ends[1], F_DUPFD_CLOEXEC, high);
	times = mmap(NULL, n * sizeof(*times), PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
	pids = calloc(n, sizeof(*pids));
	if (memory < 0 || ends[1] < 0 || times == MAP_FAILED || !pids)
		fail("cannot map the shared memory", errno);

	uint64_t begin = now_ns();
	while (started < n) {
		start_one(argv[1], memory, ends[1]);
		if (in_turn)
			wait_ready(ends[0], 1);
	}
	if (!in_turn)
		wait_ready(ends[0], n);
	setlinebuf(stdout);
	print_ready(begin, n);
	while (fgets(line, sizeof(line), stdin))
		run_command(line);
	end_all();
	return 0;
}
