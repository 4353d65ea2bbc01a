/* SPDX-License-Identifier: MIT */
/*
 * test_app_accept.c - accept applications: each connection reaches one shard; all connections of a process reach the
 * same shard while one of them is open; other users are refused; a lack of descriptors is reported.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/error.h"
#include "session/apps/app_accept.h"
#include "wire/wire.h"

#define SHARDS 3u
#define LIMIT_S 30
#define PROCESSES 12u
#define TIMES 200u                   /* connections of each process */

static struct {
	pthread_mutex_t lock;
	unsigned passed[SHARDS];         /* connections passed to it by other shards */
	struct sockaddr_un address;
	int listener;
	struct wmk_accept *acceptor;
	/* for the test with many processes: the shard of each process while it has connections */
	struct home {
		pid_t pid;
		unsigned n, shard;
	} homes[PROCESSES];
	unsigned n_homes, served, wrong;
} scene = { .lock = PTHREAD_MUTEX_INITIALIZER };

static int take(void *data, unsigned shard, const struct wmk_app_conn *conn)
{
	(void)data;
	if (shard >= SHARDS)
		abort();
	pthread_mutex_lock(&scene.lock);
	scene.passed[shard]++;
	pthread_mutex_unlock(&scene.lock);
	close(conn->socket);
	return 0;
}

static void acceptor_open_with(uid_t only, int (*taker)(void *data, unsigned shard, const struct wmk_app_conn *conn))
{
	const struct wmk_accept_options options = {
		.size = sizeof(options), .listener = scene.listener, .only = only, .n_shards = SHARDS, .take = taker
	};

	memset(scene.passed, 0, sizeof(scene.passed));
	assert_int_equal(wmk_accept_open(&options, &scene.acceptor), 0);
	assert_int_equal(wmk_accept_fd(scene.acceptor), scene.listener);
}

static void acceptor_open(uid_t only)
{
	acceptor_open_with(only, take);
}

static void acceptor_close(void)
{
	wmk_accept_close(scene.acceptor);
	scene.acceptor = NULL;
}

static int connected(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&scene.address, sizeof(scene.address)), 0);
	return fd;
}

static int set_up(void **state)
{
	(void)state;
	scene.address.sun_family = AF_UNIX;
	snprintf(scene.address.sun_path + 1, sizeof(scene.address.sun_path) - 1, "waymark-accept-%ld", (long)getpid());
	scene.listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	return bind(scene.listener, (struct sockaddr *)&scene.address, sizeof(scene.address)) ||
	       listen(scene.listener, 4096);
}

static int tear_down(void **state)
{
	(void)state;
	return close(scene.listener);
}

/* The shard that accepts first gets all connections of the process, until they are closed; then any shard may. */
static void connections_of_a_process_reach_one_shard(void **state)
{
	struct wmk_app_conn conn;
	int clients[4];

	(void)state;
	acceptor_open((uid_t)-1);
	assert_int_equal(wmk_accept_next(scene.acceptor, 0, &conn), 0);
	for (unsigned round = 0; round < 2 * SHARDS; round++) {
		const unsigned mine = round % SHARDS, other = (mine + 1) % SHARDS;

		memset(scene.passed, 0, sizeof(scene.passed));
		for (unsigned i = 0; i < 4; i++)
			clients[i] = connected();
		assert_int_equal(wmk_accept_next(scene.acceptor, mine, &conn), 1);
		assert_int_equal(conn.cred.pid, getpid());
		assert_int_equal(conn.cred.uid, getuid());
		close(conn.socket);
		/* another shard passes the rest on, and no connection is pending */
		assert_int_equal(wmk_accept_next(scene.acceptor, other, &conn), 0);
		for (unsigned i = 0; i < SHARDS; i++)
			assert_int_equal(scene.passed[i], i == mine ? 3 : 0);
		for (unsigned i = 0; i < 4; i++) {
			close(clients[i]);
			wmk_accept_closed(scene.acceptor, getpid(), getuid());
		}
	}
	acceptor_close();
}

/* ── several threads, many processes ─────────────────────────────────────────────────────────────────── */

static void served(unsigned shard, const struct wmk_app_conn *conn, bool comes)
{
	struct home *home = scene.homes;

	pthread_mutex_lock(&scene.lock);
	while (home < scene.homes + scene.n_homes && home->pid != conn->cred.pid)
		home++;
	if (home == scene.homes + scene.n_homes) {
		if (scene.n_homes == PROCESSES)
			abort();
		*home = (struct home){ .pid = conn->cred.pid };
		scene.n_homes++;
	}
	if (comes) {
		scene.wrong += home->n && home->shard != shard;
		home->shard = shard;
		home->n++;
	} else {
		home->n--;
		scene.served++;
	}
	pthread_mutex_unlock(&scene.lock);
}

/* Another shard's thread handles and closes the connection. */
static void serve(unsigned shard, const struct wmk_app_conn *conn)
{
	served(shard, conn, true);
	close(conn->socket);
	sched_yield();
	served(shard, conn, false);
	wmk_accept_closed(scene.acceptor, conn->cred.pid, conn->cred.uid);
}

static int take_and_serve(void *data, unsigned shard, const struct wmk_app_conn *conn)
{
	(void)data;
	serve(shard, conn);
	return 0;
}

static bool all_served(void)
{
	pthread_mutex_lock(&scene.lock);
	const bool all = scene.served == PROCESSES * TIMES;
	pthread_mutex_unlock(&scene.lock);
	return all;
}

static void *shard_run(void *data)
{
	const unsigned shard = (unsigned)(uintptr_t)data;
	const uint64_t end = wmk_clock_monotonic() + LIMIT_S * UINT64_C(1000000000);
	struct wmk_app_conn conn;

	while (!all_served() && wmk_clock_monotonic() < end)
		if (wmk_accept_next(scene.acceptor, shard, &conn) == 1)
			serve(shard, &conn);
	return NULL;
}

static void each_process_has_one_shard_at_a_time(void **state)
{
	pthread_t threads[SHARDS];
	struct wmk_accept_stats stats;
	pid_t pids[PROCESSES];
	int status, failed = 0;

	(void)state;
	acceptor_open_with(geteuid(), take_and_serve);
	for (unsigned i = 0; i < PROCESSES; i++)
		if ((pids[i] = fork()) == 0) {
			for (unsigned k = 0; k < TIMES; k++) {
				int fd = socket(AF_UNIX, SOCK_STREAM, 0);

				if (connect(fd, (struct sockaddr *)&scene.address, sizeof(scene.address)) != 0)
					_exit(1);
				close(fd);
			}
			_exit(0);
		}
	for (uintptr_t i = 0; i < SHARDS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, shard_run, (void *)i), 0);
	for (unsigned i = 0; i < PROCESSES; i++)
		failed += waitpid(pids[i], &status, 0) != pids[i] || status != 0;
	for (unsigned i = 0; i < SHARDS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(failed, 0);
	assert_int_equal(scene.served, PROCESSES * TIMES);
	assert_int_equal(scene.wrong, 0);
	wmk_accept_stats(scene.acceptor, &stats);
	assert_int_equal(stats.accepted, PROCESSES * TIMES);
	assert_int_equal(stats.refused, 0);
	acceptor_close();
}

/* The accepting shard keeps the connections, and is reported as ahead once it has many more than another. */
static void shard_with_many_more_connections_than_others_is_reported(void **state)
{
	unsigned mine = 0, status = 0;
	struct wmk_app_conn conn;
	pid_t pids[120];

	(void)state;
	acceptor_open((uid_t)-1);
	for (unsigned i = 0; i < 120; i++) {
		if ((pids[i] = fork()) == 0) {
			connected();
			_exit(0);
		}
		status |= waitpid(pids[i], &(int){ 0 }, 0) != pids[i];
		/* (they stay counted) */
		while (wmk_accept_next(scene.acceptor, 1, &conn) == 1) {
			close(conn.socket);
			mine++;
		}
		assert_int_equal(wmk_accept_is_ahead(scene.acceptor, 1), mine >= 16);
		assert_false(wmk_accept_is_ahead(scene.acceptor, 0));
	}
	assert_int_equal(status, 0);
	assert_int_equal(mine, 120);
	for (unsigned i = 0; i < SHARDS; i++)
		assert_int_equal(scene.passed[i], 0);
	acceptor_close();
}

/*
 * Connect from `n` processes of the user, one after another. Returns how many are accepted. The refused ones, and the
 * first `leave`, are closed.
 */
static unsigned let_in(uid_t uid, unsigned n, unsigned leave)
{
	struct wmk_app_conn conn;
	unsigned in = 0;

	for (unsigned k = 0; k < n; k++) {
		pid_t pid = fork();
		int ignored;

		if (pid == 0) {
			if (setuid(uid) != 0)
				_exit(1);
			connected();
			_exit(0);
		}
		assert_int_equal(waitpid(pid, &ignored, 0), pid);
		assert_int_equal(wmk_accept_next(scene.acceptor, k % SHARDS, &conn), 1);
		assert_int_equal(conn.cred.uid, uid);
		in += !conn.too_many;
		close(conn.socket);
		if (k < leave || conn.too_many)
			wmk_accept_closed(scene.acceptor, conn.cred.pid, uid);
	}
	return in;
}

static void acceptor_open_limited(unsigned max_of_uid, unsigned max)
{
	const struct wmk_accept_options options = { .size = sizeof(options),
						  .listener = scene.listener,
						  .only = (uid_t)-1,
						  .n_shards = SHARDS,
						  .max_of_uid = max_of_uid,
						  .max = max,
						  .take = take };

	assert_int_equal(wmk_accept_open(&options, &scene.acceptor), 0);
}

/* The limit is common to all shards; root and the user of the daemon have none. */
static void acceptor_limits_applications_of_one_user(void **state)
{
	(void)state;
	if (getuid() != 0)
		skip();
	acceptor_open_limited(3, 0);
	assert_int_equal(let_in(65534, 5, 1), 4);
	assert_int_equal(let_in(0, 5, 0), 5);
	assert_int_equal(let_in(65533, 5, 0), 3);
	acceptor_close();
}

/* Of 40 places, the last 10 are for users with fewer than 16 connections each. */
static void users_with_few_connections_can_use_the_reserved_slots(void **state)
{
	(void)state;
	if (getuid() != 0)
		skip();
	_Static_assert(WMK_ACCEPT_RESERVED == 16, "the figures below");
	acceptor_open_limited(1024, 40);
	assert_int_equal(let_in(65534, 35, 0), 30);
	assert_int_equal(let_in(65533, 20, 0), 16);
	assert_int_equal(let_in(65534, 1, 0), 0);
	assert_int_equal(let_in(0, 20, 0), 20);
	acceptor_close();
}

/* ── refused connections ─────────────────────────────────────────────────────────────────────────────── */

static void application_of_another_user_gets_an_error(void **state)
{
	struct wmk_in in = { 0 };
	struct wmk_accept_stats stats;
	struct wmk_app_conn conn;
	struct wmk_frame frame;
	const void *body;
	char text[200];
	int fd, err = 0;

	(void)state;
	acceptor_open(geteuid() + 1);
	int client = connected();
	assert_int_equal(wmk_accept_next(scene.acceptor, 0, &conn), 0);
	assert_int_equal(wmk_in_receive(&in, client), 1);
	assert_int_equal(wmk_in_frame(&in, &frame, &body, &fd), 1);
	assert_int_equal(frame.type, WMK_MSG_REFUSED);
	assert_int_equal(wmk_error_msg_decode(body, frame.length, &err, text, sizeof(text)), 0);
	assert_int_equal(err, EACCES);
	assert_non_null(strstr(text, "own user"));
	wmk_accept_stats(scene.acceptor, &stats);
	assert_int_equal(stats.refused, 1);
	wmk_in_free(&in);
	close(client);
	acceptor_close();
}

/*
 * Without free descriptors a connection is refused by means of the spare one. Without the spare, an error is returned.
 * Afterwards connections are accepted again.
 */
static void accept_fails_without_free_descriptors_and_then_recovers(void **state)
{
	struct rlimit before, none;
	struct wmk_accept_stats stats;
	struct wmk_app_conn conn;
	char c;
	int fds[10];

	(void)state;
	acceptor_open((uid_t)-1);
	for (unsigned i = 0; i < 10; i++)
		fds[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(connect(fds[i], (struct sockaddr *)&scene.address, sizeof(scene.address)), 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = before;
	none.rlim_cur = 3;               /* below the spare descriptor: no descriptor can be opened */
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	const int ret = wmk_accept_next(scene.acceptor, 0, &conn);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(ret, -EMFILE);
	wmk_accept_stats(scene.acceptor, &stats);
	assert_int_equal(stats.accepted, 0);
	for (unsigned i = 5; i < 10; i++)
		assert_int_equal(connect(fds[i], (struct sockaddr *)&scene.address, sizeof(scene.address)), 0);
	while (wmk_accept_next(scene.acceptor, 0, &conn) == 1)
		close(conn.socket);
	for (unsigned i = 0; i < 10; i++) {
		assert_int_equal(recv(fds[i], &c, 1, 0), 0);
		close(fds[i]);
	}
	wmk_accept_stats(scene.acceptor, &stats);
	assert_int_equal(stats.accepted, 10);
	acceptor_close();
}

/* The spare descriptor is below the limit: all connections are refused by it, and none stays pending. */
static void pending_connections_are_refused_without_free_descriptors(void **state)
{
	struct rlimit before, few;
	struct wmk_accept_stats stats;
	struct wmk_app_conn conn;
	int fds[5], last;
	char c;

	(void)state;
	acceptor_open((uid_t)-1);
	for (unsigned i = 0; i < 5; i++)
		fds[i] = connected();
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	few = before;
	last = dup(0);                   /* the lowest free number: all below it are open */
	few.rlim_cur = (rlim_t)last;
	close(last);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	const int ret = wmk_accept_next(scene.acceptor, 0, &conn);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(ret, 0);
	for (unsigned i = 0; i < 5; i++) {
		assert_int_equal(recv(fds[i], &c, 1, 0), 0);
		close(fds[i]);
	}
	wmk_accept_stats(scene.acceptor, &stats);
	assert_int_equal(stats.accepted, 0);
	assert_int_equal(stats.turned_away, 5);
	acceptor_close();
}

/* A connection that is pending at the close is accepted after the next open. */
static void pending_connection_is_accepted_after_acceptor_restarts(void **state)
{
	struct wmk_app_conn conn;

	(void)state;
	acceptor_open((uid_t)-1);
	acceptor_close();
	int fd = connected();
	acceptor_open((uid_t)-1);
	assert_int_equal(wmk_accept_next(scene.acceptor, 1, &conn), 1);
	close(conn.socket);
	acceptor_close();
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(connections_of_a_process_reach_one_shard),
		cmocka_unit_test(each_process_has_one_shard_at_a_time),
		cmocka_unit_test(shard_with_many_more_connections_than_others_is_reported),
		cmocka_unit_test(acceptor_limits_applications_of_one_user),
		cmocka_unit_test(users_with_few_connections_can_use_the_reserved_slots),
		cmocka_unit_test(application_of_another_user_gets_an_error),
		cmocka_unit_test(accept_fails_without_free_descriptors_and_then_recovers),
		cmocka_unit_test(pending_connections_are_refused_without_free_descriptors),
		cmocka_unit_test(pending_connection_is_accepted_after_acceptor_restarts),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
