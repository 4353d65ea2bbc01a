/* SPDX-License-Identifier: MIT */
/* test_mute.c - a session daemon that reads messages late or never: the queue in the application is bounded. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>
#include <cmocka.h>

#include <waymark/detail/abi.h>

#include "schema/schema.h"
#include "tracer/t/run.h"
#include "wire/notify_fifo.h"
#include "wire/wire.h"

#define MOST (600u << 10)       /* size of the socket buffer and of one complete announcement */

struct mute_rig {
	struct sockaddr_un addr;
	int dir, listener, sock, input;
	pid_t pid;
	struct wmk_in in;
};

static void rig_open(struct mute_rig *rig)
{
	const char *dir = run_make_dir();

	memset(rig, 0, sizeof(*rig));
	rig->addr.sun_family = AF_UNIX;
	snprintf(rig->addr.sun_path, sizeof(rig->addr.sun_path), "%s/" WMK_APP_SOCKET, dir);
	rig->dir = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(rig->dir >= 0);
}

/* Start a program, which connects and does not wait for an answer. */
static void rig_run(struct mute_rig *rig, const char *const *argv)
{
	struct timeval patience = { .tv_sec = 30 };

	rig->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(rig->listener, (struct sockaddr *)&rig->addr, sizeof(rig->addr)), 0);
	assert_int_equal(listen(rig->listener, 4), 0);
	setsockopt(rig->listener, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setenv("WAYMARK_REGISTER_TIMEOUT", "0", 1);
	rig->pid = run_start_with_input(argv, &rig->input);
	unsetenv("WAYMARK_REGISTER_TIMEOUT");
	rig->sock = accept(rig->listener, NULL, NULL);
	assert_true(rig->sock >= 0);
}

static void rig_start(struct mute_rig *rig, const char *const *argv)
{
	rig_open(rig);
	rig_run(rig, argv);
}

static void rig_end(struct mute_rig *rig)
{
	close(rig->input);
	assert_int_equal(run_wait(rig->pid), 0);
	close(rig->sock);
	close(rig->listener);
	wmk_in_free(&rig->in);
	unlink(rig->addr.sun_path);
	close(rig->dir);
	run_remove_dir();
}

/* Wait until the helper thread has handled everything since `before`, and sleeps. */
static long wait_asleep(const struct mute_rig *rig, long before)
{
	for (int i = 0; i < 30000; i++) {
		long now = run_switches(rig->pid, run_helper_of(rig->pid));

		if (now > before)
			return now;
		run_pause_ms(1);
	}
	fail_msg("the helper thread does not sleep");
	return -1;
}

/* Whether the condition is true, and stays true while the helper thread sleeps. */
static bool is_settled(const struct mute_rig *rig, bool (*is)(const struct mute_rig *))
{
	if (!is(rig))
		return false;
	int tid = run_helper_of(rig->pid);
	long before = run_switches(rig->pid, tid);

	return is(rig) && run_helper_of(rig->pid) == tid && run_switches(rig->pid, tid) == before && is(rig);
}

static bool has_nothing_to_read(const struct mute_rig *rig)
{
	char byte;

	return recv(rig->sock, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

/* The state of the event of prog_host after this message: 1: announced, 0: removed, -1: no change. */
static int event_state(const struct wmk_frame *frame, const void *body, uint32_t *number)
{
	struct wmk_event_class *class;
	const void *encoded;
	uint32_t which = 0;
	size_t len;

	if (frame->type == WMK_MSG_EVENT_GONE) {
		assert_int_equal(wmk_u32_decode(body, frame->length, &which), 0);
		return which == *number ? 0 : -1;
	}
	if (frame->type != WMK_MSG_EVENT)
		return -1;
	assert_int_equal(wmk_event_msg_decode(body, frame->length, &which, &encoded, &len), 0);
	assert_int_equal(wmk_event_decode(encoded, len, &class), 0);
	bool is = !strcmp(class->provider, "host");

	wmk_event_class_free(class);
	if (is)
		*number = which;
	return is ? 1 : -1;
}

/* ── announcements ───────────────────────────────────────────────────────────────────────────────────────── */

/*
 * An event is registered and unregistered a thousand times while the session daemon does not read: it gets the last
 * state, and few earlier ones.
 */
static void unread_event_registrations_use_bounded_memory(void **state)
{
	enum { TURNS = 1001 };
	struct wmk_frame frame;
	const void *body;
	struct mute_rig rig;
	size_t bytes = 0;
	uint32_t number = UINT32_MAX;
	int is = -1, fd, got;
	char byte;

	(void)state;
	rig_start(&rig, (const char *[]){ "prog_host", "announce", NULL });
	long slept = wait_asleep(&rig, 0);

	for (int i = 0; i < TURNS; i++) {
		assert_int_equal(send(rig.input, "", 1, MSG_NOSIGNAL), 1);
		assert_int_equal(read(rig.input, &byte, 1), 1);
		slept = wait_asleep(&rig, slept);
	}
	while (!is_settled(&rig, has_nothing_to_read)) {
		got = wmk_in_receive(&rig.in, rig.sock);
		assert_true(got == 1 || got == -EAGAIN);
		while ((got = wmk_in_frame(&rig.in, &frame, &body, &fd)) == 1) {
			int change = event_state(&frame, body, &number);

			is = change >= 0 ? change : is;
			bytes += sizeof(frame) + frame.length;
		}
		assert_int_equal(got, 0);
	}
	assert_int_equal(is, 1);
	assert_true(bytes < MOST);
	rig_end(&rig);
}

/* ── answers ─────────────────────────────────────────────────────────────────────────────────────────────── */

#define AT_ONCE 100u            /* frames of one send(): all or none are accepted */
static size_t n_sent;

/* Send more messages, each of which causes an error message. */
static bool is_input_full(const struct mute_rig *rig)
{
	static struct wmk_frame unknown[AT_ONCE];

	for (unsigned i = 0; i < AT_ONCE; i++)
		unknown[i] = (struct wmk_frame){ .type = 4711, .version = WMK_WIRE_VERSION, .request = i };
	ssize_t n = send(rig->sock, unknown, sizeof(unknown), MSG_DONTWAIT | MSG_NOSIGNAL);

	if (n < 0)
		return errno == EAGAIN;
	assert_int_equal(n, sizeof(unknown));
	n_sent += AT_ONCE;
	return false;
}

/* The application stops reading while its answers are not read; later all of them arrive. */
static void application_stops_reading_while_its_answers_are_unread(void **state)
{
	const struct wmk_welcome welcome = { .abi = WMK_WIRE_ABI };
	struct wmk_out out = { 0 };
	struct wmk_frame frame;
	const void *body;
	struct mute_rig rig;
	size_t answered = 0;
	int fd, got;

	(void)state;
	rig_start(&rig, (const char *[]){ "prog_wait", "idle", NULL });
	assert_int_equal(wmk_out_frame(&out, WMK_MSG_WELCOME, 0, &welcome, sizeof(welcome), -1), 0);
	assert_int_equal(wmk_out_send(&out, rig.sock), 1);
	wmk_out_free(&out);
	n_sent = 0;
	while (!is_settled(&rig, is_input_full))
		assert_true(n_sent * sizeof(frame) < 8u << 20);
	while (answered < n_sent) {
		struct pollfd sock = { .fd = rig.sock, .events = POLLIN };

		assert_int_equal(poll(&sock, 1, 30000), 1);
		assert_int_equal(wmk_in_receive(&rig.in, rig.sock), 1);
		while ((got = wmk_in_frame(&rig.in, &frame, &body, &fd)) == 1)
			answered += frame.type == WMK_MSG_ERROR;
		assert_int_equal(got, 0);
	}
	assert_int_equal(answered, n_sent);
	rig_end(&rig);
}

static bool connects_within(const struct mute_rig *rig, int ms)
{
	struct pollfd listener = { .fd = rig->listener, .events = POLLIN };

	return poll(&listener, 1, ms) == 1;
}

static void refuse(int sock, int err)
{
	struct wmk_out out = { 0 };

	assert_int_equal(wmk_out_error(&out, WMK_MSG_REFUSED, 0, err, "no"), 0);
	assert_int_equal(wmk_out_send(&out, sock), 1);
	wmk_out_free(&out);
}

/*
 * An application that was rejected because the session daemon had no room does not reconnect at once, but later,
 * without a notification. One that was refused does not reconnect. (The timeouts are the least time without a
 * connection.)
 */
static void application_rejected_for_lack_of_room_reconnects_later(void **state)
{
	struct mute_rig rig;

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		rig_open(&rig);
		assert_int_equal(wmk_notify_create(rig.dir), 0);
		rig_run(&rig, (const char *[]){ "prog_wait", "idle", NULL });
		if (i == 1)
			refuse(rig.sock, EMFILE);
		close(rig.sock);
		assert_false(connects_within(&rig, 4000));
		assert_true(connects_within(&rig, 60000));
		rig.sock = accept(rig.listener, NULL, NULL);
		refuse(rig.sock, EPROTONOSUPPORT);
		close(rig.sock);
		rig.sock = -1;
		assert_false(connects_within(&rig, 4000));
		unlinkat(rig.dir, WMK_NOTIFY_FIFO, 0);
		rig_end(&rig);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(application_rejected_for_lack_of_room_reconnects_later),
					    cmocka_unit_test(unread_event_registrations_use_bounded_memory),
					    cmocka_unit_test(application_stops_reading_while_its_answers_are_unread) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
