/* SPDX-License-Identifier: MIT */
/*
 * test_hostile.c - applications that send invalid or too many messages, stop answering, or disconnect. In every test a
 * well-behaved application registers afterwards, or is served all the time, and no descriptor leaks.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/error.h"
#include "client.h"
#include "session/apps/shard.h"

struct scene {
	struct place place;
	struct client bad, good;
	int fds;
};

/* `prepare` may lower limits. With a `name`, the hostile application has sent HELLO. */
static void scene_open(struct scene *s, const char *name, void (*prepare)(struct wmk_shard_options *))
{
	s->fds = open_fds();
	place_prepare(&s->place);
	if (prepare)
		prepare(&s->place.options);
	place_open(&s->place);
	client_connect(&s->bad, &s->place);
	if (name) {
		client_hello(&s->bad, name);
		assert_int_equal(client_next(&s->bad, &s->place), WMK_MSG_WELCOME);
	}
}

/* A well-behaved application registers and is served; then all resources are released. */
static void scene_close(struct scene *s)
{
	client_register(&s->good, &s->place, "good", 3);
	client_close(&s->good);
	client_close(&s->bad);
	place_settle(&s->place);
	place_close(&s->place);
	expect_fds(s->fds);
}

static void assert_dropped(struct scene *s, int error, const char *words)
{
	struct wmk_app_info info;
	struct wmk_shard_stats stats;

	place_settle(&s->place);
	wmk_shard_stats(s->place.apps, &stats);
	assert_int_equal(stats.apps_dropped, 1);
	assert_true(wmk_shard_get(s->place.apps, 0, &info));
	assert_false(info.connected);
	assert_int_equal(info.error, error);
	assert_non_null(info.why);
	if (!strstr(info.why, words))
		fail_msg("'%s' says nothing of '%s'", info.why, words);
}

static void expect_error(struct scene *s, int type, int expected, const char *words)
{
	char text[256];
	int err;

	assert_int_equal(client_next(&s->bad, &s->place), type);
	assert_int_equal(wmk_error_msg_decode(s->bad.body, s->bad.frame.length, &err, text, sizeof(text)), 0);
	assert_int_equal(err, expected);
	if (!strstr(text, words))
		fail_msg("'%s' says nothing of '%s'", text, words);
}

static void test_oversize_message_closes_the_connection(void **state)
{
	const struct wmk_frame frame = { UINT32_MAX, WMK_MSG_EVENT, WMK_WIRE_VERSION, 0, 0 };
	struct scene s;

	(void)state;
	scene_open(&s, "bad", NULL);
	client_raw(&s.bad, &frame, sizeof(frame));
	assert_dropped(&s, EPROTO, "bytes");
	scene_close(&s);
}

static void incomplete_message_does_not_affect_other_applications(void **state)
{
	const struct wmk_frame frame = { 1000000, WMK_MSG_EVENT, WMK_WIRE_VERSION, 0, 0 };
	struct wmk_app_info info;
	struct scene s;

	(void)state;
	scene_open(&s, "bad", NULL);
	client_raw(&s.bad, &frame, sizeof(frame));
	client_raw(&s.bad, "half", 4);
	place_settle(&s.place);
	assert_true(wmk_shard_get(s.place.apps, 0, &info));
	assert_true(info.connected);                     /* it may be stopped in a debugger, and does no harm */
	scene_close(&s);
}

static void short_hello(struct wmk_shard_options *o)
{
	o->hello_ms = 50;
}

/*
 * A connection without a complete HELLO is closed after the timeout. The epoll descriptor reports the timeout; no other
 * call is needed.
 */
static void test_silent_connection_is_closed(void **state)
{
	const struct wmk_frame frame = { sizeof(struct wmk_hello), WMK_MSG_HELLO, WMK_WIRE_VERSION, 0, 0 };
	struct scene s;

	(void)state;
	scene_open(&s, NULL, short_hello);
	client_raw(&s.bad, &frame, sizeof(frame));
	assert_int_equal(client_next(&s.bad, &s.place), 0);
	scene_close(&s);
}

static void test_unexpected_messages_are_errors(void **state)
{
	const struct wmk_frame unknown = { 4, 999, WMK_WIRE_VERSION, 77, 0 };
	struct scene s;

	(void)state;
	scene_open(&s, NULL, NULL);
	client_u32(&s.bad, WMK_MSG_EVENTS_END, 1);
	expect_error(&s, WMK_MSG_ERROR, EPROTO, "before HELLO");
	client_hello(&s.bad, "bad");
	assert_int_equal(client_next(&s.bad, &s.place), WMK_MSG_WELCOME);
	client_raw(&s.bad, &unknown, sizeof(unknown));
	client_raw(&s.bad, "body", 4);
	expect_error(&s, WMK_MSG_ERROR, ENOSYS, "999");
	assert_int_equal(s.bad.frame.request, 77);
	client_u32(&s.bad, WMK_MSG_WELCOME, 1);          /* a message of the daemon */
	expect_error(&s, WMK_MSG_ERROR, ENOSYS, "unknown");
	client_hello(&s.bad, "again");
	expect_error(&s, WMK_MSG_ERROR, EALREADY, "was sent already");
	client_u32(&s.bad, WMK_MSG_EVENTS_END, 5);       /* the connection is still open */
	assert_int_equal(client_next(&s.bad, &s.place), WMK_MSG_DONE);
	scene_close(&s);
}

static void applications_with_another_protocol_version_are_refused(void **state)
{
	const struct wmk_frame frame = { 0, WMK_MSG_HELLO, WMK_WIRE_VERSION + 1, 3, 0 };
	struct wmk_hello hello = { .abi = WMK_WIRE_ABI + 1, .word_bits = 64, .name = "newer" };
	struct wmk_shard_stats stats;
	struct wmk_app_info info;
	struct scene s;

	(void)state;
	scene_open(&s, NULL, NULL);
	client_raw(&s.bad, &frame, sizeof(frame));
	expect_error(&s, WMK_MSG_REFUSED, EPROTONOSUPPORT, "version 2");
	assert_int_equal(client_next(&s.bad, &s.place), 0);
	client_close(&s.bad);
	client_connect(&s.bad, &s.place);
	assert_int_equal(wmk_out_hello(&s.bad.out, &hello), 0);
	expect_error(&s, WMK_MSG_REFUSED, EPROTONOSUPPORT, "ABI 2");
	client_close(&s.bad);
	client_connect(&s.bad, &s.place);
	hello.abi = WMK_WIRE_ABI;
	hello.word_bits = 32;
	assert_int_equal(wmk_out_hello(&s.bad.out, &hello), 0);
	expect_error(&s, WMK_MSG_REFUSED, EPROTONOSUPPORT, "32 bits");
	client_close(&s.bad);
	client_connect(&s.bad, &s.place);
	hello.word_bits = 64;
	hello.clock_freq = 1;
	strcpy(hello.clock, "mine");
	assert_int_equal(wmk_out_hello(&s.bad.out, &hello), 0);
	expect_error(&s, WMK_MSG_REFUSED, EINVAL, "clock is 'mine'");
	wmk_shard_stats(s.place.apps, &stats);
	assert_int_equal(stats.apps_refused, 4);
	assert_int_equal(stats.apps_seen, 0);
	assert_true(wmk_shard_get(s.place.apps, 0, &info));
	assert_string_equal(info.name, "newer");
	assert_int_equal(info.error, EPROTONOSUPPORT);
	assert_false(info.alive);
	scene_close(&s);
}

static void few_events(struct wmk_shard_options *o)
{
	o->max_events = 10;
}

static void few_bytes(struct wmk_shard_options *o)
{
	o->max_bytes = 500;
}

static void test_number_of_events_is_limited(void **state)
{
	struct scene s;
	char name[16];

	(void)state;
	scene_open(&s, "bad", few_events);
	for (uint32_t i = 0; i < 11; i++) {
		snprintf(name, sizeof(name), "b%u", i);
		client_event(&s.bad, i, "p", name, 1);
	}
	assert_dropped(&s, E2BIG, "more than 10 events");
	scene_close(&s);
}

/* Events that are registered and unregistered repeatedly: the total of descriptions is bounded, too. */
static void total_size_of_event_descriptions_is_limited(void **state)
{
	struct scene s;
	char name[16];

	(void)state;
	scene_open(&s, "bad", few_bytes);
	for (uint32_t i = 0; i < 30; i++) {
		snprintf(name, sizeof(name), "b%u", i);
		client_event(&s.bad, 0, "p", name, 1);
		client_u32(&s.bad, WMK_MSG_EVENT_GONE, 0);
	}
	assert_dropped(&s, E2BIG, "500 bytes");
	scene_close(&s);
}

static void out_of_range_event_numbers_close_the_connection(void **state)
{
	static const uint32_t wild[] = { UINT32_MAX, 1u << 20, 5000 };
	struct scene s;

	(void)state;
	for (int i = 0; i < 3; i++) {
		scene_open(&s, "bad", NULL);
		client_event(&s.bad, wild[i], "p", "x", 1);
		assert_dropped(&s, EPROTO, "event number");
		scene_close(&s);
	}
	scene_open(&s, "bad", NULL);
	client_event(&s.bad, 0, "p", "x", 1);
	client_event(&s.bad, 0, "p", "y", 1);
	assert_dropped(&s, EPROTO, "twice");
	scene_close(&s);
	scene_open(&s, "bad", NULL);
	client_u32(&s.bad, WMK_MSG_EVENT_GONE, 3);
	assert_dropped(&s, EPROTO, "never registered");
	scene_close(&s);
}

static void test_invalid_event_is_refused(void **state)
{
	struct scene s;

	(void)state;
	scene_open(&s, "bad", NULL);
	assert_int_equal(wmk_out_event(&s.bad.out, 0, "nonsense", 8), 0);
	expect_error(&s, WMK_MSG_ERROR, EPROTO, "event number 0");
	client_event(&s.bad, 1, "p", "fine", 1);
	client_u32(&s.bad, WMK_MSG_EVENTS_END, 1);
	assert_int_equal(client_next(&s.bad, &s.place), WMK_MSG_CHANNEL);
	assert_int_equal(client_next(&s.bad, &s.place), WMK_MSG_ENABLE);
	scene_close(&s);
}

/* Unexpected descriptors are closed, however many. */
static void test_unexpected_descriptors_are_closed(void **state)
{
	struct scene s;
	int before;

	(void)state;
	scene_open(&s, "bad", NULL);
	before = open_fds();
	for (int i = 0; i < 300; i++) {
		uint32_t batch = 1;

		assert_int_equal(wmk_out_frame(&s.bad.out, WMK_MSG_EVENTS_END, 0, &batch, sizeof(batch), s.bad.socket),
				 0);
		if (i % 2)
			((struct wmk_frame *)(void *)s.bad.out.buf)->flags = 0;
		assert_int_equal(wmk_out_send(&s.bad.out, s.bad.socket), 1);
		assert_int_equal(client_next(&s.bad, &s.place), WMK_MSG_DONE);
		/* a user with too many that are not closed yet is disconnected (deferred_close.h) */
		if (i % 100 == 99)
			expect_fds(before);
	}
	place_settle(&s.place);
	expect_fds(before);
	scene_close(&s);
}

/*
 * Beginnings of messages, with descriptors: each would be kept until the rest of its message arrives.
 */
static void descriptors_without_a_complete_message_close_the_connection(void **state)
{
	const struct wmk_frame frame = { 4, WMK_MSG_EVENTS_END, WMK_WIRE_VERSION, 0, 0 };
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(2 * sizeof(int))];
	} control = { 0 };
	struct iovec iov = { (void *)(uintptr_t)&frame, 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof(control.bytes)
	};
	struct scene s;

	(void)state;
	scene_open(&s, "bad", NULL);
	const int fds[2] = { s.bad.socket, s.bad.socket }, before = open_fds();
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(fds));
	memcpy(CMSG_DATA(c), fds, sizeof(fds));
	assert_int_equal(sendmsg(s.bad.socket, &msg, 0), 1);
	assert_dropped(&s, EPROTO, "without their messages");
	expect_fds(before - 1);          /* the connection itself */
	client_close(&s.bad);
	client_connect(&s.bad, &s.place);
	scene_close(&s);
}

/* An event that cannot be traced is unregistered like any other. */
static void test_refused_event_can_be_unregistered(void **state)
{
	struct wmk_app_info info;
	struct scene s;

	(void)state;
	scene_open(&s, "bad", NULL);
	client_event(&s.bad, 0, "", "other", 1);
	assert_int_equal(client_next(&s.bad, &s.place), WMK_MSG_ERROR);
	client_u32(&s.bad, WMK_MSG_EVENT_GONE, 0);
	client_u32(&s.bad, WMK_MSG_EVENTS_END, 1);
	client_expect_u32(&s.bad, &s.place, WMK_MSG_DONE, 1);
	assert_true(wmk_shard_get(s.place.apps, 0, &info));
	assert_true(info.connected);
	/* Only once. */
	client_u32(&s.bad, WMK_MSG_EVENT_GONE, 0);
	assert_dropped(&s, EPROTO, "never registered");
	scene_close(&s);
}

static void small_queue(struct wmk_shard_options *o)
{
	o->max_queue = 100000;
}

/* An application sends requests and never reads. Until it is disconnected, the well-behaved one is served at once. */
static void test_application_that_never_reads_is_dropped(void **state)
{
	struct scene s;
	struct wmk_app_info info = { .connected = true };
	uint64_t worst = 0;
	uint32_t batch = 0;

	(void)state;
	scene_open(&s, "bad", small_queue);
	client_register(&s.good, &s.place, "good", 3);
	for (int i = 0; i < 200000 && info.connected; i++) {
		for (int k = 0; k < 100 && s.bad.out.len - s.bad.out.sent < 10000; k++)
			assert_int_equal(wmk_out_u32(&s.bad.out, WMK_MSG_EVENTS_END, batch++), 0);
		wmk_out_send(&s.bad.out, s.bad.socket);
		uint64_t begin = wmk_clock_monotonic();
		client_u32(&s.good, WMK_MSG_EVENTS_END, 9);
		assert_int_equal(client_next(&s.good, &s.place), WMK_MSG_DONE);
		uint64_t took = wmk_clock_monotonic() - begin;
		worst = took > worst ? took : worst;
		assert_true(wmk_shard_get(s.place.apps, 0, &info));
	}
	print_message("answers took %llu us at most\n", (unsigned long long)worst / 1000);
	assert_true(worst < 1000000000u);
	assert_dropped(&s, ENOBUFS, "does not read");
	client_close(&s.good);
	scene_close(&s);
}

/* The connections of one process are limited. */
static void test_connections_per_process_are_limited(void **state)
{
	struct scene s;
	struct client more[20];
	struct wmk_shard_stats stats;

	(void)state;
	scene_open(&s, NULL, NULL);
	for (int i = 0; i < 20; i++)
		client_connect(&more[i], &s.place);
	place_settle(&s.place);
	wmk_shard_stats(s.place.apps, &stats);
	assert_int_equal(stats.apps_refused, 13);        /* 8 are connected, `bad` among them */
	for (int i = 0; i < 20; i++)
		client_close(&more[i]);
	place_settle(&s.place);
	scene_close(&s);
}

/*
 * Without a free descriptor connections are closed, the loop does not spin, and existing connections are served.
 */
static void event_loop_continues_without_free_descriptors(void **state)
{
	struct rlimit old, tight;
	struct scene s;
	struct client more;
	int filler[512], n = 0;

	(void)state;
	scene_open(&s, "bad", NULL);
	client_connect(&more, &s.place);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	tight = old;
	tight.rlim_cur = (rlim_t)open_fds() + 3;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &tight), 0);
	while (n < 512 && (filler[n] = dup(0)) >= 0)
		n++;
	assert_true(n < 512);
	assert_int_equal(client_next(&more, &s.place), 0);
	place_settle(&s.place);
	client_u32(&s.bad, WMK_MSG_EVENTS_END, 5);
	assert_int_equal(client_next(&s.bad, &s.place), WMK_MSG_DONE);
	while (n)
		close(filler[--n]);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	client_close(&more);
	scene_close(&s);
}

/* Random bytes from many short connections. */
static void random_bytes_of_a_client_harm_no_other_connection(void **state)
{
	const char *seed_text = getenv("WMK_SEED"), *percent = getenv("WMK_ROUNDS_PERCENT");
	unsigned seed = seed_text ? (unsigned)strtoul(seed_text, NULL, 0) : (unsigned)wmk_clock_monotonic();
	int rounds = 20 * (percent ? atoi(percent) : 10);
	struct scene s;
	struct client noise;
	unsigned char bytes[500];

	(void)state;
	print_message("seed %u, %d rounds\n", seed, rounds);
	srandom(seed);
	scene_open(&s, "bad", NULL);
	for (int i = 0; i < rounds; i++) {
		client_connect(&noise, &s.place);
		if (random() % 2)
			client_hello(&noise, "noise");
		for (int k = 0; k < 5; k++) {
			struct wmk_frame frame = { (uint32_t)random() % 500, (uint16_t)(random() % 16),
						   WMK_WIRE_VERSION, 0, 0 };

			for (size_t b = 0; b < sizeof(bytes); b++)
				bytes[b] = (unsigned char)(random() % 4 ? 0 : random());
			if (send(noise.socket, &frame, sizeof(frame), MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ||
			    send(noise.socket, bytes, frame.length, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
				break;
			wmk_shard_run_once(s.place.apps, 0);
		}
		client_close(&noise);
		wmk_shard_run_once(s.place.apps, 0);
	}
	client_u32(&s.bad, WMK_MSG_EVENTS_END, 5);
	assert_int_equal(client_next(&s.bad, &s.place), WMK_MSG_DONE);
	scene_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_oversize_message_closes_the_connection),
		cmocka_unit_test(incomplete_message_does_not_affect_other_applications),
		cmocka_unit_test(test_silent_connection_is_closed),
		cmocka_unit_test(test_unexpected_messages_are_errors),
		cmocka_unit_test(applications_with_another_protocol_version_are_refused),
		cmocka_unit_test(test_number_of_events_is_limited),
		cmocka_unit_test(total_size_of_event_descriptions_is_limited),
		cmocka_unit_test(out_of_range_event_numbers_close_the_connection),
		cmocka_unit_test(test_invalid_event_is_refused),
		cmocka_unit_test(test_unexpected_descriptors_are_closed),
		cmocka_unit_test(descriptors_without_a_complete_message_close_the_connection),
		cmocka_unit_test(test_refused_event_can_be_unregistered),
		cmocka_unit_test(test_application_that_never_reads_is_dropped),
		cmocka_unit_test(test_connections_per_process_are_limited),
		cmocka_unit_test(event_loop_continues_without_free_descriptors),
		cmocka_unit_test(random_bytes_of_a_client_harm_no_other_connection),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
