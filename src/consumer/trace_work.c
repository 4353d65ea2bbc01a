/* SPDX-License-Identifier: MIT */
/*
 * trace_work.c - what a trace's thread does for the server: opens the directory, takes rings in, lets them go, settles,
 * clears, counts. Whatever may take long, a slow disk or a directory far away, keeps this trace alone.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "consumer/server_state.h"
#include "kernel/channel/syscall_reader.h"
#include "ring/file.h"
#include "store/store.h"

/* The first error counts; its words are kept. */
static void note_error(struct wmk_server_work *work, int err)
{
	if (err >= 0 || work->err < 0)
		return;
	work->err = err;
	wmk_error_text(work->words, sizeof(work->words));
	wmk_error_clear();
}

/* It is done, with the cause chain of err < 0; the server's thread answers. */
static void work_done(struct wmk_server_work *work, int err)
{
	struct wmk_consumer_server *server = work->trace->server;

	note_error(work, err);
	work->next = NULL;
	pthread_mutex_lock(&server->lock_done);
	*server->done_end = work;
	server->done_end = &work->next;
	pthread_mutex_unlock(&server->lock_done);
	wmk_server_wake(server);
}

/* ── metadata ────────────────────────────────────────────────────────────────────────────────────────────
 *
 * What the session daemon sent is written before the next packet with records, or at the next look. Until then the
 * request is not answered: the session daemon repeats it to the next consumer daemon if this one crashes.
 *
 *     METADATA ──► trace->metadata: job ─► job ─► job ──written──► answered
 *                                                      └─ disk full: stays, and packets wait
 */

/* The last job of what is written at once: an appended part, or all parts of a replacement. NULL: some are missing. */
static const struct wmk_server_work *last_at_once(const struct wmk_server_work *first)
{
	if (!first->metadata.replace)
		return first;
	while (first && first->metadata.more)
		first = first->next;
	return first;
}

static int metadata_replace(struct wmk_server_trace *trace, const struct wmk_server_work *first,
			    const struct wmk_server_work *last)
{
	size_t len = 0;
	char *text;
	int err;

	for (const struct wmk_server_work *work = first; work != last->next; work = work->next)
		len += strlen(work->metadata.text);
	text = malloc(len + 1);
	if (!text)
		return wmk_error(-ENOMEM, "no memory for the metadata of %.100s", trace->is.path);
	len = 0;
	for (const struct wmk_server_work *work = first; work != last->next; work = work->next) {
		const size_t one = strlen(work->metadata.text);

		memcpy(text + len, work->metadata.text, one);
		len += one;
	}
	err = trace->out->ops->metadata_replace(trace->out, text, len);
	free(text);
	return err;
}

static void answer_through(struct wmk_server_trace *trace, const struct wmk_server_work *last, int err)
{
	struct wmk_server_work *work;

	do {
		work = trace->metadata;
		trace->metadata = work->next;
		if (!trace->metadata)
			trace->metadata_end = &trace->metadata;
		work_done(work, err);
	} while (work != last);
}

/* 0: it is written, or never will be, and answered; -EAGAIN: a part is missing; -errno: it is tried again. */
static int write_first(struct wmk_server_trace *trace)
{
	const struct wmk_server_work *first = trace->metadata, *last = last_at_once(first);
	const struct wmk_consumerd_metadata *is = &first->metadata;
	int err;

	if (!last)
		return -EAGAIN;
	if (is->replace)
		err = metadata_replace(trace, first, last);
	else if (trace->gated)
		err = wmk_error(-ESTALE, "the metadata of %.100s must be replaced first", trace->is.path);
	else
		err = trace->out->ops->metadata(trace->out, is->offset, is->text, strlen(is->text));
	if (err < 0 && err != -ESTALE)
		return err;
	trace->gated = err == -ESTALE;
	answer_through(trace, last, err);
	return 0;
}

int wmk_server_metadata_write(void *data)
{
	struct wmk_server_trace *trace = data;
	int err = 0;

	while (trace->metadata && err >= 0)
		err = write_first(trace);
	return err < 0 ? err : trace->gated ? -EAGAIN : 0;
}

static void metadata_add(struct wmk_server_work *work)
{
	struct wmk_server_trace *trace = work->trace;

	if (!trace->out) {
		work_done(work, wmk_error(-ENOENT, "the trace %.100s is not open", trace->is.path));
		return;
	}
	work->next = NULL;
	*trace->metadata_end = work;
	trace->metadata_end = &work->next;
	if (wmk_server_metadata_write(trace) < 0)
		wmk_error_clear();
}

static void metadata_drop(struct wmk_server_trace *trace)
{
	while (trace->metadata)
		answer_through(trace, trace->metadata,
			       wmk_error(-ECANCELED, "the trace %.100s has ended", trace->is.path));
}

/* ── the trace ───────────────────────────────────────────────────────────────────────────────────────── */

_Static_assert((int)WMK_CONSUMERD_TRACE_UNSURE == (int)WMK_OUTPUT_UNSURE, "modes of both are the same");

/* A trace that could not be opened is opened by the next request for it. */
static int trace_add(struct wmk_server_work *work)
{
	struct wmk_server_trace *trace = work->trace;
	struct wmk_output *output = wmk_server_output_of(trace);
	struct wmk_output_place place = { .mode = (enum wmk_output_mode)trace->is.mode, .sub = trace->is.sub };

	if (trace->out)
		return 0;
	memcpy(place.uuid, trace->is.uuid, sizeof(place.uuid));
	trace->err = output->ops->trace_open(output, &place, &trace->out);
	if (trace->err < 0) {
		trace->out = NULL;
		return wmk_error_add(trace->err, "cannot write a trace in %.100s", trace->is.path);
	}
	wmk_consumer_set_output(trace->consumer, trace->out);
	return 0;
}

/* Files of streams are gone. */
static void count_again(struct wmk_server_trace *trace)
{
	struct wmk_output *output = wmk_server_output_of(trace);

	if (output->ops->usage(output) < 0)
		wmk_error_clear();
}

/* ── rings ───────────────────────────────────────────────────────────────────────────────────────────── */

static int set_add(struct wmk_server_work *work, struct wmk_server_rings *rings, const struct wmk_consumer_set *how)
{
	const struct wmk_consumerd_rings *is = &rings->is;
	struct waymark_ring_set *set;
	int err = wmk_ring_set_open_reader_any(rings->fd, &set);

	if (err < 0)
		return wmk_error(err, "what came with channel %.60s is no ring set: %s", is->channel, strerror(-err));
	if (memcmp(waymark_ring_set_options(set)->uuid, is->uuid, sizeof(is->uuid)) != 0)
		err = wmk_error(-EINVAL, "the ring set of channel %.60s is another than it says", is->channel);
	if (err >= 0)
		err = wmk_consumer_add(work->trace->consumer, set, how);
	if (err < 0) {
		waymark_ring_set_close(set);
		return err;
	}
	rings->set = set;
	return 0;
}

static int events_add(struct wmk_kreader *kernel, const struct wmk_list *events)
{
	const struct wmk_consumerd_event *items = events->items;
	int err = 0;

	for (uint32_t i = 0; i < events->n && err >= 0; i++) {
		const void *program;
		size_t len;

		if (!wmk_consumerd_event_filter(&items[i], &program, &len))
			return wmk_error(-EPROTO, "the filter of %.60s is shorter than it says", items[i].name);
		err = wmk_kreader_event(kernel, items[i].system, items[i].name, items[i].id);
		if (err >= 0)
			err = wmk_kreader_filter(kernel, items[i].system, items[i].name, program, len,
						 items[i].changing);
	}
	return err;
}

/*
 * System calls by BPF: which from now on. What may be there of them from before is gone on with, or cleared, as the
 * channel's other streams.
 */
static int syscalls_set(struct wmk_server_work *work, struct wmk_kreader *kernel, const struct wmk_consumer_set *how)
{
	const struct wmk_syscalls_wanted wanted = { .calls = work->calls.items,
						  .bytes = work->syscall_ring_bytes,
						  .pids = work->syscall_pids.items,
						  .n_pids = work->syscall_pids.n,
						  .narrowed = work->syscalls_narrowed,
						  .resume = how->resume };
	int err = work->calls.n == WMK_SYSCALLS_WORDS ? wmk_kreader_calls(kernel, &wanted) : 0;

	return err == 1 ? wmk_consumer_add_syscalls(work->trace->consumer, kernel, how) : err;
}

static int kernel_add(struct wmk_server_work *work, struct wmk_server_rings *rings, const struct wmk_consumer_set *how)
{
	const uint64_t *numbers = rings->is.contexts.items;
	uint8_t contexts[256];
	struct wmk_kreader_options options = { .instance = rings->fd,
					       .contexts = contexts,
					       .only_pid = (int32_t)rings->is.only_pid,
					       .own_find = wmk_server_own_pids,
					       .own_data = work->trace->server };
	struct wmk_kreader *kernel;
	int err;

	for (; options.n_contexts < rings->is.contexts.n && options.n_contexts < sizeof(contexts); options.n_contexts++)
		contexts[options.n_contexts] = (uint8_t)numbers[options.n_contexts];
	err = wmk_kreader_open(&options, &kernel);
	if (err < 0)
		return wmk_error_add(
			err, "what came with channel %.60s cannot be read as an instance of the kernel's tracers",
			rings->is.channel);
	err = events_add(kernel, &work->events);
	if (err >= 0)
		err = wmk_consumer_add_kernel(work->trace->consumer, kernel, how);
	if (err < 0) {
		wmk_kreader_close(kernel);
		return err;
	}
	rings->kernel = kernel;
	return 0;
}

static int rings_add(struct wmk_server_work *work)
{
	struct wmk_server_rings *rings = work->rings[0];
	const struct wmk_consumerd_rings *is = &rings->is;
	int err;
	const struct wmk_store_limits limits = { is->tracefile_size, is->tracefile_count };
	const struct wmk_consumer_set how = {
		.channel = is->channel,
		.stream_id = is->stream_id,
		.at_stop_only = is->at_stop_only,
		.resume = is->resume || is->clear,
		.clear = is->clear,
		.start_ts = is->start_ts,
		.limits = &limits,
		.statedump = work->statedump,
		.keep = work->trace->server->options.keep,
		.budget = work->trace->is.max_size > 0,
	};

	if (rings->set)
		return 0;
	if (!is->kernel)
		return set_add(work, rings, &how);
	err = rings->kernel ? events_add(rings->kernel, &work->events) : kernel_add(work, rings, &how);
	if (err >= 0)
		err = syscalls_set(work, rings->kernel, &how);
	return err < 0 || !how.statedump ? err : wmk_consumer_dump(work->trace->consumer, rings->kernel, &how);
}

static void rings_remove(struct wmk_server_work *work)
{
	for (unsigned i = 0; i < work->n_rings; i++) {
		struct wmk_server_rings *rings = work->rings[i];

		if (!wmk_server_rings_from(rings))
			continue;
		note_error(work,
			   wmk_consumer_remove(work->trace->consumer, wmk_server_rings_from(rings), &work->stats[i]));
		wmk_server_rings_close(rings);
	}
}

static void settle(struct wmk_server_work *work)
{
	for (unsigned i = 0; i < work->n_rings; i++) {
		struct wmk_server_rings *rings = work->rings[i];

		if (!wmk_server_rings_from(rings) || (work->type == WMK_CONSUMERD_FLUSH && rings->is.at_stop_only))
			continue;
		note_error(work, wmk_consumer_settle(work->trace->consumer, wmk_server_rings_from(rings)));
	}
}

static void count(struct wmk_server_work *work)
{
	for (unsigned i = 0; i < work->n_rings && work->stats; i++)
		if (wmk_server_rings_from(work->rings[i]))
			wmk_consumer_stats_of(work->trace->consumer, wmk_server_rings_from(work->rings[i]),
					      &work->stats[i]);
}

static void run(struct wmk_server_work *work)
{
	switch (work->type) {
	case WMK_CONSUMERD_RINGS_ADD:
		note_error(work, rings_add(work));
		break;
	case WMK_CONSUMERD_RINGS_REMOVE:
	case WMK_CONSUMERD_TRACE_REMOVE:
		rings_remove(work);
		break;
	case WMK_CONSUMERD_STOP:
		settle(work);
		count(work);
		break;
	case WMK_CONSUMERD_FLUSH:
		settle(work);
		break;
	case WMK_CONSUMERD_CLEAR:
		note_error(work, wmk_consumer_clear(work->trace->consumer));
		count_again(work->trace);
		break;
	case WMK_CONSUMERD_STATS:
		count(work);
		break;
	default:
		break;
	}
}

void wmk_server_work_run(void *arg)
{
	struct wmk_server_work *work = arg;
	struct wmk_server_trace *trace = work->trace;
	int err = 0;

	wmk_error_clear();
	if (work->type == WMK_CONSUMERD_METADATA) {
		metadata_add(work);
		return;
	}
	if (work->type == WMK_CONSUMERD_TRACE_ADD)
		err = trace_add(work);
	else if (trace->out)
		run(work);
	else if (work->type != WMK_CONSUMERD_TRACE_REMOVE)
		err = wmk_error(trace->err < 0 ? trace->err : -ENOENT, "the trace %.100s could not be opened",
				trace->is.path);
	if (work->type == WMK_CONSUMERD_TRACE_REMOVE)
		metadata_drop(trace);
	work_done(work, err);
}
