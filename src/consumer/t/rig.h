/* SPDX-License-Identifier: MIT */
/*
 * rig.h - shared by the tests of the consumer: a ring set, a trace directory, a consumer between them, threads and
 * processes that record.
 *
 * Each record is {u64 writer, u64 number}. The numbers of one writer count up, so each number is either in the trace
 * once, or lost.
 */
#ifndef WMK_CONSUMER_RIG_H
#define WMK_CONSUMER_RIG_H

#include <pthread.h>
#include <stdbool.h>

#include "consumer/consumer.h"
#include "decode.h"
#include "store/store.h"

#define RIG_WRITERS 16

struct rig {
	char dir[256], trace[300], sub[64];
	struct waymark_ring_set *set, *mapped;     /* mapped by the reader; mapped by the writers */
	struct wmk_store *store;
	struct wmk_consumer *consumer;
	struct wmk_consumer_stats stats;
	uint8_t uuid[16];
	/* Results of rig_check(). */
	struct decoded total;
	uint64_t lost, streams;
	uint64_t *seen[RIG_WRITERS];               /* bit for each number */
	uint64_t next[RIG_WRITERS], count[RIG_WRITERS];
	uint64_t max;
	/* number of threads of rig_record_threads() that have started; one more when all have recorded */
	_Atomic unsigned begun;
};

struct rig_shape {
	uint32_t subbuf, n_subbufs, mode;
	int at_stop_only;
	int64_t block_us;                          /* maximum time that writers wait for room */
	bool cold;                                 /* allocate memory only when it is needed */
	bool remote;                               /* no consumer here: it is in another process */
	const char *dir;                           /* directory of the trace; NULL: a directory of the test */
};

void rig_open(struct rig *rig, const struct rig_shape *shape);
/*
 * Replace the consumer, which is closed without a stop (a running one ends), by a new one that continues the trace. The
 * new one is not started.
 */
void rig_resume(struct rig *rig);
/* Stop the consumer and read the statistics. Returns the result of wmk_consumer_stop(). */
int rig_stop(struct rig *rig);
void rig_close(struct rig *rig);
/* Record numbers from..to-1 of `writer`; returns how many were not lost. */
uint64_t rig_record(struct rig *rig, uint64_t writer, uint64_t from, uint64_t to);
/*
 * The same in `n` threads, writers 0..n-1; returns the sum. No thread ends before all have recorded. Between
 * rig_begun() and the end of all, no thread is in an allocator, so fork() is allowed at any time: otherwise the child
 * could inherit a locked allocator (sanitizers).
 */
uint64_t rig_record_threads(struct rig *rig, unsigned n, uint64_t each);
/* Wait until `n` of these threads have started to record. */
void rig_begun(const struct rig *rig, unsigned n);
/*
 * Read the trace and check it: each number of each writer occurs at most once, and indexes and statistics are correct.
 * The numbers of each writer are below `max`.
 */
void rig_check(struct rig *rig, uint64_t max);
/* The same without a check of the statistics. */
void rig_read(struct rig *rig, uint64_t max);
/*
 * Read the trace by both versions of babeltrace, which may report nothing but lost events (only with `lost`). Returns
 * the number of records that the second one prints.
 */
uint64_t rig_babeltrace(struct rig *rig, bool lost);
/* Path of a file of the trace. Static buffer. */
const char *rig_path(const struct rig *rig, const char *name);
uint64_t rig_rounds(uint64_t all);

/*
 * Updates the heartbeat while no consumer runs, so that writers that wait for room do not give up after 2 s. The thread
 * never allocates memory, so that fork() is possible at any time.
 */
struct rig_heartbeat {
	struct waymark_ring_set *set;
	pthread_t thread;
	_Atomic bool begun, ended;
};
void rig_heartbeat_begin(struct rig_heartbeat *heartbeat, struct waymark_ring_set *set);
void rig_heartbeat_end(struct rig_heartbeat *heartbeat);

#endif
