/* SPDX-License-Identifier: MIT */
/*
 * rotation.h - close a chunk of the trace and begin the next one (docs/rotation.md). The functions are called in the
 * consumer's thread, or while the consumer's thread does not run. Errors are -errno with a cause chain.
 *
 *     cut ──► journal ──► drain up to the cuts ──► final counts ──► sources count anew ──► move, open the next chunk
 *
 * If the consumer crashes before the step `move`, the journal and the open chunk exist, so the next consumer continues
 * the rotation. If the consumer crashes after the step `move`, either no chunk is open, or the next chunk is open.
 */
#ifndef WMK_CONSUMER_ROTATION_H
#define WMK_CONSUMER_ROTATION_H

#include "consumer/consumer_state.h"

/*
 * Cut all sources in one pass, at the current positions of their writers. Until the rotation, the consumer writes no
 * record after a cut. If no rotation follows within a second, the cuts are removed. -ENOTSUP: a source cannot
 * be rotated.
 */
int wmk_consumer_cut(struct wmk_consumer *consumer);
/*
 * Close the chunk under the name `closed`, and begin chunk `number`. A source without a cut ends at the last position
 * that was read from the source. -errno: call the function again later, from before_pass. Until wmk_consumer_rotate()
 * succeeds, the consumer writes no record after a cut. A failed rotation does not cause lost records.
 */
int wmk_consumer_rotate(struct wmk_consumer *consumer, const char *closed, uint64_t number);
/*
 * The caller calls this function after the output was opened. Chunk `number` is open or being opened, and `closed` is
 * the name of the previous chunk. If an earlier consumer left a journal, streams that are added receive their cuts from
 * the journal. Returns true if a rotation that an earlier consumer began is not finished.
 */
bool wmk_consumer_chunk_restore(struct wmk_consumer *consumer, const char *closed, uint64_t number);
/*
 * Remove the cuts if no rotation has followed within a second; with `now`, remove the cuts at once. The consumer calls
 * this function in each pass, under streams_lock.
 */
void wmk_consumer_cut_expire(struct wmk_consumer *consumer, bool now);

#endif
