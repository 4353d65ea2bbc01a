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
	/*
	 * The name in the certificate of the peer; the peer's HOST must be equal to this name. NULL: the peer uses
	 * plain TCP from a loopback address.
	 */
	const char *peer;
	const char *role;                    /* in the certificate: "sender", "viewer"; valid with `peer` */
	void (*cut)(void *data);             /* called by another thread to end the connection; does not wait */
	/*
	 * Optional. Called when the relay sends an error to a sender, if the text differs from the previous error of
	 * the host. The callback is also called if the relay refuses a connection before it has accepted a HELLO
	 * message.
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
	/* The .live files that a viewer has locked (see ingest_view.c). */
	int *locked;
	uint32_t n_locked, cap_locked;
	/* A large packet that is written in parts (see ingest_packet.c). */
	struct {
		/* bytes of its records that have not arrived; 0: no large packet arrives */
		uint64_t left;
		struct wmk_ingest_stream *stream;    /* NULL: the packet is dropped */
		struct wmk_ctf_packet packet;
		struct wmk_store_parts parts;
	} arriving;
	uint32_t held;                       /* number of a large packet that is held in memory until it is complete */
};

/* Append HELLO. The caller must set the members from `relay` to `data` before this call. */
void wmk_ingest_begin(struct wmk_ingest *ingest);
/*
 * Process the received bytes, which may contain complete messages and parts of a large packet. The function also
 * commits if a commit is due. 0; -errno: the connection must end when `out` is sent.
 */
int wmk_ingest_take(struct wmk_ingest *ingest, struct wmk_relay_in *in);
/* ingest_answer.c: append ERROR with the current cause chain, and clear the chain. Returns `err`. */
int wmk_ingest_refuse(struct wmk_ingest *ingest, uint32_t number, int err);
/* Write all received data to the disk, and acknowledge the data. 0; -errno as wmk_ingest_take(). */
int wmk_ingest_commit(struct wmk_ingest *ingest);
/* Append the message FOLLOWED if a live reader has started or stopped reading the trace. 0 or -errno. */
int wmk_ingest_report_followed(struct wmk_ingest *ingest);
/*
 * The connection has ended. Synchronizes the trace with the disk, and releases it for another connection. The function
 * does not free `out`, because `out` may still contain a last message to the peer.
 */
void wmk_ingest_end(struct wmk_ingest *ingest);

#endif
