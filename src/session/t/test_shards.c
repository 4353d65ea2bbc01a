/* SPDX-License-Identifier: MIT */
/*
 * test_shards.c - commands from several threads on several shards, while applications register and end. In the end each
 * application has received what a simple model predicts.
 */
#include <errno.h>
#include <fnmatch.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/error.h"
#include "session/apps/app.h"
#include "world.h"

/* ── the model ───────────────────────────────────────────────────────────────────────────────────────── */

#define NAMES 5u
#define CHANNELS 3u
#define RULES 9u
#define PEOPLE 9u
#define STOPPED 9u                   /* the application that is stopped now and then */
#define THREADS 4u
#define PHASES 5u

static const char *const not_paid[] = { "*:paid", "twin" };
static const struct wmk_ctl_rule rules[RULES] = {
	{ .pattern = "*" },
	{ .pattern = "shop" },
	{ .pattern = "shop:*", .exclusions = { (void *)(uintptr_t)not_paid, 1 } },
	{ .pattern = "*", .level_op = WMK_LEVEL_AT_LEAST, .level = WAYMARK_LEVEL_ERR },
	{ .pattern = "n?t:[rd]*" },
	{ .pattern = "*", .level_op = WMK_LEVEL_EXACTLY, .level = WAYMARK_LEVEL_INFO },
	{ .pattern = "*",
	  .level_op = WMK_LEVEL_BETWEEN,
	  .level = WAYMARK_LEVEL_WARNING,
	  .level_to = WAYMARK_LEVEL_NOTICE },
	{ .pattern = "*", .exclusions = { (void *)(uintptr_t)not_paid, 2 } },
	{ .pattern = "disk:write" },
};

struct model_channel {
	bool is, enabled;
	unsigned order;
	uint32_t rules;                  /* enabled ones, as bits */
};

/* The expected state of the session with this name. Protected by its lock and the lock of the model. */
struct model {
	bool active, tracked;
	unsigned n;
	struct model_channel channels[CHANNELS];
};

static struct {
	struct world w;
	pthread_mutex_t lock;
	struct model models[NAMES];
	_Atomic unsigned left;           /* threads */
	_Atomic(const char *) wrong;
	_Atomic unsigned updates;
	char exec[256];
} storm;

static bool holds(const char *pattern, const struct world_event *e)
{
	char full[64];

	snprintf(full, sizeof(full), "%s:%s", e->provider, e->name);
	return fnmatch(pattern, full, 0) == 0 || (!strchr(pattern, ':') && fnmatch(pattern, e->provider, 0) == 0);
}

static bool rule_means(const struct wmk_ctl_rule *rule, const struct world_event *e)
{
	const uint32_t from =
		rule->level_op == WMK_LEVEL_EXACTLY || rule->level_op == WMK_LEVEL_BETWEEN ? rule->level : 0;
	const uint32_t to = rule->level_op == WMK_LEVEL_BETWEEN ? rule->level_to
			    : rule->level_op == WMK_LEVEL_ANY   ? 99
								: rule->level;
	bool means = holds(rule->pattern, e) && e->level >= from && e->level <= to;

	for (uint32_t i = 0; i < rule->exclusions.n; i++)
		means = means && !holds(((const char *const *)rule->exclusions.items)[i], e);
	return means;
}

/* The first channel is for all applications, the second for this program by name, the third has buffers per process. */
static uint32_t model_wants(const struct model *m, unsigned c)
{
	uint32_t events = 0;

	for (unsigned e = 0; e < WORLD_EVENTS; e++)
		for (unsigned r = 0; r < RULES; r++)
			events |= (uint32_t)(m->channels[c].rules >> r & 1 && rule_means(&rules[r], &world_events[e]))
				  << e;
	return m->channels[c].is && m->channels[c].enabled && m->active && m->tracked ? events : 0;
}

static uint32_t model_enables(const struct model *m, unsigned c, uint32_t has)
{
	const unsigned other = 2 - c;    /* channels 0 and 2 have the same domain */
	uint32_t wants = model_wants(m, c);

	if (c != 1 && m->channels[other].is && m->channels[other].order < m->channels[c].order)
		wants &= ~model_wants(m, other);
	return wants & has;
}

/* ── the storm ───────────────────────────────────────────────────────────────────────────────────────── */

static unsigned dice(uint64_t *seed, unsigned n)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(*seed >> 33) % n;
}

static void check(bool right, const char *words)
{
	const char *none = NULL;

	if (!right)
		atomic_compare_exchange_strong(&storm.wrong, &none, words);
}

static void storm_update(struct wmk_session *session)
{
	struct wmk_list unanswered = { NULL, 0 };
	struct wmk_arena arena = { 0 };

	check(wmk_tracing_update(storm.w.tracing, session, 10000, &unanswered, &arena) == 0, "an update failed");
	for (uint32_t i = 0; i < unanswered.n; i++)
		check(strcmp(((const struct wmk_ctl_app *)unanswered.items)[i].name, "proc 9") == 0,
		      "an application has not answered in 10 s");
	wmk_arena_free(&arena);
	atomic_fetch_add(&storm.updates, 1);
}

static void storm_create(unsigned name)
{
	const char text[] = { (char)('a' + name), '\0' }, path[] = { '/', (char)('a' + name), '\0' };
	const struct wmk_session_options options = { .name = text, .path = path, .uid = getuid(), .gid = getgid(),
						     .settings.no_statedump = true };
	struct wmk_session *session;
	int err = wmk_session_create(storm.w.tracing, &options, &session);

	check(err == 0 || err == -EEXIST, "a session cannot be made");
	if (err == 0)
		wmk_session_put(session);
}

static void storm_add(struct wmk_session *session, struct model *m, unsigned name, unsigned c, uint64_t *seed)
{
	const char *const names[CHANNELS] = { "all", "mine", "each" };
	struct wmk_ctl_channel options = world_channel_options(names[c], name * 4 + c);
	struct wmk_session_channel *channel;
	unsigned first = dice(seed, RULES);

	options.rules = (struct wmk_list){ (void *)(uintptr_t)&rules[first], 1 };
	if (c == 1)
		options.domain = (struct wmk_ctl_domain){ .kind = WMK_DOMAIN_EXEC, .exec = storm.exec };
	if (c == 2)
		options.settings.buffers = WMK_BUFFERS_PID;
	int err = wmk_session_channel_add(session, &options, &channel);

	check(err == (m->channels[c].is ? -EEXIST : 0), "adding a channel");
	if (err == 0)
		m->channels[c] =
			(struct model_channel){ .is = true, .enabled = true, .order = m->n++, .rules = 1u << first };
}

static void storm_rule(struct wmk_session_channel *channel, struct model_channel *mc, uint64_t *seed)
{
	unsigned r = dice(seed, RULES), how = dice(seed, 4);

	if (how < 2) {
		check(wmk_session_rule_add(channel, &rules[r]) == 0, "adding a rule");
		mc->rules |= 1u << r;
		return;
	}
	unsigned n = 0;

	for (unsigned i = 0; i < RULES; i++)
		if (mc->rules >> i & 1 && strcmp(rules[i].pattern, rules[r].pattern) == 0) {
			mc->rules &= ~(1u << i);
			n++;
		}
	check(wmk_session_rule_disable(channel, rules[r].pattern) == n, "disabling a rule");
}

static void storm_track(struct wmk_session *session, struct model *m, bool tracked)
{
	struct wmk_ctl_track track = { .kind = WMK_TRACK_UID, .all = true };

	check(wmk_session_track(session, &track, tracked) == 0, "tracking");
	m->tracked = tracked;
}

static void storm_start_stop(struct wmk_session *session, struct model *m, bool start)
{
	int err = start ? wmk_session_start(session) : wmk_session_stop(session);

	if (start)
		check(err == (m->active ? -EALREADY : m->n == 0 ? -ENODATA : 0), "starting");
	else
		check(err == (m->active ? 0 : -EALREADY), "stopping");
	m->active = start ? m->active || m->n > 0 : false;
}

/* Locked. True: the session was destroyed. */
static bool storm_change(struct wmk_session *session, unsigned name, uint64_t *seed)
{
	struct model *m = &storm.models[name];
	unsigned what = dice(seed, 20), c = dice(seed, CHANNELS);
	struct wmk_session_channel *channel = NULL;

	for (unsigned i = 0; i < session->n_channels; i++)
		if (session->channels[i]->is.settings.field_limit == 16 + name * 4 + c)
			channel = session->channels[i];
	check((channel != NULL) == m->channels[c].is, "a channel that is not there, or should not be");
	if (what == 0) {
		*m = (struct model){ .tracked = true };
		wmk_session_destroy(session);
		return true;
	}
	if (what < 4)
		storm_start_stop(session, m, dice(seed, 4) != 0);
	else if (what < 6)
		storm_track(session, m, dice(seed, 6) != 0);
	else if (!channel || what < 8)
		storm_add(session, m, name, c, seed);
	else if (what < 12)
		wmk_session_channel_switch(channel, m->channels[c].enabled = dice(seed, 4) != 0);
	else
		storm_rule(channel, &m->channels[c], seed);
	return false;
}

static void storm_command(unsigned name, uint64_t *seed)
{
	const char text[] = { (char)('a' + name), '\0' };
	struct wmk_session *session = wmk_session_get(storm.w.tracing, getuid(), text);
	int err = session ? wmk_session_lock(session) : -ENOENT;

	if (!session)
		storm_create(name);
	check(err == 0 || err == -ENOENT, "a lock");
	if (err == 0 && dice(seed, 16) == 0) {
		wmk_session_reap(session);       /* releases the lock meanwhile, so not under the model's lock */
		if (session->gone) {
			wmk_session_unlock(session);
			err = -ENOENT;
		}
	}
	if (err == 0) {
		pthread_mutex_lock(&storm.lock);
		bool gone = storm_change(session, name, seed);

		pthread_mutex_unlock(&storm.lock);
		wmk_session_unlock(session);
		storm_update(session);
		if (gone)
			check(wmk_session_finish(session, NULL, NULL) == 0, "finishing");
	}
	wmk_session_put(session);
}

static unsigned rounds(void)
{
	const char *percent = getenv("WMK_ROUNDS_PERCENT");

	return 50 * (percent ? (unsigned)atoi(percent) : 20) / 100 + 5;
}

static void *storm_run(void *data)
{
	uint64_t seed = *(uint64_t *)data;

	wmk_tracing_thread_begin();
	for (unsigned i = rounds(); i > 0; i--)
		storm_command(dice(&seed, NAMES), &seed);
	wmk_tracing_thread_end();
	atomic_fetch_sub(&storm.left, 1);
	return NULL;
}

static uint32_t people[PEOPLE + 1];          /* events of each application, 0: it does not run */

/* One application starts, ends, or changes. */
static void weather(uint64_t *seed)
{
	unsigned i = 1 + dice(seed, PEOPLE), what = dice(seed, 8);
	uint32_t events = 1 + dice(seed, WORLD_ALL);

	if (i == STOPPED && people[i]) {
		assert_int_equal(kill(proc_at(i)->pid, what % 2 ? SIGSTOP : SIGCONT), 0);
	} else if (!people[i]) {
		proc_start(0, i, events);
		people[i] = events;
	} else if (what < 2) {
		proc_kill(i);
		people[i] = 0;
	} else if (what < 3) {
		proc_bid(i, PROC_QUIT, 0);
		people[i] = 0;
	} else if (what < 5) {
		assert_int_equal(proc_bid(i, PROC_CONNECT, events), 0);
		people[i] = events;
	} else if (what < 6 && (people[i] & (people[i] - 1))) {
		unsigned gone = (unsigned)__builtin_ctz(people[i]);

		assert_int_equal(proc_bid(i, PROC_GONE, gone), 0);
		people[i] &= ~(1u << gone);
	} else {
		assert_int_equal(proc_bid(i, PROC_EVENTS, events & ~people[i]), 0);
		people[i] |= events;
	}
}

static void storm_compare(unsigned i)
{
	for (unsigned name = 0; name < NAMES; name++)
		for (unsigned c = 0; c < CHANNELS; c++) {
			uint32_t is = proc_enabled(i, name * 4 + c),
				 meant = model_enables(&storm.models[name], c, people[i]);

			if (is != meant)
				fail_msg("program %u, session %c, channel %u: %#x is enabled, %#x is meant", i,
					 'a' + name, c, is, meant);
			for (unsigned other = 1; c != 2 && other < i; other++) {
				const struct proc_channel *a = proc_channel(i, name * 4 + c),
							  *b = proc_channel(other, name * 4 + c);

				for (unsigned e = 0; a && b && e < WORLD_EVENTS; e++)
					if (a->ids[e] != WORLD_NO_ID && b->ids[e] != WORLD_NO_ID)
						assert_int_equal(a->ids[e], b->ids[e]);
			}
		}
}

static void storm_phase(uint64_t *seed)
{
	struct wmk_list apps = { NULL, 0 };
	struct wmk_arena arena = { 0 };
	pthread_t threads[THREADS];
	uint64_t seeds[THREADS];

	atomic_store(&storm.left, THREADS);
	for (unsigned i = 0; i < THREADS; i++) {
		seeds[i] = *seed + i + 1;
		assert_int_equal(pthread_create(&threads[i], NULL, storm_run, &seeds[i]), 0);
	}
	for (unsigned i = 0; atomic_load(&storm.left) > 0; i++) {
		weather(seed);
		if (i % 8 == 0) {
			assert_int_equal(wmk_tracing_list_apps(storm.w.tracing,
							       &(struct wmk_ctl_list_apps){ .events = true,
											    .pattern = "" },
							       (uid_t)-1, (uid_t)-1, &apps, &arena),
					 0);
			apps = (struct wmk_list){ NULL, 0 };
			wmk_arena_free(&arena);
		}
	}
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	if (storm.wrong)
		fail_msg("%s", storm.wrong);
}

/* All applications are registered and updated with all sessions. */
static int storm_settle(void)
{
	struct wmk_session **all = NULL;
	int n = wmk_session_get_all(storm.w.tracing, &all);

	assert_int_equal(kill(proc_at(STOPPED)->pid, SIGCONT), 0);
	for (unsigned i = 1; i <= PEOPLE; i++)
		if (!people[i])
			proc_start(0, i, people[i] = WORLD_ALL);
	for (int i = 0; i < n; i++) {
		world_update(&storm.w, all[i]);
		wmk_session_put(all[i]);
	}
	free(all);
	return n;
}

static void random_concurrent_commands_match_a_reference_model(void **state)
{
	const char *given = getenv("WMK_SEED");
	uint64_t seed = given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL) * 1000 + (uint64_t)getpid() % 1000;
	int n = 0;

	(void)state;
	print_message("WMK_SEED=%llu\n", (unsigned long long)seed);
	world_prepare(&storm.w);
	world_open(&storm.w, 3);
	pthread_mutex_init(&storm.lock, NULL);
	snprintf(storm.exec, sizeof(storm.exec), "%s", strrchr(proc_at(0)->self, '/') + 1);
	for (unsigned i = 0; i < NAMES; i++)
		storm.models[i].tracked = true;
	proc_start(0, STOPPED, people[STOPPED] = WORLD_ALL);
	for (unsigned phase = 0; phase < PHASES; phase++) {
		storm_phase(&seed);
		n = storm_settle();
		for (unsigned i = 1; i <= PEOPLE; i++)
			storm_compare(i);
	}
	print_message("%u updates, %d sessions left, %u ids\n", storm.updates, n, storm.w.ids_given);
	procs_kill(NULL);
	world_close(&storm.w);
	pthread_mutex_destroy(&storm.lock);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(random_concurrent_commands_match_a_reference_model, procs_kill),
	};

	procs_begin(argc, argv);
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	procs_end();
	return failed;
}
