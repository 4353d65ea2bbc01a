/* SPDX-License-Identifier: MIT */
/*
 * test_closing.c - descriptors whose close() waits for somebody else: a TCP socket that lingers, because its peer does not read. However they come,
 * whoever is served behind them is served at once.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "client.h"
#include "session/closer.h"

#define LIMIT_S 60
#define MANY 253                     /* of one message */

/* close() of *fd, if it is the last there is of it, returns when *peer has been closed. False: there is no loopback device here. */
static bool lingering(int *fd, int *peer)
{
	static const char bytes[65536];
	const struct linger linger = { 1, 1000000 };
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool can = listener >= 0 && bind(listener, (struct sockaddr *)&address, len) == 0 && listen(listener, 1) == 0 &&
		   getsockname(listener, (struct sockaddr *)&address, &len) == 0;

	*fd = can ? socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) : -1;
	can = can && connect(*fd, (struct sockaddr *)&address, len) == 0;
	if (can) {
		*peer = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		assert_true(*peer >= 0);
		while (send(*fd, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
			;
		assert_int_equal(errno, EAGAIN);
		assert_int_equal(setsockopt(*fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)), 0);
	} else if (*fd >= 0) {
		close(*fd);
	}
	if (listener >= 0)
		close(listener);
	return can;
}

/* One byte and so many descriptors. */
static void send_fds(int to, char byte, const int *fds, unsigned n, int flags)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(MANY * sizeof(int))];
	} control = { 0 };
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = CMSG_SPACE(n * sizeof(int)) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(n * sizeof(int));
	memcpy(CMSG_DATA(c), fds, n * sizeof(int));
	assert_int_equal(sendmsg(to, &msg, flags), 1);
}

/* ── on the way to a shard ───────────────────────────────────────────────────────────────────────────── */

static void of_no_message(struct client *bad, struct place *place, int fd)
{
	(void)place;
	send_fds(bad->socket, 'x', &fd, 1, 0);
}

static void too_many(struct client *bad, struct place *place, int fd)
{
	int fds[MANY];

	for (unsigned i = 0; i < MANY; i++)
		fds[i] = i == MANY - 1 ? fd : bad->socket;
	(void)place;
	send_fds(bad->socket, 'x', fds, MANY, 0);
}

static void as_rings(struct client *bad, struct place *place, int fd)
{
	const struct wmk_rings_msg rings = { .uuid = { 1 } };

	client_hello(bad, "bad");
	assert_int_equal(client_next(bad, place), WMK_MSG_WELCOME);
	assert_int_equal(wmk_out_frame(&bad->out, WMK_MSG_RINGS, 0, &rings, sizeof(rings), fd), 0);
	assert_int_equal(wmk_out_send(&bad->out, bad->socket), 1);
}

static void urgent(struct client *bad, struct place *place, int fd)
{
	(void)place;
	send_fds(bad->socket, 'x', &fd, 1, MSG_OOB);
	assert_int_equal(send(bad->socket, "y", 1, 0), 1);
}

/* Behind bytes for which the connection is closed. */
static void unread(struct client *bad, struct place *place, int fd)
{
	char junk[300];

	memset(junk, 0xff, sizeof(junk));
	client_raw(bad, junk, sizeof(junk));
	send_fds(bad->socket, 'x', &fd, 1, 0);
	(void)place;
}

static void test_ways(void **state)
{
	static void (*const ways[])(struct client *bad, struct place *place, int fd) = { of_no_message, too_many, as_rings, urgent, unread };

	(void)state;
	for (unsigned i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		struct client bad, good;
		struct place place;
		const int before = open_fds();
		int fd, peer;

		if (!lingering(&fd, &peer))
			skip();
		alarm(LIMIT_S);
		place_prepare(&place);
		place_open(&place);
		client_connect(&bad, &place);
		ways[i](&bad, &place, fd);
		close(fd);
		place_settle(&place);
		client_close(&bad);
		place_settle(&place);
		client_register(&good, &place, "good", 3);
		client_close(&good);
		place_settle(&place);
		place_close(&place);
		/* It is closed as soon as that is possible. */
		close(peer);
		expect_fds(before);
		alarm(0);
	}
}

/* ── by themselves ───────────────────────────────────────────────────────────────────────────────────── */

/* More than threads may hang: the others wait, and are closed behind them. */
static void test_more_than_threads(void **state)
{
	enum { ALL = WMK_CLOSER_THREADS + 20 };
	const int before = open_fds();
	int peers[ALL], fd;

	(void)state;
	alarm(LIMIT_S);
	for (unsigned i = 0; i < ALL; i++) {
		if (!lingering(&fd, &peers[i])) {
			assert_int_equal(i, 0);
			skip();
		}
		wmk_closer_file(fd, 7);
	}
	for (unsigned i = 0; i < ALL; i++)
		close(peers[i]);
	expect_fds(before);
	alarm(0);
}

/* Who has too many that cannot be closed is known; others are not meant, and it passes. */
static void test_full(void **state)
{
	const int before = open_fds();
	struct rlimit files;
	int peers[WMK_CLOSER_THREADS], fd;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
	if (files.rlim_max < 4 * WMK_CLOSER_FULL)
		skip();
	files.rlim_cur = 4 * WMK_CLOSER_FULL;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
	alarm(LIMIT_S);
	for (unsigned i = 0; i < WMK_CLOSER_THREADS; i++) {
		if (!lingering(&fd, &peers[i])) {
			assert_int_equal(i, 0);
			skip();
		}
		wmk_closer_file(fd, 9);
	}
	/* Each thread is in a close() that does not return; it begins with taking the descriptor out of the table. */
	expect_fds(before + WMK_CLOSER_THREADS);
	for (unsigned i = WMK_CLOSER_THREADS; i < WMK_CLOSER_FULL; i++) {
		assert_false(wmk_closer_is_full(9));
		fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
		assert_true(fd >= 0);
		wmk_closer_file(fd, 9);
	}
	assert_true(wmk_closer_is_full(9));
	assert_false(wmk_closer_is_full(8));
	for (unsigned i = 0; i < WMK_CLOSER_THREADS; i++)
		close(peers[i]);
	expect_fds(before);
	while (wmk_closer_is_full(9))
		sched_yield();
	alarm(0);
}

/* Memory, as rings are, and connections with no descriptor unread cost no thread. */
static void test_at_once(void **state)
{
	const int before = open_fds(), memory = memfd_create("rings", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	static const char bytes[100000];
	char byte;
	int pair[2];

	(void)state;
	assert_true(memory >= 0 && ftruncate(memory, 4096) == 0 && fcntl(memory, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0);
	wmk_closer_file(memory, 7);
	assert_int_equal(open_fds(), before);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(send(pair[0], "x", 1, 0), 1);
	assert_int_equal(send(pair[1], bytes, sizeof(bytes), 0), sizeof(bytes));
	assert_int_equal(send(pair[1], "x", 1, 0), 1);
	wmk_closer_socket(pair[0], 7);
	assert_int_equal(open_fds(), before + 1);
	assert_int_equal(recv(pair[1], &byte, 1, 0), 1);         /* what was sent has arrived */
	assert_int_equal(recv(pair[1], &byte, 1, 0), -1);
	assert_int_equal(errno, ECONNRESET);
	close(pair[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_ways), cmocka_unit_test(test_more_than_threads), cmocka_unit_test(test_full),
		cmocka_unit_test(test_at_once) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
