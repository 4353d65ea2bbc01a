/* SPDX-License-Identifier: MIT */
/*
 * test_ring_requests.c - a disk that hangs: writing, counting and closing wait, and nothing else does. Applications
 * register, end and are updated. Sessions are described with the latest counts. A second thread that wants to write
 * waits its turn.
 */
#include "base/error.h"
#include "session/model/session_model.h"
#include "world.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* A thread that runs one command of a client. */
struct writer {
	pthread_t thread;
	struct wmk_session *session;
	int (*what)(struct wmk_session *session);
	int err;
};

static int flush(struct wmk_session *session)
{
	int err = wmk_session_lock(session);

	if (err == 0) {
		err = wmk_session_flush(session);
		wmk_session_unlock(session);
	}
	return err;
}

static int clear(struct wmk_session *session)
{
	int err = wmk_session_lock(session);

	if (err == 0) {
		err = wmk_session_clear(session);
		wmk_session_unlock(session);
	}
	return err;
}

static int reap(struct wmk_session *session)
{
	int err = wmk_session_lock(session);

	if (err == 0) {
		wmk_session_reap(session);
		wmk_session_unlock(session);
	}
	return err;
}

static int finish(struct wmk_session *session)
{
	return wmk_session_finish(session, NULL, NULL);
}

static void *writer_run(void *data)
{
	struct writer *writer = data;

	wmk_tracing_thread_begin();
	writer->err = writer->what(writer->session);
	wmk_tracing_thread_end();
	return NULL;
}

static void writer_begin(struct writer *writer, struct wmk_session *session, int (*what)(struct wmk_session *session))
{
	*writer = (struct writer){ .session = session, .what = what, .err = 1 };
	assert_int_equal(pthread_create(&writer->thread, NULL, writer_run, writer), 0);
}

static void writer_end(struct writer *writer)
{
	assert_int_equal(pthread_join(writer->thread, NULL), 0);
	assert_int_equal(writer->err, 0);
}

static uint64_t records(struct wmk_session *session)
{
	struct wmk_arena arena = { 0 };
	struct wmk_ctl_session is;

	assert_int_equal(wmk_session_lock(session), 0);
	assert_int_equal(wmk_session_describe(session, &is, &arena), 0);
	wmk_session_unlock(session);
	uint64_t n = is.counts.records;

	wmk_arena_free(&arena);
	return n;
}

static bool is_stopping(struct wmk_session *session)
{
	struct wmk_arena arena = { 0 };
	struct wmk_ctl_session is;

	world_locked(session, assert_int_equal(wmk_session_describe(session, &is, &arena), 0));
	const bool stopping = is.stopping;

	assert_false(stopping && is.active);
	wmk_arena_free(&arena);
	return stopping;
}

static struct wmk_session_channel *add(struct wmk_session *session, const char *name, uint32_t key, const char *pattern,
				       uint32_t buffers)
{
	struct wmk_ctl_channel options = world_channel_options(name, key);

	options.settings.buffers = buffers;
	return world_channel(session, &options, pattern);
}

static void test_flush_reaches_every_ring_set(void **state)
{
	struct writer writer, second;
	struct world w;

	(void)state;
	world_prepare(&w);
	world_open(&w, 1);
	struct wmk_session *s = world_session(&w, "s"), *t = world_session(&w, "t");
	struct wmk_session_channel *all = add(s, "all", 0, "shop", WMK_BUFFERS_UID);

	add(s, "each", 1, "net", WMK_BUFFERS_PID);
	add(t, "other", 2, "disk", WMK_BUFFERS_UID);
	world_start(&w, s);
	world_start(&w, t);
	proc_start(0, 1, WORLD_ALL);
	assert_int_equal(records(s), 20);
	world_disk(&w, true);
	writer_begin(&writer, s, flush);
	world_wait(&w, &w.at_disk, 1);
	/*
	 * an application registers completely, with its own rings, and another is updated, both within the time limit
	 * of commands
	 */
	proc_start(0, 2, WORLD_ALL);
	assert_int_equal(proc_enabled(2, 0), 0x407);
	assert_int_equal(proc_enabled(2, 1), 0x38);
	assert_int_equal(wmk_session_lock(s), 0);
	assert_int_equal(wmk_session_rule_add(all, &(struct wmk_ctl_rule){ .pattern = "end:*" }), 0);
	wmk_session_unlock(s);
	world_update(&w, s);
	assert_int_equal(proc_enabled(1, 0), 0xc07);
	/* the latest counts, and zero for the new rings */
	assert_int_equal(records(s), 20);
	/* an application ends; its rings are closed later */
	proc_kill(2);
	world_wait(&w, &w.ended, 1);
	writer_begin(&second, s, reap);
	assert_int_equal(w.rings_open, 4);
	assert_int_equal(w.at_disk, 1);
	world_disk(&w, false);
	writer_end(&writer);
	writer_end(&second);
	assert_int_equal(w.rings_open, 3);
	assert_int_equal(world_rings(&w, "s", "all", "uid")->flushed, 1);
	assert_int_equal(world_rings(&w, "s", "each", "proc_1")->flushed, 1);
	assert_int_equal(records(s), 30);
	writer_begin(&writer, s, clear);
	writer_end(&writer);
	assert_int_equal(world_rings(&w, "s", "all", "uid")->cleared, 1);
	world_destroy(&w, s);
	world_destroy(&w, t);
	proc_kill(1);
	world_close(&w);
}

/* A session is `stopping` from the stop until everything is written. */
static void test_session_is_stopping_until_all_is_written(void **state)
{
	struct writer writer;
	struct world w;

	(void)state;
	world_prepare(&w);
	world_open(&w, 1);
	struct wmk_session *s = world_session(&w, "s");

	add(s, "all", 0, "shop", WMK_BUFFERS_UID);
	assert_false(is_stopping(s));
	world_start(&w, s);
	proc_start(0, 1, WORLD_ALL);
	assert_false(is_stopping(s));
	world_locked(s, assert_int_equal(wmk_session_stop(s), 0));
	assert_true(is_stopping(s));
	world_update(&w, s);
	assert_true(is_stopping(s));
	world_disk(&w, true);
	writer_begin(&writer, s, flush);
	world_wait(&w, &w.at_disk, 1);
	assert_true(is_stopping(s));
	world_disk(&w, false);
	writer_end(&writer);
	assert_false(is_stopping(s));
	/* it is started again meanwhile; then a start fails */
	world_start(&w, s);
	world_locked(s, assert_int_equal(wmk_session_stop(s), 0));
	world_start(&w, s);
	assert_false(is_stopping(s));
	world_locked(s, wmk_session_unstart(s));
	assert_false(is_stopping(s));
	world_destroy(&w, s);
	proc_kill(1);
	world_close(&w);
}

/* Rings are closed meanwhile: of a process, then of the whole session. */
static void counts_of_a_session_are_kept_when_its_rings_close(void **state)
{
	struct writer writer;
	struct world w;

	(void)state;
	world_prepare(&w);
	world_open(&w, 1);
	struct wmk_session *s = world_session(&w, "s"), *t = world_session(&w, "t");

	add(s, "each", 0, "net", WMK_BUFFERS_PID);
	add(s, "all", 1, "shop", WMK_BUFFERS_UID);
	add(t, "other", 2, "disk", WMK_BUFFERS_UID);
	world_start(&w, s);
	world_start(&w, t);
	proc_start(0, 1, WORLD_ALL);
	proc_start(0, 2, WORLD_ALL);
	assert_int_equal(records(s), 30);
	proc_kill(1);
	world_wait(&w, &w.ended, 1);
	world_disk(&w, true);
	writer_begin(&writer, s, reap);
	world_wait(&w, &w.at_disk, 1);
	/* rings that are closing count as before */
	assert_int_equal(records(s), 30);
	proc_start(0, 3, WORLD_ALL);
	assert_int_equal(proc_enabled(3, 0), 0x38);
	world_disk(&w, false);
	writer_end(&writer);
	assert_int_equal(records(s), 40);
	/* the session is destroyed */
	assert_int_equal(wmk_session_lock(s), 0);
	wmk_session_destroy(s);
	wmk_session_unlock(s);
	world_update(&w, s);
	world_disk(&w, true);
	writer_begin(&writer, s, finish);
	world_wait(&w, &w.at_disk, 1);
	proc_start(0, 4, WORLD_ALL);
	assert_int_equal(proc_enabled(4, 2), 0xc0);
	assert_null(proc_channel(4, 0));
	proc_kill(2);                    /* it had its own rings, and shared ones */
	proc_kill(3);
	proc_start(0, 5, WORLD_ALL);
	assert_int_equal(proc_enabled(5, 2), 0xc0);
	world_disk(&w, false);
	writer_end(&writer);
	wmk_session_put(s);
	assert_int_equal(w.rings_open, 1);
	world_destroy(&w, t);
	proc_kill(4);
	proc_kill(5);
	world_close(&w);
}

/*
 * After one timeout the requests for other rings are sent without waiting, because all of a session is on one disk. No
 * request is omitted.
 */
static void session_command_waits_for_a_stopped_consumer_only_once(void **state)
{
	int (*const all[])(struct wmk_session *session) = { flush, clear, reap, finish };
	struct writer writer;
	struct world w;

	(void)state;
	world_prepare(&w);
	world_open(&w, 1);
	struct wmk_session *s = world_session(&w, "s");

	add(s, "all", 0, "shop", WMK_BUFFERS_UID);
	add(s, "each", 1, "net", WMK_BUFFERS_PID);
	add(s, "too", 2, "disk", WMK_BUFFERS_PID);
	world_start(&w, s);
	proc_start(0, 1, WORLD_ALL);
	proc_start(0, 2, WORLD_ALL);
	assert_int_equal(w.rings_open, 5);
	for (unsigned i = 0; i < 4; i++) {
		if (all[i] == reap) {
			proc_kill(2);
			world_wait(&w, &w.ended, 2);
		}
		if (all[i] == finish) {
			world_locked(s, wmk_session_destroy(s));
			world_update(&w, s);
		}
		w.asked = w.waited = 0;
		w.silent = true;
		writer_begin(&writer, s, all[i]);
		assert_int_equal(pthread_join(writer.thread, NULL), 0);
		w.silent = false;
		assert_int_equal(writer.err, all[i] == reap ? 0 : -ETIMEDOUT);
		assert_int_equal(w.asked, all[i] == reap ? 2 : all[i] == finish ? 3 : 5);
		assert_int_equal(w.waited, 1);
	}
	assert_int_equal(w.rings_open + w.traces_open, 0);
	wmk_session_put(s);
	proc_kill(1);
	world_close(&w);
}

static unsigned rotations, archived;

static int trace_cut(void *data)
{
	(void)data;
	return 0;
}

static int metadata_replace(void *data, const char *text, size_t len, bool wait)
{
	(void)data, (void)text, (void)len, (void)wait;
	return 0;
}

/* The disk is full until the first two requests have timed out. */
static int trace_rotate(void *data, const char *closed, uint64_t chunk, bool wait)
{
	(void)data, (void)closed;
	assert_int_equal(chunk, 1);
	rotations += wait;
	return wait && rotations <= 2 ? wmk_error(-ETIMEDOUT, "the disk is full") : 0;
}

static int archive_end(void *data, const struct wmk_trace_info *session)
{
	(void)data;
	assert_true(*session->closed);
	archived++;
	return 0;
}

static int rotate(struct wmk_session *session)
{
	int err = wmk_session_lock(session);

	if (err == 0) {
		err = wmk_session_rotate(session);
		wmk_session_unlock(session);
	}
	return err;
}

/*
 * A rotation that timed out is finished before the traces are closed. If that is not possible either, the chunk still
 * gets its final name.
 */
static void test_destroy_finishes_a_rotation(void **state)
{
	struct wmk_consumer_port_ops ops;
	struct writer writer;
	struct world w;

	(void)state;
	for (unsigned failed = 1; failed <= 2; failed++) {
		world_prepare(&w);
		world_open(&w, 1);
		ops = *w.options.consumer;
		ops.trace_cut = trace_cut;
		ops.trace_rotate = trace_rotate;
		ops.archive_end = archive_end;
		ops.metadata_replace = metadata_replace;
		w.tracing->options.consumer = &ops;
		struct wmk_session *s = world_session(&w, "s");

		add(s, "all", 0, "shop", WMK_BUFFERS_UID);
		world_start(&w, s);
		proc_start(0, 1, WORLD_ALL);
		rotations = 2 - failed;
		archived = 0;
		assert_int_equal(rotate(s), -ETIMEDOUT);
		assert_int_equal(archived, 0);
		world_locked(s, wmk_session_destroy(s));
		world_update(&w, s);
		writer_begin(&writer, s, finish);
		assert_int_equal(pthread_join(writer.thread, NULL), 0);
		assert_int_equal(writer.err, failed == 1 ? 0 : -ETIMEDOUT);
		assert_int_equal(rotations, failed == 1 ? 3 : 2);
		assert_int_equal(archived, 1);
		assert_int_equal(w.rings_open + w.traces_open, 0);
		wmk_session_put(s);
		proc_kill(1);
		world_close(&w);
	}
}

/* Rings that the consumer does not have say nothing about other rings; a timeout does. */
static void counts_are_requested_for_all_rings_until_one_times_out(void **state)
{
	struct world w;

	(void)state;
	world_prepare(&w);
	world_open(&w, 1);
	struct wmk_session *s = world_session(&w, "s");

	for (unsigned i = 0; i < 3; i++) {
		char name[8];

		snprintf(name, sizeof(name), "ch%u", i);
		add(s, name, i, i == 0 ? "shop" : i == 1 ? "net" : "disk", WMK_BUFFERS_UID);
	}
	world_start(&w, s);
	proc_start(0, 1, WORLD_ALL);
	assert_int_equal(records(s), 30);
	for (unsigned i = 0; i < 3; i++) {
		unsigned asked = w.counted;

		snprintf(w.uncounted, sizeof(w.uncounted), "ch%u", i);
		w.uncounted_err = -ENOENT;
		records(s);
		assert_int_equal(w.counted - asked, 3);
	}
	/* the latest rings are queried first */
	unsigned asked = w.counted;
	w.uncounted_err = -ETIMEDOUT;
	records(s);
	assert_int_equal(w.counted - asked, 1);
	world_destroy(&w, s);
	proc_kill(1);
	world_close(&w);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_flush_reaches_every_ring_set, procs_kill),
		cmocka_unit_test_teardown(counts_of_a_session_are_kept_when_its_rings_close, procs_kill),
		cmocka_unit_test_teardown(test_session_is_stopping_until_all_is_written, procs_kill),
		cmocka_unit_test_teardown(test_destroy_finishes_a_rotation, procs_kill),
		cmocka_unit_test_teardown(counts_are_requested_for_all_rings_until_one_times_out, procs_kill),
		cmocka_unit_test_teardown(session_command_waits_for_a_stopped_consumer_only_once, procs_kill),
	};

	procs_begin(argc, argv);
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	procs_end();
	return failed;
}
