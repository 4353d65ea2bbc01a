/* SPDX-License-Identifier: MIT */
/*
 * test_tracing.c - sessions, channels, rules, limits: what real processes receive from shards with their own threads.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
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

static const struct wmk_ctl_domain user = { .kind = WMK_DOMAIN_USER };

/* Each session has its own rings and ids; a change of one does not affect the other. */
static void test_sessions_do_not_affect_each_other(void **state)
{
	struct world w;

	(void)state;
	world_prepare(&w);
	world_open(&w, 2);
	struct wmk_session *a = world_session(&w, "a"), *b = world_session(&w, "b");

	world_add(a, "ch", 0, "shop");
	world_add(b, "ch", 1, "*");
	proc_start(0, 1, 0x0c);          /* lost, rx */
	proc_start(0, 2, 0x07);          /* paid, sent, lost */
	assert_null(proc_channel(1, 0));         /* an inactive session sends nothing */
	world_start(&w, b);
	world_start(&w, a);
	assert_int_equal(proc_enabled(1, 0), 0x04);
	assert_int_equal(proc_enabled(2, 0), 0x07);
	assert_int_equal(proc_enabled(1, 1), 0x0c);
	assert_int_equal(proc_enabled(2, 1), 0x07);
	/* both applications have the same rings, and others in the other session */
	assert_int_equal(proc_channel(1, 0)->inode, proc_channel(2, 0)->inode);
	assert_int_equal(proc_channel(1, 1)->inode, proc_channel(2, 1)->inode);
	assert_int_not_equal(proc_channel(1, 0)->inode, proc_channel(1, 1)->inode);
	assert_int_equal(proc_channel(1, 0)->ids[2], proc_channel(2, 0)->ids[2]);
	/* ids are dense from 0 in each session */
	uint32_t in_a = 0, in_b = 0;

	for (unsigned e = 0; e < 3; e++) {
		in_a |= 1u << proc_channel(2, 0)->ids[e];
		in_b |= 1u << proc_channel(2, 1)->ids[e];
	}
	assert_int_equal(in_a, 7);
	assert_int_equal(in_b | 1u << proc_channel(1, 1)->ids[3], 0xf);
	assert_int_equal(w.ids_given, 3 + 4);
	/* stop one session; start it again with the same ids */
	uint32_t id = proc_channel(2, 0)->ids[1];

	world_stop(&w, a);
	assert_int_equal(world_rings(&w, "a", "ch", "uid")->flushed, 1);
	assert_int_equal(world_rings(&w, "b", "ch", "uid")->flushed, 0);
	assert_int_equal(proc_enabled(1, 0) | proc_enabled(2, 0), 0);
	assert_int_equal(proc_enabled(2, 1), 0x07);
	world_start(&w, a);
	assert_int_equal(proc_channel(2, 0)->ids[1], id);
	/* destroy one session */
	world_destroy(&w, a);
	assert_null(proc_channel(2, 0));
	assert_int_equal(proc_at(2)->gone, 1);
	assert_int_equal(proc_enabled(1, 1), 0x0c);
	assert_true(world_rings(&w, "a", "ch", "uid")->closed);
	assert_false(world_rings(&w, "b", "ch", "uid")->closed);
	/* a new session with the same name shares nothing with it */
	a = world_session(&w, "a");
	world_add(a, "ch", 2, "shop:sent");
	world_start(&w, a);
	assert_int_equal(proc_enabled(2, 2), 0x02);
	assert_int_equal(proc_channel(2, 2)->ids[1], 0);
	world_destroy(&w, a);
	world_destroy(&w, b);
	proc_kill(1);
	proc_kill(2);
	world_close(&w);
}

/* ── rules ───────────────────────────────────────────────────────────────────────────────────────────── */

static uint32_t enabled_by(struct world *w, struct wmk_session *session, struct wmk_session_channel *channel,
			   const struct wmk_ctl_rule *rule)
{
	assert_int_equal(wmk_session_lock(session), 0);
	wmk_session_rule_disable(channel, NULL);
	if (wmk_session_rule_add(channel, rule) != 0)
		fail_msg("%s: %s", rule->pattern, wmk_error_get(0));
	wmk_session_unlock(session);
	world_update(w, session);
	return proc_enabled(1, 0);
}

static void event_rules_select_events_by_pattern_and_level(void **state)
{
	static const char *not_paid[] = { "shop:paid" }, *not_net[] = { "net", "*:write", "nothing:*" };
	static const struct {
		struct wmk_ctl_rule rule;
		uint32_t enabled;
	} table[] = {
		{ { .pattern = "*" }, WORLD_ALL },
		{ { .pattern = "shop" }, 0x407 },
		{ { .pattern = "shop:*" }, 0x407 },
		{ { .pattern = "shop:paid" }, 0x401 },
		{ { .pattern = "*:?x" }, 0x18 },
		{ { .pattern = "n*" }, 0x38 },
		{ { .pattern = "[ds]*:[!l]*" }, 0x4c3 },
		{ { .pattern = "none" }, 0 },
		{ { .pattern = "shop", .exclusions = { not_paid, 1 } }, 0x006 },
		{ { .pattern = "*", .exclusions = { not_net, 3 } }, 0xf47 },
		{ { .pattern = "*", .level_op = WMK_LEVEL_AT_LEAST, .level = WAYMARK_LEVEL_ERR }, 0x924 },
		{ { .pattern = "*", .level_op = WMK_LEVEL_AT_LEAST, .level = WAYMARK_LEVEL_EMERG }, 0x800 },
		{ { .pattern = "*", .level_op = WMK_LEVEL_EXACTLY, .level = WAYMARK_LEVEL_DEBUG }, 0x018 },
		{ { .pattern = "*",
		    .level_op = WMK_LEVEL_BETWEEN,
		    .level = WAYMARK_LEVEL_WARNING,
		    .level_to = WAYMARK_LEVEL_NOTICE },
		  0x082 },
		{ { .pattern = "shop",
		    .level_op = WMK_LEVEL_BETWEEN,
		    .level = WAYMARK_LEVEL_ERR,
		    .level_to = WAYMARK_LEVEL_ERR },
		  0x004 },
		{ { .pattern = "twin", .level_op = WMK_LEVEL_EXACTLY, .level = WAYMARK_LEVEL_ERR }, 0x100 },
		{ { .pattern = "twin", .level_op = WMK_LEVEL_EXACTLY, .level = WAYMARK_LEVEL_DEBUG_LINE }, 0x200 },
	};
	struct world w;

	(void)state;
	world_prepare(&w);
	world_open(&w, 1);
	struct wmk_session *session = world_session(&w, "s");
	struct wmk_session_channel *channel = world_add(session, "ch", 0, NULL);

	proc_start(0, 1, WORLD_ALL);
	world_start(&w, session);
	assert_null(proc_channel(1, 0));         /* no matching rule, no rings */
	for (unsigned i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		uint32_t is = enabled_by(&w, session, channel, &table[i].rule);

		if (is != table[i].enabled)
			fail_msg("rule %u, %s: %#x instead of %#x", i, table[i].rule.pattern, is, table[i].enabled);
		/* events 8 and 9 have one class */
		const unsigned distinct = (unsigned)__builtin_popcount((is & ~0x200u) | (is >> 1 & 0x100));

		assert_int_equal(wmk_tracing_fitting(w.tracing, &table[i].rule), distinct);
	}
	/* events that differ only in the level share an id; with other fields they do not */
	assert_int_equal(enabled_by(&w, session, channel, &table[0].rule), WORLD_ALL);
	assert_int_equal(proc_channel(1, 0)->ids[8], proc_channel(1, 0)->ids[9]);
	assert_int_not_equal(proc_channel(1, 0)->ids[0], proc_channel(1, 0)->ids[10]);
	assert_int_equal(w.ids_given, WORLD_EVENTS - 1);
	world_destroy(&w, session);
	proc_kill(1);
	world_close(&w);
}

/* Rules are disabled and enabled again, several at once; invalid rules are refused. */
static void test_rules_are_disabled_and_enabled_again(void **state)
{
	static const struct wmk_ctl_rule shop = { .pattern = "shop" },
					 severe = { .pattern = "shop",
						    .level_op = WMK_LEVEL_AT_LEAST,
						    .level = WAYMARK_LEVEL_WARNING },
					 net = { .pattern = "net:?x" };
	struct wmk_ctl_rule bad = { .pattern = "*", .level_op = WMK_LEVEL_EXACTLY, .level = WAYMARK_LEVEL_DEBUG + 1 };
	struct world w;

	(void)state;
	world_prepare(&w);
	world_open(&w, 1);
	struct wmk_session *s = world_session(&w, "s");
	struct wmk_session_channel *channel = world_add(s, "ch", 0, NULL);

	proc_start(0, 1, WORLD_ALL);
	world_start(&w, s);
	world_locked(s, assert_int_equal(wmk_session_rule_add(channel, &shop), 0);
		     assert_int_equal(wmk_session_rule_add(channel, &severe), 0);
		     assert_int_equal(wmk_session_rule_add(channel, &net), 0));
	world_update(&w, s);
	assert_int_equal(proc_enabled(1, 0), 0x41f);
	world_locked(s, assert_int_equal(wmk_session_rule_disable(channel, "net:?x"), 1);
		     assert_int_equal(wmk_session_rule_disable(channel, "net:?x"), 0);
		     assert_int_equal(wmk_session_rule_disable(channel, "n*"), 0));
	world_update(&w, s);
	assert_int_equal(proc_enabled(1, 0), 0x407);
	/* disable all rules with a pattern; enable one of them again, twice, which counts once */
	world_locked(s, assert_int_equal(wmk_session_rule_disable(channel, "shop"), 2);
		     assert_int_equal(wmk_session_rule_add(channel, &severe), 0);
		     assert_int_equal(wmk_session_rule_add(channel, &severe), 0));
	world_update(&w, s);
	assert_int_equal(proc_enabled(1, 0), 0x006);
	assert_int_equal(wmk_session_channel_options(channel)->rules.n, 3);
	world_locked(s, assert_int_equal(wmk_session_rule_disable(channel, NULL), 1));
	world_update(&w, s);
	assert_int_equal(proc_enabled(1, 0), 0);
	assert_int_equal(wmk_session_lock(s), 0);
	assert_int_equal(wmk_session_rule_add(channel, &bad), -EINVAL);
	world_words("log levels");
	bad = (struct wmk_ctl_rule){ .pattern = "*", .level_op = WMK_LEVEL_BETWEEN, .level = 6, .level_to = 5 };
	assert_int_equal(wmk_session_rule_add(channel, &bad), -EINVAL);
	bad = (struct wmk_ctl_rule){ .pattern = "*", .level_op = WMK_LEVEL_BETWEEN + 1 };
	assert_int_equal(wmk_session_rule_add(channel, &bad), -EINVAL);
	bad = (struct wmk_ctl_rule){ .pattern = "a[" };
	assert_int_equal(wmk_session_rule_add(channel, &bad), -EINVAL);
	world_words("[");
	bad = (struct wmk_ctl_rule){ .pattern = NULL };
	assert_int_equal(wmk_session_rule_add(channel, &bad), -EINVAL);
	bad = (struct wmk_ctl_rule){ .pattern = "*", .exclusions = { &bad.pattern, 65 } };
	assert_int_equal(wmk_session_rule_add(channel, &bad), -E2BIG);
	wmk_session_unlock(s);
	/* later events, and unregistered ones */
	world_locked(s, assert_int_equal(wmk_session_rule_add(channel, &shop), 0));
	world_update(&w, s);
	proc_start(0, 2, 0x08);
	assert_null(proc_channel(2, 0));
	assert_int_equal(proc_bid(2, PROC_EVENTS, 0x15), 0);
	assert_int_equal(proc_enabled(2, 0), 0x05);
	assert_int_equal(proc_bid(2, PROC_GONE, 0), 0);
	world_locked(s, wmk_session_rule_disable(channel, NULL));
	world_update(&w, s);             /* nothing is sent about unregistered events */
	assert_int_equal(proc_enabled(2, 0), 0);
	world_locked(s, assert_int_equal(wmk_session_rule_add(channel, &shop), 0));
	world_update(&w, s);
	assert_int_equal(proc_enabled(2, 0), 0x04);
	wmk_session_put(s);
	proc_kill(1);
	proc_kill(2);
	world_close(&w);
}

/* ── channels ────────────────────────────────────────────────────────────────────────────────────────── */

static void event_is_recorded_in_first_enabled_channel_that_selects_it(void **state)
{
	struct wmk_session_channel *found;
	struct world w;

	(void)state;
	world_prepare(&w);
	world_open(&w, 1);
	struct wmk_session *s = world_session(&w, "s");

	assert_int_equal(wmk_session_lock(s), 0);
	assert_int_equal(wmk_session_channel_find(s, &user, "", &found), -ENOENT);
	assert_int_equal(wmk_session_start(s), -ENODATA);
	wmk_session_unlock(s);
	struct wmk_session_channel *one = world_add(s, "one", 0, "shop:*");

	world_start(&w, s);
	proc_start(0, 1, WORLD_ALL);
	assert_int_equal(proc_enabled(1, 0), 0x407);
	/* a second channel while recording: an event stays in the first channel that selects it */
	struct wmk_session_channel *two = world_add(s, "two", 1, "*");

	assert_null(proc_channel(1, 1));
	world_update(&w, s);
	assert_int_equal(proc_enabled(1, 0), 0x407);
	assert_int_equal(proc_enabled(1, 1), WORLD_ALL & ~0x407u);
	world_locked(s, wmk_session_channel_switch(one, false));
	world_update(&w, s);
	assert_int_equal(proc_enabled(1, 0), 0);
	assert_int_equal(proc_enabled(1, 1), WORLD_ALL);
	world_locked(s, wmk_session_channel_switch(one, true); wmk_session_channel_switch(two, false));
	world_update(&w, s);
	assert_int_equal(proc_enabled(1, 0), 0x407);
	assert_int_equal(proc_enabled(1, 1), 0);
	assert_int_equal(wmk_session_lock(s), 0);
	assert_int_equal(wmk_session_channel_find(s, &user, "two", &found), 0);
	assert_ptr_equal(found, two);
	assert_int_equal(wmk_session_channel_find(s, &user, NULL, &found), -ENOTUNIQ);
	assert_int_equal(wmk_session_channel_find(s, &user, "three", &found), -ENOENT);
	world_words("three");
	assert_int_equal(wmk_session_channel_find(s, &(struct wmk_ctl_domain){ .kind = WMK_DOMAIN_PID, .pid = 5 },
						  "one", &found),
			 -ENOENT);
	assert_int_equal(wmk_session_context_add(two, "nonsense"), -EINVAL);
	assert_int_equal(wmk_session_start(s), -EALREADY);
	wmk_session_unlock(s);
	struct wmk_session_channel *three = world_add(s, "three", 2, "net");

	world_locked(s, assert_int_equal(wmk_session_context_add(three, "vpid"), 0);
		     assert_int_equal(wmk_session_context_add(three, "cpu_id"), 0);
		     assert_int_equal(wmk_session_context_add(three, "vpid"), 0));
	world_update(&w, s);
	assert_int_equal(proc_enabled(1, 2), 0x38);
	assert_int_equal(proc_channel(1, 2)->n_contexts, 2);
	assert_int_equal(wmk_session_channel_options(three)->contexts.n, 2);
	world_destroy(&w, s);
	proc_kill(1);
	world_close(&w);
}

/* Channel options: invalid ones are refused with a message, sizes are rounded, absent ones get defaults. */
static void invalid_channel_options_are_refused_and_absent_ones_get_defaults(void **state)
{
	static const struct {
		struct wmk_ctl_channel options;
		int err;
		const char *words;
	} table[] = {
		{ { .name = "" }, -EINVAL, "name" },
		{ { .name = "a/b" }, -EINVAL, "'/'" },
		{ { .name = ".x" }, -EINVAL, "'.'" },
		{ { .name = "a\n" }, -EINVAL, "control" },
		{ { .name = "x", .settings.mode = 2 }, -EINVAL, "mode" },
		{ { .name = "x", .settings.buffers = 2 }, -EINVAL, "buffers" },
		{ { .name = "x", .domain.kind = 4 }, -EINVAL, "domain" },
		{ { .name = "x", .domain.kind = WMK_DOMAIN_KERNEL, .settings.buffers = WMK_BUFFERS_PID },
		  -EINVAL,
		  "none per process" },
		{ { .name = "x", .domain.kind = WMK_DOMAIN_KERNEL, .settings.blocking_us = 5 }, -EINVAL, "blocking" },
		{ { .name = "x", .settings.subbuf_size = (1u << 30) + 1 }, -EINVAL, "sub-buffers" },
		{ { .name = "x", .settings.n_subbufs = UINT64_MAX }, -EINVAL, "sub-buffers" },
		{ { .name = "x", .settings.blocking_us = -2 }, -EINVAL, "blocking" },
		{ { .name = "x", .settings.mode = WMK_MODE_OVERWRITE, .settings.blocking_us = 1 },
		  -EINVAL,
		  "overwrite mode" },
		{ { .name = "x", .settings.field_limit = 15 }, -EINVAL, "limit" },
		{ { .name = "x", .settings.field_limit = 65537 }, -EINVAL, "limit" },
		{ { .name = "x", .settings.tracefile_count = 1 }, -EINVAL, "--tracefile-size" },
		{ { .name = "x", .settings.subbuf_size = 8192, .settings.tracefile_size = 4096 },
		  -EINVAL,
		  "--tracefile-size" },
		{ { .name = "x", .domain.kind = WMK_DOMAIN_EXEC }, -EINVAL, "executable" },
		{ { .name = "x", .domain.kind = WMK_DOMAIN_PID }, -EINVAL, "pid" },
		{ { .name = "x", .domain = { .kind = WMK_DOMAIN_PID, .pid = 1ull << 40 } }, -EINVAL, "pid" },
	};
	struct wmk_session_channel *channel;
	struct world w;

	(void)state;
	world_prepare(&w);
	world_open(&w, 1);
	struct wmk_session *s = world_session(&w, "s");

	assert_int_equal(wmk_session_lock(s), 0);
	for (unsigned i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		wmk_error_clear();
		if (wmk_session_channel_add(s, &table[i].options, &channel) != table[i].err)
			fail_msg("option %u is not refused", i);
		world_words(table[i].words);
	}
	assert_int_equal(wmk_session_channel_add(s,
						 &(struct wmk_ctl_channel){ .name = "x",
									    .settings.subbuf_size = 5000,
									    .settings.n_subbufs = 1,
									    .settings.mode = WMK_MODE_OVERWRITE },
						 &channel),
			 0);
	assert_int_equal(wmk_session_channel_options(channel)->settings.subbuf_size, 8192);
	assert_int_equal(wmk_session_channel_options(channel)->settings.n_subbufs, 4);
	assert_true(wmk_session_channel_options(channel)->enabled);
	assert_int_equal(wmk_session_channel_add(s, &(struct wmk_ctl_channel){ .name = "y" }, &channel), 0);
	assert_int_equal(wmk_session_channel_options(channel)->settings.subbuf_size, 1u << 20);
	assert_int_equal(wmk_session_channel_options(channel)->settings.n_subbufs, 8);
	assert_int_equal(wmk_session_channel_options(channel)->settings.field_limit, 65536);
	assert_int_equal(wmk_session_channel_add(s,
						 &(struct wmk_ctl_channel){
							 .name = "y", .domain = { .kind = WMK_DOMAIN_PID, .pid = 7 } },
						 &channel),
			 -EEXIST);
	world_words("'y'");
	wmk_session_unlock(s);
	wmk_session_put(s);
	world_close(&w);
}

/* ── limits ──────────────────────────────────────────────────────────────────────────────────────────── */

static void assert_create(struct world *w, struct wmk_session_options options, int err, const char *words)
{
	struct wmk_session *session;

	wmk_error_clear();
	options.settings.no_statedump = true;
	assert_int_equal(wmk_session_create(w->tracing, &options, &session), err);
	if (err)
		world_words(words);
	else
		wmk_session_put(session);
}

static void test_sessions_channels_and_rules_are_limited(void **state)
{
	struct wmk_session_channel *channel;
	char words[320];
	struct world w;

	(void)state;
	world_prepare(&w);
	w.options.max_sessions = 2;
	w.options.max_channels = 3;
	w.options.max_rules = 2;
	w.options.max_ring_bytes = (uint64_t)sysconf(_SC_NPROCESSORS_CONF) * 4096 * 2 * 2;       /* for two channels */
	world_open(&w, 1);
	struct wmk_session *s = world_session(&w, "s"), *t = world_session(&w, "t");
	const struct wmk_session_options more = { .name = "u", .path = "/x", .uid = getuid(),
						  .settings.no_statedump = true };

	assert_create(&w, more, -E2BIG, "the limit is 2");
	/* a session of another user */
	assert_create(&w, (struct wmk_session_options){ .name = "v", .path = "/v", .uid = getuid() + 1 }, 0, "");
	/* may have the same name */
	assert_create(&w, (struct wmk_session_options){ .name = "s", .path = "/s", .uid = getuid() + 1 }, 0, "");
	assert_create(&w, (struct wmk_session_options){ .name = "w", .path = "/w", .uid = getuid() + 1 }, -E2BIG,
		      "limit");
	assert_create(&w, (struct wmk_session_options){ .name = "twin", .path = "/t", .uid = getuid() + 2 }, 0, "");
	assert_create(&w, (struct wmk_session_options){ .name = "twin", .path = "/t2", .uid = getuid() + 2 }, -EEXIST,
		      "'twin'");
	assert_create(&w, (struct wmk_session_options){ .name = "a/b", .path = "/x" }, -EINVAL, "'/'");
	assert_create(&w, (struct wmk_session_options){ .name = "", .path = "/x" }, -EINVAL, "name");
	assert_create(&w, (struct wmk_session_options){ .name = "x", .path = "x" }, -EINVAL, "path");
	world_destroy(&w, t);
	assert_create(&w, more, 0, "");          /* below the limit again */
	struct wmk_session_channel *one = world_add(s, "one", 0, "shop");

	world_add(s, "two", 1, "net");
	world_add(s, "three", 2, "disk");
	assert_int_equal(wmk_session_lock(s), 0);
	const struct wmk_ctl_channel four = world_channel_options("four", 3);

	assert_int_equal(wmk_session_channel_add(s, &four, &channel), -E2BIG);
	world_words("limit");
	assert_int_equal(wmk_session_rule_add(one, &(struct wmk_ctl_rule){ .pattern = "a" }), 0);
	assert_int_equal(wmk_session_rule_add(one, &(struct wmk_ctl_rule){ .pattern = "b" }), -E2BIG);
	world_words("limit");
	assert_int_equal(wmk_session_rule_add(one, &(struct wmk_ctl_rule){ .pattern = "a" }), 0);
	wmk_session_unlock(s);
	/* a channel without memory is not recorded and is reported once; others are not affected */
	proc_start(0, 1, WORLD_ALL);
	world_start(&w, s);
	assert_int_equal(proc_enabled(1, 0), 0x407);
	assert_int_equal(proc_enabled(1, 1), 0x38);
	assert_null(proc_channel(1, 2));
	assert_int_equal(wmk_session_lock(s), 0);
	assert_int_equal(wmk_session_trouble(s, words, sizeof(words)), -ENOBUFS);
	assert_non_null(strstr(words, "the limit is"));
	assert_non_null(strstr(words, "--subbuf-size"));
	wmk_session_unlock(s);
	world_destroy(&w, s);
	proc_kill(1);
	world_close(&w);
}

#define CREATORS 4
#define CREATED 200

struct creator {
	pthread_t thread;
	struct world *w;
	pthread_barrier_t *barrier;
	unsigned number;
	bool one_place;                  /* in each turn, all threads use the same path */
	int made, refused;
};

static void *create_run(void *data)
{
	struct creator *c = data;
	char name[16], path[24];

	wmk_tracing_thread_begin();
	for (unsigned i = 0; i < CREATED; i++) {
		snprintf(name, sizeof(name), "s%u-%u", c->number, i);
		snprintf(path, sizeof(path), "/x/%u-%u", c->one_place ? 0 : c->number, i);
		const struct wmk_session_options options = { .name = name, .path = path, .uid = getuid(),
							     .settings.no_statedump = true };
		struct wmk_session *session;
		pthread_barrier_wait(c->barrier);
		int err = wmk_session_create(c->w->tracing, &options, &session);

		if (err == 0)
			wmk_session_put(session);
		c->made += err == 0;
		c->refused += err == (c->one_place ? -EBUSY : -E2BIG);
	}
	wmk_tracing_thread_end();
	return NULL;
}

static void create_at_once(struct world *w, bool one_place, int *made, int *refused)
{
	struct creator creators[CREATORS];
	pthread_barrier_t barrier;

	pthread_barrier_init(&barrier, NULL, CREATORS);
	for (unsigned i = 0; i < CREATORS; i++) {
		creators[i] = (struct creator){ .w = w, .barrier = &barrier, .number = i, .one_place = one_place };
		assert_int_equal(pthread_create(&creators[i].thread, NULL, create_run, &creators[i]), 0);
	}
	*made = *refused = 0;
	for (unsigned i = 0; i < CREATORS; i++) {
		pthread_join(creators[i].thread, NULL);
		*made += creators[i].made;
		*refused += creators[i].refused;
	}
	pthread_barrier_destroy(&barrier);
}

/* Sessions are created concurrently, up to the limit. */
static void concurrent_session_creations_respect_the_limit(void **state)
{
	int made, refused;
	struct world w;

	(void)state;
	world_prepare(&w);
	w.options.max_sessions = 10;
	world_open(&w, 1);
	create_at_once(&w, false, &made, &refused);
	assert_int_equal(made, 10);
	assert_int_equal(refused, CREATORS * CREATED - 10);
	world_close(&w);
	world_prepare(&w);
	w.options.max_sessions = 2 * CREATED;
	world_open(&w, 1);
	create_at_once(&w, true, &made, &refused);
	assert_int_equal(made, CREATED);
	assert_int_equal(refused, (CREATORS - 1) * CREATED);
	world_close(&w);
}

/* One session writes to a directory. An error names the other session only to users that may see it. */
static void test_path_of_another_session_is_refused(void **state)
{
	const uid_t uid = getuid() + 1;
	struct world w;

	(void)state;
	world_prepare(&w);
	world_open(&w, 1);
	struct wmk_session *s = world_session(&w, "s");

	assert_create(&w, (struct wmk_session_options){ .name = "hers", .path = "/hers", .uid = uid }, 0, "");
	assert_create(&w, (struct wmk_session_options){ .name = "t", .path = "/hers", .uid = uid }, -EBUSY,
		      "session 'hers' has its trace in /hers");
	assert_create(&w, (struct wmk_session_options){ .name = "hers", .path = "/hers", .uid = uid }, -EEXIST,
		      "'hers' exists already");
	assert_create(&w, (struct wmk_session_options){ .name = "t", .path = "/hers", .uid = uid + 1 }, -EBUSY,
		      "a session of another user");
	assert_null(strstr(wmk_error_get(0), "session '"));
	assert_create(&w, (struct wmk_session_options){ .name = "hers", .path = "/hers", .uid = uid + 1 }, -EBUSY,
		      "a session of another user");
	if (getuid() == 0)
		assert_create(&w, (struct wmk_session_options){ .name = "t", .path = "/hers" }, -EBUSY,
			      "session 'hers' of user 1 has its trace");
	assert_create(&w, (struct wmk_session_options){ .name = "t", .path = "/nowhere/s", .uid = getuid() }, -EBUSY,
		      "session 's'");
	world_destroy(&w, s);
	assert_create(&w, (struct wmk_session_options){ .name = "t", .path = "/nowhere/s", .uid = getuid() }, 0, "");
	world_close(&w);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_sessions_do_not_affect_each_other, procs_kill),
		cmocka_unit_test_teardown(event_rules_select_events_by_pattern_and_level, procs_kill),
		cmocka_unit_test_teardown(test_rules_are_disabled_and_enabled_again, procs_kill),
		cmocka_unit_test_teardown(event_is_recorded_in_first_enabled_channel_that_selects_it, procs_kill),
		cmocka_unit_test_teardown(invalid_channel_options_are_refused_and_absent_ones_get_defaults, procs_kill),
		cmocka_unit_test_teardown(test_sessions_channels_and_rules_are_limited, procs_kill),
		cmocka_unit_test_teardown(concurrent_session_creations_respect_the_limit, procs_kill),
		cmocka_unit_test_teardown(test_path_of_another_session_is_refused, procs_kill),
	};

	procs_begin(argc, argv);
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	procs_end();
	return failed;
}
