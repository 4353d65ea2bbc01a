/* SPDX-License-Identifier: MIT */
/*
 * stream_counts.h - counts of records: per stream, per group, in total. Under streams_lock.
 */
#ifndef WMK_CONSUMER_STREAM_COUNTS_H
#define WMK_CONSUMER_STREAM_COUNTS_H

#include "consumer/consumer_state.h"

/*
 * Return the number of records that the source has lost so far; the number never decreases. A corrupt source is not
 * read again.
 */
uint64_t wmk_stream_lost(struct wmk_stream *stream);
/* Return the number of records that were taken from the source but are in no packet. */
static inline uint64_t wmk_stream_unwritten(const struct wmk_stream *stream)
{
	return stream->taken - stream->written;
}
/* Store the current sum of a group in *sum. */
void wmk_consumer_sum(struct wmk_consumer *consumer, const struct wmk_group *group, struct wmk_consumer_stats *sum);
/*
 * Called when the stream has its final counts in the chunk that is being closed: add these counts to the group of the
 * stream.
 */
void wmk_stream_ended(struct wmk_stream *stream);
/*
 * Store in *sum the counts of the group over all chunks. All streams of the group must have ended in the chunk that is
 * being closed.
 */
void wmk_group_close_counts(const struct wmk_group *group, struct wmk_counts *sum);
/* Store the sum of all groups in consumer->stats. */
void wmk_consumer_publish(struct wmk_consumer *consumer);

#endif
