/* SPDX-License-Identifier: MIT */
/*
 * rotation.h - close a chunk of the trace and begin the next one (docs/rotation.md). In the consumer's thread, or while
 * it does not run. Errors are -errno with a cause chain.
 *
 *     cut ──► journal ──► drain up to the cuts ──► final counts ──► sources count anew ──► move, open the next chunk
 *
 * A crash before `move` leaves the journal and the open chunk, so the next consumer continues. A crash after it leaves
 * no chunk or the next one open.
 */
#ifndef WMK_CONSUMER_ROTATION_H
#define WMK_CONSUMER_ROTATION_H

#include "consumer/consumer_state.h"

/*
 * Cut all sources at the positions of their writers, in one pass. Until the rotation, nothing beyond the cuts is
 * written. Without a rotation within a second, the cuts are removed. -ENOTSUP: a source cannot be rotated.
 */
int wmk_consumer_cut(struct wmk_consumer *consumer);
/*
 * Close the chunk under the name `closed`, and begin chunk `number`. -errno: call it again later, from before_pass; no
 * record is lost meanwhile, and nothing beyond the cuts is written. Sources without a cut end where they were read
 * last.
 */
int wmk_consumer_rotate(struct wmk_consumer *consumer, const char *closed, uint64_t number);
/*
 * The output was opened: chunk `number` is open or being opened, and `closed` is the name of the chunk before it. If an
 * earlier consumer left a journal, streams that are added get its cuts. True: a rotation is not finished.
 */
bool wmk_consumer_chunk_restore(struct wmk_consumer *consumer, const char *closed, uint64_t number);
/* In each pass, under streams_lock: remove cuts without a rotation. `now`: all. */
void wmk_consumer_cut_expire(struct wmk_consumer *consumer, bool now);

#endif
