/* SPDX-License-Identifier: MIT */
/*
 * consumer_link.c - public functions of the link to waymark-consumerd (see consumer_link.h): each queues a request
 * (consumer_link_request.c) and waits for its answer.
 */
#include "sessiond/consumer_link.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/cond.h"
#include "base/error.h"
#include "base/thread.h"
#include "sessiond/consumer_link_request.h"

/* ── requests ────────────────────────────────────────────────────────────────────────────────────────── */

/* True if an equal request is queued, and its caller has stopped waiting. */
static bool is_asked(const struct wmk_consumer_link *link, uint16_t type, uint64_t trace, uint64_t rings)
{
	const struct wmk_link_request *request = link->requests;

	while (request &&
	       (request->type != type || request->trace != trace || request->rings != rings || !request->abandoned))
		request = request->next;
	return request != NULL;
}

/*
 * True if the request has timed out, and a new request for `trace` would probably time out, too. A second timeout is
 * probable if both traces are in one directory, or if the consumer has answered no request since the first timeout.
 */
static bool is_late_for(struct wmk_consumer_link *link, const struct wmk_link_request *request, uint64_t trace)
{
	const struct wmk_replay_trace *mine = wmk_replay_find(link, trace),
				      *its = wmk_replay_find(link, request->trace);

	if (!request->sent || !request->abandoned || request->again || request->type == WMK_CONSUMERD_WAKE ||
	    request->type == WMK_CONSUMERD_METADATA || request->type == WMK_CONSUMERD_OUTPUT_CHECK ||
	    request->type == WMK_CONSUMERD_LIST_LEFT || request->type == WMK_CONSUMERD_REMOVE_LEFT ||
	    request->type == WMK_CONSUMERD_ROTATE || request->type == WMK_CONSUMERD_ARCHIVE_LEFT ||
	    request->type == WMK_CONSUMERD_ARCHIVE_END || request->type == WMK_CONSUMERD_OUTPUT_END)
		return false;
	return request->answers == link->answers || (mine && its && strcmp(mine->is.path, its->is.path) == 0);
}

/*
 * True if a request has timed out. After a timeout, further requests for the trace do not wait, because the consumer
 * daemon can perform these requests later.
 */
static bool is_late(struct wmk_consumer_link *link, uint64_t trace)
{
	const struct wmk_link_request *request = link->requests;

	while (request && !is_late_for(link, request, trace))
		request = request->next;
	return request != NULL;
}

/*
 * Queue a request and wait. 0: *result is the answer, which the caller frees; -errno. If a call does not wait (`ms` is
 * 0), and a request of the same kind is queued, no second request is added. If such requests were added, requests would
 * accumulate while a consumer daemon hangs. If the consumer daemon is already late, a query of counts or of senders
 * does not wait, because the caller also has the counts in the rings.
 */
static int ask(struct wmk_consumer_link *link, uint16_t type, const struct wmk_object *is, const void *object,
	       uint64_t trace, uint64_t rings, int ms, struct wmk_link_request **result)
{
	struct wmk_link_request *request;
	int err;

	if (result)
		*result = NULL;
	pthread_mutex_lock(&link->lock);
	if ((type == WMK_CONSUMERD_STATS || type == WMK_CONSUMERD_SENDERS) && is_late(link, trace))
		ms = 0;
	const struct timespec end = wmk_deadline(ms);

	if (link->state == WMK_LINK_ENDED) {
		err = wmk_link_ended(link);
		goto out;
	}
	if (ms == 0 && is_asked(link, type, trace, rings)) {
		err = wmk_error(-ETIMEDOUT, "the consumer daemon has not answered in time");
		goto out;
	}
	request = wmk_link_query(link, type, is, object, -1, false);
	if (!request) {
		err = -ENOMEM;
		goto out;
	}
	request->trace = trace;
	request->rings = rings;
	if (type == WMK_CONSUMERD_CLEAR && wmk_replay_find(link, trace))
		wmk_replay_find(link, trace)->clearing++;
	wmk_link_submit(link);
	err = wmk_link_wait(link, request, &end);
	if (request->done && result && err >= 0)
		*result = request;
	else if (request->done)
		wmk_link_request_free(request);
out:
	pthread_mutex_unlock(&link->lock);
	return err;
}

/* ── add ─────────────────────────────────────────────────────────────────────────────────────────────── */

/*
 * Store the trace (`rings` is 0) or the rings for the next consumer daemon, and send the request that adds them to the
 * current consumer daemon.
 */
static int add(struct wmk_consumer_link *link, uint16_t type, const struct wmk_object *is, const void *object,
	       uint64_t trace, uint64_t rings, int fd, int ms)
{
	struct wmk_link_request *request = NULL;

	pthread_mutex_lock(&link->lock);
	int err = link->state == WMK_LINK_ENDED ? wmk_link_ended(link)
		  : rings			? wmk_replay_rings_add(link, object, fd)
						: wmk_replay_trace_add(link, object, fd);
	const bool inserted = err > 0;
	const struct timespec end = wmk_deadline(is_late(link, trace) ? 0 : ms);

	if (err >= 0) {
		request = wmk_link_query(link, type, is, object, fd, false);
		err = request ? 0 : -ENOMEM;
	}
	if (request) {
		request->trace = trace;
		request->rings = rings;
		request->inserted = inserted;
		wmk_link_submit(link);
		err = wmk_link_wait(link, request, &end);
		if (request->done)
			wmk_link_request_free(request);
	} else if (inserted) {
		wmk_replay_remove(link, trace, rings);
	}
	pthread_mutex_unlock(&link->lock);
	return err;
}

int wmk_consumer_link_trace_add(struct wmk_consumer_link *link, const struct wmk_consumerd_trace *trace, int fd, int ms)
{
	if (!trace->trace)
		return wmk_error(-EINVAL, "invalid trace number 0");
	return add(link, WMK_CONSUMERD_TRACE_ADD, &wmk_consumerd_trace_object, trace, trace->trace, 0, fd, ms);
}

int wmk_consumer_link_rings_add(struct wmk_consumer_link *link, const struct wmk_consumerd_rings *rings, int fd, int ms)
{
	if (!rings->rings)
		return wmk_error(-EINVAL, "invalid rings number 0");
	return add(link, WMK_CONSUMERD_RINGS_ADD, &wmk_consumerd_rings_object, rings, rings->trace, rings->rings, fd,
		   ms);
}

/* ── other requests ──────────────────────────────────────────────────────────────────────────────────── */

/* Return the error that currently delays writing, or 0. */
static int stuck(const struct wmk_consumerd_report *report)
{
	const struct wmk_consumerd_channel *channels = report->channels.items;

	for (uint32_t i = 0; i < report->channels.n; i++)
		if (channels[i].stats.stuck && channels[i].stats.output_error && channels[i].stats.output_error < 4096)
			return wmk_error(-(int)channels[i].stats.output_error, "%.300s", channels[i].stats.words);
	return 0;
}

/* -ENOENT with the reason, if a new consumer could not resume the trace. */
static int failed(struct wmk_consumer_link *link, uint64_t number)
{
	int err = 0;

	pthread_mutex_lock(&link->lock);
	const struct wmk_replay_trace *trace = wmk_replay_find(link, number);

	if (trace && trace->failed[0]) {
		err = wmk_errorx(-ENOENT, "%.300s", trace->failed);
		wmk_error_add(err, "the event records in its rings are lost");
	}
	pthread_mutex_unlock(&link->lock);
	return err;
}

static int ask_report(struct wmk_consumer_link *link, uint16_t type, uint64_t trace, uint64_t rings, int ms,
		      struct wmk_arena *arena, struct wmk_consumerd_report *report)
{
	const struct wmk_consumerd_target target = { trace, rings };
	struct wmk_arena own = { 0 };
	struct wmk_consumerd_report unwanted;
	struct wmk_link_request *answer;
	int err;

	if (report)
		memset(report, 0, sizeof(*report));
	err = ask(link, type, &wmk_consumerd_target_object, &target, trace, rings, ms, &answer);
	if (type != WMK_CONSUMERD_TRACE_REMOVE && failed(link, trace) < 0) {
		if (answer)
			wmk_link_request_free(answer);
		return -ENOENT;
	}
	if (err < 0)
		return err;
	if (!report || !arena) {
		report = &unwanted;
		arena = &own;
	}
	err = wmk_object_decode(&wmk_consumerd_report_object, answer->reply, answer->reply_len, report, arena);
	if (err >= 0 && type == WMK_CONSUMERD_STOP)
		err = stuck(report);
	wmk_link_request_free(answer);
	wmk_arena_free(&own);
	return err;
}

int wmk_consumer_link_trace_remove(struct wmk_consumer_link *link, uint64_t trace, int ms, struct wmk_arena *arena,
				   struct wmk_consumerd_report *report)
{
	return ask_report(link, WMK_CONSUMERD_TRACE_REMOVE, trace, 0, ms, arena, report);
}

int wmk_consumer_link_rings_remove(struct wmk_consumer_link *link, uint64_t trace, uint64_t rings, int ms,
				   struct wmk_arena *arena, struct wmk_consumerd_report *report)
{
	if (!rings)
		return wmk_error(-EINVAL, "invalid rings number 0");
	return ask_report(link, WMK_CONSUMERD_RINGS_REMOVE, trace, rings, ms, arena, report);
}

int wmk_consumer_link_stop(struct wmk_consumer_link *link, uint64_t trace, uint64_t rings, int ms,
			   struct wmk_arena *arena, struct wmk_consumerd_report *report)
{
	return ask_report(link, WMK_CONSUMERD_STOP, trace, rings, ms, arena, report);
}

int wmk_consumer_link_stats(struct wmk_consumer_link *link, uint64_t trace, uint64_t rings, int ms,
			    struct wmk_arena *arena, struct wmk_consumerd_report *report)
{
	return ask_report(link, WMK_CONSUMERD_STATS, trace, rings, ms, arena, report);
}

static int ask_nothing(struct wmk_consumer_link *link, uint16_t type, uint64_t trace, uint64_t rings, int ms)
{
	const struct wmk_consumerd_target target = { trace, rings };

	return ask(link, type, &wmk_consumerd_target_object, &target, trace, rings, ms, NULL);
}

int wmk_consumer_link_flush(struct wmk_consumer_link *link, uint64_t trace, uint64_t rings, int ms)
{
	return ask_nothing(link, WMK_CONSUMERD_FLUSH, trace, rings, ms);
}

int wmk_consumer_link_clear(struct wmk_consumer_link *link, uint64_t trace, int ms)
{
	return ask_nothing(link, WMK_CONSUMERD_CLEAR, trace, 0, ms);
}

int wmk_consumer_link_reclaim(struct wmk_consumer_link *link, const struct wmk_consumerd_reclaim *reclaim, int ms)
{
	return ask(link, WMK_CONSUMERD_RECLAIM, &wmk_consumerd_reclaim_object, reclaim, reclaim->trace, reclaim->rings,
		   ms, NULL);
}

int wmk_consumer_link_cut(struct wmk_consumer_link *link, uint64_t trace, int ms)
{
	return ask_nothing(link, WMK_CONSUMERD_CUT, trace, 0, ms);
}

int wmk_consumer_link_rotate(struct wmk_consumer_link *link, const struct wmk_consumerd_rotation *rotation, int ms)
{
	pthread_mutex_lock(&link->lock);
	int err = wmk_replay_rotate(link, rotation);

	pthread_mutex_unlock(&link->lock);
	if (err < 0)
		return err;
	return ask(link, WMK_CONSUMERD_ROTATE, &wmk_consumerd_rotation_object, rotation, rotation->trace, 0, ms, NULL);
}

int wmk_consumer_link_output(struct wmk_consumer_link *link, uint16_t type, const struct wmk_consumerd_output *output,
			     int ms, struct wmk_arena *arena, struct wmk_consumerd_left *left)
{
	struct wmk_link_request *answer;
	int err = ask(link, type, &wmk_consumerd_output_object, output, 0, 0, ms, &answer);

	if (err < 0)
		return err;
	if (left)
		err = wmk_object_decode(&wmk_consumerd_left_object, answer->reply, answer->reply_len, left, arena);
	wmk_link_request_free(answer);
	return err < 0 ? err : 0;
}

int wmk_consumer_link_senders(struct wmk_consumer_link *link, int ms, struct wmk_arena *arena,
			      struct wmk_consumerd_senders *senders)
{
	static const struct wmk_empty nothing;
	struct wmk_link_request *answer;
	int err = ask(link, WMK_CONSUMERD_SENDERS, &wmk_empty_object, &nothing, 0, 0, ms, &answer);

	if (err < 0)
		return err;
	err = wmk_object_decode(&wmk_consumerd_senders_object, answer->reply, answer->reply_len, senders, arena);
	wmk_link_request_free(answer);
	return err < 0 ? err : 0;
}

void wmk_consumer_link_wake(struct wmk_consumer_link *link, uint64_t trace)
{
	const struct wmk_consumerd_target target = { .trace = trace };
	struct wmk_link_request *request;

	pthread_mutex_lock(&link->lock);
	/*
	 * If a new consumer daemon starts, no request is needed, because it drains all rings. If the queue has an
	 * unsent WAKE request for the trace or for all traces, the function adds no other WAKE request.
	 */
	for (request = link->requests; request; request = request->next)
		if (request->type == WMK_CONSUMERD_WAKE && !request->sent &&
		    (request->trace == trace || !request->trace))
			break;
	if (!request && link->state == WMK_LINK_UP) {
		request = wmk_link_query(link, WMK_CONSUMERD_WAKE, &wmk_consumerd_target_object, &target, -1, false);
		if (request) {
			request->trace = trace;
			request->abandoned = true;
			wmk_link_submit(link);
		} else {
			wmk_error_clear();
		}
	}
	pthread_mutex_unlock(&link->lock);
}

/* ── list ────────────────────────────────────────────────────────────────────────────────────────────── */

static int adopt(struct wmk_consumer_link *link, const struct wmk_link_held *held)
{
	int err;

	pthread_mutex_lock(&link->lock);
	err = held->is.rings.rings ? wmk_replay_rings_add(link, &held->is.rings, held->fd)
				   : wmk_replay_trace_add(link, &held->is.trace, held->fd);
	pthread_mutex_unlock(&link->lock);
	return err;
}

int wmk_consumer_link_list(struct wmk_consumer_link *link, int ms, wmk_consumer_link_held *held, void *data)
{
	static const struct wmk_empty nothing;
	const struct wmk_consumerd_trace *trace = NULL;
	struct wmk_link_request *answer;
	int err = ask(link, WMK_CONSUMERD_LIST, &wmk_empty_object, &nothing, 0, 0, ms, &answer);

	if (err < 0)
		return err;
	/* Adopt all entries before `held` is called for the first time. */
	for (size_t i = 0; i < answer->n_held && err >= 0; i++)
		err = adopt(link, &answer->held[i]);
	err = err > 0 ? 0 : err;
	for (size_t i = 0; i < answer->n_held && err == 0; i++) {
		struct wmk_link_held *item = &answer->held[i];
		const int fd = item->fd;

		if (!item->is.rings.rings)
			trace = &item->is.trace;
		item->fd = -1;
		err = held(data, trace, &item->is.rings, fd);
	}
	wmk_link_request_free(answer);
	return err;
}

/* ── open, close ─────────────────────────────────────────────────────────────────────────────────────── */

pid_t wmk_consumer_link_pid(struct wmk_consumer_link *link)
{
	pid_t pid;

	pthread_mutex_lock(&link->lock);
	pid = link->pid;
	pthread_mutex_unlock(&link->lock);
	return pid;
}

int wmk_consumer_link_shutdown(struct wmk_consumer_link *link, int ms)
{
	static const struct wmk_empty nothing;
	const struct timespec end = wmk_deadline(ms);
	int err = ask(link, WMK_CONSUMERD_SHUTDOWN, &wmk_empty_object, &nothing, 0, 0, ms, NULL), rc = 0;

	if (err < 0)
		return err;
	pthread_mutex_lock(&link->lock);
	while (link->state != WMK_LINK_ENDED && rc != ETIMEDOUT)
		rc = pthread_cond_timedwait(&link->changed, &link->lock, &end);
	err = link->state == WMK_LINK_ENDED ? 0 : wmk_error(-ETIMEDOUT, "the consumer daemon has not ended in time");
	pthread_mutex_unlock(&link->lock);
	return err;
}

static void link_free(struct wmk_consumer_link *link)
{
	struct wmk_link_request *request;

	while ((request = link->requests) != NULL) {
		link->requests = request->next;
		wmk_link_request_free(request);
	}
	while (link->traces)
		wmk_replay_remove(link, link->traces->is.trace, 0);
	if (link->wake >= 0)
		close(link->wake);
	pthread_mutex_destroy(&link->lock);
	pthread_cond_destroy(&link->changed);
	free(link->rundir);
	free(link->program);
	free(link);
}

static struct wmk_consumer_link *link_new(const struct wmk_consumer_link_options *options)
{
	struct wmk_consumer_link *link = calloc(1, sizeof(*link));

	if (!link)
		return NULL;
	pthread_mutex_init(&link->lock, NULL);
	wmk_cond_init(&link->changed);
	link->options = *options;
	link->rundir = strdup(options->rundir);
	link->program = strdup(options->program);
	link->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	link->sock = link->pidfd = -1;
	link->requests_end = &link->requests;
	if (link->rundir && link->program && link->wake >= 0)
		return link;
	link_free(link);
	return NULL;
}

int wmk_consumer_link_open(const struct wmk_consumer_link_options *options, int ms, struct wmk_consumer_link **result)
{
	const struct timespec end = wmk_deadline(ms);
	struct wmk_consumer_link *link = link_new(options);
	int rc, err = 0;

	if (!link)
		return wmk_error(-ENOMEM, "no memory for a link to a consumer");
	rc = wmk_thread_create(&link->thread, NULL, wmk_link_run, link);
	if (rc) {
		link_free(link);
		return wmk_error(-rc, "cannot start a thread: %s", strerror(rc));
	}
	pthread_setname_np(link->thread, "wmk-link");
	pthread_mutex_lock(&link->lock);
	for (rc = 0; link->state == WMK_LINK_DOWN && rc != ETIMEDOUT;)
		rc = pthread_cond_timedwait(&link->changed, &link->lock, &end);
	if (link->state == WMK_LINK_ENDED)
		err = wmk_error(link->end_err, "%.300s", link->end_words);
	else if (link->state == WMK_LINK_DOWN)
		err = wmk_error(-ETIMEDOUT, "%.80s was not ready in time", link->program);
	pthread_mutex_unlock(&link->lock);
	if (err < 0) {
		wmk_consumer_link_close(link);
		return err;
	}
	*result = link;
	return 0;
}

void wmk_consumer_link_close(struct wmk_consumer_link *link)
{
	if (!link)
		return;
	pthread_mutex_lock(&link->lock);
	link->closing = true;
	pthread_mutex_unlock(&link->lock);
	wmk_link_wake(link);
	pthread_join(link->thread, NULL);
	link_free(link);
}
