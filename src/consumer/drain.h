/* SPDX-License-Identifier: MIT */
/*
 * drain.h - a drain pass: packets from the sources into the output. Under streams_lock.
 */
#ifndef WMK_CONSUMER_DRAIN_H
#define WMK_CONSUMER_DRAIN_H

#include "consumer/consumer_state.h"

enum wmk_drain_mode { WMK_DRAIN_WHOLE = 0, WMK_DRAIN_FLUSH = 1, WMK_DRAIN_END = 2 };

/* What a drain pass found. */
struct wmk_drain_result {
	uint64_t packets;
	uint64_t most;             /* packets of the stream that had most */
	bool more;                 /* there is more to take at once */
	bool followed;             /* there was something to follow */
	int err;                   /* the output's, 0 if everything was written */
	bool full;                 /* and it ended the pass */
};

/*
 * Drain all streams, or those of `group`: WHOLE takes complete packets, FLUSH also parts, END gives up what cannot be
 * written and ends the streams. Streams that are written at stop only are left out of the first two, except with
 * `settle`, which also writes the lost counts as they are.
 */
void wmk_consumer_drain(struct wmk_consumer *consumer, enum wmk_drain_mode mode, const struct wmk_group *group,
			bool settle, struct wmk_drain_result *result);
/*
 * Back memory ahead of the writers, and show a heartbeat: in each pass, and after each packet, since a slow disk can
 * delay the next one. Rings with claims of ended processes are replaced now and then. Memory that is not available
 * shows in the rings, as records lost for lack of it.
 */
void wmk_consumer_maintain(struct wmk_consumer *consumer);
/* A packet of the stream was not written: counted, with the text of the cause chain, which is cleared. */
void wmk_stream_write_failed(struct wmk_stream *stream, int err);
/* The source is corrupt, or cannot be continued (`what`): its stream ends here, the others continue. */
void wmk_consumer_fail_stream(struct wmk_consumer *consumer, struct wmk_stream *stream, const char *what, int err);

#endif
