/* SPDX-License-Identifier: MIT */
/*
 * ingest_trace.h - the open traces of a relay. A trace belongs to one connection at a time. When the connection breaks,
 * the trace stays open for the next connection, so that live readers can continue.
 *
 *     ingest (one connection) ──open──► trace ──► output directory HOST/SESSION (consumer/output.h)
 *            │                            └── stream: the end that the relay has
 *            └──leave: the connection has ended; close: the trace has ended
 *
 * Only the connection that owns the trace accesses the trace's streams and output.
 */
#ifndef WMK_RELAY_INGEST_TRACE_H
#define WMK_RELAY_INGEST_TRACE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "consumer/output.h"
#include "relay/hosts.h"
#include "store/store.h"
#include "wire/relay.h"

/* The end of a stream, as given by the last packet on the relay. */
struct wmk_ingest_end {
	bool any;                      /* the stream has a packet */
	uint64_t sequence;             /* of the next packet */
	/* end of the records; of a kernel channel, position of the last packet with records */
	uint64_t position;
	struct wmk_ctf_packet last;
};

enum wmk_ingest_verdict { WMK_INGEST_WRITE, WMK_INGEST_DROP, WMK_INGEST_PART, WMK_INGEST_MISSING };

/* Compare a packet with the end of the stream on the relay, as docs/relay.md describes. */
enum wmk_ingest_verdict wmk_ingest_compare(const struct wmk_ingest_end *end, const struct wmk_ctf_packet *packet,
					   bool byte_positions);
/* Advance the end of the stream after the packet has been written. */
void wmk_ingest_advance(struct wmk_ingest_end *end, const struct wmk_ctf_packet *packet, bool byte_positions);

struct wmk_ingest_stream {
	char name[WMK_RELAY_NAME_MAX + 1];
	struct wmk_store_limits limits;
	struct wmk_output_stream *out;
	struct wmk_ingest_end end;
	bool dirty;                    /* has packets that are not synchronized */
};

struct wmk_ingest_trace {
	struct wmk_ingest_trace *next;
	struct wmk_relay_host *host;
	char *session, *sub;
	uint8_t uuid[16];
	struct wmk_output *output;
	struct wmk_output_trace *out;
	struct wmk_ingest_stream **streams;
	size_t n_streams;
	uint32_t epoch;
	bool byte_positions;
	bool dirty;                    /* metadata or names of files are not synchronized */
	uint64_t counted;              /* bytes of the files that are included in the host's count */
	/* under the lock of the table */
	void *owner;                   /* the connection; NULL: none */
	void (*cut)(void *owner);      /* called to end the connection; does not block */
	int64_t left_ms;               /* when the last connection left */
	char error[WMK_RELAY_MESSAGE_MAX + 1];
	/* counts for the status: relaxed */
	_Atomic uint64_t packets, bytes, dropped, gaps, chunk, shown_epoch;
	_Atomic int64_t frame_ms;
};

struct wmk_ingest_traces {
	pthread_mutex_t lock;
	pthread_cond_t left;           /* a trace has lost its owner */
	struct wmk_ingest_trace *first;
	struct wmk_relay_hosts *hosts;
};

void wmk_ingest_traces_init(struct wmk_ingest_traces *traces, struct wmk_relay_hosts *hosts);
/* Close all traces. No connection may exist. */
void wmk_ingest_traces_free(struct wmk_ingest_traces *traces);
/* Close all traces that have had no connection for `ms` milliseconds. */
void wmk_ingest_traces_expire(struct wmk_ingest_traces *traces, int64_t ms);

/*
 * Open a trace for `owner`. If another connection owns the trace, the function ends that connection and waits at most 5
 * s until it has ended. -EBUSY: the other connection has not ended. -errno of wmk_output_ops.trace_open().
 */
int wmk_ingest_trace_open(struct wmk_ingest_traces *traces, struct wmk_relay_host *host,
			  const struct wmk_relay_trace *is, void *owner, void (*cut)(void *owner),
			  struct wmk_ingest_trace **trace);
/* The connection has ended. The trace stays open. `error`: the reason, or NULL. */
void wmk_ingest_trace_leave(struct wmk_ingest_traces *traces, struct wmk_ingest_trace *trace, const char *error);
/* Close a trace that has ended, or that must be opened again before it can be continued. */
void wmk_ingest_trace_close(struct wmk_ingest_traces *traces, struct wmk_ingest_trace *trace);

/* Find an open stream of the trace by name. NULL: none. */
struct wmk_ingest_stream *wmk_ingest_stream_find(const struct wmk_ingest_trace *trace, const char *name);
/* Find or open a stream. -ENOENT: the stream does not exist, and `create` is false. */
int wmk_ingest_stream_open(struct wmk_ingest_trace *trace, const struct wmk_relay_stream *is,
			   struct wmk_ingest_stream **stream);
/* wmk_ingest_stream_close() closes one stream; wmk_ingest_streams_close() closes all streams of the trace. */
void wmk_ingest_stream_close(struct wmk_ingest_trace *trace, struct wmk_ingest_stream *stream);
void wmk_ingest_streams_close(struct wmk_ingest_trace *trace);
/* Add the growth of the trace's files to the byte count of the host. */
void wmk_ingest_trace_count(struct wmk_ingest_trace *trace);
/* Write all data of the trace to the disk. -errno: data may be lost. */
int wmk_ingest_trace_sync(struct wmk_ingest_trace *trace);
/* Store a later epoch. The data of earlier epochs must already be on the disk. */
int wmk_ingest_trace_raise(struct wmk_ingest_trace *trace, uint32_t epoch);

#endif
