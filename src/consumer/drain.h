/* SPDX-License-Identifier: MIT */
/*
 * drain.h - a drain pass: packets from the sources into the output. Under streams_lock.
 */
#ifndef WMK_CONSUMER_DRAIN_H
#define WMK_CONSUMER_DRAIN_H

#include "consumer/consumer_state.h"

enum wmk_drain_mode { WMK_DRAIN_WHOLE = 0, WMK_DRAIN_FLUSH = 1, WMK_DRAIN_END = 2 };

/* The result of a drain pass. */
struct wmk_drain_result {
	uint64_t packets;
	uint64_t most;             /* packets of the stream that had the most */
	bool more;                 /* more packets can be taken at once */
	bool followed;             /* a follow() had something to do */
	bool flushed;              /* records of partial sub-buffers were taken after it (flush_timer.h) */
	int err;                   /* -errno of the output; 0: everything was written */
	bool full;                 /* the disk is full, and the pass ended */
};

/*
 * Drain all streams, or the streams of `group`. WHOLE takes complete packets; FLUSH also takes partial sub-buffers; END
 * discards records that cannot be written and ends the streams. WHOLE and FLUSH skip streams that are written only at
 * stop. FLUSH with `settle` includes streams that are written only at stop, and also writes the current lost counts.
 */
void wmk_consumer_drain(struct wmk_consumer *consumer, enum wmk_drain_mode mode, const struct wmk_group *group,
			bool settle, struct wmk_drain_result *result);
/*
 * Allocate ring memory ahead of the writers, and update the heartbeat. The consumer calls this function in each pass,
 * and after each packet, because a slow disk can delay the next packet. Once a second, the function also retires claims
 * of ended processes. If memory is not available, the writers count lost records.
 */
void wmk_consumer_maintain(struct wmk_consumer *consumer);
/*
 * Write all records that the stream has now, including the records of partial sub-buffers. `result` receives the
 * errors, but not the number of packets. True: the stream had records.
 */
bool wmk_stream_flush(struct wmk_consumer *consumer, struct wmk_stream *stream, struct wmk_drain_result *result);
/*
 * Write the final counts of the stream in the chunk; stream->lost_written is then the lost count of the chunk. -errno
 * of the output: no count is lost; call it again later.
 */
int wmk_stream_end_chunk(struct wmk_consumer *consumer, struct wmk_stream *stream);
/* The current time in the clock of a kernel channel. 0: the group is no kernel channel. */
uint64_t wmk_group_kernel_now(const struct wmk_group *group);
/* Count a packet that was not written. Stores the text of the cause chain, and clears the chain. */
void wmk_stream_write_failed(struct wmk_stream *stream, int err);
/*
 * End a stream because its source is corrupt or because the stream cannot be continued. The other streams continue.
 * `what` is the reason that the report contains.
 */
void wmk_consumer_fail_stream(struct wmk_consumer *consumer, struct wmk_stream *stream, const char *what, int err);

#endif
