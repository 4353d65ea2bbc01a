/* SPDX-License-Identifier: MIT */
/*
 * test_gate.c - programs come in: each connection reaches one shard, those of one process the same; other users' do not; a lack of
 * descriptors makes nobody spin.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
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
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "session/gate.h"
#include "wire/wire.h"

#define SHARDS 3u
#define LIMIT_S 30

static struct {
	pthread_mutex_t lock;
	pthread_cond_t more;
	unsigned taken[SHARDS], all;
	struct sockaddr_un address;
	int listener;
} scene = { .lock = PTHREAD_MUTEX_INITIALIZER, .more = PTHREAD_COND_INITIALIZER };

static int take(void *data, unsigned shard, int sock)
{
	(void)data;
	if (shard >= SHARDS)
		abort();
	pthread_mutex_lock(&scene.lock);
	scene.taken[shard]++;
	scene.all++;
	pthread_cond_broadcast(&scene.more);
	pthread_mutex_unlock(&scene.lock);
	close(sock);
	return 0;
}

static void expect_taken(unsigned n)
{
	struct timespec end;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += LIMIT_S;
	pthread_mutex_lock(&scene.lock);
	while (scene.all < n)
		assert_int_equal(pthread_cond_timedwait(&scene.more, &scene.lock, &end), 0);
	assert_int_equal(scene.all, n);
	pthread_mutex_unlock(&scene.lock);
}

static struct wmk_gate *gate_open(uid_t only)
{
	const struct wmk_gate_options options = {
		.size = sizeof(options), .listener = scene.listener, .only = only, .n_shards = SHARDS, .take = take
	};
	struct wmk_gate *gate;

	memset(scene.taken, 0, sizeof(scene.taken));
	scene.all = 0;
	assert_int_equal(wmk_gate_open(&options, &gate), 0);
	return gate;
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
	snprintf(scene.address.sun_path + 1, sizeof(scene.address.sun_path) - 1, "waymark-gate-%ld", (long)getpid());
	scene.listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	return bind(scene.listener, (struct sockaddr *)&scene.address, sizeof(scene.address)) || listen(scene.listener, 4096);
}

static int tear_down(void **state)
{
	(void)state;
	return close(scene.listener);
}

static void one_process_one_shard(void **state)
{
	struct wmk_gate *gate = gate_open((uid_t)-1);
	unsigned used = 0;

	(void)state;
	for (unsigned i = 0; i < 500; i++)
		close(connected());
	expect_taken(500);
	for (unsigned i = 0; i < SHARDS; i++)
		used += scene.taken[i] > 0;
	assert_int_equal(used, 1);
	wmk_gate_close(gate);
}

static void processes_are_spread(void **state)
{
	struct wmk_gate *gate = gate_open(geteuid());
	struct wmk_gate_stats stats;

	(void)state;
	for (unsigned i = 0; i < 40; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			int fd = socket(AF_UNIX, SOCK_STREAM, 0);

			_exit(connect(fd, (struct sockaddr *)&scene.address, sizeof(scene.address)) != 0);
		}
		int status;
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
	}
	expect_taken(40);
	for (unsigned i = 0; i < SHARDS; i++)
		assert_true(scene.taken[i] > 0);
	wmk_gate_stats(gate, &stats);
	assert_int_equal(stats.accepted, 40);
	assert_int_equal(stats.refused, 0);
	wmk_gate_close(gate);
}

static void others_are_refused_in_words(void **state)
{
	struct wmk_gate *gate = gate_open(geteuid() + 1);
	struct pollfd poll_in = { .fd = connected(), .events = POLLIN };
	struct wmk_in in = { 0 };
	struct wmk_frame frame;
	const void *body;
	char text[200];
	int fd, err = 0;

	(void)state;
	assert_int_equal(poll(&poll_in, 1, LIMIT_S * 1000), 1);
	assert_int_equal(wmk_in_receive(&in, poll_in.fd), 1);
	assert_int_equal(wmk_in_frame(&in, &frame, &body, &fd), 1);
	assert_int_equal(frame.type, WMK_MSG_REFUSED);
	assert_int_equal(wmk_error_msg_decode(body, frame.length, &err, text, sizeof(text)), 0);
	assert_int_equal(err, EACCES);
	assert_non_null(strstr(text, "own user"));
	wmk_in_free(&in);
	close(poll_in.fd);
	wmk_gate_close(gate);
	assert_int_equal(scene.all, 0);
}

/* With no descriptor left, whoever connects is turned away, and the thread does not spin; afterwards all is as before. */
static void without_descriptors(void **state)
{
	struct rlimit before, none;
	struct wmk_gate *gate = gate_open((uid_t)-1);
	struct wmk_gate_stats stats;
	char c;
	int fds[10];

	(void)state;
	for (unsigned i = 0; i < 10; i++)
		fds[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = before;
	none.rlim_cur = 3;               /* the spare one's number is higher: nothing can be opened at all */
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(connect(fds[i], (struct sockaddr *)&scene.address, sizeof(scene.address)), 0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	/* They wait in the listener's queue, or were turned away; whoever comes now is heard. */
	for (unsigned i = 5; i < 10; i++) {
		assert_int_equal(connect(fds[i], (struct sockaddr *)&scene.address, sizeof(scene.address)), 0);
		assert_int_equal(recv(fds[i], &c, 1, 0), 0);     /* take() closes */
	}
	wmk_gate_stats(gate, &stats);
	assert_int_equal(stats.accepted + stats.turned_away, 10);
	assert_true(stats.accepted >= 5);
	wmk_gate_close(gate);
	for (unsigned i = 0; i < 10; i++)
		close(fds[i]);
}

/* Nothing is lost between closing and opening: who waits is served by the next. */
static void those_who_wait_are_served_by_the_next(void **state)
{
	struct wmk_gate *gate = gate_open((uid_t)-1);

	(void)state;
	wmk_gate_close(gate);
	int fd = connected();
	gate = gate_open((uid_t)-1);
	expect_taken(1);
	wmk_gate_close(gate);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_process_one_shard),
		cmocka_unit_test(processes_are_spread),
		cmocka_unit_test(others_are_refused_in_words),
		cmocka_unit_test(without_descriptors),
		cmocka_unit_test(those_who_wait_are_served_by_the_next),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
