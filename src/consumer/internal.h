/* SPDX-License-Identifier: MIT */
/*
 * internal.h - shared by the files of src/consumer: a stream, and what one look at all of them does.
 */
#ifndef WMK_CONSUMER_INTERNAL_H
#define WMK_CONSUMER_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "consumer/consumer.h"

#define WMK_STREAM_NAME 160

struct wmk_stream {
	char name[WMK_STREAM_NAME];
	struct wmk_source *source;         /* owned */
	struct wmk_sink_stream *out;       /* NULL until there is something to write */
	uint32_t stream_id, cpu;
	uint64_t instance;
	uint64_t sequence;                 /* of the next packet in the trace */
	uint64_t end_ts, end_pos;          /* of the last packet taken */
	uint64_t taken;                    /* records released from the source */
	uint64_t written;                  /* of them, in the trace */
	uint64_t source_lost;              /* greatest count that the source has told */
	uint64_t causes[WAYMARK_LOST_CAUSES];
	uint64_t shown;                    /* lost count of the last packet in the trace */
	uint64_t cut, cut_shown;           /* fields, up to now; as the last packet in the trace says */
	uint64_t packets;                  /* taken in this look */
	bool dead;                         /* the source lies */
};

struct wmk_consumer {
	struct wmk_consumer_options options;
	/* Held during a look, and by who adds streams. */
	pthread_mutex_t streams_lock;
	struct wmk_stream **streams;
	size_t n_streams;
	struct waymark_ring_set **sets;
	size_t n_sets;
	bool ended;                        /* the last look has been taken */
	/* Below: commands and what is published, under `lock`. */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	pthread_t thread;
	bool running, stop;
	struct waymark_ring_set *asleep;   /* the thread sleeps until a writer of this set wakes it */
	uint64_t flush_wanted, flush_done;
	int flush_err, stop_err;
	struct wmk_consumer_stats stats;
	/* The heart: a thread of its own, on `lock`. */
	pthread_t heart;
	pthread_cond_t pulse;
	bool beating, heart_stop;          /* beating: the consumer's thread is not in its deep sleep */
	_Atomic uint64_t alive_ns;         /* when that thread last did something */
	/* The thread's own. */
	struct wmk_consumer_stats now;
	uint64_t writing_ns, behind_ns;
	uint32_t interval_us, idle;
	struct waymark_ring_set *only;     /* if there is one set */
	bool many;
};

enum wmk_look { WMK_LOOK_WHOLE = 0, WMK_LOOK_FLUSH = 1, WMK_LOOK_END = 2 };

/* What a look saw. */
struct wmk_look_result {
	uint64_t packets;
	uint64_t most;             /* packets of the stream that had most */
	bool more;                 /* there is more to take at once */
	int err;                   /* the sink's, 0 if everything was written */
};

/*
 * Look at all streams: WHOLE takes complete packets, FLUSH also parts, END gives up what cannot be written and ends
 * the streams. Under streams_lock.
 */
void wmk_consumer_look(struct wmk_consumer *consumer, enum wmk_look how, struct wmk_look_result *result);
/*
 * Memory ahead of the writers, and a sign of life: at each look, and after each packet, since a slow disk can keep us
 * for long. Memory that cannot be had shows in the rings, as records lost for lack of it. Under streams_lock.
 */
void wmk_consumer_tend(struct wmk_consumer *consumer);
/* heart.c: started and stopped with the consumer's thread. 0 or -errno; under no lock. */
int wmk_consumer_heart_start(struct wmk_consumer *consumer);
void wmk_consumer_heart_stop(struct wmk_consumer *consumer);
/* The consumer's thread goes to its deep sleep, or comes back. Under `lock`. */
void wmk_consumer_heart_rest(struct wmk_consumer *consumer, bool rest);
uint64_t wmk_consumer_now_ns(void);
/* The source lies, or cannot be continued (`what`): its stream ends here, the others go on. Under streams_lock. */
void wmk_consumer_bury(struct wmk_consumer *consumer, struct wmk_stream *stream, const char *what, int err);
/* Sum up losses into consumer->now, copy it to consumer->stats. */
void wmk_consumer_publish(struct wmk_consumer *consumer);

int wmk_source_ring_open(struct waymark_ring_set *set, uint32_t ring, struct wmk_source **source);

#endif
