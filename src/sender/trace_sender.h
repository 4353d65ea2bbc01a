/* SPDX-License-Identifier: MIT */
/*
 * trace_sender.h - sends one trace of a spool (spool_dir.h) over a connection of its own (relay_link.h).
 *
 *     wmk_trace_sender_pass()     connect if necessary; send new data, one chunk after the other: metadata, sync
 *                                 points of the clock, packets; remove files that the relay has
 *
 * After the connection was lost, the next pass queries the relay for the end of each stream, and continues from there.
 * All functions of this header run in the sender's thread.
 */
#ifndef WMK_SENDER_TRACE_SENDER_H
#define WMK_SENDER_TRACE_SENDER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "sender/clock_exchange.h"
#include "sender/spool_dir.h"
#include "wire/relay_url.h"

struct wmk_trace_sender;

/* Options that all traces of a spool share. */
struct wmk_trace_sender_options {
	struct wmk_relay_url url;
	const char *host, *session;        /* names of this machine and of the session at the relay */
	const atomic_bool *stop;
	void (*progress)(void *data);      /* called now and then during a long pass */
	void *data;
	bool ending;                       /* the session has ended: nothing is added to the spool */
	struct wmk_clock_exchange *exchange; /* NULL: the relay's clock is not measured */
};

struct wmk_trace_sender *wmk_trace_sender_new(const struct wmk_trace_sender_options *options,
					      struct wmk_spool_trace *trace);
void wmk_trace_sender_free(struct wmk_trace_sender *sender);
/* 0: all data that was found is sent. -errno with a cause chain: the connection is closed; a later pass retries. */
int wmk_trace_sender_pass(struct wmk_trace_sender *sender);
/*
 * Process acknowledgements, and remove the files that the relay has on its disk. 1: files were removed; 0; -errno as
 * above.
 */
int wmk_trace_sender_receive(struct wmk_trace_sender *sender);
/* True if the relay has acknowledged all data that the scans have found. */
bool wmk_trace_sender_is_done(const struct wmk_trace_sender *sender);
/* True if the relay has closed this chunk of the trace. */
bool wmk_trace_sender_has_rotated(const struct wmk_trace_sender *sender, uint64_t chunk);
/* Close the trace at the relay, and then close the connection. */
int wmk_trace_sender_finish(struct wmk_trace_sender *sender);
/* Send a request about the whole session to the relay (struct wmk_relay_output). */
int wmk_trace_sender_output(struct wmk_trace_sender *sender, uint16_t type, const char *name, const char *chunk);
/* Return the socket for poll(), or -1 if the sender is not connected. */
int wmk_trace_sender_socket(const struct wmk_trace_sender *sender);
/* Close the connection because of the error `err`, and return `err`. A later pass connects again. */
int wmk_trace_sender_disconnect(struct wmk_trace_sender *sender, int err);
/* Return how many nanoseconds have passed without an acknowledgement; 0 if all data is acknowledged. */
uint64_t wmk_trace_sender_waits_ns(const struct wmk_trace_sender *sender);
/* Return the number of bytes that were sent but not acknowledged. */
uint64_t wmk_trace_sender_behind(const struct wmk_trace_sender *sender);

#endif
