/* SPDX-License-Identifier: MIT */
/*
 * test_hostile.c - waymark-consumerd trusts no peer: other users, invalid frames, descriptors that are not ring sets, a
 * peer that never reads. Its trace stays complete, and the next peer is served.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "rig_link.h"

static const struct rig_shape shape = { .subbuf = 4096, .n_subbufs = 8, .block_us = -1 };

/* Start a consumer daemon with a trace and without a connection. */
static void start(struct rig_link *r)
{
	rig_link_open(r, &shape);
	rig_link_connect(r);
	rig_link_add(r);
	wmk_consumer_link_close(r->link);
	r->link = NULL;
}

static int ignore(void *data, const struct wmk_consumerd_trace *trace, const struct wmk_consumerd_rings *rings, int fd)
{
	(void)data;
	(void)trace;
	(void)rings;
	if (fd >= 0)
		close(fd);
	return 0;
}

/* Check that the consumer daemon works and has lost no record. */
static void finish(struct rig_link *r, uint64_t n)
{
	rig_link_connect(r);
	assert_int_equal(wmk_consumer_link_list(r->link, LINK_MS, ignore, NULL), 0);
	assert_int_equal(rig_record(&r->rig, 0, 0, n), n);
	assert_int_equal(wmk_consumer_link_trace_remove(r->link, 1, LINK_MS, NULL, NULL), 0);
	rig_read(&r->rig, n);
	assert_int_equal(r->rig.count[0], n);
	rig_link_close(r);
}

static int dial(const struct rig_link *r)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%.80s/" WMK_CONSUMERD_SOCKET, r->rundir);
	if (connect(sock, (const struct sockaddr *)&address, sizeof(address)) < 0) {
		int err = -errno;

		close(sock);
		return err;
	}
	return sock;
}

/* Wait for the next message. Returns its type, or 0 at the end of the connection; *err of an ERROR. */
static int receive(int sock, struct wmk_consumerd_in *in, int *err)
{
	struct pollfd ready = { .fd = sock, .events = POLLIN };
	struct wmk_frame frame;
	const void *body;
	char words[200];
	size_t len;
	int fd, got;

	*err = 0;
	while ((got = wmk_consumerd_in_next(in, &frame, &body, &len, &fd)) == 0) {
		if (poll(&ready, 1, LINK_MS) != 1)
			fail_msg("no answer");
		if (wmk_in_receive(&in->frames, sock) <= 0)
			return 0;
	}
	assert_int_equal(got, 1);
	if (fd >= 0)
		close(fd);
	if (frame.type == WMK_CONSUMERD_ERROR)
		assert_int_equal(wmk_error_msg_decode(body, len, err, words, sizeof(words)), 0);
	return frame.type;
}

static void send_frame(int sock, uint16_t type, const void *body, size_t len, int fd)
{
	struct wmk_out out = { 0 };

	assert_int_equal(wmk_out_frame(&out, (enum wmk_msg)type, 7, body, len, fd), 0);
	assert_int_equal(wmk_out_send(&out, sock), 1);
	wmk_out_free(&out);
}

static void greet(int sock)
{
	const struct wmk_consumerd_hello hello = { .version = WMK_CONSUMERD_GREETING, .pid = (uint64_t)getpid() };
	struct wmk_out out = { 0 };

	assert_int_equal(wmk_consumerd_send(&out, WMK_CONSUMERD_HELLO, 0, &wmk_consumerd_hello_object, &hello, -1), 0);
	assert_int_equal(wmk_out_send(&out, sock), 1);
	wmk_out_free(&out);
}

static int greeted(struct rig_link *r, struct wmk_consumerd_in *in)
{
	int sock = dial(r), err;

	assert_true(sock >= 0);
	greet(sock);
	assert_int_equal(receive(sock, in, &err), WMK_CONSUMERD_HELLO);
	return sock;
}

/* ── other users ─────────────────────────────────────────────────────────────────────────────────────── */

static void other_user_is_rejected_whatever_the_socket_permissions(void **state)
{
	struct rig_link r;
	struct stat st;
	char path[400], byte;
	int status;

	(void)state;
	start(&r);
	snprintf(path, sizeof(path), "%s/" WMK_CONSUMERD_SOCKET, r.rundir);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	if (geteuid() != 0) {
		print_message("not tried: another user (this needs root)\n");
		finish(&r, 100);
		return;
	}
	for (int open = 0; open < 2; open++) {
		/* Another user is rejected even if the permissions of the directory and socket allow a connection. */
		if (open) {
			assert_int_equal(chmod(r.rig.dir, 0711), 0);
			assert_int_equal(chmod(r.rundir, 0711), 0);
			assert_int_equal(chmod(path, 0666), 0);
		}
		pid_t pid = fork();

		if (pid == 0) {
			int sock;

			if (setgid(61234) < 0 || setuid(61234) < 0)
				_exit(9);
			sock = dial(&r);
			if (!open)
				_exit(sock == -EACCES ? 0 : 1);
			_exit(sock >= 0 && read(sock, &byte, 1) == 0 ? 0 : 2);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
	}
	assert_int_equal(chmod(r.rundir, 0700), 0);
	finish(&r, 100);
}

/* ── invalid messages ────────────────────────────────────────────────────────────────────────────────── */

static void invalid_body_is_an_error_and_connection_stays_open(void **state)
{
	struct wmk_consumerd_in in = { 0 };
	uint8_t junk[600];
	struct rig_link r;
	int sock, err;

	(void)state;
	start(&r);
	sock = greeted(&r, &in);
	memset(junk, 0xff, sizeof(junk));
	for (unsigned type = 0; type < 0x300; type += type < 0x1f0 ? 0x1f0 : 1) {
		if (type == WMK_CONSUMERD_SHUTDOWN || type == WMK_OBJECT_PART)
			continue;
		send_frame(sock, (uint16_t)type, junk, sizeof(junk), -1);
		assert_int_equal(receive(sock, &in, &err), WMK_CONSUMERD_ERROR);
		assert_int_equal(err, wmk_consumerd_request_find((uint16_t)type) ? EPROTO : EOPNOTSUPP);
	}
	send_frame(sock, WMK_CONSUMERD_SHUTDOWN, junk, 3, -1);
	assert_int_equal(receive(sock, &in, &err), WMK_CONSUMERD_ERROR);
	wmk_consumerd_in_free(&in);
	close(sock);
	finish(&r, 100);
}

static void invalid_frame_ends_the_connection_and_changes_nothing(void **state)
{
	const struct wmk_frame frames[] = {
		{ .length = UINT32_MAX, .type = WMK_CONSUMERD_LIST, .version = WMK_WIRE_VERSION },
		{ .length = WMK_FRAME_MAX + 1, .type = WMK_CONSUMERD_LIST, .version = WMK_WIRE_VERSION },
		{ .length = 4, .type = WMK_CONSUMERD_LIST, .version = WMK_WIRE_VERSION + 1 },
		{ .length = 4, .type = WMK_CONSUMERD_LIST, .version = WMK_WIRE_VERSION, .flags = 0x80 },
		{ .length = 4, .type = WMK_CONSUMERD_RINGS_ADD, .version = WMK_WIRE_VERSION, .flags = WMK_FRAME_FD },
	};
	uint8_t bytes[sizeof(frames[0]) + 4] = { 0 };
	struct rig_link r;
	size_t len;

	(void)state;
	start(&r);
	for (unsigned i = 0; i < sizeof(frames) / sizeof(frames[0]); i++) {
		struct wmk_consumerd_in in = { 0 };
		int sock = greeted(&r, &in), err, type;

		/*
		 * A frame with a valid length is handled when its body has arrived. Sent in one piece, because the
		 * header alone may end the connection.
		 */
		len = sizeof(frames[i]) + (frames[i].length == 4 ? 4 : 0);
		memcpy(bytes, &frames[i], sizeof(frames[i]));
		assert_int_equal(send(sock, bytes, len, MSG_NOSIGNAL), len);
		while ((type = receive(sock, &in, &err)) != 0)
			assert_int_equal(type, WMK_CONSUMERD_ERROR);
		wmk_consumerd_in_free(&in);
		close(sock);
	}
	/* A sequence of parts without an end. */
	struct wmk_consumerd_in in = { 0 };
	uint8_t *part = calloc(1, WMK_FRAME_MAX);
	int sock = greeted(&r, &in);

	for (unsigned i = 0; i < 40; i++) {
		struct wmk_out out = { 0 };
		struct pollfd room = { .fd = sock, .events = POLLOUT };
		int rc = 0;

		assert_int_equal(wmk_out_frame(&out, (enum wmk_msg)WMK_OBJECT_PART, 1, part, WMK_FRAME_MAX, -1), 0);
		while (rc == 0) {
			if (poll(&room, 1, LINK_MS) != 1)
				fail_msg("it does not read");
			rc = wmk_out_send(&out, sock);
		}
		wmk_out_free(&out);
		if (rc < 0)
			break;
		assert_true(i < 39);
	}
	free(part);
	wmk_consumerd_in_free(&in);
	close(sock);
	finish(&r, 100);
}

/* Wrong descriptors, and descriptors with messages that have none. */
static void request_with_invalid_descriptors_is_refused(void **state)
{
	struct wmk_consumerd_rings rings;
	struct wmk_consumerd_in in = { 0 };
	int fds[5], pipes[2], sock, err;
	struct rig_link r;

	(void)state;
	start(&r);
	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	fds[0] = pipes[0];
	fds[1] = open("/dev/zero", O_RDWR | O_CLOEXEC);
	fds[2] = memfd_create("unsealed", MFD_CLOEXEC);
	fds[3] = memfd_create("sealed", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	assert_int_equal(ftruncate(fds[3], 1 << 20), 0);
	assert_int_equal(fcntl(fds[3], F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK), 0);
	sock = greeted(&r, &in);
	fds[4] = sock;
	for (unsigned i = 0; i < 5; i++) {
		uint8_t *bytes;
		long len;

		rings = r.rings;
		rings.rings = 50 + i;
		rings.channel = "bad";
		len = wmk_object_encode(&wmk_consumerd_rings_object, &rings, &bytes);
		assert_true(len > 0);
		send_frame(sock, WMK_CONSUMERD_RINGS_ADD, bytes, (size_t)len, fds[i]);
		assert_int_equal(receive(sock, &in, &err), WMK_CONSUMERD_ERROR);
		assert_true(err == EPERM || err == EINVAL);
		/* A descriptor that the message does not need is closed. */
		send_frame(sock, WMK_CONSUMERD_TRACE_REMOVE, bytes, 3, fds[i]);
		assert_int_equal(receive(sock, &in, &err), WMK_CONSUMERD_ERROR);
		free(bytes);
	}
	for (unsigned i = 0; i < 4; i++)
		close(fds[i]);
	close(pipes[1]);
	wmk_consumerd_in_free(&in);
	close(sock);
	finish(&r, 100);
}

/* ── floods ──────────────────────────────────────────────────────────────────────────────────────────── */

/* A peer that sends requests and reads nothing; peers that connect and disconnect. */
static void floods_of_requests_and_connections_lose_no_record(void **state)
{
	const struct wmk_consumerd_target target = { .trace = 1 };
	struct rig_link r;
	uint8_t *bytes;
	long len = wmk_object_encode(&wmk_consumerd_target_object, &target, &bytes);
	unsigned sent = 0;
	int sock;

	(void)state;
	assert_true(len > 0);
	start(&r);
	sock = dial(&r);
	assert_true(sock >= 0);
	greet(sock);
	while (sent < 20000) {
		struct pollfd room = { .fd = sock, .events = POLLOUT };
		struct wmk_out out = { 0 };
		int rc;

		assert_int_equal(wmk_out_frame(&out, (enum wmk_msg)WMK_CONSUMERD_STATS, sent, bytes, (size_t)len, -1),
				 0);
		rc = wmk_out_send(&out, sock);
		wmk_out_free(&out);
		if (rc < 0 || (rc == 0 && poll(&room, 1, 200) == 0))
			break;
		sent++;
	}
	free(bytes);
	for (unsigned i = 0; i < 500; i++) {
		int other = dial(&r);

		assert_true(other >= 0);
		close(other);
	}
	close(sock);
	finish(&r, 100);
}

/* A second consumer daemon of one runtime directory reports that and exits. */
static void second_consumer_daemon_and_unsafe_rundir_are_refused(void **state)
{
	struct rig_link r;
	char command[1000];
	int status;

	(void)state;
	start(&r);
	snprintf(command, sizeof(command), "%s --rundir %s 2>/dev/null", getenv("WAYMARK_CONSUMERD"), r.rundir);
	status = system(command);
	assert_int_equal(status, 1 << 8);
	snprintf(command, sizeof(command), "%s --rundir 2>/dev/null", getenv("WAYMARK_CONSUMERD"));
	assert_int_equal(system(command), 2 << 8);
	/* A runtime directory that others may write to is rejected. */
	snprintf(command, sizeof(command),
		 "mkdir -m 0777 %s/open && chmod 0777 %s/open && %s --rundir %s/open 2>/dev/null", r.rig.dir, r.rig.dir,
		 getenv("WAYMARK_CONSUMERD"), r.rig.dir);
	assert_int_equal(system(command), 1 << 8);
	finish(&r, 100);
}

static int count_events(void *data, const struct wmk_consumerd_trace *trace, const struct wmk_consumerd_rings *rings,
			int fd)
{
	(void)trace;
	*(unsigned *)data += rings->events.n;
	if (fd >= 0)
		close(fd);
	return 0;
}

/*
 * Rings can be handed over however large the filters of their events are: the descriptor is sent in one frame. Events
 * of the state dump are included.
 */
static void consumer_daemon_hands_over_rings_with_large_filters(void **state)
{
	enum { N = 64, WORDS = 4096 };
	static uint64_t filter[WORDS];
	struct wmk_consumerd_event events[N + 1];
	char names[N][20];
	unsigned adopted = 0;
	struct rig_link r;
	pid_t pid;

	(void)state;
	for (unsigned i = 0; i < N; i++) {
		snprintf(names[i], sizeof(names[i]), "event%u", i);
		events[i] = (struct wmk_consumerd_event){ .system = "some",
							  .name = names[i],
							  .id = i,
							  .filter_len = sizeof(filter),
							  .filter = { filter, WORDS } };
	}
	events[N] = (struct wmk_consumerd_event){ .system = "", .name = "lttng_statedump_start", .id = N };
	rig_link_open(&r, &shape);
	rig_link_connect(&r);
	r.rings.events = (struct wmk_list){ events, N + 1 };
	rig_link_add(&r);
	pid = wmk_consumer_link_pid(r.link);
	wmk_consumer_link_close(r.link);
	assert_int_equal(rig_record(&r.rig, 0, 0, 1000), 1000);
	rig_link_connect(&r);
	assert_int_equal(wmk_consumer_link_pid(r.link), pid);
	assert_int_equal(wmk_consumer_link_list(r.link, LINK_MS, count_events, &adopted), 0);
	assert_int_equal(adopted, 1);
	assert_int_equal(wmk_consumer_link_trace_remove(r.link, 1, LINK_MS, NULL, NULL), 0);
	rig_read(&r.rig, 1000);
	assert_int_equal(r.rig.count[0], 1000);
	rig_link_close(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(other_user_is_rejected_whatever_the_socket_permissions),
		cmocka_unit_test(invalid_body_is_an_error_and_connection_stays_open),
		cmocka_unit_test(invalid_frame_ends_the_connection_and_changes_nothing),
		cmocka_unit_test(request_with_invalid_descriptors_is_refused),
		cmocka_unit_test(floods_of_requests_and_connections_lose_no_record),
		cmocka_unit_test(second_consumer_daemon_and_unsafe_rundir_are_refused),
		cmocka_unit_test(consumer_daemon_hands_over_rings_with_large_filters),
	};

	return cmocka_run_group_tests(tests, NULL, rig_link_teardown);
}
