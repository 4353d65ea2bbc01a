/* SPDX-License-Identifier: MIT */
/*
 * test_ring_layout.c - contexts that are added to a channel after it has recorded: it gets rings of another layout, and
 * every enabled event moves there.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "session/apps/app.h"
#include "world.h"

/* Number of ring sets of the session that the trace output has, by the name of their streams. */
static unsigned rings_named(struct world *w, const char *name)
{
	unsigned n = 0;

	pthread_mutex_lock(&w->lock);
	for (const struct world_rings *rings = w->rings; rings; rings = rings->next)
		n += strcmp(rings->channel, name) == 0;
	pthread_mutex_unlock(&w->lock);
	return n;
}

/* Adding contexts to a channel that has recorded moves every enabled event; later events use the new rings. */
static void added_contexts_move_enabled_events_to_new_rings(void **state)
{
	struct world w;

	(void)state;
	world_prepare(&w);
	world_open(&w, 1);
	struct wmk_session *s = world_session(&w, "s");
	struct wmk_session_channel *one = world_add(s, "one", 0, "shop:*"), *two = world_add(s, "two", 1, "net");

	world_locked(s, assert_int_equal(wmk_session_context_add(one, "vpid"), 0));
	world_start(&w, s);
	proc_start(0, 1, 0x07);
	assert_int_equal(proc_enabled(1, 0), 0x07);
	const struct proc_channel was = *proc_channel(1, 0);

	/* it has this context: nothing changes */
	world_locked(s, assert_int_equal(wmk_session_context_add(one, "vpid"), 0));
	world_update(&w, s);
	assert_int_equal(proc_channel(1, 0)->inode, was.inode);
	/* two contexts are one change; events that register before the update are not lost */
	world_locked(s, assert_int_equal(wmk_session_context_add(one, "vtid"), 0);
		     assert_int_equal(wmk_session_context_add(one, "ip"), 0));
	assert_int_equal(proc_channel(1, 0)->inode, was.inode);
	world_update(&w, s);
	assert_int_equal(proc_channel(1, 0)->n_contexts, 3);
	assert_int_not_equal(proc_channel(1, 0)->inode, was.inode);
	assert_int_equal(proc_enabled(1, 0), 0x07);
	assert_int_equal(proc_at(1)->moves, 3);
	assert_int_equal(rings_named(&w, "one"), 1);
	assert_int_equal(rings_named(&w, "one~2"), 1);
	/* later: an event, an application, another rule, the end of a rule */
	assert_int_equal(proc_bid(1, PROC_EVENTS, 0x438), 0);
	assert_int_equal(proc_enabled(1, 0), 0x407);
	proc_start(0, 2, WORLD_ALL);
	assert_int_equal(proc_enabled(2, 0), 0x407);
	assert_int_equal(proc_channel(2, 0)->inode, proc_channel(1, 0)->inode);
	world_locked(s, assert_int_equal(wmk_session_rule_disable(one, NULL), 1));
	world_update(&w, s);
	assert_int_equal(proc_enabled(1, 0), 0);
	/* a channel without a recording application */
	world_locked(s, assert_int_equal(wmk_session_rule_add(one, &(struct wmk_ctl_rule){ .pattern = "disk:*" }), 0);
	       assert_int_equal(wmk_session_context_add(one, "cpu_id"), 0));
	world_update(&w, s);
	assert_int_equal(proc_channel(1, 0)->n_contexts, 3);
	assert_int_equal(proc_channel(2, 0)->n_contexts, 4);
	assert_int_equal(proc_enabled(2, 0), 0xc0);
	assert_int_equal(rings_named(&w, "one~3"), 1);
	/* the other channel is not affected */
	assert_int_equal(rings_named(&w, "two"), 1);
	assert_int_equal(wmk_session_channel_options(two)->contexts.n, 0);
	/* while it is stopped, and with regenerated metadata: nothing is declared twice */
	world_locked(s, wmk_session_stop(s); assert_int_equal(wmk_session_context_add(two, "procname"), 0));
	world_update(&w, s);
	assert_int_equal(proc_enabled(2, 1), 0);
	world_start(&w, s);
	assert_int_equal(proc_enabled(2, 1), 0x38);
	assert_int_equal(proc_channel(2, 1)->n_contexts, 1);
	assert_int_equal(rings_named(&w, "two~2"), 1);
	world_destroy(&w, s);
	proc_kill(1);
	proc_kill(2);
	world_close(&w);
}

/* A recording session with one channel, with a limit of ring memory (0: no limit). */
static struct wmk_session *begin_one(struct world *w, uint64_t max_ring_bytes, struct wmk_session_channel **one)
{
	world_prepare(w);
	if (max_ring_bytes)
		w->options.max_ring_bytes = max_ring_bytes;
	world_open(w, 1);
	struct wmk_session *s = world_session(w, "s");

	*one = world_add(s, "one", 0, "shop:*");
	world_start(w, s);
	return s;
}

static void end_one(struct world *w, struct wmk_session *s)
{
	world_destroy(w, s);
	proc_kill(1);
	world_close(w);
}

/* An application that cannot move events (no room for rings, an older library): they are disabled where they record. */
static void events_of_applications_that_cannot_change_rings_are_disabled(void **state)
{
	struct wmk_session_channel *one;
	struct world w;
	struct wmk_session *s = begin_one(&w, 0, &one);

	(void)state;
	proc_start(0, 1, WORLD_ALL);
	proc_at(1)->unmoved = true;
	for (unsigned i = 0; i < 2; i++) {
		world_locked(s, assert_int_equal(wmk_session_context_add(one, i ? "vtid" : "vpid"), 0));
		world_update(&w, s);
	}
	assert_int_equal(proc_at(1)->channels[0].n_contexts, 0);
	assert_int_not_equal(proc_at(1)->channels[0].ids[0], WORLD_NO_ID);
	world_locked(s, assert_int_equal(wmk_session_rule_disable(one, NULL), 1));
	world_update(&w, s);
	for (unsigned i = 0; i < WORLD_CHANNELS; i++)
		for (unsigned n = 0; n < WORLD_EVENTS && proc_at(1)->channels[i].live; n++)
			assert_int_equal(proc_at(1)->channels[i].ids[n], WORLD_NO_ID);
	end_one(&w, s);
}

/* An application has at most 64 channels: one more layout is reported, and the application records as before. */
static void layout_beyond_64_channels_is_reported_and_recording_continues(void **state)
{
	static const char *const names[] = { "vpid", "vtid", "procname", "cpu_id", "pthread_id", "ip" };
	struct wmk_session_channel *channels[12];
	char name[16], words[400];
	struct world w;

	(void)state;
	world_prepare(&w);
	world_open(&w, 1);
	struct wmk_session *s = world_session(&w, "s");

	for (unsigned i = 0; i < 12; i++) {
		snprintf(name, sizeof(name), "ch%u", i);
		channels[i] = world_add(s, name, i, i ? "net" : "shop");
	}
	world_start(&w, s);
	proc_start(0, 1, WORLD_ALL);
	const uint32_t before = proc_enabled(1, 0);
	bool is_reported = false;

	assert_true(before != 0);
	for (unsigned turn = 0; turn < 6; turn++) {
		for (unsigned i = 0; i < 12; i++)
			world_locked(s, assert_int_equal(wmk_session_context_add(channels[i], names[turn]), 0));
		/* each channel in turn is the first to select the events, and gets rings */
		for (unsigned i = 1; i < 12; i++) {
			world_locked(s, wmk_session_channel_switch(channels[i], true);
				     for (unsigned j = 1; j < i; j++) wmk_session_channel_switch(channels[j], false));
			world_update(&w, s);
		}
		world_locked(s, is_reported |= wmk_session_trouble(s, words, sizeof(words)) == -EMFILE);
		assert_int_equal(proc_enabled(1, 0), before);
	}
	assert_true(is_reported);
	assert_non_null(strstr(words, "the limit is 64"));
	/* the channel that was enabled last records as before */
	assert_int_equal(proc_channel(1, 11)->n_contexts, 5);
	end_one(&w, s);
}

/*
 * Creating rings fails after their stream class was declared with its contexts. Rings with other contexts do not use
 * that stream class.
 */
static void rings_with_other_contexts_get_a_new_stream_class(void **state)
{
	struct wmk_session_channel *one;
	struct world w;
	struct wmk_session *s = begin_one(&w, 0, &one);

	(void)state;
	w.refuse = -EMFILE;
	proc_start(0, 1, WORLD_ALL);
	assert_int_equal(proc_enabled(1, 0), 0);
	world_locked(s, assert_int_equal(wmk_session_context_add(one, "vpid"), 0));
	w.refuse = 0;
	world_update(&w, s);
	assert_int_equal(proc_enabled(1, 0), 0x407);
	assert_int_equal(proc_channel(1, 0)->n_contexts, 1);
	assert_int_equal(rings_named(&w, "one"), 0);
	assert_int_equal(rings_named(&w, "one~2"), 1);
	end_one(&w, s);
}

static void failed_creation_of_rings_keeps_enabled_events_recording(void **state)
{
	struct wmk_session_channel *one;
	struct world w;
	struct wmk_session *s = begin_one(&w, 0, &one);

	(void)state;
	proc_start(0, 1, WORLD_ALL);
	assert_int_equal(proc_enabled(1, 0), 0x407);
	w.refuse = -EMFILE;
	world_locked(s, assert_int_equal(wmk_session_context_add(one, "vpid"), 0));
	world_update(&w, s);
	assert_int_equal(proc_enabled(1, 0), 0x407);
	world_locked(s,
		     assert_int_equal(wmk_session_rule_add(one, &(struct wmk_ctl_rule){ .pattern = "shop:paid" }), 0);
		     assert_int_equal(wmk_session_rule_disable(one, "shop:*"), 1));
	world_update(&w, s);
	assert_int_equal(proc_enabled(1, 0), 0x401);
	assert_int_equal(proc_channel(1, 0)->n_contexts, 0);
	w.refuse = 0;
	world_update(&w, s);
	assert_int_equal(proc_enabled(1, 0), 0x401);
	assert_int_equal(proc_channel(1, 0)->n_contexts, 1);
	end_one(&w, s);
}

/* Rings of another layout are charged, too: if the limit is reached, adding a context fails without a change. */
static void adding_context_fails_without_change_at_limit_of_ring_memory(void **state)
{
	struct wmk_session_channel *one;
	struct world w;
	/* memory for one channel */
	struct wmk_session *s = begin_one(&w, (uint64_t)sysconf(_SC_NPROCESSORS_CONF) * 4096 * 2, &one);

	(void)state;
	proc_start(0, 1, WORLD_ALL);
	world_locked(s, assert_int_equal(wmk_session_context_add(one, "vpid"), -ENOBUFS));
	world_words("the limit is");
	assert_int_equal(wmk_session_channel_options(one)->contexts.n, 0);
	world_update(&w, s);
	assert_int_equal(proc_enabled(1, 0), 0x407);
	assert_int_equal(proc_channel(1, 0)->n_contexts, 0);
	assert_int_equal(proc_at(1)->moves, 0);
	end_one(&w, s);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(added_contexts_move_enabled_events_to_new_rings, procs_kill),
		cmocka_unit_test_teardown(events_of_applications_that_cannot_change_rings_are_disabled, procs_kill),
		cmocka_unit_test_teardown(layout_beyond_64_channels_is_reported_and_recording_continues, procs_kill),
		cmocka_unit_test_teardown(rings_with_other_contexts_get_a_new_stream_class, procs_kill),
		cmocka_unit_test_teardown(failed_creation_of_rings_keeps_enabled_events_recording, procs_kill),
		cmocka_unit_test_teardown(adding_context_fails_without_change_at_limit_of_ring_memory, procs_kill),
	};

	procs_begin(argc, argv);
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	procs_end();
	return failed;
}
