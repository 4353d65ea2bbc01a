/* SPDX-License-Identifier: MIT */
/*
 * ingest.h - one connection of a sender as a state machine: messages in, files and answers out. It has no socket.
 *
 *     HELLO ──► host ──TRACE──► trace ──STREAM, PACKET, METADATA ...──► CLOSE ──► host
 *       an error in a data message or in the order of messages ──► ERROR, and the connection ends
 *
 * wmk_ingest_commit() acknowledges data at the latest WMK_INGEST_COMMIT_MS after the data arrived.
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

/* State that all connections share. */
struct wmk_ingest_relay {
	const char *version;
	char clock_uuid[WMK_CLOCK_UUID];     /* of the clocks of this machine: its boot UUID */
	int64_t start_ms;
	struct wmk_relay_hosts *hosts;
	struct wmk_ingest_traces *traces;
};

struct wmk_ingest {
	struct wmk_ingest_relay *relay;
	/* The name in the certificate of the peer; HOST must equal the name. NULL: plain TCP on a loopback address. */
	const char *peer;
	const char *role;                    /* in the certificate: "sender", "viewer"; valid with `peer` */
	void (*cut)(void *data);             /* called by another thread to end the connection; does not wait */
	/*
	 * Optional: called with an error that the relay sends to a sender, if its text differs from the previous error
	 * of the host. Also called with the error of a connection that the relay refuses before a HELLO was accepted.
	 */
	void (*report)(void *data, const char *text);
	void *data;
	struct wmk_relay_out out;            /* answers */

	bool greeted;
	bool refused;                        /* the connection ends when the last message was sent */
	struct wmk_relay_host *host;         /* NULL: a client that only requests the status */
	struct wmk_ingest_trace *trace;
	struct wmk_ingest_stream **streams;  /* by number */
	uint32_t n_streams;
	uint32_t number, acknowledged;       /* of the last processed message; of the last acknowledged message */
	int64_t due_ms;                      /* when a commit is due; 0: there is no data to acknowledge */
	bool followed;
	/* The .live files that a viewer has locked (ingest_view.c). */
	int *locked;
	uint32_t n_locked, cap_locked;
	/* A large packet that is written as it arrives (ingest_packet.c). */
	struct {
		/* bytes of its records that have not arrived; 0: no large packet arrives */
		uint64_t left;
		struct wmk_ingest_stream *stream;    /* NULL: the packet is dropped */
		struct wmk_ctf_packet packet;
		struct wmk_store_parts parts;
	} arriving;
	uint32_t held;                       /* number of a large packet that is held in memory until it is complete */
};

/* Append HELLO. The caller has set the members from `relay` to `data`. */
void wmk_ingest_begin(struct wmk_ingest *ingest);
/*
 * Process the received bytes: complete messages, and parts of a large packet. Commits when a commit is due. 0; -errno:
 * the connection must end when `out` is sent.
 */
int wmk_ingest_take(struct wmk_ingest *ingest, struct wmk_relay_in *in);
/* ingest_answer.c: append ERROR with the current cause chain, and clear the chain. Returns `err`. */
int wmk_ingest_refuse(struct wmk_ingest *ingest, uint32_t number, int err);
/* Write all data to the disk and acknowledge it. 0; -errno as wmk_ingest_take(). */
int wmk_ingest_commit(struct wmk_ingest *ingest);
/* Append FOLLOWED if a live reader of the trace began or stopped to read. 0 or -errno. */
int wmk_ingest_report_followed(struct wmk_ingest *ingest);
/*
 * The connection has ended. Synchronizes the trace, and releases it for another connection. The function does not free
 * `out`, because `out` may contain a last message to the peer.
 */
void wmk_ingest_end(struct wmk_ingest *ingest);

#endif
