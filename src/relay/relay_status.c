/* SPDX-License-Identifier: MIT */
/* relay_status.c - the reply to STATUS: hosts, their traces, quotas and latest errors. */
#include "relay/relay_status.h"

#include <errno.h>

#include "base/error.h"

static int add_trace(struct wmk_arena *arena, const struct wmk_ingest_trace *trace, struct wmk_list *list)
{
	struct wmk_relay_status_trace *is = wmk_arena_append(arena, list, sizeof(*is));
	const int64_t frame_ms = atomic_load_explicit(&trace->frame_ms, memory_order_relaxed);

	if (!is)
		return wmk_error_number();
	*is = (struct wmk_relay_status_trace){
		.session = wmk_arena_text(arena, trace->session),
		.sub = wmk_arena_text(arena, trace->sub),
		.connected = trace->owner != NULL,
		.packets = atomic_load_explicit(&trace->packets, memory_order_relaxed),
		.bytes = atomic_load_explicit(&trace->bytes, memory_order_relaxed),
		.dropped = atomic_load_explicit(&trace->dropped, memory_order_relaxed),
		.gaps = atomic_load_explicit(&trace->gaps, memory_order_relaxed),
		.idle_ms = frame_ms ? (uint64_t)(wmk_relay_now_ms() - frame_ms) : 0,
		.epoch = atomic_load_explicit(&trace->shown_epoch, memory_order_relaxed),
		.chunk = atomic_load_explicit(&trace->chunk, memory_order_relaxed),
		.error = wmk_arena_text(arena, trace->error),
	};
	return is->session && is->sub && is->error ? 0 : wmk_error_number();
}

static int add_host(const struct wmk_ingest *ingest, struct wmk_arena *arena, const struct wmk_relay_host *host,
		    struct wmk_list *list)
{
	struct wmk_relay_status_host *is = wmk_arena_append(arena, list, sizeof(*is));
	const int64_t bytes = atomic_load_explicit(&host->bytes, memory_order_relaxed);
	struct wmk_ingest_traces *traces = ingest->relay->traces;
	int err = 0;

	if (!is)
		return wmk_error_number();
	*is = (struct wmk_relay_status_host){
		.host = wmk_arena_text(arena, host->is.name), .connections = host->connections,
		.bytes = bytes > 0 ? (uint64_t)bytes : 0, .max_bytes = host->is.max_bytes,
		.max_connections = (uint32_t)host->is.max_connections, .max_rate = host->is.max_rate,
		.error = wmk_arena_text(arena, host->error),
	};
	if (!is->host || !is->error)
		return wmk_error_number();
	pthread_mutex_lock(&traces->lock);
	for (const struct wmk_ingest_trace *trace = traces->first; trace && err == 0; trace = trace->next)
		if (trace->host == host && is->traces.n < WMK_RELAY_TRACES_MAX)
			err = add_trace(arena, trace, &is->traces);
	pthread_mutex_unlock(&traces->lock);
	return err;
}

int wmk_relay_status_collect(const struct wmk_ingest *ingest, struct wmk_arena *arena, struct wmk_relay_status *status)
{
	struct wmk_relay_hosts *hosts = ingest->relay->hosts;
	int err = 0;

	*status = (struct wmk_relay_status){ .version = ingest->relay->version, .root = hosts->root,
					     .uptime_ms = (uint64_t)(wmk_relay_now_ms() - ingest->relay->start_ms) };
	pthread_mutex_lock(&hosts->lock);
	for (const struct wmk_relay_host *host = hosts->first; host && err == 0; host = host->next) {
		status->connections += host->connections;
		if (!ingest->peer || host == ingest->host)
			err = add_host(ingest, arena, host, &status->hosts);
	}
	pthread_mutex_unlock(&hosts->lock);
	return err;
}
