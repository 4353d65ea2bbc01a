/* SPDX-License-Identifier: MIT */
/*
 * streams.h - groups of streams: add, continue after an earlier consumer, restart, remove. Under streams_lock.
 *
 * Errors are -errno with a cause chain.
 */
#ifndef WMK_CONSUMER_STREAMS_H
#define WMK_CONSUMER_STREAMS_H

#include "consumer/consumer_state.h"

/* Find the group of a set or a kernel channel. NULL: none. */
struct wmk_group *wmk_streams_find_group(struct wmk_consumer *consumer, const void *from);
/* Create a group. NULL: no memory. wmk_streams_add_group_of() also sets the parameters in `how`. */
struct wmk_group *wmk_streams_add_group(struct wmk_consumer *consumer, const void *from);
struct wmk_group *wmk_streams_add_group_of(struct wmk_consumer *consumer, const void *from,
					   const struct wmk_consumer_set *how);
/* Remove a group with its streams, and add the counts of the streams to consumer->gone. */
void wmk_streams_remove_group(struct wmk_consumer *consumer, struct wmk_group *group);
/* Add a stream to the group. The function takes ownership of the source, also after an error. */
int wmk_streams_add(struct wmk_consumer *consumer, struct wmk_group *group, struct wmk_source *source,
		    const char *name, uint32_t instance, uint32_t cpu, const struct wmk_consumer_set *how);
/* Add a stream that no earlier consumer has begun. After an error, the caller still owns the source. */
int wmk_streams_add_source(struct wmk_consumer *consumer, struct wmk_group *group, struct wmk_source *source,
			   const char *name, uint32_t stream_id, uint64_t instance, uint32_t cpu);
/* Add a ring set, so that its writers wake the consumer and check the heartbeat of the consumer. */
int wmk_streams_add_set(struct wmk_consumer *consumer, struct waymark_ring_set *set);
/*
 * Set the cut of the stream at the end of its last packet. The stream then receives no more records in this chunk
 * (rotation.h).
 */
void wmk_stream_cut_here(struct wmk_stream *stream);
/* Discard all records of a stream: the records in the trace, and the records in the source. */
int wmk_streams_restart(struct wmk_consumer *consumer, struct wmk_stream *stream);

#endif
