/* SPDX-License-Identifier: MIT */
/*
 * consumer_port.c - traces and rings of sessions at the consumer daemon (see consumer_port.h).
 *
 * Functions that open or declare traces and rings are called with the session locked. Functions that write, count or
 * close are called without the session's lock, in at most one thread per session at a time (tracing.h). While a
 * consumer daemon is being replaced, requests are not answered in time. If a request has timed out, the link still
 * performs the request later. The functions of this file therefore do not return the timeout of a request as an error.
 */
#include "sessiond/consumer_port_traces.h"

#include "base/error.h"
#include "ctf/writer.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* to add a trace or rings: the shard waits, and applications that register wait with it */
#define GIVE_MS 1000
/* to add system calls by BPF: the kernel verifies the program first, which takes seconds on a slow machine */
#define CALLS_MS 10000
#define METADATA_MS 5000           /* to replace metadata, for a command */

static uint64_t number_new(struct wmk_consumer_port *port)
{
	/* relaxed: the numbers need only be distinct */
	return atomic_fetch_add_explicit(&port->numbers, 1, memory_order_relaxed) + 1;
}

/* ── the link ────────────────────────────────────────────────────────────────────────────────────────── */

static const char *side_name(const struct wmk_consumer_port_side *side)
{
	return side->kernel ? "the consumer daemon of kernel channels" : "the consumer daemon";
}

static void consumer_changed(void *data, pid_t pid, const char *words)
{
	const struct wmk_consumer_port_side *side = data;
	const struct wmk_consumer_port *port = side->port;
	char text[400];

	if (pid)
		snprintf(text, sizeof(text), "%s runs: process %ld", side_name(side), (long)pid);
	else
		wmk_error_format(text, sizeof(text), "%s does not run: %.300s", side_name(side), words ? words : "");
	if (port->options.on_change)
		port->options.on_change(port->options.data, text);
}

static void consumer_full(void *data, const char *path)
{
	const struct wmk_consumer_port *port = ((const struct wmk_consumer_port_side *)data)->port;

	if (port->options.on_full)
		port->options.on_full(port->options.data, path);
}

static void consumer_requested(void *data, const char *path)
{
	const struct wmk_consumer_port *port = ((const struct wmk_consumer_port_side *)data)->port;

	if (port->options.on_requested)
		port->options.on_requested(port->options.data, path);
}

static void consumer_restarted(void *data, const char *path)
{
	const struct wmk_consumer_port *port = ((const struct wmk_consumer_port_side *)data)->port;

	if (port->options.on_restarted)
		port->options.on_restarted(port->options.data, path);
}

static void consumer_stale(void *data, const char *path)
{
	const struct wmk_consumer_port *port = ((const struct wmk_consumer_port_side *)data)->port;

	if (port->options.on_stale)
		port->options.on_stale(port->options.data, path);
}

static void consumer_due(void *data)
{
	const struct wmk_consumer_port *port = ((const struct wmk_consumer_port_side *)data)->port;

	if (port->options.on_due)
		port->options.on_due(port->options.data);
}

static void consumer_ended(void *data, int err, const char *words)
{
	const struct wmk_consumer_port_side *side = data;
	const struct wmk_consumer_port *port = side->port;
	char text[400];

	(void)err;
	wmk_error_format(text, sizeof(text), "the link to %s has ended: %.300s", side_name(side),
			 words ? words : "");
	if (port->options.on_change)
		port->options.on_change(port->options.data, text);
}

struct wmk_consumer_link *wmk_consumer_port_link(struct wmk_consumer_port_side *side)
{
	struct wmk_consumer_port *port = side->port;
	const struct wmk_consumer_link_options options = {
		.size = sizeof(options),
		.rundir = port->rundir,
		.program = port->program,
		.kernel = side->kernel,
		.keep_free = port->options.keep_free,
		.keep = port->options.keep,
		.on_change = consumer_changed,
		.on_full = consumer_full,
		.on_requested = consumer_requested,
		.on_restarted = consumer_restarted,
		.on_stale = consumer_stale,
		.on_due = consumer_due,
		.on_end = consumer_ended,
		.data = side,
	};

	pthread_mutex_lock(&port->lock);
	if (!side->link && wmk_consumer_link_open(&options, WMK_CONSUMER_PORT_START_MS, &side->link) < 0)
		side->link = NULL;
	if (side->link && !side->listed)
		wmk_adopted_ask(side);
	struct wmk_consumer_link *link = side->link;
	pthread_mutex_unlock(&port->lock);
	return link;
}

bool wmk_port_side_has_consumer(const struct wmk_consumer_port_side *side)
{
	char path[160];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%s", side->port->rundir,
		 side->kernel ? WMK_CONSUMERD_KERNEL_SOCKET : WMK_CONSUMERD_SOCKET);
	return lstat(path, &st) == 0;
}

bool wmk_consumer_port_has_consumer(const struct wmk_consumer_port *port)
{
	return wmk_port_side_has_consumer(&port->sides[0]) || wmk_port_side_has_consumer(&port->sides[1]);
}

int wmk_consumer_port_open(const struct wmk_consumer_port_options *options, struct wmk_consumer_port **out)
{
	struct wmk_consumer_port *port = calloc(1, sizeof(*port));

	if (port && options->size == sizeof(*options)) {
		port->options = *options;
		port->rundir = strdup(options->rundir);
		port->program = strdup(options->program);
		pthread_mutex_init(&port->lock, NULL);
		for (unsigned i = 0; i < 2; i++)
			port->sides[i] = (struct wmk_consumer_port_side){ .port = port, .kernel = i == 1 };
	}
	if (!port || !port->rundir || !port->program) {
		if (port)
			wmk_consumer_port_close(port);
		return wmk_error(-ENOMEM, "cannot open the consumer port: no memory, or invalid options");
	}
	*out = port;
	return 0;
}

void wmk_consumer_port_leave(struct wmk_consumer_port *port)
{
	port->leaving = true;
}

int wmk_consumer_port_shutdown(struct wmk_consumer_port *port)
{
	int first = 0;

	for (unsigned i = 0; i < 2; i++) {
		struct wmk_consumer_link *link = port->sides[i].link;
		int err = link ? wmk_consumer_link_shutdown(link, WMK_PORT_WRITE_MS) : 0;

		if (err < 0 && first == 0)
			first = err;
	}
	return first;
}

void wmk_consumer_port_close(struct wmk_consumer_port *port)
{
	for (unsigned i = 0; i < 2; i++) {
		wmk_adopted_drop(&port->sides[i]);
		if (port->sides[i].link)
			wmk_consumer_link_close(port->sides[i].link);
	}
	if (port->rundir)
		pthread_mutex_destroy(&port->lock);
	free(port->rundir);
	free(port->program);
	free(port);
}

/* ── traces ──────────────────────────────────────────────────────────────────────────────────────────── */

static struct port_trace *trace_new(struct wmk_consumer_port_side *side, uint64_t number,
				    const struct wmk_trace_info *info)
{
	struct port_trace *trace = calloc(1, sizeof(*trace));

	if (!trace) {
		wmk_error(-ENOMEM, "no memory for a trace");
		return NULL;
	}
	if (!info->unwritten && !(trace->budget = wmk_port_budget_join(side->port, info))) {
		free(trace);
		return NULL;
	}
	trace->port = side->port;
	trace->side = side;
	trace->number = number;
	pthread_mutex_init(&trace->lock, NULL);
	return trace;
}

static void trace_free(struct port_trace *trace)
{
	wmk_port_budget_leave(trace->port, trace->budget);
	pthread_mutex_destroy(&trace->lock);
	free(trace);
}

static int trace_give(struct wmk_consumer_link *link, const struct port_trace *trace, const struct wmk_trace_info *info)
{
	struct wmk_consumerd_trace msg = {
		.trace = trace->number, .path = info->path, .sub = info->sub, .uid = info->uid, .gid = info->gid,
		.max_size = info->max_size,
		.mode = info->restored ? WMK_CONSUMERD_TRACE_UNSURE : WMK_CONSUMERD_TRACE_NEW, .gated = info->restored,
		.unwritten = info->unwritten,
		.chunk = info->chunk, .closed = info->closed, .url = info->url,
	};

	memcpy(msg.uuid, info->uuid, sizeof(msg.uuid));
	return wmk_port_in_time(wmk_consumer_link_trace_add(link, &msg, wmk_port_budget_fd(trace->budget), GIVE_MS));
}

static int trace_open(void *data, const struct wmk_trace_info *info, void **out)
{
	struct wmk_consumer_port *port = data;
	struct wmk_consumer_port_side *side = &port->sides[info->kernel];
	struct wmk_consumer_link *link = wmk_consumer_port_link(side);
	uint64_t held = link ? wmk_adopted_trace(side, info, false) : 0;
	struct port_trace *trace = link ? trace_new(side, held ? held : number_new(port), info) : NULL;

	if (!trace)
		return wmk_error_add(link ? -ENOMEM : -EIO, "cannot open the trace %.240s", info->path);
	int err = held ? 0 : trace_give(link, trace, info);
	if (err < 0) {
		trace_free(trace);
		return err;
	}
	if (held)
		wmk_adopted_trace(side, info, true);
	/*
	 * Send the request for the rotation again, before the metadata of the open chunk is sent. The request of the
	 * earlier session daemon may not have reached the consumer daemon.
	 */
	if (held && *info->closed && wmk_port_trace_rotate(trace, info->closed, info->chunk, false) < 0)
		wmk_error_clear();
	snprintf(trace->sub, sizeof(trace->sub), "%s", info->sub);
	trace->has_comments = info->trace_format == WMK_TRACE_CTF_1_8;
	*out = trace;
	return 0;
}

static int metadata(void *data, const char *text, size_t len)
{
	const struct port_trace *trace = data;

	return wmk_consumer_link_metadata(trace->side->link, trace->number, text, len, false, 0);
}

static int metadata_replace(void *data, const char *text, size_t len, bool wait)
{
	struct port_trace *trace = data;
	int err = wmk_consumer_link_metadata(trace->side->link, trace->number, text, len, true, wait ? METADATA_MS : 0);

	/*
	 * After the metadata was replaced, the next count adds comments about corrupt rings again. (relaxed: threads
	 * that count hold no lock; a second note does no harm)
	 */
	pthread_mutex_lock(&trace->lock);
	for (struct port_rings *rings = trace->rings; rings; rings = rings->next)
		atomic_store_explicit(&rings->named, false, memory_order_relaxed);
	pthread_mutex_unlock(&trace->lock);
	return err;
}

static void trace_close(void *data)
{
	struct port_trace *trace = data;
	struct wmk_consumer_port *port = trace->port;
	/* A trace without rings has no records to write, and is closed while the session is locked, so do not wait. */
	const int ms = trace->silent ? 0 : trace->used ? WMK_PORT_WRITE_MS : GIVE_MS;

	if (!port->leaving && wmk_consumer_link_trace_remove(trace->side->link, trace->number, ms, NULL, NULL) < 0)
		wmk_error_clear();       /* its rings were removed before, and reported their errors */
	trace_free(trace);
}

/* ── rings ───────────────────────────────────────────────────────────────────────────────────────────── */

static struct port_rings *rings_new(struct port_trace *trace, uint64_t number)
{
	struct port_rings *rings = calloc(1, sizeof(*rings));

	if (!rings) {
		wmk_error(-ENOMEM, "no memory for rings");
		return NULL;
	}
	rings->trace = trace;
	rings->number = number;
	pthread_mutex_lock(&trace->lock);
	rings->next = trace->rings;
	trace->rings = rings;
	trace->used = true;
	pthread_mutex_unlock(&trace->lock);
	return rings;
}

static void rings_free(struct port_rings *rings)
{
	struct port_trace *trace = rings->trace;
	struct port_rings **at = &trace->rings;

	pthread_mutex_lock(&trace->lock);
	while (*at != rings)
		at = &(*at)->next;
	*at = rings->next;
	pthread_mutex_unlock(&trace->lock);
	free(rings);
}

static void rings_describe(const struct port_rings *rings, const struct wmk_rings_info *info,
		       struct wmk_consumerd_rings *msg)
{
	*msg = (struct wmk_consumerd_rings){
		.trace = rings->trace->number,
		.rings = rings->number,
		.channel = info->channel,
		.stream_id = info->stream_id,
		.at_stop_only = info->options->settings.mode == WMK_MODE_OVERWRITE && !info->copy,
		.resume = info->restored,
		.tracefile_size = info->copy ? 0 : info->options->settings.tracefile_size,
		.tracefile_count = info->copy ? 0 : info->options->settings.tracefile_count,
		.flush_ns =
			info->options->settings.flush_us > 0 ? (uint64_t)info->options->settings.flush_us * 1000 : 0,
		.reclaim_ns = info->options->settings.reclaim_us * 1000,
		.start_ts = info->start_ts,
		.copy = info->copy,
		.copy_max = info->copy_max,
	};
}

static int rings_give(const struct port_rings *rings, const struct wmk_rings_info *info,
		      const struct waymark_ring_set *set)
{
	const struct port_trace *trace = rings->trace;
	struct wmk_consumerd_rings msg;

	rings_describe(rings, info, &msg);
	memcpy(msg.uuid, waymark_ring_set_options(set)->uuid, sizeof(msg.uuid));
	if (info->copy)          /* only the thread of a command waits for a copy */
		return wmk_consumer_link_rings_add(trace->side->link, &msg, waymark_ring_set_fd(set),
						   WMK_PORT_WRITE_MS);
	return wmk_port_in_time(
		wmk_consumer_link_rings_add(trace->side->link, &msg, waymark_ring_set_fd(set), GIVE_MS));
}

static int kernel_give(struct port_rings *rings, const struct wmk_rings_info *info,
		       const struct wmk_kernel_info *kernel)
{
	struct wmk_consumerd_rings msg;

	rings_describe(rings, info, &msg);
	msg.kernel = true;
	msg.only_pid = kernel->only_pid;
	msg.contexts = (struct wmk_list){ kernel->contexts, kernel->n_contexts };
	msg.events = (struct wmk_list){ kernel->events, kernel->n_events };
	msg.calls = (struct wmk_list){ kernel->calls, kernel->n_calls };
	msg.syscall_ring_bytes = kernel->syscall_ring_bytes;
	msg.syscalls_narrowed = kernel->syscalls_narrowed;
	msg.syscall_pids = (struct wmk_list){ kernel->syscall_pids, kernel->n_calls ? WMK_CONSUMERD_PIDS : 0 };
	msg.statedump = kernel->statedump;
	const int err = wmk_consumer_link_rings_add(rings->trace->side->link, &msg, kernel->instance,
						    info->copy	      ? WMK_PORT_WRITE_MS
						    : kernel->n_calls ? CALLS_MS
								      : GIVE_MS);

	if (info->copy)          /* only the thread of a command waits for a copy */
		return err;
	if (wmk_port_in_time(err) < 0)
		return err;
	return err == -ETIMEDOUT && kernel->n_calls ? 1 : 0;
}

/*
 * Create the entry of a ring set. If the consumer daemon already holds the ring set (*held), the entry gets the number
 * that the consumer daemon uses.
 */
static struct port_rings *rings_begin(struct port_trace *trace, const struct wmk_rings_info *info, bool *held)
{
	const uint64_t number = info->restored ? wmk_adopted_rings(trace->side, trace->number, info->stream_id) : 0;

	*held = number != 0;
	return rings_new(trace, number ? number : number_new(trace->port));
}

static int kernel_open(void *data, const struct wmk_rings_info *info, const struct wmk_kernel_info *kernel, void **out)
{
	bool held;
	struct port_rings *rings = rings_begin(data, info, &held);

	if (!rings)
		return -ENOMEM;
	/* also sent if the consumer holds the channel, because it may not know all events */
	int err = kernel_give(rings, info, kernel);
	if (err < 0 && !held) {
		rings_free(rings);
		return err;
	}
	*out = rings;
	return err;
}

static int kernel_events(void *data, const struct wmk_rings_info *info, const struct wmk_kernel_info *kernel)
{
	return kernel_give(data, info, kernel);
}

static int rings_open(void *data, const struct wmk_rings_info *info, struct waymark_ring_set *set, void **out)
{
	struct port_trace *trace = data;
	bool held;
	struct port_rings *rings = rings_begin(trace, info, &held);

	if (!rings)
		return -ENOMEM;
	int err = held ? 0 : rings_give(rings, info, set);
	if (err < 0) {
		rings_free(rings);
		return err;
	}
	*out = rings;
	return 0;
}

/* The type of wmk_consumer_link functions that return a report. */
typedef int report_function(struct wmk_consumer_link *, uint64_t, uint64_t, int, struct wmk_arena *,
		   struct wmk_consumerd_report *);

static int ask(struct port_rings *rings, report_function *function, int ms)
{
	struct wmk_consumerd_report report = { { NULL, 0 } };
	struct wmk_arena arena = { 0 };
	int err = function(rings->trace->side->link, rings->trace->number, rings->number, ms, &arena, &report);

	if (report.channels.n)
		wmk_port_counts_keep(rings, &report);
	if (err == 0 && function != wmk_consumer_link_stats)
		err = wmk_port_rings_corrupt(rings, &report);
	wmk_arena_free(&arena);
	return err;
}

static int rings_flush(void *data, bool wait)
{
	return ask(data, wmk_consumer_link_stop, wait ? WMK_PORT_WRITE_MS : 0);
}

static int rings_stop(void *data, bool wait)
{
	struct port_rings *rings = data;

	if (rings->stopped || rings->trace->port->leaving)
		return 0;
	rings->stopped = true;
	int err = ask(rings, wmk_consumer_link_rings_remove, wait ? WMK_PORT_WRITE_MS : 0);

	rings->trace->silent |= err == -ETIMEDOUT;
	return err;
}

/*
 * The consumer daemon clears whole traces, so one request for each trace is sufficient. Only the last rings in the list
 * send the clear request, because new rings are inserted at the head of the list.
 */
static int rings_clear(void *data, bool wait)
{
	struct port_rings *rings = data;

	memset(&rings->counts, 0, sizeof(rings->counts));
	memset(&rings->earlier, 0, sizeof(rings->earlier));
	/*
	 * After a clear, the next error of a stream adds a comment to the metadata again. (relaxed, as in
	 * metadata_replace())
	 */
	atomic_store_explicit(&rings->named, false, memory_order_relaxed);
	return rings->next
		       ? 0
		       : wmk_consumer_link_clear(rings->trace->side->link, rings->trace->number,
						 wait ? WMK_PORT_WRITE_MS : 0);
}

static int rings_reclaim(void *data, uint64_t idle_us, bool wait)
{
	const struct port_rings *rings = data;
	const struct wmk_consumerd_reclaim reclaim = { rings->trace->number, rings->number, idle_us * 1000 };

	return wmk_consumer_link_reclaim(rings->trace->side->link, &reclaim, wait ? WMK_PORT_WRITE_MS : 0);
}

static int rings_counts(void *data, struct wmk_counts *counts, struct wmk_counts *earlier)
{
	struct port_rings *rings = data;
	const bool closed = rings->stopped || rings->trace->port->leaving;
	int err = closed ? 0 : ask(rings, wmk_consumer_link_stats, WMK_PORT_QUERY_MS);

	if (err < 0)
		wmk_error_clear();
	*counts = rings->counts;
	*earlier = rings->earlier;
	return err;
}

static void rings_wake(void *data)
{
	const struct port_rings *rings = data;

	wmk_consumer_link_wake(rings->trace->side->link, rings->trace->number);
}

static void rings_close(void *data)
{
	if (rings_stop(data, true) < 0)
		wmk_error_clear();
	rings_free(data);
}

const struct wmk_consumer_port_ops wmk_consumer_port_ops = {
	.trace_open = trace_open,
	.metadata = metadata,
	.metadata_replace = metadata_replace,
	.rings_open = rings_open,
	.kernel_open = kernel_open,
	.kernel_events = kernel_events,
	.rings_flush = rings_flush,
	.rings_stop = rings_stop,
	.rings_clear = rings_clear,
	.rings_reclaim = rings_reclaim,
	.rings_counts = rings_counts,
	.rings_user = wmk_port_rings_user,
	.rings_wake = rings_wake,
	.rings_close = rings_close,
	.trace_close = trace_close,
	.output_check = wmk_port_output_check,
	.relays = wmk_port_relays,
	.each_left = wmk_port_each_left,
	.forget_left = wmk_port_forget_left,
	.metadata_before = wmk_port_metadata_before,
	.trace_cut = wmk_port_trace_cut,
	.trace_rotate = wmk_port_trace_rotate,
	.archive_left = wmk_port_archive_left,
	.archive_end = wmk_port_archive_end,
	.output_end = wmk_port_output_end,
	.chunk_is_due = wmk_port_chunk_is_due,
	.chunk_end = wmk_port_chunk_end,
};
