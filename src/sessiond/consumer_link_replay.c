/* SPDX-License-Identifier: MIT */
/*
 * consumer_link_replay.c - record what the consumer holds: traces, ring sets with their descriptors, and the counts of
 * removed rings. The link stores all traces, ring sets and counts. A new consumer daemon receives all traces, ring sets
 * and counts, and continues at the end of the trace files.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <waymark/ring.h>

#include "base/error.h"
#include "ring/file.h"
#include "sessiond/consumer_link_request.h"

struct wmk_replay_trace *wmk_replay_find(struct wmk_consumer_link *link, uint64_t number)
{
	struct wmk_replay_trace *trace = link->traces;

	while (trace && trace->is.trace != number)
		trace = trace->next;
	return trace;
}

static void trace_free(struct wmk_replay_trace *trace)
{
	if (trace->budget >= 0)
		close(trace->budget);
	wmk_arena_free(&trace->arena);
	free(trace);
}

int wmk_replay_trace_add(struct wmk_consumer_link *link, const struct wmk_consumerd_trace *is, int fd)
{
	struct wmk_replay_trace *trace;

	if (wmk_replay_find(link, is->trace))
		return 0;
	trace = calloc(1, sizeof(*trace));
	if (!trace)
		return wmk_error(-ENOMEM, "no memory for trace %.60s", is->path);
	trace->budget = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 3) : -1;
	if (fd >= 0 && trace->budget < 0) {
		int err = wmk_error(-errno, "cannot keep the budget page of %.240s: %s", is->path, strerror(errno));

		trace_free(trace);
		return err;
	}
	if (wmk_object_copy(&wmk_consumerd_trace_object, is, &trace->is, &trace->arena) < 0) {
		trace_free(trace);
		return wmk_error(-ENOMEM, "no memory for trace %.60s", is->path);
	}
	trace->made = is->mode == WMK_CONSUMERD_TRACE_AGAIN;
	trace->complete = is->mode == WMK_CONSUMERD_TRACE_NEW;
	trace->next = link->traces;
	link->traces = trace;
	return 1;
}

static struct wmk_replay_rings **rings_at(struct wmk_replay_trace *trace, uint64_t number)
{
	struct wmk_replay_rings **at = &trace->rings;

	while (*at && (*at)->is.rings != number)
		at = &(*at)->next;
	return at;
}

static void rings_free(struct wmk_replay_rings *rings)
{
	if (rings->fd >= 0)
		close(rings->fd);
	wmk_arena_free(&rings->arena);
	free(rings);
}

int wmk_replay_rings_add(struct wmk_consumer_link *link, const struct wmk_consumerd_rings *is, int fd)
{
	struct wmk_replay_trace *trace = wmk_replay_find(link, is->trace);
	struct wmk_replay_rings *rings, **at;
	int err;

	if (!trace)
		return wmk_errorx(-ENOENT, "there is no trace %llu", (unsigned long long)is->trace);
	at = rings_at(trace, is->rings);
	if (*at) {
		if (is->statedump > (*at)->is.statedump)
			(*at)->is.statedump = is->statedump;
		err = wmk_consumerd_events_add(&(*at)->is.events, &is->events, &(*at)->arena);
		if (err >= 0)
			err = wmk_consumerd_syscalls_set(&(*at)->is, is, &(*at)->arena);
		return err < 0 ? err : 0;
	}
	rings = calloc(1, sizeof(*rings));
	if (!rings)
		return wmk_error(-ENOMEM, "no memory for rings");
	rings->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	err = rings->fd < 0 ? wmk_error(-errno, "cannot keep the descriptor of channel %.60s: %s", is->channel,
					strerror(errno))
			    : wmk_object_copy(&wmk_consumerd_rings_object, is, &rings->is, &rings->arena);
	if (err < 0) {
		rings_free(rings);
		return err;
	}
	*at = rings;
	return 1;
}

void wmk_replay_remove(struct wmk_consumer_link *link, uint64_t number, uint64_t rings_number)
{
	struct wmk_replay_trace **at = &link->traces, *trace;
	struct wmk_replay_rings **of, *rings;

	while (*at && (*at)->is.trace != number)
		at = &(*at)->next;
	trace = *at;
	if (!trace)
		return;
	for (of = rings_number ? rings_at(trace, rings_number) : &trace->rings; *of;) {
		rings = *of;
		*of = rings->next;
		rings_free(rings);
		if (rings_number)
			return;
	}
	if (rings_number)
		return;
	*at = trace->next;
	trace_free(trace);
}

/*
 * Store a rotation for the next consumer daemon, which opens the chunk is->chunk. If the previous chunk is still open,
 * the consumer daemon completes the rotation.
 */
int wmk_replay_rotate(struct wmk_consumer_link *link, const struct wmk_consumerd_rotation *is)
{
	struct wmk_replay_trace *trace = wmk_replay_find(link, is->trace);
	const char *closed = trace ? wmk_arena_text(&trace->arena, is->closed) : NULL;

	if (!closed)
		return trace ? -ENOMEM
			     : wmk_errorx(-ENOENT, "there is no trace %llu", (unsigned long long)is->trace);
	trace->is.chunk = is->chunk;
	trace->is.closed = closed;
	return 0;
}

/* Add the counts of removed rings to the trace. Without memory they are lost. */
static void keep_counts(struct wmk_replay_trace *trace, const struct wmk_consumerd_channel *channel)
{
	struct wmk_consumerd_channel *items = trace->is.gone.items;
	uint32_t i = 0;

	while (i < trace->is.gone.n && strcmp(items[i].channel, channel->channel) != 0)
		i++;
	if (i == trace->is.gone.n) {
		const char *name = wmk_arena_text(&trace->arena, channel->channel);

		if (!name || i == WMK_CONSUMERD_CHANNELS_MAX ||
		    !wmk_arena_append(&trace->arena, &trace->is.gone, sizeof(*items))) {
			wmk_error_clear();
			return;
		}
		items = trace->is.gone.items;
		items[i].channel = name;
	}
	wmk_consumerd_stats_add(&items[i].stats, &channel->stats);
	if ((!items[i].stats.words || !items[i].stats.words[0]) && channel->stats.words[0])
		items[i].stats.words = wmk_arena_text(&trace->arena, channel->stats.words);
}

static void rings_are_gone(struct wmk_consumer_link *link, struct wmk_replay_trace *trace,
			   const struct wmk_link_request *request)
{
	struct wmk_consumerd_report report;
	const struct wmk_consumerd_channel *channels;
	struct wmk_arena arena = { 0 };

	/*
	 * Add the counts of the rings only once. If an earlier answer has already removed the rings, that answer has
	 * added the counts.
	 */
	if (*rings_at(trace, request->rings) &&
	    wmk_object_decode(&wmk_consumerd_report_object, request->reply, request->reply_len, &report, &arena) == 0) {
		channels = report.channels.items;
		for (uint32_t i = 0; i < report.channels.n; i++)
			keep_counts(trace, &channels[i]);
	}
	wmk_arena_free(&arena);
	wmk_replay_remove(link, request->trace, request->rings);
}

void wmk_replay_answered(struct wmk_consumer_link *link, const struct wmk_link_request *request)
{
	struct wmk_replay_trace *trace = wmk_replay_find(link, request->trace);

	if (!trace)
		return;
	switch (request->type) {
	case WMK_CONSUMERD_TRACE_ADD:
		trace->made |= request->err == 0;
		if (request->again || request->abandoned)
			wmk_error_format(trace->failed, sizeof(trace->failed), "%.199s",
					 request->err < 0 ? request->words : "");
		/* (a trace that timed out is kept, so that the error is reported later) */
		if (request->err < 0 && request->inserted && !request->abandoned)
			wmk_replay_remove(link, request->trace, 0);
		break;
	case WMK_CONSUMERD_RINGS_ADD:
		if (request->err < 0 && request->inserted)
			wmk_replay_remove(link, request->trace, request->rings);
		break;
	case WMK_CONSUMERD_TRACE_REMOVE:
		if (request->err == 0)
			wmk_replay_remove(link, request->trace, 0);
		break;
	case WMK_CONSUMERD_RINGS_REMOVE:
		if (request->err == 0)
			rings_are_gone(link, trace, request);
		break;
	case WMK_CONSUMERD_METADATA:
		if (request->err == -ESTALE) {
			trace->complete = false;
			if (link->options.on_stale)
				link->options.on_stale(link->options.data, trace->is.path);
		}
		break;
	case WMK_CONSUMERD_CLEAR:
		trace->clearing -= trace->clearing > 0;
		if (request->err == 0)
			trace->is.gone.n = 0;
		break;
	default:
		break;
	}
}

static int give_rings(struct wmk_consumer_link *link, const struct wmk_replay_trace *trace,
		      const struct wmk_replay_rings *rings)
{
	struct wmk_consumerd_rings is = rings->is;
	struct wmk_link_request *request;

	is.resume = true;
	/* The crashed consumer daemon may not have completed a CLEAR request, so clear again. */
	is.clear = trace->clearing > 0;
	request = wmk_link_query(link, WMK_CONSUMERD_RINGS_ADD, &wmk_consumerd_rings_object, &is, rings->fd, true);
	if (!request)
		return -ENOMEM;
	request->trace = is.trace;
	request->rings = is.rings;
	request->again = request->abandoned = true;
	link->again++;
	return 0;
}

/* Unlink the unanswered METADATA requests of the trace, keep their order, and return the first request. */
static struct wmk_link_request *take_metadata(struct wmk_consumer_link *link, uint64_t trace)
{
	struct wmk_link_request **at = &link->requests, *first = NULL, **end = &first;

	while (*at) {
		struct wmk_link_request *request = *at;

		if (request->type != WMK_CONSUMERD_METADATA || request->trace != trace) {
			at = &request->next;
			continue;
		}
		*at = request->next;
		request->next = NULL;
		*end = request;
		end = &request->next;
	}
	link->requests_end = at;
	return first;
}

static struct wmk_link_request *last_of(struct wmk_link_request *first)
{
	while (first && first->next)
		first = first->next;
	return first;
}

/* Insert the requests at the front of the list. */
static void put_first(struct wmk_consumer_link *link, struct wmk_link_request *first)
{
	struct wmk_link_request *last = last_of(first);

	if (!last)
		return;
	last->next = link->requests;
	if (!last->next)
		link->requests_end = &last->next;
	link->requests = first;
}

/*
 * Drop the parts of older replacements that the new consumer daemon has not written. The new consumer daemon needs only
 * the latest replacement with all its parts, and the parts that were appended later.
 */
static struct wmk_link_request *drop_replaced(struct wmk_link_request *first)
{
	struct wmk_link_request *begin = first, *next;
	bool inside = false;

	/*
	 * In the list, the parts of an earlier chunk precede the other parts. The parts of an earlier chunk stay in the
	 * list, because the rotation of that chunk may not be finished.
	 */
	if (first && first->next && first->chunk != last_of(first)->chunk)
		return first;
	for (struct wmk_link_request *request = first; request; request = request->next) {
		if (request->replaces && !inside)
			begin = request;
		inside = request->replaces && request->more;
	}
	for (; first != begin; first = next) {
		next = first->next;
		first->next = NULL;
		first->done = true;
		if (first->abandoned)
			wmk_link_request_free(first);
		else
			pthread_cond_signal(&first->answered);
	}
	return begin;
}

static int give_trace(struct wmk_consumer_link *link, const struct wmk_replay_trace *trace)
{
	struct wmk_consumerd_trace is = trace->is;
	struct wmk_link_request *request;

	is.mode = trace->made ? WMK_CONSUMERD_TRACE_AGAIN : WMK_CONSUMERD_TRACE_UNSURE;
	is.gated = trace->is.gated && !trace->complete;
	request = wmk_link_query(link, WMK_CONSUMERD_TRACE_ADD, &wmk_consumerd_trace_object, &is, trace->budget, true);
	if (!request)
		return -ENOMEM;
	request->trace = trace->is.trace;
	request->again = request->abandoned = true;
	link->again++;
	return 0;
}

int wmk_replay_send(struct wmk_consumer_link *link)
{
	/*
	 * Each request is inserted at the front, so the resulting order is: the trace, the trace's metadata, the
	 * trace's rings.
	 */
	for (struct wmk_replay_trace *trace = link->traces; trace; trace = trace->next) {
		for (struct wmk_replay_rings *rings = trace->rings; rings; rings = rings->next)
			if (give_rings(link, trace, rings) < 0)
				return -ENOMEM;
		put_first(link, drop_replaced(take_metadata(link, trace->is.trace)));
		if (give_trace(link, trace) < 0)
			return -ENOMEM;
	}
	return 0;
}

void wmk_replay_heartbeat(struct wmk_consumer_link *link)
{
	struct waymark_ring_set *set;

	for (struct wmk_replay_trace *trace = link->traces; trace; trace = trace->next) {
		for (struct wmk_replay_rings *rings = trace->rings; rings; rings = rings->next) {
			if (rings->is.kernel || wmk_ring_set_open_reader_any(rings->fd, &set) < 0)
				continue;
			waymark_ring_set_heartbeat(set);
			waymark_ring_set_close(set);
		}
	}
}
