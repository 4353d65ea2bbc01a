/* SPDX-License-Identifier: MIT */
/*
 * test_sharing.c - applications connect one by one while all threads of a daemon sleep. The kernel always wakes the
 * thread that has waited longest, and still the threads share the applications (app_accept.h).
 */
#include <dirent.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "session/apps/app.h"
#include "session/apps/app_accept.h"
#include "session/apps/shard.h"
#include "world.h"

#define PROGRAMS 80u
#define SHARDS 2u
#define THREADS_MAX 16u
#define LIMIT_NS UINT64_C(30000000000)

static struct {
	pid_t pids[PROGRAMS];
	int next[2], connected[2];       /* pipes: a byte per process that is to connect, and per process that has */
	struct sockaddr_un address;
} scene;

struct thread {
	long tid;
	unsigned long slept;             /* number of voluntary context switches */
	char state;
};

/* An application: connects when it is its turn, and sends nothing. */
static void live(void)
{
	int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char byte;

	if (read(scene.next[0], &byte, 1) != 1 ||
	    connect(sock, (const struct sockaddr *)&scene.address, sizeof(scene.address)) != 0 ||
	    write(scene.connected[1], &byte, 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

/* Before any thread starts. */
static int programs_begin(void)
{
	scene.address.sun_family = AF_UNIX;
	snprintf(scene.address.sun_path + 1, sizeof(scene.address.sun_path) - 1, "waymark-sharing-%ld", (long)getpid());
	if (pipe(scene.next) != 0 || pipe(scene.connected) != 0)
		return 1;
	for (unsigned i = 0; i < PROGRAMS; i++) {
		scene.pids[i] = fork();
		if (scene.pids[i] < 0)
			return 1;
		if (scene.pids[i] == 0)
			live();
	}
	return 0;
}

static void programs_end(void)
{
	for (unsigned i = 0; i < PROGRAMS; i++)
		if (scene.pids[i] > 0) {
			kill(scene.pids[i], SIGKILL);
			waitpid(scene.pids[i], NULL, 0);
		}
}

/* ── threads ─────────────────────────────────────────────────────────────────────────────────────────── */

static void look(struct thread *thread)
{
	char path[64], line[256];

	snprintf(path, sizeof(path), "/proc/self/task/%ld/status", thread->tid);
	FILE *status = fopen(path, "re");
	assert_non_null(status);
	while (fgets(line, sizeof(line), status))
		if (sscanf(line, "State: %c", &thread->state) != 1)
			sscanf(line, "voluntary_ctxt_switches: %lu", &thread->slept);
	fclose(status);
}

/* All threads except this one. */
static unsigned threads_find(struct thread *threads)
{
	DIR *tasks = opendir("/proc/self/task");
	const struct dirent *task;
	unsigned n = 0;

	assert_non_null(tasks);
	while ((task = readdir(tasks)) != NULL)
		if (task->d_name[0] != '.' && strtol(task->d_name, NULL, 10) != getpid()) {
			assert_true(n < THREADS_MAX);
			threads[n++] = (struct thread){ .tid = strtol(task->d_name, NULL, 10) };
		}
	closedir(tasks);
	return n;
}

static void wait_accepted(const struct wmk_accept *acceptor, unsigned n)
{
	const uint64_t end = wmk_clock_monotonic() + LIMIT_NS;
	struct wmk_accept_stats stats;

	for (wmk_accept_stats(acceptor, &stats); stats.accepted != n; wmk_accept_stats(acceptor, &stats)) {
		if (wmk_clock_monotonic() > end)
			fail_msg("%llu of %u programs were accepted", (unsigned long long)stats.accepted, n);
		usleep(100);
	}
}

static void wait_asleep(struct thread *threads, unsigned n)
{
	const uint64_t end = wmk_clock_monotonic() + LIMIT_NS;

	for (unsigned i = 0; i < n; i++)
		for (look(&threads[i]); threads[i].state != 'S'; look(&threads[i])) {
			if (wmk_clock_monotonic() > end)
				fail_msg("a thread is in state %c", threads[i].state);
			usleep(100);
		}
}

/* ── the test ────────────────────────────────────────────────────────────────────────────────────────── */

static int listener_make(void)
{
	int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	assert_int_equal(bind(listener, (struct sockaddr *)&scene.address, sizeof(scene.address)), 0);
	assert_int_equal(listen(listener, PROGRAMS), 0);
	return listener;
}

static int not_mine(void *data, unsigned shard, const struct wmk_app_conn *conn)
{
	struct world *w = data;

	return wmk_shard_take(w->shards[shard], conn);
}

static void new_connections_are_distributed_over_sleeping_shards(void **state)
{
	struct thread threads[THREADS_MAX], before[THREADS_MAX];
	unsigned n, working = 0;
	struct wmk_accept *acceptor;
	struct world w;
	char byte = 0;

	(void)state;
	world_prepare(&w);
	world_open(&w, SHARDS);
	const struct wmk_accept_options options = { .size = sizeof(options),
						  .listener = listener_make(),
						  .only = (uid_t)-1,
						  .n_shards = SHARDS,
						  .take = not_mine,
						  .data = &w };
	assert_int_equal(wmk_accept_open(&options, &acceptor), 0);
	for (unsigned i = 0; i < SHARDS; i++)
		assert_int_equal(wmk_shard_listen(w.shards[i], acceptor, i), 0);
	n = threads_find(threads);
	wait_asleep(threads, n);
	memcpy(before, threads, sizeof(before));
	for (unsigned i = 0; i < PROGRAMS; i++) {
		assert_int_equal(write(scene.next[1], &byte, 1), 1);
		assert_int_equal(read(scene.connected[0], &byte, 1), 1);
		wait_accepted(acceptor, i + 1);
		wait_asleep(threads, n);
	}
	for (unsigned i = 0; i < n; i++)
		working += threads[i].slept - before[i].slept >= PROGRAMS / SHARDS / 2;
	assert_int_equal(working, SHARDS);
	for (unsigned i = 0; i < SHARDS; i++)
		world_shard_close(&w, i);
	wmk_accept_close(acceptor);
	close(options.listener);
	world_close(&w);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(new_connections_are_distributed_over_sleeping_shards) };
	int failed = programs_begin();

	if (!failed) {
		procs_begin(argc, argv);
		failed = cmocka_run_group_tests(tests, NULL, NULL);
		procs_end();
	}
	programs_end();
	return failed;
}
