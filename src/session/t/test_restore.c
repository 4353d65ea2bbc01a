/* SPDX-License-Identifier: MIT */
/*
 * test_restore.c - the next daemon restores a session: the same rings and the same ids, for applications that still
 * run.
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
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "ring/record_header.h"
#include "schema/schema.h"
#include "session/apps/app.h"
#include "session/model/shard_table.h"
#include "world.h"

#define KEPT_MAX 8u
#define IDS_MAX 64u

/* The state that the first daemon leaves. */
static struct {
	struct wmk_arena arena;
	struct wmk_ctl_session session;
	struct {
		struct wmk_ctl_channel is;
		uint32_t stream_id;
		bool own;
	} channels[KEPT_MAX];
	struct {
		struct wmk_restored_rings is;
		int fd;
	} rings[KEPT_MAX];
	struct {
		uint64_t rings_id;
		uint32_t id;
		unsigned char bytes[512];
		long len;
	} ids[IDS_MAX];
	struct wmk_identity identities[KEPT_MAX];
	unsigned n_channels, n_rings, n_ids, n_identities;
	uint64_t last_rings;
} kept;

static int keep_channel(void *data, const struct wmk_ctl_channel *is, uint32_t stream_id, bool own)
{
	(void)data;
	kept.channels[kept.n_channels].stream_id = stream_id;
	kept.channels[kept.n_channels].own = own;
	return wmk_object_copy(&wmk_ctl_channel_object, is, &kept.channels[kept.n_channels++].is, &kept.arena);
}

/* Keep the descriptor of the rings, as a consumer daemon does. */
static int keep_rings(void *data, const struct wmk_restored_rings *is)
{
	struct world *w = data;

	kept.rings[kept.n_rings].is = *is;
	kept.rings[kept.n_rings].is.sub = wmk_arena_text(&kept.arena, is->sub);
	kept.last_rings = is->id > kept.last_rings ? is->id : kept.last_rings;
	for (const struct world_rings *rings = w->rings; rings; rings = rings->next)
		if (rings->id == is->id)
			kept.rings[kept.n_rings].fd = fcntl(rings->set_fd, F_DUPFD_CLOEXEC, 200);
	kept.n_rings++;
	return 0;
}

static int keep_id(void *data, struct wmk_session *session, uint64_t rings_id, uint32_t id,
		   const struct wmk_event_class *event)
{
	(void)data, (void)session;
	if (kept.n_ids == IDS_MAX)
		abort();
	kept.ids[kept.n_ids].rings_id = rings_id;
	kept.ids[kept.n_ids].id = id;
	kept.ids[kept.n_ids].len = wmk_event_encode(event, kept.ids[kept.n_ids].bytes, sizeof(kept.ids[0].bytes), NULL);
	kept.n_ids++;
	return 0;
}

static void keep_identity(void *data, const struct wmk_identity *is)
{
	struct world *w = data;

	pthread_mutex_lock(&w->lock);
	if (kept.n_identities == KEPT_MAX)
		abort();
	kept.identities[kept.n_identities++] = *is;
	pthread_mutex_unlock(&w->lock);
}

static void forget(void)
{
	for (unsigned i = 0; i < kept.n_rings; i++)
		close(kept.rings[i].fd);
	wmk_arena_free(&kept.arena);
	memset(&kept, 0, sizeof(kept));
}

/* A session with one channel of each buffer scheme, one disabled rule, and applications 1 and 2. */
static void first_daemon(struct world *w)
{
	struct wmk_ctl_channel all = world_channel_options("all", 0), each = world_channel_options("each", 1);
	static const char *contexts[] = { "vtid", "vpid" };
	static uint64_t uids[1];

	world_prepare(w);
	w->options.on_id = keep_id;
	w->options.on_identity = keep_identity;
	world_open(w, 2);
	struct wmk_session *s = world_session(w, "s");

	each.settings.buffers = WMK_BUFFERS_PID;
	all.contexts = (struct wmk_list){ contexts, 2 };
	struct wmk_session_channel *ch = world_channel(s, &all, "shop");

	world_channel(s, &each, "net");
	uids[0] = getuid();
	assert_int_equal(wmk_session_lock(s), 0);
	assert_int_equal(wmk_session_rule_add(ch, &(struct wmk_ctl_rule){ .pattern = "disk" }), 0);
	assert_int_equal(wmk_session_rule_disable(ch, "disk"), 1);
	assert_int_equal(
		wmk_session_track(s, &(struct wmk_ctl_track){ .kind = WMK_TRACK_UID, .ids = { uids, 1 } }, true), 0);
	wmk_session_unlock(s);
	world_start(w, s);
	proc_start(0, 1, 0x27);
	proc_start(0, 2, 0x32);
	assert_int_equal(wmk_session_lock(s), 0);
	assert_int_equal(wmk_session_describe(s, &kept.session, &kept.arena), 0);
	assert_int_equal(wmk_session_each_channel(s, keep_channel, NULL), 0);
	assert_int_equal(wmk_session_each_rings(s, keep_rings, w), 0);
	wmk_session_unlock(s);
	assert_int_equal(kept.n_channels, 2);
	assert_int_equal(kept.n_rings, 3);
	assert_int_equal(kept.n_ids, 3 + 1 + 2);
	wmk_session_put(s);
}

static int restore_ids(struct wmk_session *session)
{
	int err = 0;

	for (unsigned i = 0; i < kept.n_ids && err == 0; i++) {
		struct wmk_event_class *event;

		assert_int_equal(wmk_event_decode(kept.ids[i].bytes, (size_t)kept.ids[i].len, &event), 0);
		err = wmk_session_restore_id(session, kept.ids[i].rings_id, kept.ids[i].id, event);
	}
	return err;
}

static int restore_begin(struct world *w, const char *name, struct wmk_session **session)
{
	const struct wmk_session_options options = { .name = name, .path = "/nowhere", .uid = getuid(), .gid = getgid(),
						     .settings.no_statedump = true };

	return wmk_session_restore(w->tracing, &options, &kept.session, session);
}

static struct wmk_session *restore(struct world *w)
{
	struct wmk_session *session;

	assert_int_equal(restore_begin(w, "s", &session), 0);
	for (unsigned i = 0; i < kept.n_channels; i++)
		assert_int_equal(wmk_session_restore_channel(session, &kept.channels[i].is, kept.channels[i].stream_id,
							     kept.channels[i].own),
				 0);
	for (unsigned i = 0; i < kept.n_rings; i++)
		if (wmk_session_restore_rings(session, &kept.rings[i].is, kept.rings[i].fd) != 0)
			fail_msg("%s", wmk_error_get(0));
	assert_int_equal(restore_ids(session), 0);
	return session;
}

struct known {
	uint64_t inode;
	uint32_t ids[WORLD_EVENTS];
};

static struct known known(unsigned i, uint32_t key)
{
	struct known is = { .inode = proc_channel(i, key)->inode };

	memcpy(is.ids, proc_channel(i, key)->ids, sizeof(is.ids));
	return is;
}

static void assert_known(unsigned i, uint32_t key, const struct known *was)
{
	struct known is = known(i, key);

	assert_int_equal(is.inode, was->inode);
	assert_memory_equal(is.ids, was->ids, sizeof(is.ids));
}

static void restored_session_keeps_rings_ids_and_rules(void **state)
{
	struct wmk_ctl_session is;
	struct wmk_arena arena = { 0 };
	struct world w, next;
	char sub[200];

	(void)state;
	first_daemon(&w);
	const struct known was[] = { known(1, 0), known(1, 1), known(2, 0), known(2, 1) };

	snprintf(sub, sizeof(sub), "%s", world_rings(&w, "s", "each", "pid/proc_1-")->trace->sub);
	world_close(&w);
	world_prepare(&next);
	next.options.first_rings_id = kept.last_rings;
	world_open(&next, 2);
	struct wmk_session *s = restore(&next);

	assert_null(wmk_session_get(next.tracing, getuid(), "s"));
	assert_int_equal(wmk_session_restore_end(s), 0);
	assert_int_equal(next.rings_open, 3);
	assert_int_equal(next.traces_open, 3);
	assert_true(world_rings(&next, "s", "all", "uid")->restored);
	assert_string_equal(world_rings(&next, "s", "each", "pid/proc_1-")->trace->sub, sub);
	assert_int_equal(world_rings(&next, "s", "all", "uid")->trace->metadata_len, 0);
	/* applications that still run receive what they know */
	strcpy(proc_at(1)->rundir, next.rundir);
	strcpy(proc_at(2)->rundir, next.rundir);
	assert_int_equal(proc_bid(1, PROC_CONNECT, 0x27), 0);
	assert_int_equal(proc_bid(2, PROC_CONNECT, 0x32), 0);
	for (unsigned i = 0; i < 4; i++)
		assert_known(1 + i / 2, i % 2, &was[i]);
	assert_int_equal(next.ids_given, 0);
	assert_int_equal(next.rings_open, 3);
	/* a new event of the same user, and a new application */
	proc_start(0, 3, 0x421);
	assert_int_equal(proc_enabled(3, 0), 0x401);
	assert_int_equal(proc_channel(3, 0)->ids[0], was[0].ids[0]);
	assert_int_equal(proc_channel(3, 0)->ids[10], 3);
	assert_int_equal(proc_channel(3, 0)->n_contexts, 2);
	assert_int_equal(proc_enabled(3, 1), 0x20);
	assert_int_equal(world_rings(&next, "s", "each", "pid/proc_3-")->id, kept.last_rings + 1);
	/* everything is restored */
	assert_int_equal(wmk_session_lock(s), 0);
	assert_int_equal(wmk_session_describe(s, &is, &arena), 0);
	assert_int_equal(is.created, kept.session.created);
	assert_true(is.active && is.started && is.trackers.uid && !is.trackers.pid);
	assert_int_equal(((const uint64_t *)is.trackers.uids.items)[0], getuid());
	const struct wmk_ctl_channel *channels = is.channels.items;

	assert_true(((const struct wmk_ctl_rule *)channels[0].rules.items)[0].enabled);
	assert_false(((const struct wmk_ctl_rule *)channels[0].rules.items)[1].enabled);
	wmk_session_unlock(s);
	wmk_arena_free(&arena);
	/* and the end of a process is detected */
	proc_kill(1);
	world_wait(&next, &next.ended, 1);
	assert_int_equal(wmk_session_lock(s), 0);
	wmk_session_reap(s);
	wmk_session_unlock(s);
	assert_true(world_rings(&next, "s", "each", "pid/proc_1-")->closed);
	world_destroy(&next, s);
	procs_kill(NULL);
	world_close(&next);
	forget();
}

static void rings_of_a_process_that_ended_without_daemon_are_closed(void **state)
{
	struct world w, next;

	(void)state;
	first_daemon(&w);
	world_close(&w);
	proc_kill(2);
	world_prepare(&next);
	next.options.first_rings_id = kept.last_rings;
	world_open(&next, 1);
	struct wmk_session *s = restore(&next);

	assert_int_equal(wmk_session_restore_end(s), 0);
	assert_int_equal(next.ended, 1);
	assert_int_equal(wmk_session_lock(s), 0);
	wmk_session_reap(s);
	wmk_session_unlock(s);
	assert_true(world_rings(&next, "s", "each", "pid/proc_2-")->closed);
	assert_false(world_rings(&next, "s", "each", "pid/proc_1-")->closed);
	assert_int_equal(next.rings_open, 2);
	wmk_session_put(s);
	procs_kill(NULL);
	world_close(&next);
	forget();
}

/* A process ends after the restore and before it registers again: its rings end at the next check. */
static void rings_of_process_that_ends_before_registering_again_are_closed(void **state)
{
	struct wmk_ctl_session is;
	struct wmk_arena arena = { 0 };
	struct world w, next;

	(void)state;
	first_daemon(&w);
	world_close(&w);
	world_prepare(&next);
	next.options.first_rings_id = kept.last_rings;
	world_open(&next, 1);
	struct wmk_session *s = restore(&next);

	assert_int_equal(wmk_session_restore_end(s), 0);
	assert_int_equal(next.ended, 0);
	proc_kill(2);
	assert_int_equal(wmk_session_lock(s), 0);
	assert_int_equal(wmk_session_describe(s, &is, &arena), 0);
	assert_int_equal(next.ended, 1);
	wmk_session_reap(s);
	assert_true(world_rings(&next, "s", "each", "pid/proc_2-")->closed);
	assert_int_equal(next.rings_open, 2);
	wmk_session_unlock(s);
	proc_kill(1);
	assert_int_equal(wmk_session_lock(s), 0);
	assert_int_equal(wmk_session_stop(s), 0);
	assert_int_equal(next.ended, 2);
	assert_int_equal(wmk_session_describe(s, &is, &arena), 0);
	assert_int_equal(next.ended, 2);         /* reported once */
	wmk_session_reap(s);
	assert_int_equal(next.rings_open, 1);
	wmk_session_unlock(s);
	wmk_arena_free(&arena);
	wmk_session_put(s);
	world_close(&next);
	forget();
}

static const struct wmk_identity *identity_of(unsigned i)
{
	for (unsigned k = 0; k < kept.n_identities; k++)
		if (kept.identities[k].pid == proc_at(i)->pid)
			return &kept.identities[k];
	fail_msg("process %u has no identity", i);
	return NULL;
}

/* Claim a ring of the user as the application would. */
static uint64_t *claim(struct waymark_ring_set *set, unsigned ring, uint32_t slot, uint32_t generation)
{
	uint64_t *at = &set->ring[waymark_ring_set_cpus(set) + ring].ctl->claim;

	waymark_ring_set_identity(set, slot, generation);
	*at = set->identity;
	return at;
}

/*
 * Processes that ended while no daemon ran, or before they registered again, lose their claims; living and unknown
 * processes keep theirs.
 */
static void test_claims_of_ended_processes_are_freed(void **state)
{
	struct waymark_ring_set *set = NULL;
	struct wmk_identity lie = { .slot = 1, .generation = 1 };
	struct wmk_ctl_session is;
	struct wmk_arena arena = { 0 };
	struct world w, next;
	uint64_t *claims[4];

	(void)state;
	first_daemon(&w);
	for (unsigned i = 0; i < kept.n_rings && !set; i++)
		if (kept.rings[i].is.pid == 0)
			assert_int_equal(waymark_ring_set_open(kept.rings[i].fd, &set), 0);
	assert_non_null(set);
	const struct wmk_identity one = *identity_of(1), two = *identity_of(2);

	assert_true(one.birth && two.birth && one.slot != two.slot);
	claims[0] = claim(set, 0, one.slot, one.generation);
	claims[1] = claim(set, 1, two.slot, two.generation);
	claims[2] = claim(set, 2, two.slot, two.generation + 1);
	claims[3] = claim(set, 3, 0, 0);
	world_close(&w);
	proc_kill(2);
	world_prepare(&next);
	next.options.first_rings_id = kept.last_rings;
	world_open(&next, 1);
	assert_int_equal(wmk_tracing_earlier_identities(next.tracing, &one), 0);
	assert_int_equal(wmk_tracing_earlier_identities(next.tracing, &two), 0);
	assert_int_equal(wmk_tracing_earlier_identities(next.tracing, &lie), -EINVAL);
	struct wmk_session *s = restore(&next);

	assert_int_equal(wmk_session_restore_end(s), 0);
	assert_int_equal(*claims[1], 0);
	assert_true(*claims[0] && *claims[2] && *claims[3]);
	assert_int_equal(world_rings(&next, "s", "all", "uid")->pokes, 1);
	/* with a new identity it may still hold a claim of the old one, until it has ended */
	strcpy(proc_at(1)->rundir, next.rundir);
	assert_int_equal(proc_bid(1, PROC_CONNECT, 0x27), 0);
	assert_int_equal(wmk_session_lock(s), 0);
	assert_int_equal(wmk_session_describe(s, &is, &arena), 0);
	wmk_session_unlock(s);
	assert_true(*claims[0]);
	proc_kill(1);
	assert_int_equal(wmk_session_lock(s), 0);
	assert_int_equal(wmk_session_describe(s, &is, &arena), 0);
	wmk_session_unlock(s);
	assert_int_equal(*claims[0], 0);
	assert_true(*claims[2] && *claims[3]);
	wmk_arena_free(&arena);
	waymark_ring_set_close(set);
	wmk_session_put(s);
	world_close(&next);
	forget();
}

static void refused(int err, int expected)
{
	if (err != expected)
		fail_msg("%d instead of %d: %s", err, expected, err ? wmk_error_get(0) : "it was taken");
}

static void lie_rings(struct wmk_session *session, struct wmk_restored_rings lie, int fd, int expected)
{
	refused(wmk_session_restore_rings(session, &lie, fd), expected);
}

static void test_invalid_saved_state_is_refused(void **state)
{
	struct wmk_session *session, *other;
	struct wmk_event_class *event;
	struct world w, next;
	char longer[300];

	(void)state;
	first_daemon(&w);
	world_close(&w);
	procs_kill(NULL);
	world_prepare(&next);
	next.options.first_rings_id = kept.last_rings;
	world_open(&next, 1);
	refused(restore_begin(&next, "a/b", &session), -EINVAL);
	refused(restore_begin(&next, "s", &session), 0);
	struct wmk_ctl_channel bad = kept.channels[0].is;

	bad.settings.mode = 7;
	refused(wmk_session_restore_channel(session, &bad, 0, false), -EINVAL);
	refused(wmk_session_restore_channel(session, &kept.channels[0].is, 64, false), -EINVAL);
	refused(wmk_session_restore_channel(session, &kept.channels[0].is, UINT32_MAX, false), -EINVAL);
	/* any free number is accepted */
	refused(wmk_session_restore_channel(session, &kept.channels[0].is, 3, false), 0);
	refused(wmk_session_restore_channel(session, &kept.channels[1].is, 3, false), -EINVAL);
	refused(wmk_session_restore_channel(session, &kept.channels[0].is, 1, false), -EEXIST);
	struct wmk_restored_rings rings = kept.rings[0].is;

	memset(longer, 'a', sizeof(longer) - 1);
	memcpy(longer, "ust/", 4);
	longer[sizeof(longer) - 1] = '\0';
	rings.stream_id = 9;
	lie_rings(session, rings, kept.rings[0].fd, -ENOENT);
	rings.stream_id = 3;
	rings.sub = "ust/../../etc";
	lie_rings(session, rings, kept.rings[0].fd, -EINVAL);
	rings.sub = longer;
	lie_rings(session, rings, kept.rings[0].fd, -EINVAL);
	rings.sub = "/etc";
	lie_rings(session, rings, kept.rings[0].fd, -EINVAL);
	rings.sub = "ust/uid/0/64-bit";
	rings.n_contexts = 7;
	lie_rings(session, rings, kept.rings[0].fd, -EINVAL);
	rings.n_contexts = 2;
	/* rings without a descriptor, or with one that is not a ring set, are awaited; each once */
	struct wmk_restored_rings beside = rings;

	beside.id += 100;
	beside.stream_id += 64;
	lie_rings(session, beside, -1, 0);
	lie_rings(session, beside, -1, -EEXIST);
	beside.id++;
	lie_rings(session, beside, -1, -EEXIST);
	beside.stream_id += 64;
	int memory = memfd_create("lie", MFD_CLOEXEC);

	assert_int_equal(ftruncate(memory, 1 << 20), 0);
	assert_true(wmk_session_restore_rings(session, &beside, memory) < 0);
	close(memory);
	assert_int_equal(wmk_session_awaited(session, NULL, 0), 2);
	assert_int_equal(next.rings_open, 0);
	lie_rings(session, rings, kept.rings[0].fd, 0);
	assert_int_equal(wmk_event_decode(kept.ids[0].bytes, (size_t)kept.ids[0].len, &event), 0);
	refused(wmk_session_restore_id(session, 12345, 0, event), -ENOENT);
	assert_int_equal(wmk_event_decode(kept.ids[0].bytes, (size_t)kept.ids[0].len, &event), 0);
	refused(wmk_session_restore_id(session, rings.id, UINT32_MAX, event), -EINVAL);
	assert_int_equal(wmk_event_decode(kept.ids[0].bytes, (size_t)kept.ids[0].len, &event), 0);
	refused(wmk_session_restore_id(session, rings.id, 7, event), 0);
	/* the name was taken meanwhile: the session ends at once */
	other = world_session(&next, "s");
	refused(wmk_session_restore_end(session), -EEXIST);
	assert_int_equal(next.rings_open + next.traces_open, 0);
	refused(wmk_session_lock(session), -ENOENT);
	wmk_session_put(session);
	wmk_session_put(other);
	world_close(&next);
	forget();
}

/* Empty trackers select no process, not all. Restored rings are charged even above the limit, and uncharged later. */
static void restored_empty_trackers_select_no_process(void **state)
{
	struct wmk_ctl_session is;
	struct wmk_arena arena = { 0 };
	struct world w, next;

	(void)state;
	first_daemon(&w);
	world_close(&w);
	world_prepare(&next);
	next.options.first_rings_id = kept.last_rings;
	next.options.max_ring_bytes = 1;
	world_open(&next, 1);
	kept.session.trackers.gid = true;
	struct wmk_session *s = restore(&next);

	assert_int_equal(wmk_session_restore_end(s), 0);
	assert_int_equal(next.rings_open, 3);
	assert_int_equal(wmk_session_lock(s), 0);
	assert_int_equal(wmk_session_describe(s, &is, &arena), 0);
	assert_true(is.trackers.gid && is.trackers.gids.n == 0 && is.trackers.uids.n == 1 && !is.trackers.pid);
	wmk_session_unlock(s);
	wmk_arena_free(&arena);
	world_destroy(&next, s);
	assert_null(next.tracing->owners);
	procs_kill(NULL);
	world_close(&next);
	forget();
}

/* Identities of the earlier daemon are not given out again: its applications may still hold claims. */
static void identities_of_earlier_daemon_are_not_given_out_again(void **state)
{
	struct wmk_tracing *tracing[2];
	uint32_t slot[2], generation[2];
	struct world w;

	(void)state;
	world_prepare(&w);
	wmk_tracing_thread_begin();
	for (int i = 0; i < 2; i++) {
		assert_int_equal(wmk_tracing_open(&w.options, &tracing[i]), 0);
		assert_int_equal(wmk_slot_claim(tracing[i], &slot[i], &generation[i]), 0);
		wmk_slot_release(tracing[i], slot[i]);
	}
	assert_int_equal(slot[0], slot[1]);
	assert_int_not_equal(generation[0], generation[1]);
	for (int i = 0; i < 2; i++)
		wmk_tracing_close(tracing[i]);
	wmk_tracing_thread_end();
	assert_int_equal(rmdir(w.rundir), 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(restored_session_keeps_rings_ids_and_rules, procs_kill),
		cmocka_unit_test_teardown(rings_of_a_process_that_ended_without_daemon_are_closed, procs_kill),
		cmocka_unit_test_teardown(test_invalid_saved_state_is_refused, procs_kill),
		cmocka_unit_test_teardown(identities_of_earlier_daemon_are_not_given_out_again, procs_kill),
		cmocka_unit_test_teardown(rings_of_process_that_ends_before_registering_again_are_closed, procs_kill),
		cmocka_unit_test_teardown(test_claims_of_ended_processes_are_freed, procs_kill),
		cmocka_unit_test_teardown(restored_empty_trackers_select_no_process, procs_kill),
	};

	procs_begin(argc, argv);
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	procs_end();
	return failed;
}
