/* SPDX-License-Identifier: MIT */
/*
 * consumer.h - drains packets from sources (ring/packet_source.h) into a trace of an output (consumer/output.h): one
 * thread.
 *
 *     source (a ring, the kernel) ──next()──► struct wmk_packet ──write()──► trace of an output (a directory)
 *             ▲                                                                      │
 *             └───────────────── release(), only after it has been written ◄─────────┘
 *
 * For `waymark record`:
 *
 *     wmk_consumer_open(&options, &consumer);              options.output: from trace_open() of an output
 *     wmk_consumer_add_set(consumer, set, "app", 0);       once per channel; every ring of the set becomes a stream
 *     wmk_consumer_start(consumer);                        its thread runs
 *     ... the program runs; wmk_consumer_stats() any time ...
 *     wmk_consumer_stop(consumer);                         everything committed is written, last lost counts too; joins
 *     wmk_consumer_stats(consumer, &stats);
 *     wmk_consumer_close(consumer);                        closes the trace; the sets stay the caller's
 *
 * While records come the thread drains the rings on a timer that adapts (1 to 100 ms) to how fast they fill; after
 * some empty passes it sleeps until a writer enters a new sub-buffer of any set (waymark_ring_sets_wait()), for ever: a
 * writer that is killed before it wakes anybody is for wmk_consumer_wake(). (With more than 127 sets, or a kernel older
 * than 5.16, it drains every 100 ms.) Each pass backs memory ahead of the writers. Where writers wait for room, a
 * second thread shows the heartbeat that they watch, so that one long write does not look like a consumer that crashed.
 *
 * Where that is permitted (root, or RLIMIT_NICE) the thread runs at nice -10: against eight threads that record all
 * the time, one with an equal share of the CPU comes too late to empty the rings.
 *
 * A stream gets a file when it has its first record or loss; it begins with a lost count of 0 and ends with the final
 * one.
 *
 * An output that fails (disk full) is reported in the statistics; the packet stays in the ring and is tried again, so
 * the rings fill and the writers count what they lose. What fails for one stream's own sake (a file that may not grow)
 * holds up that stream alone. At stop, what still cannot be written is counted as lost, to the record.
 *
 * Commands (flush, settle, clear, a set's removal) are carried out by the consumer's thread, between passes: a thread
 * that calls one waits for it; who must not wait has wmk_consumer_queue_work().
 *
 * Errors are -errno with a cause chain. wmk_consumer_stats(), wmk_consumer_queue_work() and wmk_consumer_wake() are for
 * any thread, all else for one controlling thread and for functions that wmk_consumer_queue_work() was given.
 */
#ifndef WMK_CONSUMER_CONSUMER_H
#define WMK_CONSUMER_CONSUMER_H

#include <stddef.h>
#include <stdint.h>

#include <waymark/ring.h>

#include "consumer/output.h"
#include "ctf/writer.h"
#include "ring/packet_source.h"
#include "wire/counts.h"

struct wmk_kreader;                /* kernel/channel/channel_reader.h */
struct wmk_store_limits;           /* store/store.h */

/* ── the consumer ────────────────────────────────────────────────────────────────────────────────────── */

struct wmk_consumer;

struct wmk_consumer_options {
	/*
	 * Owned by the consumer from a successful wmk_consumer_open() on. NULL: it comes with
	 * wmk_consumer_set_output(), before the first stream.
	 */
	struct wmk_output_trace *output;
	/*
	 * Optional: before a packet with records is written, and in each drain pass. The metadata is written as far as
	 * it has to be: 0. -EAGAIN: it is not complete yet, packets wait. -errno: it cannot be written, as a packet
	 * that cannot be.
	 */
	int (*ready)(void *data);
	void *data;
	/* 1: overwrite mode, `--overwrite`: nothing is written until stop, then what the rings hold */
	int at_stop_only;
	/*
	 * 1: another consumer of the same sets and the same trace has died: each stream goes on where its last whole
	 * packet ended, no record is written twice or left out. Statistics are those of the whole trace. A stream that
	 * cannot be continued is named in the trace, and the others go on.
	 */
	int resume;
	uint32_t min_us, max_us;   /* bounds of the timer; 0: 1000 and 100000 */
	/* the clock's value now: time of an empty packet in a stream that never had a record */
	uint64_t start_ts;
};

struct wmk_consumer_stats {
	struct wmk_counts counts;                     /* `bytes`: on disk, all files */
	int sink_error;                               /* the last one, -errno; 0: never failed */
	/* 1: the last packet of a stream could not be written, and waits */
	int stuck;
	char words[240];                              /* what went wrong first, for people; empty if nothing did */
};

/* *consumer is the caller's: wmk_consumer_close(). */
int wmk_consumer_open(const struct wmk_consumer_options *options, struct wmk_consumer **consumer);
/* Of a consumer without one: it owns the trace from here on. Before the first stream, or in the consumer's thread. */
void wmk_consumer_set_output(struct wmk_consumer *consumer, struct wmk_output_trace *output);
/*
 * Every ring of `set` becomes a stream `<channel>_<cpu>` or `<channel>_claim<k>` of stream class `stream_id`. The set
 * stays the caller's and must outlive the consumer, or its removal. Its header_room must be WMK_CTF_PACKET_ROOM at
 * least; wmk_consumer_header_room() says what is best. Before or after start. -EINVAL, -ENOMEM.
 */
int wmk_consumer_add_set(struct wmk_consumer *consumer, struct waymark_ring_set *set, const char *channel,
			 uint32_t stream_id);

/* The same, with all that can be different from set to set. */
struct wmk_consumer_set {
	const char *channel;
	uint32_t stream_id;
	int at_stop_only, resume;          /* as in the consumer's options */
	/*
	 * 1: what cannot be written when they are removed stays in them: they outlive us (ring/file.h), and are tried
	 * again. What is beyond the trace's budget never could be, and is given up as ever.
	 */
	int keep;
	int budget;                /* 1: -EDQUOT may be said of that */
	int clear;                         /* with resume: throw away what was recorded up to now, in the trace too */
	uint64_t start_ts;
	const struct wmk_store_limits *limits;     /* of the streams' files; copied; NULL: none */
	/* of a kernel channel: the number of a state dump that is wanted (wmk_consumer_dump()); 0: none */
	uint64_t statedump;
};
int wmk_consumer_add(struct wmk_consumer *consumer, struct waymark_ring_set *set, const struct wmk_consumer_set *how);
/*
 * `from`, here and below: a ring set, or a kernel channel's reader. Take everything committed in it, end its streams,
 * forget it; what cannot be written is counted as lost. 0, or the output's -errno: it is removed all the same. *stats
 * (may be NULL): its final counts. -ENOENT.
 */
int wmk_consumer_remove(struct wmk_consumer *consumer, const void *from, struct wmk_consumer_stats *stats);
/*
 * The header_room that lets packets of sub-buffers of this size go from the ring to the disk without a copy: aligned
 * for direct writes in large ones, as little as possible in small ones.
 */
uint32_t wmk_consumer_header_room(uint32_t subbuf_size);
/*
 * What a kernel channel has recorded: every CPU becomes a stream `<channel>_<cpu>`. The reader stays the caller's and
 * must outlive the consumer, or its removal; between calls it is the consumer's thread's: what else is done with it is
 * done there (wmk_consumer_queue_work()). The thread sleeps then on what the kernel says (poll), and beats for no
 * writers: so not in a consumer of ring sets. -EINVAL, -ENOMEM.
 */
int wmk_consumer_add_kernel(struct wmk_consumer *consumer, struct wmk_kreader *reader,
			    const struct wmk_consumer_set *how);
/*
 * The same channel's system calls that BPF records, once they are there (kernel/channel/syscall_reader.h): every ring
 * becomes a stream `<channel>_calls_<cpu>`, which goes with the others.
 */
int wmk_consumer_add_syscalls(struct wmk_consumer *consumer, struct wmk_kreader *reader,
			   const struct wmk_consumer_set *how);
/*
 * The state of the machine (kernel/statedump/statedump.h) into the stream `<channel>_statedump` of that kernel channel,
 * whose reader knows the dump's events. It begins, in a thread of its own, unless the dump of that number, or a later
 * one, is in the trace or was begun already. What is written at stop only is the channel's: the dump is written at
 * once. `how`: as the channel was added.
 */
int wmk_consumer_dump(struct wmk_consumer *consumer, struct wmk_kreader *reader, const struct wmk_consumer_set *how);
/* Another kind of source; owned by the consumer on success. `cpu`: WMK_CTF_CPU_NONE if none. */
int wmk_consumer_add_source(struct wmk_consumer *consumer, struct wmk_source *source, const char *name,
			    uint32_t stream_id, uint64_t instance, uint32_t cpu);
int wmk_consumer_start(struct wmk_consumer *consumer);
/*
 * Write what is there now, parts of sub-buffers too; returns when it has been done, or -errno if the output refuses.
 * Not what is for the stop only: -EINVAL when there is nothing else.
 */
int wmk_consumer_flush(struct wmk_consumer *consumer);
/*
 * Of one, NULL: of all, those for the stop too: write what is there now, and the lost counts as they are. They go on
 * behind it. 0, or the output's -errno: what could not be written stays in the rings.
 */
int wmk_consumer_settle(struct wmk_consumer *consumer, const void *from);
/*
 * Throw away everything recorded up to now, in the rings and in the trace (not the metadata); all counts, and the
 * streams, begin anew, also those that had ended in error. A source that is still corrupt is counted and reported
 * again. 0, or the first -errno; the rest is cleared.
 */
int wmk_consumer_clear(struct wmk_consumer *consumer);
/*
 * Ends the sleep of the consumer's thread: it carries out queued work and drains all sources. A writer may have crashed
 * before it woke the consumer. Never waits.
 */
void wmk_consumer_wake(struct wmk_consumer *consumer);
/*
 * Have the consumer's thread call function(arg), soon, in the order of the calls; it may use all of the above. While
 * the thread does not run, it is called at once. -ENOMEM.
 */
int wmk_consumer_queue_work(struct wmk_consumer *consumer, void (*function)(void *arg), void *arg);
/*
 * Have it call function(arg) and wait for what that returns. From the thread itself, or while it does not run, it is
 * called at once. -ENOMEM.
 */
int wmk_consumer_run_work(struct wmk_consumer *consumer, int (*function)(void *arg), void *arg);
/*
 * Take everything that has been committed, end every stream, join the thread. 0, or the output's -errno when something
 * could not be written (it is in the statistics). Idempotent.
 */
int wmk_consumer_stop(struct wmk_consumer *consumer);
/* As they were after one of the last passes, removed sets included. */
void wmk_consumer_stats(struct wmk_consumer *consumer, struct wmk_consumer_stats *stats);
/* Of one, as they are now; `bytes` are those of its stream files. -ENOENT. */
int wmk_consumer_stats_of(struct wmk_consumer *consumer, const void *from, struct wmk_consumer_stats *stats);
/* Add the counts of `more` to `sum`. */
void wmk_consumer_stats_add(struct wmk_consumer_stats *sum, const struct wmk_consumer_stats *more);
void wmk_consumer_close(struct wmk_consumer *consumer);

#endif
