/* SPDX-License-Identifier: MIT */
/*
 * test_unrelated_clients.c - clients of users other than root and the daemon's: their limit, their timeout, and root's
 * access in spite of them. All connections come from this process; their user is its effective user while it connects.
 */
#include <errno.h>
#include <grp.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "door.h"
#include "sessiond/clients.h"
#include "wire/ctl.h"

#define LIMIT_MS 30000
#define ECHO 0x300
#define NEVER_MS (3600 * 1000)
#define MEMBERS 61100                /* id of a group that does not exist */
#define FIRST 61001                  /* first id of users that do not exist */

static struct {
	struct sockaddr_un address;
	int listener;
	struct wmk_clients *clients;
} scene;

/* Replaces the C library's function: the group that may use root's daemon exists. */
int getgrnam_r(const char *name, struct group *group, char *buf, size_t size, struct group **found)
{
	(void)name;
	(void)buf;
	(void)size;
	*group = (struct group){ .gr_gid = MEMBERS };
	*found = group;
	return 0;
}

static void command(void *data, const struct wmk_peer *peer, const struct wmk_frame *frame, const void *body,
		    struct wmk_out *out)
{
	(void)data;
	(void)peer;
	wmk_out_frame(out, (enum wmk_msg)WMK_CTL_REPLY, frame->request, body, frame->length, -1);
}

static void clients_open(uid_t daemon, unsigned max_clients, unsigned silent_ms)
{
	const struct wmk_clients_options options = { .size = sizeof(options),
						     .listener = scene.listener,
						     .daemon = daemon,
						     .max_clients = max_clients,
						     .max_of_uid = 2,
						     .silent_ms = silent_ms,
						     .ops = { .command = command } };

	assert_int_equal(wmk_clients_open(&options, &scene.clients), 0);
}

/* Connect as this user, as a member of the group or not. */
static int connected(uid_t uid, gid_t gid)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(setegid(gid), 0);
	assert_int_equal(seteuid(uid), 0);
	const int err = connect(fd, (struct sockaddr *)&scene.address, sizeof(scene.address));
	assert_int_equal(seteuid(0), 0);
	assert_int_equal(setegid(0), 0);
	assert_int_equal(err, 0);
	return fd;
}

/* Returns the type of the next frame, with its body in `text`; 0: the connection is closed. */
static int next(int fd, char text[256])
{
	struct wmk_in in = { 0 };
	struct wmk_frame frame;
	const void *body;
	int got, sent, err, type = 0;

	while ((got = wmk_in_frame(&in, &frame, &body, &sent)) == 0) {
		struct pollfd pollfd = { .fd = fd, .events = POLLIN };

		assert_int_equal(poll(&pollfd, 1, LIMIT_MS), 1);
		if (wmk_in_receive(&in, fd) != 1)
			break;
	}
	assert_true(got >= 0);
	if (got == 1) {
		type = frame.type;
		snprintf(text, 256, "%.*s", (int)frame.length, (const char *)body);
		if (type == WMK_CTL_ERROR)
			assert_int_equal(wmk_error_msg_decode(body, frame.length, &err, text, 256), 0);
	}
	wmk_in_free(&in);
	return type;
}

static void asks(int fd)
{
	struct wmk_out out = { 0 };

	assert_int_equal(wmk_out_frame(&out, (enum wmk_msg)ECHO, 1, "hello", 5, -1), 0);
	const int sent = wmk_out_send(&out, fd);

	assert_true(sent == 1 || sent == -EPIPE);        /* EPIPE: refused already */
	wmk_out_free(&out);
}

static void is_answered(int fd)
{
	char text[256];

	asks(fd);
	assert_int_equal(next(fd, text), WMK_CTL_REPLY);
	assert_string_equal(text, "hello");
}

static void is_turned_away(int fd, const char *words)
{
	char text[256];

	assert_int_equal(next(fd, text), WMK_CTL_ERROR);
	if (!strstr(text, words))
		fail_msg("'%s' is not in: %s", words, text);
	close(fd);
}

/* Connect until the daemon has noticed that another client of the user has left. */
static int let_in(uid_t uid)
{
	char text[256];

	for (;;) {
		const int fd = connected(uid, MEMBERS);

		asks(fd);
		if (next(fd, text) != WMK_CTL_ERROR || !strstr(text, "too many clients: "))
			return fd;
		close(fd);
	}
}

/* Foreign clients occupy all their places and send nothing: root and the daemon's user still get in. */
static void clients_of_other_users_do_not_block_root_and_owner(void **state)
{
	int held[6], roots[2], own[2];

	(void)state;
	if (geteuid() != 0)
		skip();
	for (uid_t daemon = 0; daemon <= FIRST - 1; daemon += FIRST - 1) {
		clients_open(daemon, 6, NEVER_MS);
		for (unsigned i = 0; i < 6; i++)
			held[i] = connected(FIRST + i / 2, MEMBERS);
		is_turned_away(connected(FIRST, MEMBERS), "too many clients: 6");
		for (unsigned i = 0; i < 2; i++) {
			roots[i] = connected(0, 0);
			own[i] = daemon ? connected(daemon, daemon) : -1;
		}
		for (unsigned i = 0; i < 2; i++) {
			is_answered(roots[i]);
			if (daemon)
				is_answered(own[i]);
		}
		/* (the limit per user is the same for all users) */
		is_turned_away(connected(0, 0), "clients of user 0");
		/* they have taken no place of the others */
		close(held[0]);
		held[0] = let_in(FIRST);
		for (unsigned i = 0; i < 6; i++)
			close(held[i]);
		for (unsigned i = 0; i < 2; i++) {
			close(roots[i]);
			if (daemon)
				close(own[i]);
		}
		wmk_clients_close(scene.clients);
	}
}

/* A foreign client without a request, or with half a one, is closed. Root, and a client after a request, are not. */
static void client_of_another_user_without_requests_is_closed(void **state)
{
	const struct wmk_frame half = { .type = ECHO, .version = WMK_WIRE_VERSION, .length = 5 };
	char text[256];

	(void)state;
	if (geteuid() != 0)
		skip();
	const int roots = connected(0, 0), asked = connected(FIRST, MEMBERS);

	asks(asked);                     /* even if it is read late, it was sent in time */
	clients_open(0, 0, 50);
	assert_int_equal(next(asked, text), WMK_CTL_REPLY);
	const int silent = connected(FIRST + 1, MEMBERS), begins = connected(FIRST + 2, MEMBERS);
	send(begins, &half, sizeof(half), MSG_NOSIGNAL);         /* (it may be closed already) */
	assert_int_equal(next(silent, text), 0);
	assert_int_equal(next(begins, text), 0);
	/* Both have been connected for longer than the timeout. */
	is_answered(roots);
	is_answered(asked);
	int fds[] = { roots, asked, silent, begins };
	for (unsigned i = 0; i < 4; i++)
		close(fds[i]);
	wmk_clients_close(scene.clients);
}

static int set_up(void **state)
{
	(void)state;
	scene.listener = door_open(&scene.address, "strangers");
	return scene.listener < 0;
}

static int tear_down(void **state)
{
	(void)state;
	return close(scene.listener);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(clients_of_other_users_do_not_block_root_and_owner),
		cmocka_unit_test(client_of_another_user_without_requests_is_closed),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
