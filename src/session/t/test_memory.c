/* SPDX-License-Identifier: MIT */
/*
 * test_memory.c - each allocation of schema, wire and session fails once alone, and once with all that follow. Each
 * operation then fails with a message or works; nothing crashes or leaks, and the next application is served normally.
 *
 * Linked with --wrap for the allocating functions. Only the code under test is `armed`; the client and cmocka are not.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "client.h"
#include "session/apps/shard.h"
#include "session/model/session_model.h"

/* Per thread: only allocations of an armed thread are counted down. */
static _Thread_local bool armed;
static bool all_after;
static _Atomic long live;
static long countdown;
static bool failed;

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
char *__real_strdup(const char *s);
void __real_free(void *p);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t size);
void *__wrap_reallocarray(void *p, size_t n, size_t size);
char *__wrap_strdup(const char *s);
void __wrap_free(void *p);

static bool fails(void)
{
	if (!armed)
		return false;
	countdown--;
	bool now = countdown == 0 || (all_after && countdown < 0);
	failed = failed || now;
	return now;
}

static void *counted(void *p)
{
	live += p != NULL;
	return p;
}

void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : counted(__real_malloc(size));
}

void *__wrap_calloc(size_t n, size_t size)
{
	return fails() ? NULL : counted(__real_calloc(n, size));
}

void *__wrap_realloc(void *p, size_t size)
{
	void *fresh = fails() ? NULL : __real_realloc(p, size);

	live += fresh && !p;
	return fresh;
}

void *__wrap_reallocarray(void *p, size_t n, size_t size)
{
	return __wrap_realloc(p, n * size);
}

char *__wrap_strdup(const char *s)
{
	return fails() ? NULL : counted(__real_strdup(s));
}

void __wrap_free(void *p)
{
	live -= p != NULL;
	__real_free(p);
}

/* Run `scene` with its first, second, ... allocation failing, until a run has fewer allocations. */
static void each(void (*scene)(void), long at_least)
{
	for (int mode = 0; mode < 2; mode++) {
		long n = 0;

		wmk_error(-EINVAL, "so that the thread's chain is allocated");
		all_after = mode;
		do {
			long before = live;

			failed = armed = false;
			countdown = ++n;
			scene();
			assert_false(armed);
			if (live != before)
				fail_msg("allocation %ld failed, and %ld are left behind", n, live - before);
		} while (failed);
		print_message("%ld allocations\n", n - 1);
		assert_true(n - 1 >= at_least);
	}
}

/* ── schema ──────────────────────────────────────────────────────────────────────────────────────────── */

static void assert_memory_error(int err)
{
	assert_int_equal(err, -ENOMEM);
	assert_non_null(wmk_error_get(0));
}

static void schema_scene(void)
{
	static const struct waymark_label label = { "one", 1, 1 };
	static const struct waymark_labels labels = { "l", 1, 0, &label };
	static const uint8_t types[] = { WAYMARK_T_S32, WAYMARK_T_STRING };
	static const struct waymark_field fields[] = {
		{ .type = WAYMARK_T_S32, .name = "a->b" },
		{ .type = WAYMARK_T_ENUM, .elem = WAYMARK_T_U8, .name = "e", .labels = &labels },
		{ .type = WAYMARK_T_SEQ, .elem = WAYMARK_T_U16, .name = "wm_seq(x, n)" },
	};
	static const struct waymark_desc descs[] = {
		{ .size = sizeof(descs[0]), .provider = "p", .name = "n", .n_fields = 3, .fields = fields },
		{ .size = sizeof(descs[0]),
		  .kind = WAYMARK_KIND_TEXT,
		  .file = "a.c",
		  .n_fields = 2,
		  .text = "x %d y %s",
		  .arg_types = types },
	};

	for (int i = 0; i < 2; i++) {
		struct wmk_event_class *event = NULL, *again = NULL;
		unsigned char buf[1024];

		armed = true;
		int err = wmk_event_from_desc(&descs[i], &event);
		armed = false;
		if (err) {
			assert_memory_error(err);
			continue;
		}
		long len = wmk_event_encode(event, buf, sizeof(buf), NULL);
		assert_true(len > 0);
		armed = true;
		err = wmk_event_decode(buf, (size_t)len, &again);
		armed = false;
		if (err)
			assert_memory_error(err);
		else
			assert_true(wmk_event_same(event, again));
		wmk_event_class_free(event);
		wmk_event_class_free(err ? NULL : again);
	}
}

static void failed_allocation_in_schema_is_reported_and_leaks_nothing(void **state)
{
	(void)state;
	each(schema_scene, 20);
}

/* ── wire ────────────────────────────────────────────────────────────────────────────────────────────── */

static void wire_scene(void)
{
	static char big[100000];
	struct wmk_out out = { 0 };
	struct wmk_in in = { 0 };
	struct wmk_frame frame;
	const void *body;
	int pair[2], fd, taken = 0, queued = 0;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	armed = true;
	for (int i = 0; i < 3; i++) {
		int err = wmk_out_frame(&out, WMK_MSG_EVENT, 0, big, i * 45000u, i == 1 ? pair[0] : -1);

		if (err)
			assert_memory_error(err);
		queued += err == 0;
	}
	for (int tries = 0; taken < queued && tries < 1000; tries++) {
		assert_true(wmk_out_send(&out, pair[0]) >= 0);
		int came = wmk_in_receive(&in, pair[1]);
		if (came < 0 && came != -EAGAIN)
			assert_memory_error(came);       /* the caller may try again */
		while (in.buf && wmk_in_frame(&in, &frame, &body, &fd) == 1) {
			taken++;
			if (fd >= 0)
				close(fd);
		}
		if (came == -ENOMEM && all_after)
			break;
	}
	armed = false;
	if (!all_after)
		assert_int_equal(taken, queued);
	wmk_out_free(&out);
	wmk_in_free(&in);
	close(pair[0]);
	close(pair[1]);
}

static void failed_allocation_in_wire_is_reported_and_loses_no_frame(void **state)
{
	(void)state;
	each(wire_scene, 4);
}

/* ── session ─────────────────────────────────────────────────────────────────────────────────────────── */

/* All work is done in this thread: what has not happened now never will. */
static void settle(struct place *p)
{
	for (int i = 0; i < 1000 && wmk_shard_run_once(p->apps, 0) > 0; i++)
		;
}

static void settle_armed(struct place *p)
{
	armed = true;
	settle(p);
	armed = false;
}

static void session_scene(void)
{
	static const struct wmk_ctl_rule rules[] = { { .pattern = "p:*" }, { .pattern = "q*" } };
	struct place p;
	struct client first, second, good;
	int fds = open_fds();

	place_prepare(&p);
	p.given[0].rules = place_rules(rules, 2);
	armed = true;
	int err = place_try(&p);
	armed = false;
	if (err) {
		assert_memory_error(err);
	} else {
		client_connect(&first, &p);
		client_hello(&first, "first");
		for (uint32_t i = 0; i < 100; i++)
			client_event(&first, i, "p", i % 2 ? "x" : "y", i % 3);
		client_u32(&first, WMK_MSG_EVENTS_END, 1);
		client_connect(&second, &p);
		client_hello(&second, "second");
		client_event(&second, 0, "p", "z", 2);
		client_event(&second, 0, "p", "z", 2);           /* an error: the number is in use */
		settle_armed(&p);
		armed = true;
		place_switch(&p, false);
		place_switch(&p, true);
		armed = false;
		client_close(&first);
		settle_armed(&p);
		client_register(&good, &p, "good", 3);
		client_close(&good);
		client_close(&second);
		settle(&p);
	}
	place_close(&p);
	expect_fds(fds);
}

static void test_session_survives_failed_allocations(void **state)
{
	(void)state;
	each(session_scene, 30);
}

/* ── commands ────────────────────────────────────────────────────────────────────────────────────────── */

/* Commands that change and describe a session. */
static void commands(struct place *p, struct wmk_session *session)
{
	static const char *contexts[] = { "vpid", "vtid" }, *out[] = { "p:none" };
	static const struct wmk_ctl_rule all = { .pattern = "q*", .exclusions = { out, 1 } },
					 more = { .pattern = "p:*" };
	static uint64_t many[] = { 1, 2, 3, 4, 5 };
	struct wmk_ctl_channel channel = {
		.name = "more",
		.settings.subbuf_size = 4096,
		.settings.n_subbufs = 2,
		.contexts = { contexts, 2 },
		.rules = place_rules(&all, 1),
	};
	struct wmk_session_channel *made = NULL;
	struct wmk_ctl_session is;
	struct wmk_list apps = { NULL, 0 }, late = { NULL, 0 };
	struct wmk_arena arena = { 0 };
	int err[8] = { 0 };

	assert_int_equal(wmk_session_lock(session), 0);
	armed = true;
	err[0] = wmk_session_channel_add(session, &channel, &made);
	if (err[0] == 0)
		err[1] = wmk_session_rule_add(made, &more);
	err[2] = wmk_session_track(session, &(struct wmk_ctl_track){ .kind = WMK_TRACK_GID, .ids = { many, 5 } }, true);
	err[3] = wmk_session_start(session);
	if (err[3] == 0)
		err[4] = wmk_session_prepare(session, getuid());
	err[5] = wmk_session_describe(session, &is, &arena);
	armed = false;
	wmk_session_unlock(session);
	armed = true;
	err[6] = wmk_tracing_update(p->tracing, session, 1000, &late, &arena);
	err[7] = wmk_tracing_list_apps(p->tracing, &(struct wmk_ctl_list_apps){ .events = true, .pattern = "" },
				       (uid_t)-1, (uid_t)-1, &apps, &arena);
	armed = false;
	/* without its channel it cannot start; an error of rings may be reported as EIO only */
	for (int i = 0; i < 8; i++)
		if (err[i] && !(i == 3 && err[i] == -ENODATA) && !(i == 4 && err[i] == -EIO))
			assert_memory_error(err[i]);
	wmk_arena_free(&arena);
}

/* No shard: waiting for other threads is not part of this test. */
static void commands_scene(void)
{
	const struct wmk_session_options options = {
		.name = "more", .path = "/nowhere/more", .trace_name = "t", .uid = getuid()
	};
	struct wmk_session *session = NULL, **all = NULL;
	struct place p;
	int fds = open_fds();

	place_prepare(&p);
	place_open(&p);
	wmk_shard_close(p.apps);
	p.apps = NULL;
	armed = true;
	int err = wmk_session_create(p.tracing, &options, &session);

	armed = false;
	if (err)
		assert_memory_error(err);
	else
		commands(&p, session);
	armed = true;
	int n = wmk_session_get_all(p.tracing, &all);

	armed = false;
	assert_true(n == -ENOMEM || n == 1 + (session != NULL));
	for (int i = 0; i < n; i++)
		wmk_session_put(all[i]);
	free(n >= 0 ? all : NULL);
	wmk_session_put(session);        /* closing the wmk_tracing releases the table's reference */
	place_close(&p);
	expect_fds(fds);
}

static void test_commands_survive_failed_allocations(void **state)
{
	(void)state;
	each(commands_scene, 22);
}

/*
 * A shard's thread without memory: an application that is reconciled, one that does not answer, and commands that wait
 * for them.
 */
static _Atomic bool shard_armed, shard_knows;

static void *shard_run(void *data)
{
	struct place *p = data;

	wmk_tracing_thread_begin();
	for (int err = 0; err >= 0; armed = false) {
		armed = atomic_load(&shard_armed);
		atomic_store(&shard_knows, armed);
		err = wmk_shard_run_once(p->apps, 5);
	}
	wmk_error(-EINVAL, "so that the chain is there");
	wmk_tracing_thread_end();
	return NULL;
}

static void update_scene(void)
{
	struct wmk_list late = { NULL, 0 }, apps = { NULL, 0 };
	struct wmk_arena arena = { 0 };
	struct place p;
	struct client client;
	pthread_t thread;
	int fds = open_fds();

	place_prepare(&p);
	place_open(&p);
	client_register(&client, &p, "silent", 3);
	assert_int_equal(wmk_session_lock(p.session), 0);
	wmk_session_channel_switch(p.channels[0], false);
	wmk_session_unlock(p.session);
	atomic_store(&shard_knows, false);
	assert_int_equal(pthread_create(&thread, NULL, shard_run, &p), 0);
	atomic_store(&shard_armed, true);
	while (!atomic_load(&shard_knows))
		sched_yield();
	assert_int_equal(wmk_tracing_update(p.tracing, p.session, 0, &late, &arena), 0);
	int err = wmk_tracing_list_apps(p.tracing, &(struct wmk_ctl_list_apps){ .events = true, .pattern = "" },
					(uid_t)-1, (uid_t)-1, &apps, &arena);

	atomic_store(&shard_armed, false);
	assert_true(err == 0 || err == -ENOMEM);
	assert_true(late.n <= 1);
	wmk_shard_stop(p.apps);
	pthread_join(thread, NULL);
	client_close(&client);
	wmk_arena_free(&arena);
	place_close(&p);
	expect_fds(fds);
}

static void update_and_list_of_applications_survive_failed_allocations(void **state)
{
	(void)state;
	each(update_scene, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(failed_allocation_in_schema_is_reported_and_leaks_nothing),
		cmocka_unit_test(failed_allocation_in_wire_is_reported_and_loses_no_frame),
		cmocka_unit_test(test_session_survives_failed_allocations),
		cmocka_unit_test(test_commands_survive_failed_allocations),
		cmocka_unit_test(update_and_list_of_applications_survive_failed_allocations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
