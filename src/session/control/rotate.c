/* SPDX-License-Identifier: MIT */
/*
 * rotate.c - rotations of a session (docs/rotation.md).
 *
 *     cut all traces ──► number, name, clock of the next chunk ──saved──► ROTATE, new metadata ──► wait ──► final name
 *                        under the lock                                   under the lock
 *
 * The session is saved before the first trace is closed. If this daemon crashes later, the next session daemon
 * continues the rotation. If a consumer daemon crashes, the next consumer daemon receives ROTATE again.
 */
#include "session/control/ring_requests.h"
#include "session/model/regenerate.h"
#include "session/model/ring_layout.h"
#include "session/model/rings.h"
#include "session/model/rotation_settings.h"
#include "session/model/session_clock.h"
#include "session/model/session_model.h"
#include "session/tracing.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/testpoint.h"
#include "store/chunk_lock.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* minimum time between two rotations of a schedule, and time to the next attempt after an error */
#define BETWEEN_NS 100000000u
#define RETRY_NS 10000000000u

const char *wmk_session_path(const struct wmk_session *session)
{
	return session->path;
}

const struct wmk_session_chunk *wmk_session_chunk_of(const struct wmk_session *session)
{
	return &session->chunk;
}

bool wmk_session_rotating(const struct wmk_session *session)
{
	return session->chunk.closing;
}

#define RESTART_MS 10000           /* the traces of a session report a restart of the clock within this time */

/* Set the number and the begin time of the next chunk, and the name of the previous chunk. */
static void chunk_advance(struct wmk_session_chunk *chunk, uint64_t overlap_ns)
{
	const uint64_t now = (uint64_t)time(NULL);

	wmk_chunk_name_format(chunk->closed, (time_t)chunk->begin, (time_t)now, chunk->number);
	chunk->before.overlap_ns = chunk->overlap_ns;
	chunk->before.offset_s = chunk->offset_s;
	chunk->before.offset = chunk->offset;
	chunk->number++;
	chunk->begin = now;
	chunk->overlap_ns = overlap_ns;
	chunk->closing = true;
}

/* Open all traces: a trace of an earlier daemon is open only after its first use. */
static int open_traces(struct wmk_session *session)
{
	int err = 0;

	for (struct trace *trace = session->traces; trace && err == 0; trace = trace->next)
		err = wmk_trace_ensure_open(trace);
	return err;
}

/*
 * Unlocked. If the cut of a trace fails, the chunk of this trace ends at the position up to which its rings were read.
 */
static void cut(struct wmk_session *session, struct trace *traces)
{
	for (struct trace *trace = traces; trace; trace = trace->next)
		if (session->tracing->options.consumer->trace_cut(trace->output) < 0)
			wmk_error_clear();
}

/* Locked. Queue the rotation and the new metadata of each trace. */
static int begin_chunk(struct wmk_session *session)
{
	const struct wmk_consumer_port_ops *consumer = session->tracing->options.consumer;
	int first = 0;

	for (struct trace *trace = session->traces; trace; trace = trace->next) {
		int err = consumer->trace_rotate(trace->output, session->chunk.closed, session->chunk.number, false);

		if (err == 0)
			err = wmk_trace_regenerate(trace, false);
		if (err < 0 && first == 0)
			first = err;
	}
	return first;
}

static struct wmk_trace_info info_of(const struct wmk_session *session)
{
	const struct wmk_ctl_settings *is = &session->settings;

	return (struct wmk_trace_info){
		.session = session->name, .path = session->path, .sub = "", .uid = session->uid, .gid = session->gid,
		.closed = session->chunk.closed, .compress = is->compress,
		.retain_size = is->retain_size, .retain_us = is->retain_us, .retain_count = is->retain_count,
	};
}

/*
 * Call between wmk_ring_requests_begin() and wmk_ring_requests_end(), with the session's lock held. Wait until all
 * traces are closed, and give the closed chunk its final name.
 */
static int finish(struct wmk_session *session)
{
	const struct wmk_tracing_options *o = &session->tracing->options;
	const struct wmk_trace_info info = info_of(session);
	struct trace *const traces = session->traces;
	int err = 0;

	pthread_mutex_unlock(&session->lock);
	WMK_TESTPOINT(session_rotating);
	for (struct trace *trace = traces; trace && err == 0; trace = trace->next)
		err = o->consumer->trace_rotate(trace->output, info.closed, session->chunk.number, true);
	pthread_mutex_lock(&session->lock);
	if (err == 0)
		err = wmk_ring_requests_left(session, o->consumer->archive_left);
	pthread_mutex_unlock(&session->lock);
	WMK_TESTPOINT(session_rotated);
	if (err == 0)
		err = o->consumer->archive_end(o->consumer_data, &info);
	pthread_mutex_lock(&session->lock);
	session->chunk.closing = err < 0;
	if (err == 0)
		wmk_ring_requests_counted(session);
	return err < 0 ? wmk_error_add(err, "the rotation of session '%.100s' is not finished", session->name) : 0;
}

static int check_kind(const struct wmk_session *session)
{
	const struct wmk_consumer_port_ops *consumer = session->tracing->options.consumer;

	if (!consumer->trace_rotate)
		return wmk_errorx(-ENOTSUP, "this recording cannot be rotated");
	if (session->settings.snapshot)
		return wmk_errorx(-ENOTSUP,
				  "session '%.100s' is a flight recorder, which writes only snapshots: use "
				  "`waymark snapshot record`",
				  session->name);
	return 0;
}

static int check(const struct wmk_session *session)
{
	int err = check_kind(session);

	if (err == 0 && !session->started)
		return wmk_errorx(-ENODATA, "session '%.100s' has never been active: start it first",
				  session->name);
	return err;
}

int wmk_session_clock_restarted(struct wmk_session *session)
{
	const int64_t now = wmk_clock_ms();
	int err = check(session);

	if (err == 0 && session->restarted_ms && now - session->restarted_ms < RESTART_MS)
		return 0;
	for (unsigned i = 0; i < session->n_channels && err == 0; i++)
		if (session->channels[i]->laid_out && !wmk_channel_is_kernel(session->channels[i]))
			err = wmk_rings_new_layout(session->channels[i]);
	if (err < 0)
		return err;
	session->restarted_ms = now;
	return 1;
}

int wmk_session_rotate_finish(struct wmk_session *session)
{
	int err = 0;

	wmk_ring_requests_begin(session);
	if (session->chunk.closing)
		err = open_traces(session);
	if (session->chunk.closing && err == 0)
		err = finish(session);
	wmk_ring_requests_end(session);
	return err;
}

void wmk_session_rotate_abandon(struct wmk_session *session)
{
	const struct wmk_tracing_options *o = &session->tracing->options;
	const struct wmk_trace_info info = info_of(session);
	struct wmk_error_chain *cause;

	if (!session->chunk.closing || session->tracing->leaving)
		return;
	session->chunk.closing = false;
	pthread_mutex_unlock(&session->lock);
	cause = wmk_error_take();
	if (o->consumer->archive_end(o->consumer_data, &info) < 0)
		wmk_error_clear();
	wmk_error_give(cause);
	pthread_mutex_lock(&session->lock);
}

int wmk_session_rotate(struct wmk_session *session)
{
	const struct wmk_tracing_options *o = &session->tracing->options;
	int err = check(session);

	if (err < 0)
		return err;
	wmk_ring_requests_begin(session);
	err = open_traces(session);
	if (err == 0 && session->chunk.closing)
		err = finish(session);
	if (err == 0) {
		struct trace *const traces = session->traces;
		const uint64_t begin = wmk_clock_monotonic();

		pthread_mutex_unlock(&session->lock);
		if (o->consumer->chunk_end)
			o->consumer->chunk_end(o->consumer_data, session->path);
		cut(session, traces);
		pthread_mutex_lock(&session->lock);
		chunk_advance(&session->chunk, wmk_clock_monotonic() - begin);
		session->interval_begin = begin;
		wmk_session_chunk_measure(session);
		WMK_TESTPOINT(session_cut);
		/* before the first trace is closed */
		wmk_ring_requests_counted(session);
		WMK_TESTPOINT(session_chunk_saved);
		err = begin_chunk(session);
	}
	if (err == 0)
		err = finish(session);
	wmk_ring_requests_end(session);
	return err;
}

/* ── the schedule ────────────────────────────────────────────────────────────────────────────────────── */

int wmk_session_set_rotation(struct wmk_session *session, const struct wmk_ctl_rotation *change)
{
	struct wmk_ctl_settings now = session->settings;
	int err = check_kind(session);

	if (change->off & WAYMARK_CTL_ROTATION_TIMER)
		now.rotate_us = 0;
	if (change->off & WAYMARK_CTL_ROTATION_SIZE)
		now.rotate_size = 0;
	if (change->off & WAYMARK_CTL_ROTATION_RETENTION)
		now.retain_size = now.retain_us = now.retain_count = 0;
	now.rotate_us = change->rotate_us ? change->rotate_us : now.rotate_us;
	now.rotate_size = change->rotate_size ? change->rotate_size : now.rotate_size;
	now.retain_size = change->retain_size ? change->retain_size : now.retain_size;
	now.retain_us = change->retain_us ? change->retain_us : now.retain_us;
	now.retain_count = change->retain_count ? change->retain_count : now.retain_count;
	if (err == 0)
		err = wmk_settings_rotation_check(&now);
	if (err < 0)
		return err;
	if (wmk_settings_rotate_us(&now) != wmk_settings_rotate_us(&session->settings))
		session->interval_begin = wmk_clock_monotonic();
	session->settings = now;
	return 0;
}

/*
 * Return the monotonic time at which the interval began. In a restored session, the interval began when the open chunk
 * began.
 */
static uint64_t interval_begin(struct wmk_session *session, uint64_t now, uint64_t interval_us)
{
	const uint64_t real = (uint64_t)time(NULL), begin = session->chunk.begin,
		       age_us = real > begin ? (real - begin) * 1000000 : 0;

	if (!session->interval_begin)
		session->interval_begin = now - 1000 * (age_us < interval_us ? age_us : interval_us);
	return session->interval_begin;
}

int wmk_session_rotate_scheduled(struct wmk_session *session, uint64_t *next)
{
	const struct wmk_tracing_options *o = &session->tracing->options;
	const uint64_t us = wmk_settings_rotate_us(&session->settings),
		       max = wmk_settings_chunk_max(&session->settings), now = wmk_clock_monotonic();
	bool is_due = false;
	int err;

	*next = UINT64_MAX;
	if (o->consumer->chunk_is_due)
		is_due = o->consumer->chunk_is_due(o->consumer_data, session->path, session->active ? max : 0);
	if (!session->active || (!us && !max))
		return 0;
	if (us)
		*next = interval_begin(session, now, us) + 1000 * us;
	if (!is_due && *next > now)
		return 0;
	if (now < session->next_rotation) {
		*next = session->next_rotation;
		return 0;
	}
	err = wmk_session_rotate(session);
	*next = session->next_rotation = wmk_clock_monotonic() + (err < 0 ? RETRY_NS : BETWEEN_NS);
	return err < 0 ? err : 1;
}
