/* SPDX-License-Identifier: MIT */
/*
 * consumer_link.c - requests to waymark-consumerd (see consumer_link.h). A request is encoded, queued and sent; its
 * caller waits for the answer.
 *
 * A request stays in the list until it is answered. When the consumer crashes, the list is sent to the next one, after
 * the replay of what the crashed one held. So callers notice only the delay. A caller that stops waiting abandons its
 * request.
 */
#include "sessiond/consumer_link.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/cond.h"
#include "base/error.h"
#include "base/faults.h"
#include "sessiond/consumer_link_request.h"

#define FDS_AT_ONCE (WMK_WIRE_FDS - 4u)

/* ── requests ────────────────────────────────────────────────────────────────────────────────────────── */

void wmk_link_drop_held(struct wmk_link_request *request)
{
	for (size_t i = 0; i < request->n_held; i++)
		if (request->held[i].fd >= 0)
			close(request->held[i].fd);
	free(request->held);
	request->held = NULL;
	request->n_held = 0;
	wmk_arena_free(&request->arena);
}

void wmk_link_request_free(struct wmk_link_request *request)
{
	wmk_link_drop_held(request);
	if (request->fd >= 0)
		close(request->fd);
	pthread_cond_destroy(&request->answered);
	free(request->body);
	free(request->reply);
	free(request);
}

static struct wmk_link_request *request_new(uint16_t type, const struct wmk_object *is, const void *object, int fd)
{
	struct wmk_link_request *request = calloc(1, sizeof(*request));
	long len;

	if (!request) {
		wmk_error(-ENOMEM, "no memory for a request to the consumer");
		return NULL;
	}
	wmk_cond_init(&request->answered);
	request->type = type;
	request->fd = -1;
	len = wmk_object_encode(is, object, &request->body);
	if (len >= 0 && fd >= 0) {
		request->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
		if (request->fd < 0)
			len = wmk_error(-errno, "cannot duplicate a descriptor: %s", strerror(errno));
	}
	if (len < 0) {
		wmk_link_request_free(request);
		return NULL;
	}
	request->len = (size_t)len;
	return request;
}

struct wmk_link_request *wmk_link_query(struct wmk_consumer_link *link, uint16_t type, const struct wmk_object *is,
					const void *object, int fd, bool first)
{
	struct wmk_link_request *request = request_new(type, is, object, fd);

	if (!request)
		return NULL;
	/* 0 is not a valid number. */
	if (++link->numbers == 0)
		link->numbers = 1;
	request->number = link->numbers;
	if (first) {
		request->next = link->requests;
		link->requests = request;
		if (!request->next)
			link->requests_end = &request->next;
	} else {
		*link->requests_end = request;
		link->requests_end = &request->next;
	}
	return request;
}

/* Queue the body in as many frames as it needs. */
static int send_request(struct wmk_consumer_link *link, const struct wmk_link_request *request)
{
	const uint8_t *at = request->body;
	size_t left = request->len;
	int err = 0;

	for (; left > WMK_FRAME_MAX && err == 0; at += WMK_FRAME_MAX, left -= WMK_FRAME_MAX)
		err = wmk_out_frame(&link->out, (enum wmk_msg)WMK_OBJECT_PART, request->number, at, WMK_FRAME_MAX, -1);
	return err < 0 ? err
		       : wmk_out_frame(&link->out, (enum wmk_msg)request->type, request->number, at, left, request->fd);
}

int wmk_link_greet(struct wmk_consumer_link *link)
{
	const struct wmk_consumerd_hello hello = { .version = WMK_CONSUMERD_GREETING, .pid = (uint64_t)getpid() };

	pthread_mutex_lock(&link->lock);
	int err = wmk_consumerd_send(&link->out, WMK_CONSUMERD_HELLO, 0, &wmk_consumerd_hello_object, &hello, -1);

	if (err >= 0)
		err = wmk_out_send(&link->out, link->sock);
	pthread_mutex_unlock(&link->lock);
	return err < 0 ? wmk_error(err, "cannot send a greeting") : 0;
}

void wmk_link_pump(struct wmk_consumer_link *link)
{
	int rc = 1;

	if (link->state != WMK_LINK_UP)
		return;
	while (rc == 1) {
		unsigned queued = 0;

		for (struct wmk_link_request *request = link->requests; request; request = request->next) {
			if (request->sent)
				continue;
			if (link->out.n_fds >= FDS_AT_ONCE || send_request(link, request) < 0)
				break;
			request->sent = true;
			queued++;
		}
		rc = wmk_out_send(&link->out, link->sock);
		if (!queued)
			break;
	}
}

/* The link thread sends the rest, and handles a broken connection. */
void wmk_link_submit(struct wmk_consumer_link *link)
{
	wmk_link_pump(link);
	if (wmk_out_queued(&link->out))
		wmk_link_wake(link);
}

void wmk_link_answered(struct wmk_consumer_link *link, struct wmk_link_request *request)
{
	struct wmk_link_request **at = &link->requests;

	while (*at && *at != request)
		at = &(*at)->next;
	if (*at) {
		*at = request->next;
		if (!*at)
			link->requests_end = at;
	}
	link->again -= request->again;
	request->done = true;
	if (request->abandoned)
		wmk_link_request_free(request);
	else
		pthread_cond_signal(&request->answered);
}

int wmk_link_ended(const struct wmk_consumer_link *link)
{
	return wmk_error(-ECONNABORTED, "the link to the consumer has ended: %.120s", link->end_words);
}

int wmk_link_wait(struct wmk_consumer_link *link, struct wmk_link_request *request, const struct timespec *end)
{
	int rc = 0, err;

	while (!request->done && link->state != WMK_LINK_ENDED && rc != ETIMEDOUT)
		rc = pthread_cond_timedwait(&request->answered, &link->lock, end);
	if (!request->done) {
		request->abandoned = true;
		request->answers = link->answers;
		return link->state == WMK_LINK_ENDED ? wmk_link_ended(link)
						     : wmk_error(-ETIMEDOUT, "the consumer has not answered in time");
	}
	err = request->err;
	if (err < 0)
		wmk_error(err, "%.150s", request->words);
	return err;
}

/* True if the same request is queued and abandoned. */
static bool is_asked(const struct wmk_consumer_link *link, uint16_t type, uint64_t trace, uint64_t rings)
{
	const struct wmk_link_request *request = link->requests;

	while (request &&
	       (request->type != type || request->trace != trace || request->rings != rings || !request->abandoned))
		request = request->next;
	return request != NULL;
}

/*
 * Queue a request and wait. 0: *result is the answer, which the caller frees; -errno. A call without waiting (`ms` 0)
 * adds no second request of the same kind: a consumer that hangs would otherwise accumulate them.
 */
static int ask(struct wmk_consumer_link *link, uint16_t type, const struct wmk_object *is, const void *object,
	       uint64_t trace, uint64_t rings, int ms, struct wmk_link_request **result)
{
	const struct timespec end = wmk_deadline(ms);
	struct wmk_link_request *request;
	int err;

	if (result)
		*result = NULL;
	pthread_mutex_lock(&link->lock);
	if (link->state == WMK_LINK_ENDED) {
		err = wmk_link_ended(link);
		goto out;
	}
	if (ms == 0 && is_asked(link, type, trace, rings)) {
		err = wmk_error(-ETIMEDOUT, "the consumer has not answered in time");
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
 * True if the request has timed out, and concerns the directory of `trace`, or the consumer has answered nothing since.
 */
static bool is_late_for(struct wmk_consumer_link *link, const struct wmk_link_request *request, uint64_t trace)
{
	const struct wmk_replay_trace *mine = wmk_replay_find(link, trace),
				      *its = wmk_replay_find(link, request->trace);

	if (!request->sent || !request->abandoned || request->again || request->type == WMK_CONSUMERD_WAKE ||
	    request->type == WMK_CONSUMERD_METADATA)
		return false;
	return request->answers == link->answers || (mine && its && strcmp(mine->is.path, its->is.path) == 0);
}

/* True if a request has timed out: then others for the trace do not wait, because they can be performed later. */
static bool is_late(struct wmk_consumer_link *link, uint64_t trace)
{
	const struct wmk_link_request *request = link->requests;

	while (request && !is_late_for(link, request, trace))
		request = request->next;
	return request != NULL;
}

/* `kept`: result of wmk_replay_*_add(). */
static int add(struct wmk_consumer_link *link, uint16_t type, const struct wmk_object *is, const void *object,
	       uint64_t trace, uint64_t rings, int fd, int ms, int kept)
{
	const struct timespec end = wmk_deadline(is_late(link, trace) ? 0 : ms);
	struct wmk_link_request *request;
	int err = kept;

	if (err < 0)
		return err;
	request = wmk_link_query(link, type, is, object, fd, false);
	if (!request) {
		if (kept)
			wmk_replay_remove(link, trace, rings);
		return -ENOMEM;
	}
	request->trace = trace;
	request->rings = rings;
	request->inserted = kept > 0;
	wmk_link_submit(link);
	err = wmk_link_wait(link, request, &end);
	if (request->done)
		wmk_link_request_free(request);
	return err;
}

int wmk_consumer_link_trace_add(struct wmk_consumer_link *link, const struct wmk_consumerd_trace *trace, int fd, int ms)
{
	int err;

	if (!trace->trace)
		return wmk_error(-EINVAL, "invalid trace number 0");
	pthread_mutex_lock(&link->lock);
	err = link->state == WMK_LINK_ENDED ? wmk_link_ended(link) :
	      add(link, WMK_CONSUMERD_TRACE_ADD, &wmk_consumerd_trace_object, trace, trace->trace, 0, fd, ms,
		  wmk_replay_trace_add(link, trace, fd));
	pthread_mutex_unlock(&link->lock);
	return err;
}

int wmk_consumer_link_rings_add(struct wmk_consumer_link *link, const struct wmk_consumerd_rings *rings, int fd, int ms)
{
	int err;

	if (!rings->rings)
		return wmk_error(-EINVAL, "invalid rings number 0");
	pthread_mutex_lock(&link->lock);
	err = link->state == WMK_LINK_ENDED ? wmk_link_ended(link) :
	      add(link, WMK_CONSUMERD_RINGS_ADD, &wmk_consumerd_rings_object, rings, rings->trace, rings->rings, fd, ms,
		  wmk_replay_rings_add(link, rings, fd));
	pthread_mutex_unlock(&link->lock);
	return err;
}

/* ── other requests ──────────────────────────────────────────────────────────────────────────────────── */

/* The error because of which writing waits; 0: none. */
static int stuck(const struct wmk_consumerd_report *report)
{
	const struct wmk_consumerd_channel *channels = report->channels.items;

	for (uint32_t i = 0; i < report->channels.n; i++)
		if (channels[i].stats.stuck && channels[i].stats.sink_error && channels[i].stats.sink_error < 4096)
			return wmk_error(-(int)channels[i].stats.sink_error, "%.150s", channels[i].stats.words);
	return 0;
}

/* -ENOENT with the reason, if a new consumer could not resume the trace. */
static int failed(struct wmk_consumer_link *link, uint64_t number)
{
	int err = 0;

	pthread_mutex_lock(&link->lock);
	const struct wmk_replay_trace *trace = wmk_replay_find(link, number);

	if (trace && trace->failed[0]) {
		err = wmk_error_said(-ENOENT, "%.150s", trace->failed);
		wmk_error_add(err, "the records in its rings are lost");
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

void wmk_consumer_link_poke(struct wmk_consumer_link *link, uint64_t trace)
{
	const struct wmk_consumerd_target target = { .trace = trace };
	struct wmk_link_request *request;

	pthread_mutex_lock(&link->lock);
	/* A new consumer drains everything anyway. A request that is not sent yet has the same effect. */
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
	/* Adopt all entries before the first call of `held`. */
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
	err = link->state == WMK_LINK_ENDED ? 0 : wmk_error(-ETIMEDOUT, "the consumer has not ended in time");
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
	sigset_t all, before;
	int rc, err = 0;

	if (!link)
		return wmk_error(-ENOMEM, "no memory for a link to a consumer");
	wmk_signals_of_others(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = pthread_create(&link->thread, NULL, wmk_link_run, link);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (rc) {
		link_free(link);
		return wmk_error(-rc, "cannot start a thread: %s", strerror(rc));
	}
	pthread_setname_np(link->thread, "wmk-link");
	pthread_mutex_lock(&link->lock);
	for (rc = 0; link->state == WMK_LINK_DOWN && rc != ETIMEDOUT;)
		rc = pthread_cond_timedwait(&link->changed, &link->lock, &end);
	if (link->state == WMK_LINK_ENDED)
		err = wmk_error(link->end_err, "%.150s", link->end_words);
	else if (link->state == WMK_LINK_DOWN)
		err = wmk_error(-ETIMEDOUT, "%.80s is not ready in time", link->program);
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
