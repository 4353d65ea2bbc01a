/* SPDX-License-Identifier: MIT */
/*
 * stream_counts.h - counts of records: by stream, by group, of all. Under streams_lock.
 */
#ifndef WMK_CONSUMER_STREAM_COUNTS_H
#define WMK_CONSUMER_STREAM_COUNTS_H

#include "consumer/consumer_state.h"

/* What the source has lost by now, never less than it has reported before; a corrupt source is not asked again. */
uint64_t wmk_stream_lost(struct wmk_stream *stream);
/* Records that were taken from the source but are in no packet. */
static inline uint64_t wmk_stream_unwritten(const struct wmk_stream *stream)
{
	return stream->taken - stream->written;
}
/* Sum up a group, as it is now. */
void wmk_consumer_sum(struct wmk_consumer *consumer, const struct wmk_group *group, struct wmk_consumer_stats *sum);
/* Sum up everything, copy it to consumer->stats. */
void wmk_consumer_publish(struct wmk_consumer *consumer);

#endif
