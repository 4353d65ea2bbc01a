/* SPDX-License-Identifier: MIT */
/*
 * test_one_user.c - the limit of memory for all applications of one user other than root and the daemon's, each of
 * which is far below its own limit. All connections come from this process; their user is its effective user while it
 * connects.
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
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "client.h"
#include "session/apps/app.h"
#include "session/apps/shard.h"

#define OTHER 61002u                 /* id of a user that does not exist */
#define OTHERS 4u

struct one_user_scene {
	struct place place;
	struct client roots;
	int fds;
};

static void scene_open(struct one_user_scene *s, uint64_t max_kept)
{
	char path[100];

	s->fds = open_fds();
	place_prepare(&s->place);
	s->place.options.max_kept = max_kept;
	place_open(&s->place);
	s->place.session->all_users = true;
	assert_int_equal(chmod(s->place.rundir, 0755), 0);
	snprintf(path, sizeof(path), "%s/%s", s->place.rundir, WMK_APP_SOCKET);
	assert_int_equal(chmod(path, 0666), 0);
	client_connect(&s->roots, &s->place);
	client_hello(&s->roots, "roots");
	assert_int_equal(client_next(&s->roots, &s->place), WMK_MSG_WELCOME);
}

static void scene_close(struct one_user_scene *s)
{
	client_close(&s->roots);
	place_settle(&s->place);
	place_close(&s->place);
	expect_fds(s->fds);
}

/* Connect with this effective user. */
static void other_connect(struct one_user_scene *s, struct client *client)
{
	assert_int_equal(seteuid(OTHER), 0);
	client_connect(client, &s->place);
	assert_int_equal(seteuid(0), 0);
	client_hello(client, "other");
	assert_int_equal(client_next(client, &s->place), WMK_MSG_WELCOME);
}

static void more_questions(struct client *client, unsigned turn)
{
	while (client->out.len - client->out.sent < 10000)
		assert_int_equal(wmk_out_u32(&client->out, WMK_MSG_EVENTS_END, turn), 0);
	wmk_out_send(&client->out, client->socket);
}

/* Send a part of one message. */
static void more_of_it(struct client *client, unsigned turn)
{
	static const uint8_t zeros[16384];
	const struct wmk_frame frame = { WMK_FRAME_MAX, WMK_MSG_EVENT, WMK_WIRE_VERSION, 0, 0 };

	if (turn == 0)
		client_raw(client, &frame, sizeof(frame));
	else
		send(client->socket, zeros, sizeof(zeros), MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* Register events with widely spaced numbers: a table of `n` times 4096 numbers. */
static void sparse_events(struct client *client, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		client_event(client, i * 4096 + 4095, "p", "x", 1);
	client_u32(client, WMK_MSG_EVENTS_END, 1);
}

static void still_there(struct one_user_scene *s, struct client *client)
{
	client_u32(client, WMK_MSG_EVENTS_END, 2);
	client_expect_u32(client, &s->place, WMK_MSG_DONE, 2);
}

/* All registered events are enabled, and the connection stays. (A refused one may get messages before it is closed.) */
static void expect_done(struct one_user_scene *s, struct client *client)
{
	int type;

	while ((type = client_next(client, &s->place)) != WMK_MSG_DONE)
		assert_true(type == WMK_MSG_CHANNEL || type == WMK_MSG_ENABLE);
	still_there(s, client);
}

static void assert_too_much(struct one_user_scene *s, unsigned i)
{
	struct wmk_app_info info;

	assert_true(wmk_shard_get(s->place.apps, i, &info));
	assert_int_equal(info.uid, OTHER);
	assert_false(info.connected);
	assert_int_equal(info.error, ENOBUFS);
	if (!strstr(info.why, "kept for one user"))
		fail_msg("it was closed as: %s", info.why);
}

/*
 * Several connections of one user, each far below its own limit. The connection that exceeds the common limit is
 * closed, and its memory is available to the next. An application of root is served all the time.
 */
static void memory_for_applications_of_one_user_is_limited(void **state)
{
	static void (*const more[])(struct client *client, unsigned turn) = { more_questions, more_of_it };
	struct client other[OTHERS];
	struct wmk_shard_stats stats;
	struct one_user_scene s;

	(void)state;
	if (geteuid() != 0)
		skip();
	for (unsigned m = 0; m < 2; m++) {
		scene_open(&s, 512u << 10);
		for (unsigned i = 0; i < OTHERS; i++)
			other_connect(&s, &other[i]);
		for (unsigned turn = 0; turn < 100000; turn++) {
			wmk_shard_stats(s.place.apps, &stats);
			if (stats.apps_dropped == OTHERS)
				break;
			more[m](&other[turn % OTHERS], turn / OTHERS);
			wmk_shard_run_once(s.place.apps, 0);
			client_u32(&s.roots, WMK_MSG_EVENTS_END, turn);
			client_expect_u32(&s.roots, &s.place, WMK_MSG_DONE, turn);
		}
		for (unsigned i = 0; i < OTHERS; i++) {
			assert_too_much(&s, 1 + i);
			client_close(&other[i]);
		}
		place_settle(&s.place);
		other_connect(&s, &other[0]);
		sparse_events(&other[0], 4);             /* half of the limit */
		expect_done(&s, &other[0]);
		client_close(&other[0]);
		scene_close(&s);
	}
}

/* The same with tables of events, where each number costs memory. Root's table may have any allowed size. */
static void test_event_tables_of_one_user_are_limited(void **state)
{
	struct client other[2];
	struct one_user_scene s;

	(void)state;
	if (geteuid() != 0)
		skip();
	scene_open(&s, 512u << 10);
	for (unsigned i = 0; i < 2; i++)
		other_connect(&s, &other[i]);
	sparse_events(&other[0], 4);
	expect_done(&s, &other[0]);
	sparse_events(&other[1], 8);
	while (client_next(&other[1], &s.place) != 0)
		;
	assert_too_much(&s, 2);
	still_there(&s, &other[0]);
	sparse_events(&s.roots, 32);
	expect_done(&s, &s.roots);
	for (unsigned i = 0; i < 2; i++)
		client_close(&other[i]);
	scene_close(&s);
}

/*
 * The tables of enabled events stay after the connection closes, until the application is freed. They are not charged
 * again when the same process registers again and again.
 */
static void event_tables_are_charged_to_a_user_until_they_are_freed(void **state)
{
	enum { TABLE = 128 * 4096 * sizeof(struct app_event), BITS = 128 * 4096 / 8 };
	struct client stays, comes;
	struct one_user_scene s;

	(void)state;
	if (geteuid() != 0)
		skip();
	scene_open(&s, TABLE + 2 * BITS);
	other_connect(&s, &stays);
	for (unsigned i = 0; i < 4; i++) {
		other_connect(&s, &comes);
		sparse_events(&comes, 128);
		expect_done(&s, &comes);
		client_close(&comes);
		place_settle(&s.place);
	}
	client_close(&stays);
	scene_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_for_applications_of_one_user_is_limited),
		cmocka_unit_test(test_event_tables_of_one_user_are_limited),
		cmocka_unit_test(event_tables_are_charged_to_a_user_until_they_are_freed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
