/* SPDX-License-Identifier: MIT */
/*
 * ring_requests.c - requests to the consumer about existing rings: flush, clear, reclaim, count, close.
 *
 * A request can take as long as a disk access. During a request, the lock of the session is released, so that
 * applications register and end, and other commands run. One thread at a time makes requests (session->writing; others
 * wait), and only this thread removes rings from the list of the session:
 *
 *     lock ─ wait while writing ─ writing = true ─┐ unlock      others may add rings at the head of the list; none
 *                                                 ├ requests    removes any; rings to close are removed already, and
 *     lock ─ store the counts ─ writing = false ◄─┘             `closed` is set
 *
 * A session is on one disk, so the function sends the remaining requests without waiting after the first timeout.
 *
 * Invariant under the lock: every ring set in the list of a session is open at the consumer daemon and not closed.
 */
#include "session/control/ring_requests.h"

#include "base/cond.h"
#include "base/error.h"
#include "ring/set.h"
#include "session/kernel/kernel_rings.h"
#include "session/kernel/kernel_statedump.h"
#include "session/model/channel_options.h"
#include "session/model/rings.h"
#include "session/model/unrecorded.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* after a restart: wait this long for counts that the previous daemon did not save */
#define COUNTED_MS 5000

void wmk_ring_requests_begin(struct wmk_session *session)
{
	while (session->writing)
		pthread_cond_wait(&session->written, &session->lock);
	session->writing = true;
}

void wmk_ring_requests_end(struct wmk_session *session)
{
	session->writing = false;
	pthread_cond_broadcast(&session->written);
}

/* Between begin() and end(). Locked again on return. */
static int each(struct wmk_session *session, int (*what)(void *output, bool wait))
{
	struct rings *const rings = session->rings;
	bool wait = true;
	int first = 0;

	pthread_mutex_unlock(&session->lock);
	for (struct rings *one = rings; one; one = one->next) {
		int err = what(one->output, wait);

		wait = wait && err != -ETIMEDOUT;
		if (err < 0 && first == 0)
			first = err;
	}
	pthread_mutex_lock(&session->lock);
	return first;
}

int wmk_session_flush(struct wmk_session *session)
{
	const struct wmk_reattach_ops *reattach = session->tracing->reattach;

	wmk_ring_requests_begin(session);
	if (reattach)
		reattach->again(session);
	int err = each(session, session->tracing->options.consumer->rings_flush);

	wmk_ring_requests_end(session);
	session->stopping = false;
	return err;
}

void wmk_ring_requests_counted(struct wmk_session *session)
{
	const struct wmk_tracing_options *o = &session->tracing->options;

	if (o->on_counted && !session->gone && !session->tracing->leaving)
		o->on_counted(o->data, session);
}

/* ── clear ───────────────────────────────────────────────────────────────────────────────────────────── */

/* Traces of ended processes that had their own buffers. */
struct left_traces {
	struct wmk_arena arena;
	struct wmk_list subs;            /* of const char * */
};

static int left_note(void *data, const char *sub)
{
	struct left_traces *left = data;
	const char **one = wmk_arena_append(&left->arena, &left->subs, sizeof(*one));
	if (!one)
		return -ENOMEM;
	*one = wmk_arena_text(&left->arena, sub);
	return *one ? 0 : -ENOMEM;
}

static struct wmk_trace_info info_of(const struct wmk_session *session, const char *sub)
{
	return (struct wmk_trace_info){
		.session = session->name, .path = session->path, .sub = sub, .uid = session->uid, .gid = session->gid,
		.closed = session->chunk.closed
	};
}

/* Keep the traces of processes that still record. */
static void left_keep(struct left_traces *left, const struct wmk_session *session)
{
	const char **subs = left->subs.items;

	for (const struct trace *trace = session->traces; trace; trace = trace->next)
		for (uint32_t i = 0; i < left->subs.n; i++)
			if (subs[i] && strcmp(trace->sub, subs[i]) == 0)
				subs[i] = NULL;
}

/*
 * Between begin() and end(). Locked again on return. The names of the traces are collected first, and compared with the
 * list of the session later. The session daemon creates the name of a new trace and adds the trace to the session's
 * list without releasing the lock in between. If a trace starts during the collection, either its name was not
 * collected, or the comparison finds its name in the list. No other thread removes traces from the list between begin()
 * and end(). *again: the reply had no room for all names, and some traces were removed.
 */
static int left_some(struct wmk_session *session, int (*what)(void *data, const struct wmk_trace_info *info),
		     bool *again)
{
	const struct wmk_tracing_options *o = &session->tracing->options;
	struct wmk_trace_info info = info_of(session, "");
	struct left_traces left = { .subs = { NULL, 0 } };
	uint32_t removed = 0;

	pthread_mutex_unlock(&session->lock);
	const int listed = o->consumer->each_left(o->consumer_data, &info, left_note, &left);
	int first = listed < 0 ? listed : 0;

	pthread_mutex_lock(&session->lock);
	left_keep(&left, session);
	pthread_mutex_unlock(&session->lock);
	for (uint32_t i = 0; i < left.subs.n; i++) {
		info = info_of(session, ((const char **)left.subs.items)[i]);
		int err = info.sub ? what(o->consumer_data, &info) : 0;

		removed += info.sub && err == 0;
		if (err < 0 && first == 0)
			first = err;
	}
	pthread_mutex_lock(&session->lock);
	wmk_arena_free(&left.arena);
	*again = listed > 0 && removed > 0;
	return first;
}

int wmk_ring_requests_left(struct wmk_session *session, int (*what)(void *data, const struct wmk_trace_info *info))
{
	bool again = session->tracing->options.consumer->each_left != NULL;
	int err = 0;

	while (again && err == 0)
		err = left_some(session, what, &again);
	return err;
}

int wmk_session_clear(struct wmk_session *session)
{
	const struct wmk_consumer_port_ops *consumer = session->tracing->options.consumer;

	wmk_ring_requests_begin(session);
	for (unsigned i = 0; i < session->n_channels; i++)
		memset(&session->channels[i]->past, 0, sizeof(session->channels[i]->past));
	for (struct rings *rings = session->rings; rings; rings = rings->next) {
		memset(&rings->counts, 0, sizeof(rings->counts));
		memset(&rings->earlier, 0, sizeof(rings->earlier));
	}
	wmk_ring_requests_counted(session);
	/* remove traces of ended processes first: the consumer measures the remaining size afterwards */
	int left = wmk_ring_requests_left(session, consumer->forget_left), err = each(session, consumer->rings_clear);

	err = left < 0 ? left : err;
	session->full = session->full && err < 0;
	wmk_ring_requests_end(session);
	if (session->active)
		wmk_session_kernel_statedump(session);        /* the clear removed the earlier state dump */
	return err;
}

/* ── memory ──────────────────────────────────────────────────────────────────────────────────────────── */

static bool names_channel(const struct wmk_ctl_reclaim *request, const struct wmk_session_channel *channel)
{
	const char *const *names = request->channels.items;
	uint32_t i = 0;

	while (i < request->channels.n && strcmp(names[i], channel->is.name) != 0)
		i++;
	return request->channels.n == 0 || i < request->channels.n;
}

/*
 * Check that each named channel exists and can return memory to the system. If the request names no channel, at least
 * one channel must be able to return memory.
 */
static int reclaim_check(const struct wmk_session *session, const struct wmk_ctl_reclaim *request)
{
	const char *why = "it has no channels";
	bool any = false;

	for (unsigned i = 0; i < session->n_channels; i++) {
		const struct wmk_ctl_channel *is = &session->channels[i]->is;
		const char *keeps = wmk_channel_keeps_memory(is);

		if (session->channels[i]->own || !names_channel(request, session->channels[i]))
			continue;
		if (keeps && request->channels.n)
			return wmk_errorx(-ENOTSUP, "channel '%.240s' keeps its memory: %s", is->name, keeps);
		any |= !keeps;
		why = keeps ? keeps : why;
	}
	return any ? 0 : wmk_errorx(-ENOTSUP, "session '%.240s' keeps its memory: %s", session->name, why);
}

static int names_check(struct wmk_session *session, const struct wmk_ctl_reclaim *request)
{
	const char *const *names = request->channels.items;

	for (uint32_t n = 0; n < request->channels.n; n++) {
		unsigned i = 0;

		while (i < session->n_channels && (session->channels[i]->own ||
						   strcmp(names[n], session->channels[i]->is.name) != 0))
			i++;
		if (i == session->n_channels)
			return wmk_errorx(-ENOENT, "session '%.240s' has no channel '%.240s'", session->name,
					  names[n]);
	}
	return 0;
}

int wmk_session_reclaim(struct wmk_session *session, const struct wmk_ctl_reclaim *request)
{
	const struct wmk_consumer_port_ops *consumer = session->tracing->options.consumer;
	int first = names_check(session, request);
	bool wait = true;

	if (first == 0)
		first = reclaim_check(session, request);
	if (first == 0 && !consumer->rings_reclaim)
		first = wmk_error(-ENOTSUP, "cannot reclaim memory: the consumer of this session does not support it");
	if (first < 0)
		return first;
	wmk_ring_requests_begin(session);
	struct rings *const rings = session->rings;

	pthread_mutex_unlock(&session->lock);
	for (struct rings *one = rings; one; one = one->next) {
		const bool asks = names_channel(request, one->channel) && !wmk_channel_keeps_memory(&one->channel->is);
		int err = asks ? consumer->rings_reclaim(one->output, request->idle_us, wait) : 0;

		wait = wait && err != -ETIMEDOUT;
		if (err < 0 && first == 0)
			first = err;
	}
	pthread_mutex_lock(&session->lock);
	wmk_ring_requests_end(session);
	return first;
}

/* ── counts ──────────────────────────────────────────────────────────────────────────────────────────── */

/*
 * Unlocked. `into`: a sum that contains the previous counts of the rings; the function replaces the previous counts by
 * the new counts.
 */
static int count(struct rings *rings, struct wmk_counts *into)
{
	struct wmk_session *session = rings->session;
	struct wmk_counts now = { 0 }, earlier = { 0 };

	int err = session->tracing->options.consumer->rings_counts(rings->output, &now, &earlier);

	pthread_mutex_lock(&session->lock);
	if (into)
		wmk_counts_replace(into, &rings->counts, &now);
	rings->counts = now;
	rings->earlier = earlier;
	pthread_mutex_unlock(&session->lock);
	return err;
}

void wmk_session_count(struct wmk_session *session)
{
	const struct timespec end_of_patience = wmk_deadline(COUNTED_MS);

	/* Wait only if no counts are known. */
	while (session->writing && session->uncounted &&
	       pthread_cond_timedwait(&session->written, &session->lock, &end_of_patience) == 0)
		continue;
	if (session->writing)
		return;
	struct rings *const rings = session->rings;

	wmk_ring_requests_begin(session);
	pthread_mutex_unlock(&session->lock);
	/*
	 * Stop after a timeout, because other queries would time out, too. Continue after other errors, because the
	 * consumer daemon may lack the counts of only some rings.
	 */
	int err = 0;

	for (struct rings *one = rings; one && err != -ETIMEDOUT && err != -ECONNABORTED; one = one->next)
		err = count(one, NULL);
	pthread_mutex_lock(&session->lock);
	session->uncounted = session->uncounted && err < 0;
	wmk_ring_requests_end(session);
}

struct wmk_counts wmk_channel_past(const struct wmk_session_channel *channel)
{
	struct wmk_counts past = channel->past;
	const struct wmk_counts none = { 0 };

	/* (rings that are closing now were added to `past` with their latest counts) */
	for (const struct rings *rings = channel->session->ending; rings; rings = rings->next)
		if (rings->channel == channel)
			wmk_counts_replace(&past, &rings->counts, &none);
	return past;
}

/* Compute the sum over the rings of a set. False: a ring is corrupt, or is being cleared. */
static bool totals_of(struct waymark_ring_set *set, struct wmk_ring_totals *sum)
{
	struct wmk_ring_totals one;

	*sum = (struct wmk_ring_totals){ 0 };
	for (uint32_t i = 0; i < waymark_ring_set_rings(set); i++) {
		if (wmk_ring_set_totals(set, i, &one) < 0)
			return false;
		wmk_sum_add(&sum->records, one.records);
		wmk_sum_add(&sum->overwritten, one.overwritten);
		wmk_sum_add(&sum->cut, one.cut);
		for (unsigned c = 0; c < WAYMARK_LOST_CAUSES; c++)
			wmk_sum_add(&sum->lost[c], one.lost[c]);
	}
	return true;
}

static void raise_count(uint64_t *count, uint64_t now)
{
	*count = now > *count ? now : *count;
}

/*
 * Overwrite mode: add the records that the rings hold, and the records that were overwritten. Records that the consumer
 * daemon has counted do not count again.
 */
static void add_held(struct wmk_counts *counts, const struct wmk_counts *earlier, const struct wmk_ring_totals *now)
{
	const uint64_t before = earlier->records + earlier->unwritten + earlier->overwritten;
	const uint64_t known = counts->records + counts->unwritten + counts->overwritten;
	const uint64_t oldest = now->overwritten + before, all = now->records + before;

	if (oldest > known)
		counts->overwritten += oldest - known;
	if (all > (oldest > known ? oldest : known))
		counts->records += all - (oldest > known ? oldest : known);
}

/*
 * The consumer daemon counts the records in the trace. While the session records, the function raises the consumer
 * daemon's counts to the counts in the rings. The raised count of records includes all committed records, except the
 * records that could not be written. The session daemon reads the counts in the rings itself, without a query to the
 * consumer daemon. The counts in the rings belong to the open chunk.
 */
static struct wmk_counts counts_now(const struct rings *rings)
{
	const struct wmk_session *session = rings->session;
	const struct wmk_counts *earlier = &rings->earlier;
	struct wmk_counts counts = rings->counts;
	struct wmk_ring_totals now;
	uint64_t causes = 0;

	/* (a corrupt ring keeps the counts from before the error was found) */
	if (!rings->set || !(session->active || session->stopping) || counts.errors || !totals_of(rings->set, &now))
		return counts;
	if (rings->channel->is.settings.mode == WMK_MODE_OVERWRITE)
		add_held(&counts, earlier, &now);
	wmk_sum_add(&now.records, earlier->records);
	wmk_sum_add(&now.records, earlier->unwritten);
	if (rings->channel->is.settings.mode != WMK_MODE_OVERWRITE && now.records > counts.unwritten)
		raise_count(&counts.records, now.records - counts.unwritten);
	raise_count(&counts.cut, now.cut + earlier->cut);
#define WMK_COUNT(name)
#define WMK_COUNT_LOST(name, cause)                                                                                    \
	raise_count(&counts.name, now.lost[cause] + earlier->name);                                                    \
	wmk_sum_add(&causes, counts.name);
#include "wire/counts.def"
	wmk_sum_add(&causes, counts.overwritten);
	wmk_sum_add(&causes, counts.unwritten);
	raise_count(&counts.lost, causes);
	return counts;
}

void wmk_channel_counts(const struct wmk_session_channel *channel, struct wmk_counts *sum)
{
	wmk_counts_add(sum, &channel->past);
	for (const struct rings *rings = channel->session->rings; rings; rings = rings->next)
		if (rings->channel == channel) {
			const struct wmk_counts now = counts_now(rings);

			wmk_counts_add(sum, &now);
		}
}

/* ── close ───────────────────────────────────────────────────────────────────────────────────────────── */

/* Remove rings from the list. Until the final counts are known, the latest known counts stay in `past`. */
static struct rings *rings_leave(struct wmk_session *session, bool ended_only)
{
	struct rings *left = NULL;

	for (struct rings **at = &session->rings; *at;) {
		struct rings *rings = *at;

		if (ended_only && !rings->trace->ended) {
			at = &rings->next;
			continue;
		}
		*at = rings->next;
		rings->next = left;
		rings->closed = true;
		wmk_counts_add(&rings->channel->past, &rings->counts);
		left = rings;
	}
	return left;
}

static struct trace *traces_leave(struct wmk_session *session, bool ended_only)
{
	struct trace *left = NULL;

	for (struct trace **at = &session->traces; *at;) {
		struct trace *trace = *at;

		if (ended_only && (!trace->ended || wmk_trace_awaited(trace))) {
			at = &trace->next;
			continue;
		}
		*at = trace->next;
		trace->next = left;
		left = trace;
	}
	return left;
}

/*
 * If *cause is NULL, the function stores the cause chain of the first error in *cause, because later calls would clear
 * this chain.
 */
static int rings_end(struct rings *rings, const struct wmk_consumer_port_ops *consumer, struct wmk_error_chain **cause)
{
	bool wait = true;
	int first = 0;

	while (rings) {
		struct rings *next = rings->next;

		wmk_kernel_halt(rings);
		int err = consumer->rings_stop(rings->output, wait);

		wait = wait && err != -ETIMEDOUT;
		if (err < 0 && first == 0) {
			first = err;
			*cause = *cause ? *cause : wmk_error_take();
		}
		count(rings, &rings->channel->past);
		consumer->rings_close(rings->output);
		if (!rings->session->tracing->leaving && (err == 0 || !rings->session->recovered))
			wmk_rings_file_remove(rings);
		pthread_mutex_lock(&rings->session->lock);
		rings->session->ending = next;
		pthread_mutex_unlock(&rings->session->lock);
		wmk_rings_put(rings);
		rings = next;
	}
	return first;
}

static void traces_end(struct trace *trace, const struct wmk_consumer_port_ops *consumer)
{
	while (trace) {
		struct trace *next = trace->next;

		if (trace->output)
			consumer->trace_close(trace->output);
		free(trace);
		trace = next;
	}
}

int wmk_rings_close(struct wmk_session *session, bool ended_only)
{
	const struct wmk_consumer_port_ops *consumer = session->tracing->options.consumer;
	const struct wmk_reattach_ops *reattach = session->tracing->reattach;

	wmk_ring_requests_begin(session);
	wmk_unrecorded_collect(session);
	int gave_up = ended_only || !reattach ? 0 : reattach->abandon(session);
	struct rings *rings = rings_leave(session, ended_only);
	const bool any = rings != NULL;
	struct trace *traces = traces_leave(session, ended_only);

	session->ending = rings;
	pthread_mutex_unlock(&session->lock);
	struct wmk_error_chain *cause = gave_up < 0 ? wmk_error_take() : NULL;
	int err = rings_end(rings, consumer, &cause);

	pthread_mutex_lock(&session->lock);
	if (ended_only && any)
		wmk_ring_requests_counted(session);
	pthread_mutex_unlock(&session->lock);
	traces_end(traces, consumer);
	pthread_mutex_lock(&session->lock);
	wmk_ring_requests_end(session);
	if (cause)
		wmk_error_give(cause);
	return gave_up < 0 ? gave_up : err;
}
