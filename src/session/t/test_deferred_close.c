/* SPDX-License-Identifier: MIT */
/*
 * test_deferred_close.c - descriptors with a blocking close(): a TCP socket that lingers because its peer does not
 * read. However such a descriptor arrives, other applications are served at once.
 */
#include <errno.h>
#include <fcntl.h>
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
#include "linger.h"
#include "session/apps/deferred_close.h"

#define LIMIT_S 60

/* ── received by a shard ─────────────────────────────────────────────────────────────────────────────── */

static void of_no_message(struct client *bad, struct place *place, int fd)
{
	(void)place;
	send_fds(bad->socket, 'x', &fd, 1, 0);
}

static void too_many(struct client *bad, struct place *place, int fd)
{
	int fds[LINGER_MANY];

	for (unsigned i = 0; i < LINGER_MANY; i++)
		fds[i] = i == LINGER_MANY - 1 ? fd : bad->socket;
	(void)place;
	send_fds(bad->socket, 'x', fds, LINGER_MANY, 0);
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

/* After bytes that violate the protocol. */
static void unread(struct client *bad, struct place *place, int fd)
{
	char junk[300];

	memset(junk, 0xff, sizeof(junk));
	client_raw(bad, junk, sizeof(junk));
	send_fds(bad->socket, 'x', &fd, 1, 0);
	(void)place;
}

static void blocking_close_of_a_descriptor_does_not_delay_applications(void **state)
{
	static void (*const ways[])(struct client * bad, struct place * place, int fd) = { of_no_message, too_many,
											   as_rings, urgent, unread };

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
		/* It is closed as soon as close() returns. */
		close(peer);
		expect_fds(before);
		alarm(0);
	}
}

/* ── the list ────────────────────────────────────────────────────────────────────────────────────────── */

/* More blocking descriptors than threads: the rest waits, and is closed later. */
static void closing_of_descriptors_is_queued_while_all_threads_block(void **state)
{
	enum { ALL = WMK_DEFERRED_CLOSE_THREADS_OF_ONE + 20 };
	const int before = open_fds();
	int peers[ALL], fd;

	(void)state;
	alarm(LIMIT_S);
	for (unsigned i = 0; i < ALL; i++) {
		if (!lingering(&fd, &peers[i])) {
			assert_int_equal(i, 0);
			alarm(0);
			skip();
		}
		wmk_deferred_close_file(fd, 7);
	}
	for (unsigned i = 0; i < ALL; i++)
		close(peers[i]);
	expect_fds(before);
	alarm(0);
}

/* A user with too many open descriptors is full; others are not, and it ends with the block. */
static void user_with_too_many_unclosed_descriptors_is_at_its_limit(void **state)
{
	const int before = open_fds();
	struct rlimit files;
	int now;
	int peers[WMK_DEFERRED_CLOSE_THREADS_OF_ONE], fd;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
	if (files.rlim_max < 4 * WMK_DEFERRED_CLOSE_FULL)
		skip();
	files.rlim_cur = 4 * WMK_DEFERRED_CLOSE_FULL;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
	alarm(LIMIT_S);
	for (unsigned i = 0; i < WMK_DEFERRED_CLOSE_THREADS_OF_ONE; i++) {
		if (!lingering(&fd, &peers[i])) {
			assert_int_equal(i, 0);
			alarm(0);
			skip();
		}
		wmk_deferred_close_file(fd, 9);
	}
	/*
	 * Each of the user's threads is in a close() that does not return. close() removes the number from the table
	 * before it blocks.
	 */
	expect_fds(before + WMK_DEFERRED_CLOSE_THREADS_OF_ONE);
	for (unsigned i = WMK_DEFERRED_CLOSE_THREADS_OF_ONE; i < WMK_DEFERRED_CLOSE_FULL; i++) {
		assert_false(wmk_deferred_close_is_full(9));
		fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
		assert_true(fd >= 0);
		wmk_deferred_close_file(fd, 9);
	}
	assert_true(wmk_deferred_close_is_full(9));
	assert_false(wmk_deferred_close_is_full(8));
	/* Descriptors of other users are closed concurrently. */
	now = open_fds();
	fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	wmk_deferred_close_file(fd, 8);
	expect_fds(now);
	for (unsigned i = 0; i < WMK_DEFERRED_CLOSE_THREADS_OF_ONE; i++)
		close(peers[i]);
	expect_fds(before);
	wait_not_full(9);
}

static void leave_nothing(unsigned uid)
{
	const int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	wmk_deferred_close_file(fd, uid);
}

/*
 * All threads are blocked by some users: descriptors of another user wait, and only the users with too many are full.
 */
static void descriptor_limit_affects_only_the_user_that_exceeds_it(void **state)
{
	enum { USERS = WMK_DEFERRED_CLOSE_THREADS / WMK_DEFERRED_CLOSE_THREADS_OF_ONE };
	const int before = open_fds();
	int peers[WMK_DEFERRED_CLOSE_THREADS], fd;

	(void)state;
	alarm(LIMIT_S);
	for (unsigned i = 0; i < WMK_DEFERRED_CLOSE_THREADS; i++) {
		if (!lingering(&fd, &peers[i])) {
			assert_int_equal(i, 0);
			alarm(0);
			skip();
		}
		wmk_deferred_close_file(fd, 100 + i % USERS);
	}
	expect_fds(before + (int)WMK_DEFERRED_CLOSE_THREADS);
	for (unsigned i = 0; i < 100 + WMK_DEFERRED_CLOSE_FULL; i++)
		leave_nothing(i < 100 ? 200 + i : 1000);
	assert_true(wmk_deferred_close_is_full(1000));
	for (unsigned uid = 0; uid < 300; uid++)
		assert_false(wmk_deferred_close_is_full(uid));
	for (unsigned i = 0; i < WMK_DEFERRED_CLOSE_THREADS; i++)
		close(peers[i]);
	expect_fds(before);
	wait_not_full(1000);
}

/* Sealed memory, as rings use it, and connections without unread descriptors are closed without a thread. */
static void memfds_and_plain_sockets_are_closed_without_a_thread(void **state)
{
	const int before = open_fds(), memory = memfd_create("rings", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	static const char bytes[100000];
	char byte;
	int pair[2];

	(void)state;
	assert_true(memory >= 0 && ftruncate(memory, 4096) == 0 &&
		    fcntl(memory, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0);
	wmk_deferred_close_file(memory, 7);
	assert_int_equal(open_fds(), before);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(send(pair[0], "x", 1, 0), 1);
	assert_int_equal(send(pair[1], bytes, sizeof(bytes), 0), sizeof(bytes));
	assert_int_equal(send(pair[1], "x", 1, 0), 1);
	wmk_deferred_close_socket(pair[0], 7);
	assert_int_equal(open_fds(), before + 1);
	assert_int_equal(recv(pair[1], &byte, 1, 0), 1);         /* data sent before the close has arrived */
	assert_int_equal(recv(pair[1], &byte, 1, 0), -1);
	assert_int_equal(errno, ECONNRESET);
	close(pair[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blocking_close_of_a_descriptor_does_not_delay_applications),
		cmocka_unit_test(closing_of_descriptors_is_queued_while_all_threads_block),
		cmocka_unit_test(user_with_too_many_unclosed_descriptors_is_at_its_limit),
		cmocka_unit_test(descriptor_limit_affects_only_the_user_that_exceeds_it),
		cmocka_unit_test(memfds_and_plain_sockets_are_closed_without_a_thread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
