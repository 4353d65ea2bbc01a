/* SPDX-License-Identifier: MIT */
/*
 * test_hostile.c - the control library with a session daemon that is absent, belongs to another user, is late, or
 * misbehaves.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include <waymark/ctl.h>

#include "fake.h"

/* ── a daemon that misbehaves ────────────────────────────────────────────────────────────────────────── */

static void send_frame(int sock, uint32_t length, uint16_t type, uint16_t version, uint32_t number, uint32_t flags)
{
	const struct wmk_frame frame = { length, type, version, number, flags };

	fake_send_bytes(sock, &frame, sizeof(frame));
}

#define BAD(name) static bool name(struct fake *fake, int sock, const struct wmk_frame *f, const void *request)
#define UNUSED (void)fake, (void)sock, (void)f, (void)request

BAD(hangs_up)
{
	UNUSED;
	return false;
}

BAD(half_a_frame)
{
	UNUSED;
	send_frame(sock, 100, WMK_CTL_REPLY, WMK_WIRE_VERSION, f->request, 0);
	fake_send_bytes(sock, "half", 4);
	return false;
}

BAD(half_a_header)
{
	UNUSED;
	fake_send_bytes(sock, "abc", 3);
	return false;
}

BAD(half_an_object)
{
	UNUSED;
	send_frame(sock, WMK_FRAME_MAX, WMK_OBJECT_PART, WMK_WIRE_VERSION, f->request, 0);
	return false;
}

BAD(future_number)
{
	UNUSED;
	send_frame(sock, 0, WMK_CTL_REPLY, WMK_WIRE_VERSION, f->request + 1, 0);
	return true;
}

BAD(wrong_type)
{
	UNUSED;
	send_frame(sock, 0, WMK_CTL_START, WMK_WIRE_VERSION, f->request, 0);
	return true;
}

BAD(too_long)
{
	UNUSED;
	send_frame(sock, WMK_FRAME_MAX + 1, WMK_CTL_REPLY, WMK_WIRE_VERSION, f->request, 0);
	return true;
}

BAD(other_version)
{
	UNUSED;
	send_frame(sock, 0, WMK_CTL_REPLY, WMK_WIRE_VERSION + 1, f->request, 0);
	return true;
}

BAD(no_object)
{
	UNUSED;
	send_frame(sock, 3, WMK_CTL_REPLY, WMK_WIRE_VERSION, f->request, 0);
	fake_send_bytes(sock, "\0\0\0", 3);
	return true;
}

BAD(other_object)
{
	const struct wmk_ctl_version_reply reply = { .version = "x" };

	UNUSED;
	fake_send(sock, WMK_CTL_REPLY, f->request, &wmk_ctl_version_reply_object, &reply);
	return true;
}

BAD(error_of_nothing)
{
	UNUSED;
	send_frame(sock, 4, WMK_CTL_ERROR, WMK_WIRE_VERSION, f->request, 0);
	fake_send_bytes(sock, "\0\0\0", 4);
	return true;
}

BAD(endless_parts)
{
	uint8_t *megabyte = calloc(1, WMK_FRAME_MAX);

	UNUSED;
	for (unsigned i = 0; i <= WMK_OBJECT_MAX / WMK_FRAME_MAX; i++) {
		send_frame(sock, WMK_FRAME_MAX, WMK_OBJECT_PART, WMK_WIRE_VERSION, f->request, 0);
		fake_send_bytes(sock, megabyte, WMK_FRAME_MAX);
	}
	free(megabyte);
	return true;
}

BAD(promised_descriptor)
{
	UNUSED;
	send_frame(sock, 0, WMK_CTL_REPLY, WMK_WIRE_VERSION, f->request, WMK_FRAME_FD);
	return true;
}

static void connection_is_closed_after_an_invalid_reply(void **state)
{
	static const struct {
		fake_handler handler;
		int err;
		const char *says;
	} bad[] = {
		{ hangs_up, -ECONNRESET, "the session daemon has closed the connection" },
		{ half_a_frame, -ECONNRESET, "the session daemon has closed the connection" },
		{ half_a_header, -ECONNRESET, "the session daemon has closed the connection" },
		{ half_an_object, -ECONNRESET, "the session daemon has closed the connection" },
		{ future_number, -EPROTO, "which was not sent" },
		{ wrong_type, -EPROTO, "answers with a message of type" },
		{ too_long, -EPROTO, "a message of 1048577 bytes" },
		{ other_version, -EPROTONOSUPPORT, "unsupported version" },
		{ no_object, -EPROTO, "cannot decode the object 'outcome'" },
		{ other_object, -EPROTO, "cannot decode the object 'outcome'" },
		{ error_of_nothing, -EPROTO, "message ERROR has error 0" },
		{ endless_parts, -EPROTO, "answer has more than" },
		{ promised_descriptor, -EPROTO, "lacks its descriptor" },
	};
	struct fake_rig *rig = *state;
	struct waymark_ctl_result *result;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		fake_rig_connect(rig, 0);
		rig->fake.handler = bad[i].handler;
		assert_int_equal(waymark_ctl_start(rig->ctl, "s", &result), bad[i].err);
		assert_null(result);
		fake_rig_says(bad[i].says);
		assert_int_equal(waymark_ctl_start(rig->ctl, "s", &result), -ENOTCONN);
		fake_rig_says("connect again");
		fake_log_clear(&rig->fake);
	}
}

/* A descriptor that does not belong to a reply is closed, and the reply is valid. */
BAD(gives_descriptor)
{
	struct wmk_out out = { 0 };
	uint8_t *bytes;
	long len = wmk_object_encode(&wmk_ctl_outcome_object, &fake->outcome, &bytes);

	UNUSED;
	wmk_out_frame(&out, (enum wmk_msg)WMK_CTL_REPLY, f->request, bytes, (size_t)len, fake->listener);
	wmk_out_send(&out, sock);
	wmk_out_free(&out);
	free(bytes);
	return true;
}

static void unrequested_descriptor_of_a_reply_is_closed(void **state)
{
	struct fake_rig *rig = *state;
	int before = dup(0);

	close(before);
	rig->fake.handler = gives_descriptor;
	assert_int_equal(waymark_ctl_start(rig->ctl, "s", NULL), 0);
	assert_int_equal(waymark_ctl_start(rig->ctl, "s", NULL), 0);
	fake_rig_connect(rig, 0);                      /* the fake has handled all earlier requests now */
	int after = dup(0);
	assert_int_equal(after, before);
	close(after);
}

static uint32_t late;                    /* request that is not answered yet */

BAD(answers_late)
{
	UNUSED;
	if (f->type == WMK_CTL_START) {
		late = f->request;
		return true;
	}
	send_frame(sock, WMK_FRAME_MAX, WMK_OBJECT_PART, WMK_WIRE_VERSION, late, 0);
	uint8_t *megabyte = calloc(1, WMK_FRAME_MAX);
	fake_send_bytes(sock, megabyte, WMK_FRAME_MAX);
	free(megabyte);
	fake_send(sock, WMK_CTL_REPLY, late, &wmk_ctl_outcome_object, &fake->outcome);
	return fake_answer(fake, sock, f, request);
}

static void late_reply_is_discarded_after_a_timeout(void **state)
{
	struct fake_rig *rig = *state;

	rig->fake.handler = answers_late;
	waymark_ctl_set_timeout(rig->ctl, 50);
	assert_int_equal(waymark_ctl_start(rig->ctl, "s", NULL), -ETIMEDOUT);
	fake_rig_says("has not answered within 50 ms");
	waymark_ctl_set_timeout(rig->ctl, -1);
	assert_int_equal(waymark_ctl_stop(rig->ctl, "s", NULL), 0);
}

BAD(turns_away)
{
	struct wmk_out out = { 0 };

	UNUSED;
	wmk_out_error(&out, (enum wmk_msg)WMK_CTL_ERROR, 0, EAGAIN, "256 clients are connected: no more may be");
	wmk_out_send(&out, sock);
	wmk_out_free(&out);
	return false;
}

static void client_beyond_the_limit_gets_the_reason_of_the_daemon(void **state)
{
	struct fake_rig *rig = *state;

	rig->fake.handler = turns_away;
	assert_int_equal(waymark_ctl_stop(rig->ctl, "s", NULL), -EAGAIN);
	fake_rig_says("256 clients are connected: no more may be");
}

/* ── connect ─────────────────────────────────────────────────────────────────────────────────────────── */

static void failed_connect_gives_no_handle_and_the_reason(void **state)
{
	struct fake_rig *rig = *state;
	struct waymark_ctl_connect_options options = {
		.size = sizeof(options), .rundir = "/nowhere/at/all", .start = WAYMARK_CTL_START_NEVER,
	};
	char path[128], lengthy[300];
	struct waymark_ctl *ctl = rig->ctl;

	assert_int_equal(waymark_ctl_connect(&options, &ctl), -ENOENT);
	assert_null(ctl);
	fake_rig_says("cannot connect to a session daemon: no session daemon runs: cannot connect to "
		      "/nowhere/at/all/ctl.sock");
	options.rundir = "relative";
	assert_int_equal(waymark_ctl_connect(&options, &ctl), -EINVAL);
	memset(lengthy, '/', 299);
	lengthy[299] = '\0';
	options.rundir = lengthy;
	assert_int_equal(waymark_ctl_connect(&options, &ctl), -EINVAL);
	options.start = 7;
	assert_int_equal(waymark_ctl_connect(&options, &ctl), -EINVAL);
	options.start = WAYMARK_CTL_START_NEVER;
	rig->fake.refuse = WMK_CTL_VERSION;
	rig->fake.refuse_errno = EACCES;
	rig->fake.refuse_words = "you are not in the group";
	options.rundir = rig->fake.dir;
	waymark_ctl_close(rig->ctl);
	rig->ctl = NULL;
	assert_int_equal(waymark_ctl_connect(&options, &ctl), -EACCES);
	fake_rig_says("you are not in the group");
	setenv("WAYMARK_RUNDIR", rig->fake.dir, 1);
	rig->fake.refuse = 0;
	options.rundir = NULL;
	assert_int_equal(waymark_ctl_connect(&options, &rig->ctl), 0);
	assert_string_equal(waymark_ctl_rundir(rig->ctl), rig->fake.dir);
	unsetenv("WAYMARK_RUNDIR");
	snprintf(path, sizeof(path), "%s/" WMK_CTL_SOCKET, rig->fake.dir);
	unlink(path);
	int dead = fake_listen(rig->fake.dir, (uid_t)-1);
	close(dead);
	options.rundir = rig->fake.dir;
	assert_int_equal(waymark_ctl_connect(&options, &ctl), -ECONNREFUSED);
}

static void socket_of_another_user_is_rejected_unless_given_by_root(void **state)
{
	struct waymark_ctl_connect_options options = { .size = sizeof(options), .start = WAYMARK_CTL_START_NEVER };
	struct fake fake = { 0 };
	struct waymark_ctl *ctl;

	(void)state;
	if (geteuid() != 0)
		skip();
	fake_open(&fake, 65534);
	setenv("WAYMARK_RUNDIR", fake.dir, 1);
	assert_int_equal(waymark_ctl_connect(&options, &ctl), -EACCES);
	fake_rig_says("belongs to user 65534: it must belong to root or to your user");
	unsetenv("WAYMARK_RUNDIR");
	options.rundir = fake.dir;
	assert_int_equal(waymark_ctl_connect(&options, &ctl), 0);
	waymark_ctl_close(ctl);
	fake_close(&fake);
}

#define WITH_RIG(f) cmocka_unit_test_setup_teardown(f, fake_rig_open, fake_rig_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_RIG(connection_is_closed_after_an_invalid_reply),
		WITH_RIG(unrequested_descriptor_of_a_reply_is_closed),
		WITH_RIG(late_reply_is_discarded_after_a_timeout),
		WITH_RIG(client_beyond_the_limit_gets_the_reason_of_the_daemon),
		WITH_RIG(failed_connect_gives_no_handle_and_the_reason),
		cmocka_unit_test(socket_of_another_user_is_rejected_unless_given_by_root),
	};

	unsetenv("WAYMARK_RUNDIR");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
