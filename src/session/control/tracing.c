/* SPDX-License-Identifier: MIT */
/*
 * tracing.c - making and unmaking of a wmk_tracing; its table of sessions, its slots, its shards.
 */
#include "session/kernel_channels.h"
#include "session/apps/unrecorded.h"

#include "base/error.h"
#include "base/hash.h"
#include "kernel/tracefs/tracefs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#define SESSION_BUCKETS 64u

#ifdef __SANITIZE_THREAD__
/* liburcu is not compiled for the checker, which sees its threads' memory but not what orders it. */
const char *__tsan_default_suppressions(void);
__attribute__((visibility("default"), used)) const char *__tsan_default_suppressions(void)
{
	return "called_from_lib:liburcu.so\n";
}
#endif

void wmk_tracing_thread_begin(void)
{
	urcu_memb_register_thread();
}

void wmk_tracing_thread_end(void)
{
	urcu_memb_unregister_thread();
}

static uint64_t half_of_memory(void)
{
	long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);

	return pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page / 2 : 1u << 31;
}

static int options_take(struct wmk_tracing *tracing, const struct wmk_tracing_options *given)
{
	struct wmk_tracing_options *o = &tracing->options;
	uint32_t first;

	if (given->size != sizeof(*given) || !given->outlet || !given->clocks)
		return wmk_error(-EINVAL, "the options have another version's size, no outlet or no clocks");
	*o = *given;
	tracing->clocks = *given->clocks;
	o->clocks = &tracing->clocks;
	snprintf(tracing->kernel_owner, sizeof(tracing->kernel_owner), "%s", o->kernel_owner ? o->kernel_owner : "");
	o->kernel_owner = tracing->kernel_owner;
	atomic_init(&tracing->rings_made, o->first_rings_id);
	o->max_apps = o->max_apps ? o->max_apps : 16384;
	o->max_user_apps = o->max_user_apps ? o->max_user_apps : 1024;
	o->max_sessions = o->max_sessions ? o->max_sessions : 64;
	o->max_channels =
		o->max_channels && o->max_channels < WMK_SESSION_CHANNELS ? o->max_channels : WMK_SESSION_CHANNELS;
	o->max_rules = !o->max_rules ? 1024 : o->max_rules < WMK_CTL_RULES_MAX ? o->max_rules : WMK_CTL_RULES_MAX;
	o->max_ring_bytes = o->max_ring_bytes ? o->max_ring_bytes : half_of_memory() / 2;
	if (!o->max_users_ring_bytes)
		o->max_users_ring_bytes = o->max_ring_bytes > half_of_memory() ? o->max_ring_bytes : half_of_memory();
	tracing->slots = calloc(o->max_apps, sizeof(*tracing->slots));
	tracing->sessions =
		cds_lfht_new_flavor(SESSION_BUCKETS, SESSION_BUCKETS, SESSION_BUCKETS, 0, &urcu_memb_flavor, NULL);
	if (!tracing->slots || !tracing->sessions)
		return wmk_error(-ENOMEM, "no memory for sessions and applications");
	/* Not those of the daemon before: its programs may still stand in claims of rings that we take over. */
	if (getrandom(&first, sizeof(first), 0) != sizeof(first))
		return wmk_error(-errno, "no random numbers");
	for (unsigned i = 0; i < o->max_apps; i++)
		tracing->slots[i].generation = first & WMK_GENERATION_MAX;
	int err = wmk_classes_init(tracing);

	return err < 0 ? err : wmk_class_cache_init(tracing);
}

int wmk_tracing_open(const struct wmk_tracing_options *options, struct wmk_tracing **out)
{
	struct wmk_tracing *tracing = calloc(1, sizeof(*tracing));

	if (!tracing)
		return wmk_error(-ENOMEM, "no memory for sessions and applications");
	pthread_mutex_init(&tracing->lock, NULL);
	pthread_mutex_init(&tracing->calls_lock, NULL);
	int err = options_take(tracing, options);

	if (err < 0) {
		wmk_tracing_close(tracing);
		return err;
	}
	*out = tracing;
	return 0;
}

static void sessions_end(struct wmk_tracing *tracing)
{
	struct wmk_session **all = NULL;
	int n = wmk_session_get_all(tracing, &all);

	tracing->closing = true;
	for (int i = 0; i < n; i++) {
		if (wmk_session_lock(all[i]) == 0) {
			wmk_session_destroy(all[i]);
			wmk_session_unlock(all[i]);
			wmk_session_finish(all[i], NULL, NULL);
		}
		wmk_session_put(all[i]);
	}
	free(all);
}

void wmk_tracing_leave(struct wmk_tracing *tracing)
{
	if (tracing)
		tracing->leaving = true;
}

int wmk_session_kernel_check(struct wmk_session *session, const struct wmk_list *rules)
{
	char note[8];
	int err = 0;

	for (uint32_t i = 0; i < rules->n && err == 0; i++)
		err = wmk_kernel_rule_check(session, (const struct wmk_ctl_rule *)rules->items + i, note, sizeof(note));
	return err < 0 ? err : wmk_kernel_filters_fit(session->tracing, rules);
}

void wmk_tracing_sweep(struct wmk_tracing *tracing)
{
	wmk_kernel_sweep(tracing);
}

void wmk_tracing_close(struct wmk_tracing *tracing)
{
	if (!tracing)
		return;
	if (tracing->sessions) {
		sessions_end(tracing);
		if (tracing->deferred)
			urcu_memb_barrier();
		WMK_TSAN_ACQUIRE(tracing);
		cds_lfht_destroy(tracing->sessions, NULL);
	}
	wmk_tracefs_close(tracing->tracefs);
	wmk_class_cache_free(tracing);
	wmk_classes_free(tracing);
	wmk_quotas_free(tracing);
	pthread_mutex_destroy(&tracing->lock);
	pthread_mutex_destroy(&tracing->calls_lock);
	free(tracing->slots);
	free(tracing->before);
	free(tracing->shards);
	free(tracing);
}

const struct wmk_tracing_options *wmk_tracing_quotas(const struct wmk_tracing *tracing)
{
	return &tracing->options;
}

/* ── slots ───────────────────────────────────────────────────────────────────────────────────────────── */

int wmk_slot_claim(struct wmk_tracing *tracing, uint32_t *slot, uint32_t *generation)
{
	unsigned max = tracing->options.max_apps, i;
	int err = -EMFILE;

	pthread_mutex_lock(&tracing->lock);
	for (unsigned tried = 0; tracing->slots_used < max && tried < max; tried++) {
		i = tracing->slot_next;
		tracing->slot_next = (i + 1) % max;
		if (tracing->slots[i].used)
			continue;
		tracing->slots[i].used = true;
		tracing->slots[i].generation = (tracing->slots[i].generation + 1) & WMK_GENERATION_MAX;
		if (tracing->slots[i].generation == 0)
			tracing->slots[i].generation = 1;
		tracing->slots_used++;
		*slot = i + 1;
		*generation = tracing->slots[i].generation;
		err = 0;
		break;
	}
	pthread_mutex_unlock(&tracing->lock);
	return err;
}

void wmk_slot_release(struct wmk_tracing *tracing, uint32_t slot)
{
	pthread_mutex_lock(&tracing->lock);
	tracing->slots[slot - 1].used = false;
	tracing->slots_used--;
	pthread_mutex_unlock(&tracing->lock);
}

/* ── shards ──────────────────────────────────────────────────────────────────────────────────────────── */

int wmk_tracing_shard_add(struct wmk_tracing *tracing, struct wmk_shard *apps)
{
	struct wmk_shard **more;

	pthread_mutex_lock(&tracing->lock);
	more = realloc(tracing->shards, (tracing->n_shards + 1) * sizeof(struct wmk_shard *));
	if (more) {
		more[tracing->n_shards++] = apps;
		tracing->shards = more;
	}
	pthread_mutex_unlock(&tracing->lock);
	return more ? 0 : wmk_error(-ENOMEM, "no memory for one more shard of applications");
}

void wmk_tracing_shard_remove(struct wmk_tracing *tracing, struct wmk_shard *apps)
{
	pthread_mutex_lock(&tracing->lock);
	for (unsigned i = 0; i < tracing->n_shards; i++)
		if (tracing->shards[i] == apps) {
			tracing->shards[i] = tracing->shards[--tracing->n_shards];
			break;
		}
	pthread_mutex_unlock(&tracing->lock);
}

/* ── sessions by name ────────────────────────────────────────────────────────────────────────────────── */

/* False: it is being freed. */
static bool session_ref(struct wmk_session *session)
{
	unsigned refs = atomic_load_explicit(&session->refs, memory_order_relaxed);

	do {
		if (refs == 0)
			return false;
		/* (S1) acquire, release: counts, as in any reference counter: who frees has seen what all others did */
	} while (!atomic_compare_exchange_weak_explicit(&session->refs, &refs, refs + 1, memory_order_acq_rel,
							memory_order_relaxed));
	return true;
}

struct called {
	uid_t uid;
	const char *name;
};

static int session_is_called(struct cds_lfht_node *node, const void *key)
{
	const struct wmk_session *session = wmk_container_of(node, struct wmk_session, node);
	const struct called *called = key;

	WMK_TSAN_ACQUIRE(node);
	return session->uid == called->uid && strcmp(session->name, called->name) == 0;
}

static unsigned long session_hash(const char *name)
{
	const uint64_t h = wmk_hash_bytes(WMK_HASH_BEGIN, name, strlen(name));

	return (unsigned long)(h ^ h >> 29);
}

struct wmk_session *wmk_session_get(struct wmk_tracing *tracing, uid_t uid, const char *name)
{
	const struct called called = { uid, name };
	struct cds_lfht_iter iter;
	struct wmk_session *session = NULL;

	urcu_memb_read_lock();
	cds_lfht_lookup(tracing->sessions, session_hash(name), session_is_called, &called, &iter);
	if (cds_lfht_iter_get_node(&iter)) {
		session = wmk_container_of(cds_lfht_iter_get_node(&iter), struct wmk_session, node);
		if (!session_ref(session))
			session = NULL;
	}
	WMK_TSAN_RELEASE(tracing->sessions);
	urcu_memb_read_unlock();
	return session;
}

/* At its place in the table: -EEXIST when there is one of that name. The table's reference is the caller's. */
int wmk_session_enter(struct wmk_tracing *tracing, struct wmk_session *session)
{
	const struct called called = { session->uid, session->name };
	struct cds_lfht_node *node;

	urcu_memb_read_lock();
	WMK_TSAN_RELEASE(&session->node);
	node = cds_lfht_add_unique(tracing->sessions, session_hash(session->name), session_is_called, &called,
				   &session->node);
	WMK_TSAN_RELEASE(tracing->sessions);
	urcu_memb_read_unlock();
	return node == &session->node ? 0 : wmk_error_said(-EEXIST, "there is a session '%s' already", session->name);
}

void wmk_session_leave(struct wmk_session *session)
{
	urcu_memb_read_lock();
	cds_lfht_del(session->tracing->sessions, &session->node);
	urcu_memb_read_unlock();
}

int wmk_session_get_all(struct wmk_tracing *tracing, struct wmk_session ***out)
{
	struct wmk_session **all = NULL, **more, *session;
	struct cds_lfht_iter iter;
	struct cds_lfht_node *node;
	int n = 0, cap = 0;

	urcu_memb_read_lock();
	cds_lfht_for_each(tracing->sessions, &iter, node) {
		WMK_TSAN_ACQUIRE(node);
		session = wmk_container_of(node, struct wmk_session, node);
		if (n == cap) {
			cap = cap ? 2 * cap : 16;
			more = realloc(all, (size_t)cap * sizeof(struct wmk_session *));
			if (!more)
				break;
			all = more;
		}
		if (session_ref(session))
			all[n++] = session;
	}
	/* The iteration ends early only without memory. */
	bool whole = !cds_lfht_iter_get_node(&iter);

	WMK_TSAN_RELEASE(tracing->sessions);
	urcu_memb_read_unlock();
	if (!whole) {
		for (int i = 0; i < n; i++)
			wmk_session_put(all[i]);
		free(all);
		return wmk_error(-ENOMEM, "no memory to list the sessions");
	}
	*out = all;
	return n;
}

static void session_free(struct rcu_head *head)
{
	struct wmk_session *session = wmk_container_of(head, struct wmk_session, rcu);

	WMK_TSAN_ACQUIRE(head);
	WMK_TSAN_ACQUIRE(session->tracing->sessions);     /* whoever looked at it has looked away */
	WMK_TSAN_RELEASE(session->tracing);               /* whose end waits for this */
	for (unsigned i = 0; i < session->n_channels; i++)
		wmk_channel_free(session->channels[i]);
	free(session->channels);
	free(session->trackers.pids.items);
	free(session->trackers.uids.items);
	free(session->trackers.gids.items);
	free(session->trackers.kernel_pids.items);
	pthread_mutex_destroy(&session->lock);
	wmk_unrecorded_free(session);
	pthread_cond_destroy(&session->written);
	free(session->name);
	free(session->path);
	free(session->trace_name);
	wmk_arena_free(&session->arena);
	if (session->shm >= 0)
		close(session->shm);
	free(session);
}

void wmk_session_put(struct wmk_session *session)
{
	/* (S1) */
	if (!session || atomic_fetch_sub_explicit(&session->refs, 1, memory_order_acq_rel) != 1)
		return;
	if (session->tracing->closing) {
		session_free(&session->rcu);     /* nobody else is there to look at it */
		return;
	}
	atomic_store_explicit(&session->tracing->deferred, true, memory_order_relaxed);
	WMK_TSAN_RELEASE(&session->rcu);
	urcu_memb_call_rcu(&session->rcu, session_free);
}

void wmk_session_hold(struct wmk_session *session)
{
	atomic_fetch_add_explicit(&session->refs, 1, memory_order_relaxed);
}

int wmk_session_lock(struct wmk_session *session)
{
	pthread_mutex_lock(&session->lock);
	if (!session->gone)
		return 0;
	/* found before it was destroyed, locked after */
	pthread_mutex_unlock(&session->lock);
	return wmk_error_said(-ENOENT, "the session '%s' is gone", session->name);
}

void wmk_session_unlock(struct wmk_session *session)
{
	pthread_mutex_unlock(&session->lock);
}
