/* SPDX-License-Identifier: MIT */
/*
 * trace_work.c - work items in the thread of a trace: open the trace, add and remove rings, settle, clear, count. A
 * slow disk or a network file system delays only the trace on it.
 */
#include "consumer/trace_work.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "consumer/kernel_copy.h"
#include "consumer/outputs.h"
#include "consumer/rotation.h"
#include "consumer/server_rundir.h"
#include "consumer/trace_metadata.h"
#include "consumer/trace_rotation.h"
#include "consumer/traces.h"
#include "consumer/work.h"
#include "kernel/channel/syscall_reader.h"
#include "ring/file.h"
#include "store/store.h"

/* ── the trace ───────────────────────────────────────────────────────────────────────────────────────── */

_Static_assert((int)WMK_CONSUMERD_TRACE_UNSURE == (int)WMK_OUTPUT_UNSURE,
	       "both enumerations of modes must have equal values");

/* If the trace cannot be opened, the next TRACE_ADD of the trace tries again. */
static int trace_add(struct wmk_server_work *work)
{
	struct wmk_server_trace *trace = work->trace;
	struct wmk_output *output = wmk_server_output_of(trace);
	struct wmk_output_place place = { .mode = (enum wmk_output_mode)trace->is.mode, .sub = trace->is.sub,
					  .chunk = trace->is.chunk };

	if (trace->out)
		return 0;
	memcpy(place.uuid, trace->is.uuid, sizeof(place.uuid));
	trace->err = trace->is.unwritten ? wmk_output_none_trace(&trace->out)
					 : output->ops->trace_open(output, &place, &trace->out);
	if (trace->err < 0) {
		trace->out = NULL;
		return wmk_error_add(trace->err, "cannot write a trace in %.240s", trace->is.path);
	}
	wmk_consumer_set_output(trace->consumer, trace->out);
	wmk_server_rotation_restore(trace);
	return 0;
}

/* Measure the size of the directory again, after files of streams were removed. */
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
		return wmk_error(err, "channel %.60s: the descriptor is not a ring set: %s", is->channel,
				 strerror(-err));
	if (memcmp(waymark_ring_set_options(set)->uuid, is->uuid, sizeof(is->uuid)) != 0)
		err = wmk_error(-EINVAL, "channel %.60s: the ring set has another UUID than the request", is->channel);
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
			return wmk_error(-EPROTO, "event %.60s: the filter has %u words, too few for %u bytes",
					 items[i].name, items[i].filter.n, items[i].filter_len);
		err = wmk_kreader_event(kernel, items[i].system, items[i].name, items[i].id);
		if (err >= 0)
			err = wmk_kreader_filter(kernel, items[i].system, items[i].name, program, len,
						 items[i].changing);
	}
	return err;
}

/*
 * Set the system calls that BPF programs record from now on. Existing streams of system calls are continued or cleared,
 * like the other streams of the channel.
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
			err, "channel %.60s: the descriptor is not a tracefs instance that can be read",
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

static int kernel_copy(struct wmk_server_work *work, struct wmk_server_rings *rings, const struct wmk_consumer_set *how)
{
	const struct wmk_server_rings *from = work->copied;
	int err;

	if (!from)
		return wmk_error(-ENOENT, "the kernel channel %.60s has ended", how->channel);
	err = wmk_kernel_copy_take(work->copied_trace->consumer, &from->kernel, how, &rings->copy);
	if (err == 0)
		err = wmk_kernel_copy_add(work->trace->consumer, rings->copy, how);
	if (err < 0) {
		wmk_kernel_copy_free(rings->copy);
		rings->copy = NULL;
	}
	return err;
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
		/* a copy cannot continue the copy of an earlier consumer daemon: it replaces the earlier copy */
		.clear = is->clear || (is->copy && is->resume),
		.copy = is->copy,
		.copy_max = is->copy_max,
		.start_ts = is->start_ts,
		.flush_ns = is->flush_ns,
		.reclaim_ns = is->reclaim_ns,
		.limits = &limits,
		.statedump = work->statedump,
		.keep = work->trace->server->options.keep,
		.budget = work->trace->is.max_size > 0,
	};

	if (rings->set || rings->copy)
		return 0;
	if (!is->kernel)
		return set_add(work, rings, &how);
	if (is->copy)
		return kernel_copy(work, rings, &how);
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
		wmk_server_work_error(work,
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
		/* a snapshot after the stop needs the records; ring sets keep theirs, but the kernel does not */
		if (rings->kernel && work->trace->is.unwritten)
			continue;
		wmk_server_work_error(work, wmk_consumer_settle(work->trace->consumer, wmk_server_rings_from(rings)));
	}
}

static void reclaim(struct wmk_server_work *work)
{
	for (unsigned i = 0; i < work->n_rings; i++)
		if (work->rings[i]->set)
			wmk_server_work_error(work, wmk_consumer_reclaim(work->trace->consumer, work->rings[i]->set,
									 work->idle_ns));
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
	/*
	 * Before the work item, continue a rotation of the trace. The records that the work item writes then belong to
	 * the chunk after the rotation.
	 */
	if (work->type != WMK_CONSUMERD_RINGS_ADD && work->type != WMK_CONSUMERD_CUT)
		wmk_server_rotation_continue(work->trace);
	switch (work->type) {
	case WMK_CONSUMERD_CUT:
		wmk_server_work_error(work, wmk_consumer_cut(work->trace->consumer));
		break;
	case WMK_CONSUMERD_RINGS_ADD:
		wmk_server_work_error(work, rings_add(work));
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
	case WMK_CONSUMERD_RECLAIM:
		reclaim(work);
		break;
	case WMK_CONSUMERD_CLEAR:
		wmk_server_work_error(work, wmk_consumer_clear(work->trace->consumer));
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
		wmk_server_metadata_add(work);
		return;
	}
	if (work->type == WMK_CONSUMERD_ROTATE) {
		wmk_server_rotation_add(work);
		return;
	}
	if (work->type == WMK_CONSUMERD_TRACE_ADD)
		err = trace_add(work);
	else if (trace->out)
		run(work);
	else if (work->type != WMK_CONSUMERD_TRACE_REMOVE)
		err = wmk_error(trace->err < 0 ? trace->err : -ENOENT, "the trace %.240s could not be opened",
				trace->is.path);
	if (work->type == WMK_CONSUMERD_TRACE_REMOVE)
		wmk_server_metadata_cancel(trace);
	if (work->type == WMK_CONSUMERD_TRACE_REMOVE)
		wmk_server_rotation_cancel(trace);
	wmk_server_work_finish(work, err);
}
