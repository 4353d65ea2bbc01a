/* SPDX-License-Identifier: MIT */
/* session_table.c - the table of sessions by owner and name, and their reference counts. */
#include "session/model/session_table.h"

#include "base/error.h"
#include "base/hash.h"
#include "session/model/channel.h"
#include "session/model/unrecorded.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Take a reference. Returns false if the session is being freed. */
static bool session_ref(struct wmk_session *session)
{
	unsigned refs = atomic_load_explicit(&session->refs, memory_order_relaxed);

	do {
		if (refs == 0)
			return false;
		/* (S1) acquire, release: the thread that frees the session sees all accesses of the other threads */
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

/* Enter the session into the table. -EEXIST: the owner has one of that name. The table takes no reference itself. */
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
	return node == &session->node ? 0 : wmk_errorx(-EEXIST, "a session '%s' exists already", session->name);
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
	/* Only lack of memory ends the iteration early. */
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
	WMK_TSAN_ACQUIRE(session->tracing->sessions);     /* no reader accesses it any more */
	WMK_TSAN_RELEASE(session->tracing);               /* wmk_tracing_close() waits for this */
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
		session_free(&session->rcu);     /* only one thread is left */
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
	/* the session was looked up before it was destroyed, and locked after its destruction */
	pthread_mutex_unlock(&session->lock);
	return wmk_errorx(-ENOENT, "the session '%s' was destroyed", session->name);
}

void wmk_session_unlock(struct wmk_session *session)
{
	pthread_mutex_unlock(&session->lock);
}
