/* SPDX-License-Identifier: MIT */
/*
 * ingest.h - one connection of a sender as a state machine: messages in, files and answers out. It has no socket.
 *
 *     HELLO ──► host ──TRACE──► trace ──STREAM, PACKET, METADATA ...──► CLOSE ──► host
 *       any error of a data message, or of the order of messages ──► ERROR, and the connection ends
 *
 * Data is acknowledged by wmk_ingest_commit(): at the latest WMK_INGEST_COMMIT_MS after it arrived.
 */
#ifndef WMK_RELAY_INGEST_H
#define WMK_RELAY_INGEST_H

#include <stdbool.h>
#include <stdint.h>

#include "relay/hosts.h"
#include "relay/ingest_trace.h"
#include "relay/messages.h"
#include "store/packet_parts.h"

#define WMK_INGEST_COMMIT_MS 100

/* What all connections share. */
struct wmk_ingest_relay {
	const char *version;
	int64_t start_ms;
	struct wmk_relay_hosts *hosts;
	struct wmk_ingest_traces *traces;
};

struct wmk_ingest {
	struct wmk_ingest_relay *relay;
	/* The name in the certificate of the peer, which HOST must be; NULL: plain TCP on a loopback address. */
	const char *peer;
	void (*cut)(void *data);             /* ends the connection soon; called by another thread */
	void *data;
	struct wmk_relay_out out;            /* answers */

	bool greeted;
	bool refused;                        /* the last message was sent */
	struct wmk_relay_host *host;         /* NULL: a client that only queries the status */
	struct wmk_ingest_trace *trace;
	struct wmk_ingest_stream **streams;  /* by number */
	uint32_t n_streams;
	uint32_t number, acknowledged;       /* of the last message that was processed, that was acknowledged */
	int64_t due_ms;                      /* when a commit is due; 0: nothing to acknowledge */
	bool followed;
	/* A large packet, which is written as it arrives (ingest_packet.c). */
	struct {
		uint64_t left;               /* bytes of its records that have not arrived; 0: no such packet */
		struct wmk_ingest_stream *stream;    /* NULL: the packet is dropped */
		struct wmk_ctf_packet packet;
		struct wmk_store_parts parts;
	} arriving;
	uint32_t held;                       /* number of a large packet that is held in memory until it is whole */
};

/* Append HELLO. The caller has set the members from `relay` to `data`. */
void wmk_ingest_begin(struct wmk_ingest *ingest);
/*
 * Take what has arrived: whole messages, and parts of a large packet. Commits when that is due. 0; -errno: the
 * connection ends when `out` is sent.
 */
int wmk_ingest_take(struct wmk_ingest *ingest, struct wmk_relay_in *in);
/* ingest_answer.c: append ERROR with the current cause chain, which is cleared. Returns `err`. */
int wmk_ingest_refuse(struct wmk_ingest *ingest, uint32_t number, int err);
/* Write everything to the disk and acknowledge it. 0; -errno as wmk_ingest_take(). */
int wmk_ingest_commit(struct wmk_ingest *ingest);
/* Append FOLLOWED if live readers of the trace began or ended. 0 or -errno. */
int wmk_ingest_look(struct wmk_ingest *ingest);
/* The connection ended. Synchronizes and leaves the trace. `out` stays: it may have a last message. */
void wmk_ingest_end(struct wmk_ingest *ingest);

#endif
