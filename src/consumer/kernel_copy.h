/* SPDX-License-Identifier: MIT */
/*
 * kernel_copy.h - snapshots of a kernel channel in overwrite mode. The consumer of the session's trace takes the
 * records, and the consumer of the snapshot writes the records.
 *
 *     streams of the channel ──take──► wmk_kernel_copy ──add──► streams of the same names, in another consumer
 *
 * A kernel buffer has one reader, and reading empties the buffer, so the next snapshot begins where this snapshot ends.
 */
#ifndef WMK_CONSUMER_KERNEL_COPY_H
#define WMK_CONSUMER_KERNEL_COPY_H

#include "consumer/consumer.h"

struct wmk_kernel_copy;

/*
 * Take the records that the kernel channel holds now. The copy of each stream keeps at most the newest how->copy_max
 * bytes; 0: no limit. If how->statedump is not 0, open a state dump. The function waits for the consumer's thread,
 * which reads *reader. The caller owns *copy. -ENOENT: *reader is NULL, or is not a channel of the consumer.
 */
int wmk_kernel_copy_take(struct wmk_consumer *consumer, struct wmk_kreader *const *reader,
			 const struct wmk_consumer_set *how, struct wmk_kernel_copy **copy);
/*
 * Add the streams of the copy to a consumer; this is possible once for each copy. The group of the copied streams has
 * `copy` as its `from` (consumer.h). Free `copy` only after the streams of the copy are removed.
 */
int wmk_kernel_copy_add(struct wmk_consumer *consumer, struct wmk_kernel_copy *copy,
			const struct wmk_consumer_set *how);
void wmk_kernel_copy_free(struct wmk_kernel_copy *copy);

#endif
