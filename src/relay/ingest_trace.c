/* SPDX-License-Identifier: MIT */
/* ingest_trace.c - the open traces of a relay and their streams (see ingest_trace.h). */
#include "relay/ingest_trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cond.h"
#include "base/error.h"
#include "store/archive.h"

#define CUT_MS 5000                  /* to wait until another connection of the same trace has ended */

/* ── packets ─────────────────────────────────────────────────────────────────────────────────────────── */

static enum wmk_ingest_verdict by_sequence(const struct wmk_ingest_end *end, uint64_t sequence)
{
	return sequence == end->sequence  ? WMK_INGEST_WRITE
	       : sequence < end->sequence ? WMK_INGEST_DROP
					  : WMK_INGEST_MISSING;
}

enum wmk_ingest_verdict wmk_ingest_compare(const struct wmk_ingest_end *end, const struct wmk_ctf_packet *packet,
					   bool byte_positions)
{
	const uint64_t begin = packet->ring_position;

#ifdef WMK_PLANTED_BUG_SEQUENCE              /* planted bug: a sequence number does not identify a packet */
	return by_sequence(end, packet->sequence);
#endif
	if (!packet->content || !end->any)
		return by_sequence(end, packet->sequence);
	if (byte_positions && begin + packet->content <= end->position)
		return WMK_INGEST_DROP;
	if (byte_positions && begin < end->position)
		return WMK_INGEST_PART;
	if (!byte_positions && begin <= end->position)
		return WMK_INGEST_DROP;
	return packet->sequence == end->sequence ? WMK_INGEST_WRITE : WMK_INGEST_MISSING;
}

void wmk_ingest_advance(struct wmk_ingest_end *end, const struct wmk_ctf_packet *packet, bool byte_positions)
{
	const uint64_t to = packet->ring_position + (byte_positions ? packet->content : 0);

	if (!end->any || to > end->position)
		end->position = to;
	end->any = true;
	end->sequence = packet->sequence + 1;
	end->last = *packet;
}

/* ── streams ─────────────────────────────────────────────────────────────────────────────────────────── */

struct wmk_ingest_stream *wmk_ingest_stream_find(const struct wmk_ingest_trace *trace, const char *name)
{
	for (size_t i = 0; i < trace->n_streams; i++)
		if (strcmp(trace->streams[i]->name, name) == 0)
			return trace->streams[i];
	return NULL;
}

static int stream_files(struct wmk_ingest_trace *trace, struct wmk_ingest_stream *stream, bool create)
{
	const uint64_t before = trace->out->ops->bytes(trace->out);
	struct wmk_ctf_packet last;
	int found = trace->out->ops->stream_resume(trace->out, stream->name, &stream->limits, &stream->out, &last);

	/* The host's byte count already includes files that existed before. */
	trace->counted += trace->out->ops->bytes(trace->out) - before;
	if (found == 1)
		wmk_ingest_advance(&stream->end, &last, trace->byte_positions);
	if (found != -ENOENT || !create)
		return found < 0 ? found : 0;
	wmk_error_clear();
	return trace->out->ops->stream_open(trace->out, stream->name, &stream->limits, &stream->out);
}

int wmk_ingest_stream_open(struct wmk_ingest_trace *trace, const struct wmk_relay_stream *is,
			   struct wmk_ingest_stream **stream)
{
	struct wmk_ingest_stream *made = wmk_ingest_stream_find(trace, is->name), **grown;
	int err = 0;

	*stream = made;
	if (made && trace->out->ops->stream_check(made->out) == 0)
		return 0;
	wmk_error_clear();
	if (made)
		wmk_ingest_stream_close(trace, made);
	if (trace->n_streams == WMK_RELAY_STREAMS_MAX)
		return wmk_error(-EMFILE, "the trace has %u streams, the limit of the relay", WMK_RELAY_STREAMS_MAX);
	made = calloc(1, sizeof(*made));
	grown = realloc(trace->streams, (trace->n_streams + 1) * sizeof(struct wmk_ingest_stream *));
	if (grown)
		trace->streams = grown;
	if (!made || !grown) {
		free(made);
		return wmk_error(-ENOMEM, "no memory for stream %.200s", is->name);
	}
	strncpy(made->name, is->name, sizeof(made->name) - 1);
	made->limits = (struct wmk_store_limits){ .size = is->tracefile_size, .count = is->tracefile_count };
	err = stream_files(trace, made, is->create);
	if (err < 0) {
		free(made);
		return err;
	}
	trace->dirty = true;
	trace->streams[trace->n_streams++] = made;
	*stream = made;
	return 0;
}

void wmk_ingest_stream_close(struct wmk_ingest_trace *trace, struct wmk_ingest_stream *stream)
{
	size_t i = 0;

	while (trace->streams[i] != stream)
		i++;
	trace->streams[i] = trace->streams[--trace->n_streams];
	trace->out->ops->stream_close(stream->out);
	free(stream);
}

void wmk_ingest_streams_close(struct wmk_ingest_trace *trace)
{
	while (trace->n_streams)
		wmk_ingest_stream_close(trace, trace->streams[0]);
}

int wmk_ingest_trace_sync(struct wmk_ingest_trace *trace)
{
	int err = 0;

	for (size_t i = 0; i < trace->n_streams && err == 0; i++) {
		struct wmk_ingest_stream *stream = trace->streams[i];

#ifndef WMK_PLANTED_BUG_EARLY_ACK            /* planted bug: data is acknowledged before it is on the disk */
		if (stream->dirty)
			err = wmk_store_stream_sync(wmk_output_directory_stream(stream->out));
#endif
		stream->dirty = false;
	}
	if (err == 0 && trace->dirty)
		err = wmk_store_sync(wmk_output_directory_store(trace->out));
	trace->dirty = false;
	return err;
}

int wmk_ingest_trace_raise(struct wmk_ingest_trace *trace, uint32_t epoch)
{
	int err = wmk_store_set_epoch(wmk_output_directory_store(trace->out), epoch);

	if (err == 0) {
		trace->epoch = epoch;
		atomic_store_explicit(&trace->shown_epoch, epoch, memory_order_relaxed);
	}
	return err;
}

/* ── traces ──────────────────────────────────────────────────────────────────────────────────────────── */

void wmk_ingest_traces_init(struct wmk_ingest_traces *traces, struct wmk_relay_hosts *hosts)
{
	*traces = (struct wmk_ingest_traces){ .hosts = hosts };
	pthread_mutex_init(&traces->lock, NULL);
	wmk_cond_init(&traces->left);
}

static void close_output(struct wmk_ingest_trace *trace)
{
	if (trace->out) {
		wmk_ingest_streams_close(trace);
		trace->out->ops->close(trace->out);
	}
	if (trace->output)
		trace->output->ops->close(trace->output);
	trace->out = NULL;
	trace->output = NULL;
}

/* The caller must have removed the trace from the list. */
static void trace_free(struct wmk_ingest_trace *trace)
{
	close_output(trace);
	free(trace->streams);
	free(trace->session);
	free(trace->sub);
	free(trace);
}

static void unlist(struct wmk_ingest_traces *traces, struct wmk_ingest_trace *trace)
{
	struct wmk_ingest_trace **at = &traces->first;

	while (*at != trace)
		at = &(*at)->next;
	*at = trace->next;
}

void wmk_ingest_traces_free(struct wmk_ingest_traces *traces)
{
	while (traces->first) {
		struct wmk_ingest_trace *trace = traces->first;

		traces->first = trace->next;
		trace_free(trace);
	}
	pthread_cond_destroy(&traces->left);
	pthread_mutex_destroy(&traces->lock);
}

void wmk_ingest_traces_expire(struct wmk_ingest_traces *traces, int64_t ms)
{
	const int64_t now = wmk_relay_now_ms();
	struct wmk_ingest_trace *expired = NULL, **at;

	pthread_mutex_lock(&traces->lock);
	for (at = &traces->first; *at;) {
		struct wmk_ingest_trace *trace = *at;

		if (trace->owner || now - trace->left_ms < ms) {
			at = &trace->next;
			continue;
		}
		*at = trace->next;
		trace->next = expired;
		expired = trace;
	}
	pthread_mutex_unlock(&traces->lock);
	while (expired) {
		struct wmk_ingest_trace *trace = expired;

		expired = trace->next;
		trace_free(trace);
	}
}

static struct wmk_ingest_trace *find(const struct wmk_ingest_traces *traces, const struct wmk_relay_host *host,
				     const struct wmk_relay_trace *is)
{
	struct wmk_ingest_trace *trace = traces->first;

	while (trace && (trace->host != host || strcmp(trace->session, is->session) != 0 ||
			 strcmp(trace->sub, is->sub) != 0))
		trace = trace->next;
	return trace;
}

/* Create the entry of a trace, which belongs to `owner`. The lock is held. */
static struct wmk_ingest_trace *add(struct wmk_ingest_traces *traces, struct wmk_relay_host *host,
				    const struct wmk_relay_trace *is)
{
	struct wmk_ingest_trace *trace = calloc(1, sizeof(*trace));

	if (trace) {
		trace->session = strdup(is->session);
		trace->sub = strdup(is->sub);
	}
	if (!trace || !trace->session || !trace->sub) {
		if (trace)
			trace_free(trace);
		wmk_error(-ENOMEM, "no memory for another trace");
		return NULL;
	}
	trace->host = host;
	trace->next = traces->first;
	traces->first = trace;
	return trace;
}

/*
 * Find or create the entry of a trace, and make `owner` its owner. If the trace has another owner, the function ends
 * the connection of the other owner. NULL with a cause chain.
 */
static struct wmk_ingest_trace *claim(struct wmk_ingest_traces *traces, struct wmk_relay_host *host,
				      const struct wmk_relay_trace *is, void *owner, void (*cut)(void *owner))
{
	const struct timespec deadline = wmk_deadline(CUT_MS);
	struct wmk_ingest_trace *trace;
	unsigned n = 0;
	int waited = 0;

	pthread_mutex_lock(&traces->lock);
	while ((trace = find(traces, host, is)) && trace->owner && waited != ETIMEDOUT) {
		trace->cut(trace->owner);
		waited = pthread_cond_timedwait(&traces->left, &traces->lock, &deadline);
	}
	if (trace && trace->owner) {
		trace = NULL;
		wmk_error(-EBUSY, "another connection has this trace open, and has not ended within %u s (the disk "
			  "of the relay may be slow)", CUT_MS / 1000);
	} else if (!trace) {
		for (const struct wmk_ingest_trace *t = traces->first; t; t = t->next)
			n += t->host == host;
		if (n < WMK_RELAY_TRACES_MAX)
			trace = add(traces, host, is);
		else
			wmk_error(-EMFILE, "host \"%s\" has %u open traces, the limit of the relay", host->is.name, n);
	}
	if (trace) {
		trace->owner = owner;
		trace->cut = cut;
		trace->error[0] = '\0';
	}
	pthread_mutex_unlock(&traces->lock);
	return trace;
}

static int open_output(const struct wmk_ingest_traces *traces, struct wmk_ingest_trace *trace,
		       const struct wmk_relay_trace *is, const char *path)
{
	static const enum wmk_output_mode modes[] = { [WMK_RELAY_AGAIN] = WMK_OUTPUT_AGAIN,
						      [WMK_RELAY_NEW] = WMK_OUTPUT_NEW,
						      [WMK_RELAY_UNSURE] = WMK_OUTPUT_UNSURE };
	const struct wmk_output_directory_options options = {
		.path = path, .uid = geteuid(), .gid = getegid(), .keep_free = traces->hosts->conf->disk_reserve,
		.budget_fd = -1,
	};
	struct wmk_output_place place = { .mode = modes[is->mode], .sub = is->sub, .chunk = is->chunk };
	int err = wmk_output_directory_open(&options, &trace->output);

	memcpy(place.uuid, is->uuid, sizeof(place.uuid));
	if (err == 0)
		err = trace->output->ops->trace_open(trace->output, &place, &trace->out);
	if (err == 0)
		err = wmk_store_epoch(wmk_output_directory_store(trace->out), &trace->epoch);
	if (err < 0)
		return err;
	trace->counted = trace->out->ops->bytes(trace->out);     /* the host's count includes existing files */
	trace->dirty = true;
	return 0;
}

/*
 * A trace that is still open is continued if its directory still exists and contains the same trace. If a trace cannot
 * be continued, the function opens the output of the trace.
 */
static int open_or_continue(struct wmk_ingest_traces *traces, struct wmk_ingest_trace *trace,
			    const struct wmk_relay_trace *is)
{
	bool exists;
	char *path;
	int err = wmk_relay_host_path(traces->hosts, trace->host, is->session, is->sub, &path, &exists);

	if (err < 0)
		return err;
	if (trace->out && (!exists || trace->byte_positions != is->byte_positions ||
			   memcmp(trace->uuid, is->uuid, sizeof(trace->uuid)) != 0))
		close_output(trace);
	memcpy(trace->uuid, is->uuid, sizeof(trace->uuid));
	trace->byte_positions = is->byte_positions;
	if (!trace->out)
		err = open_output(traces, trace, is, path);
	free(path);
	return err;
}

int wmk_ingest_trace_open(struct wmk_ingest_traces *traces, struct wmk_relay_host *host,
			  const struct wmk_relay_trace *is, void *owner, void (*cut)(void *owner),
			  struct wmk_ingest_trace **result)
{
	struct wmk_ingest_trace *trace = claim(traces, host, is, owner, cut);
	int err;

	if (!trace)
		return wmk_error_number();
	err = open_or_continue(traces, trace, is);
	if (err < 0) {
		wmk_ingest_trace_close(traces, trace);
		return err;
	}
	atomic_store_explicit(&trace->chunk, trace->out->ops->chunk(trace->out), memory_order_relaxed);
	atomic_store_explicit(&trace->shown_epoch, trace->epoch, memory_order_relaxed);
	*result = trace;
	return 0;
}

void wmk_ingest_trace_leave(struct wmk_ingest_traces *traces, struct wmk_ingest_trace *trace, const char *error)
{
	pthread_mutex_lock(&traces->lock);
	trace->owner = NULL;
	trace->left_ms = wmk_relay_now_ms();
	if (error) {
		strncpy(trace->error, error, sizeof(trace->error) - 1);
		trace->error[sizeof(trace->error) - 1] = '\0';
	}
	pthread_cond_broadcast(&traces->left);
	pthread_mutex_unlock(&traces->lock);
}

void wmk_ingest_trace_close(struct wmk_ingest_traces *traces, struct wmk_ingest_trace *trace)
{
	/*
	 * The files are closed before the entry is removed, because another connection may open the trace immediately
	 * afterwards.
	 */
	close_output(trace);
	pthread_mutex_lock(&traces->lock);
	unlist(traces, trace);
	pthread_cond_broadcast(&traces->left);
	pthread_mutex_unlock(&traces->lock);
	trace_free(trace);
}

void wmk_ingest_trace_count(struct wmk_ingest_trace *trace)
{
	const uint64_t bytes = trace->out->ops->bytes(trace->out);

	wmk_relay_host_count(trace->host, (int64_t)(bytes - trace->counted));
	trace->counted = bytes;
}
