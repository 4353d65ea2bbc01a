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
 *     wmk_consumer_start(consumer);                        starts its thread
 *     ... the program runs; wmk_consumer_stats() any time ...
 *     wmk_consumer_stop(consumer);                         writes everything committed and the final lost counts; joins
 *     wmk_consumer_stats(consumer, &stats);
 *     wmk_consumer_close(consumer);                        closes the trace; the sets stay the caller's
 *
 * While records arrive, the consumer's thread drains the rings on a timer of 1 to 100 ms, which adapts to how fast the
 * rings fill. The consumer's thread writes parts of sub-buffers at the flush interval (flush_timer.c). If some passes
 * were empty and no record is unread, the consumer's thread sleeps without a time limit. A writer that commits a record
 * to any set ends this sleep of the consumer's thread (waymark_ring_sets_wait_record()). If a writer may have been
 * killed before it woke the consumer, the caller calls wmk_consumer_wake(). With more than 127 sets, before Linux 5.16,
 * or if the kernel refuses membarrier(2), the consumer's thread drains every 100 ms. In each pass, the consumer's
 * thread allocates ring memory in advance of the writers. Writers that wait for room check the heartbeat of the
 * consumer. A second thread updates the heartbeat, so that writers do not take one long write for a crash of the
 * consumer.
 *
 * If permitted (root, or RLIMIT_NICE), the consumer's thread runs at nice -10. With an equal share of the CPU, the
 * consumer's thread cannot drain the rings of eight threads that record continuously.
 *
 * The consumer creates the file of a stream at the first record or loss of the stream. The file of a stream begins with
 * a lost count of 0 and ends with the final lost count.
 *
 * If the output fails (disk full), the statistics report the error. A packet that could not be written stays in the
 * ring, and the consumer retries the packet. While the output fails, the rings fill, and the writers count lost
 * records. An error of one stream (a limit of its file) delays only that stream. At stop, each record that still cannot
 * be written is counted as lost.
 *
 * The consumer's thread carries out commands (flush, settle, clear, remove) between passes, and the calling thread
 * waits. wmk_consumer_queue_work() does not wait.
 *
 * Errors are -errno with a cause chain. Any thread may call wmk_consumer_stats(), wmk_consumer_queue_work() and
 * wmk_consumer_wake(). All other functions may be called by one controlling thread, and by work that the consumer's
 * thread carries out.
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
	 * The consumer owns the output after a successful wmk_consumer_open(). If `output` is NULL, the caller sets the
	 * output with wmk_consumer_set_output() before the first stream.
	 */
	struct wmk_output_trace *output;
	/*
	 * Optional: called before a packet with records is written, and in each drain pass. The function writes the
	 * metadata that packets need. 0: written; -EAGAIN: incomplete, so packets wait; -errno: treated like an error
	 * of write().
	 */
	int (*ready)(void *data);
	/* Optional: called before each drain pass, to continue a rotation. -errno: the rotation is not finished. */
	int (*before_pass)(void *data);
	/* Optional: called once for each request of an application for a snapshot (ring/request.h). */
	void (*requested)(void *data);
	/*
	 * Optional: called when the counter of the clock has gone back (a suspend has reset the counter). Writers then
	 * repeat the time of their last record, so the caller replaces the ring sets and rotates the trace. If the
	 * caller adds ring sets within 10 s, the records of these ring sets are written to the next chunk.
	 */
	void (*restarted)(void *data);
	void *data;
	/* 1: overwrite mode, `--overwrite`: nothing is written until stop; then the content of the rings is written */
	int at_stop_only;
	/*
	 * 1: an earlier consumer of the same sets and the same trace crashed. Each stream continues after its last
	 * complete packet: no record is duplicated or missing. The statistics include the whole trace. The trace
	 * contains the names of the streams that cannot be continued; the other streams continue.
	 */
	int resume;
	uint32_t min_us, max_us;   /* bounds of the timer; 0: 1000 and 100000 */
	/* flush interval of the sets that wmk_consumer_add_set() adds; see struct wmk_consumer_set */
	uint64_t flush_ns;
	/* current value of the clock: the time of an empty packet in a stream without records */
	uint64_t start_ts;
};

struct wmk_consumer_stats {
	struct wmk_counts counts;                     /* `bytes`: on disk, all files */
	struct wmk_counts earlier;                    /* of one channel: the part of `counts` in closed chunks */
	int output_error;                               /* the latest error of the output, -errno; 0: none */
	/* 1: the last packet of a stream could not be written; the consumer retries it */
	int stuck;
	char words[240];                              /* text of the first error; empty: none */
};

/* The caller owns *consumer: wmk_consumer_close(). */
int wmk_consumer_open(const struct wmk_consumer_options *options, struct wmk_consumer **consumer);
/*
 * Set the output of a consumer that has no output; the consumer then owns the output. Call this function before the
 * first stream is added, or in the consumer's thread.
 */
void wmk_consumer_set_output(struct wmk_consumer *consumer, struct wmk_output_trace *output);
/*
 * Add a set: each ring of `set` becomes a stream `<channel>_<cpu>` or `<channel>_claim<k>` of stream class `stream_id`.
 * The caller owns the set, and keeps the set until the set is removed or the consumer is closed. The set's header_room
 * is at least WMK_CTF_PACKET_ROOM; wmk_consumer_header_room() returns the best value. The function may be called before
 * or after wmk_consumer_start(). -EINVAL, -ENOMEM.
 */
int wmk_consumer_add_set(struct wmk_consumer *consumer, struct waymark_ring_set *set, const char *channel,
			 uint32_t stream_id);

/* Parameters of one set. */
struct wmk_consumer_set {
	const char *channel;
	uint32_t stream_id;
	int at_stop_only, resume;          /* as in the consumer's options */
	/*
	 * 1: records that cannot be written when the set is removed stay in its rings. The rings of a set with `keep`
	 * outlive this process (ring/file.h), so a later consumer can write the records. Records beyond the trace's
	 * budget are still counted as lost.
	 */
	int keep;
	int budget;                /* 1: the trace has a budget, so -EDQUOT can mean that it is exhausted */
	/*
	 * Flush interval: the maximum time from the commit of a record to the write of the record. 0: the record is
	 * written when its sub-buffer is full, or by a flush.
	 */
	uint64_t flush_ns;
	/* the memory of a ring is given back when the ring has had no record for this time; 0: never */
	uint64_t reclaim_ns;
	int clear;                 /* with resume: discard all earlier records, in rings and trace */
	uint64_t start_ts;
	const struct wmk_store_limits *limits;     /* limits of the streams' files; copied; NULL: none */
	/* of a kernel channel: number of the requested state dump (wmk_consumer_dump()); 0: none */
	uint64_t statedump;
	/*
	 * 1: write a copy of what the rings hold now (overwrite mode), but no later records. With `copy`, only
	 * wmk_consumer_add() reads the ring set; the consumer does not use the ring set later. With `copy`, the
	 * consumer writes nothing into the rings. With `copy`, the count `overwritten` includes the records that
	 * precede the copy.
	 */
	int copy;
	uint64_t copy_max;         /* with copy: maximum bytes of each ring, the newest ones; 0: no limit */
};
int wmk_consumer_add(struct wmk_consumer *consumer, struct waymark_ring_set *set, const struct wmk_consumer_set *how);
/*
 * `from` is a ring set or the reader of a kernel channel; this applies to all functions below. Write all committed
 * records of `from`, end the streams of `from`, and remove `from`. Records that cannot be written are counted as lost.
 * 0, or -errno of the output; `from` is removed in both cases. *stats (may be NULL): its final counts. -ENOENT.
 */
int wmk_consumer_remove(struct wmk_consumer *consumer, const void *from, struct wmk_consumer_stats *stats);
/*
 * Returns the header_room with which packets of sub-buffers of `subbuf_size` are written without a copy. For large
 * sub-buffers, the header_room aligns the data for direct I/O. For small sub-buffers, the header_room has the minimum
 * size.
 */
uint32_t wmk_consumer_header_room(uint32_t subbuf_size);
/*
 * Add a kernel channel: every CPU becomes a stream `<channel>_<cpu>`. The caller owns the reader, and keeps the reader
 * until the channel is removed or the consumer is closed. The consumer's thread uses the reader, so the caller may use
 * the reader only in the consumer's thread (wmk_consumer_queue_work()). With a kernel channel, the consumer's thread
 * sleeps in poll() and has no heartbeat. A consumer cannot have both kernel channels and ring sets, because ring sets
 * need the heartbeat. -EINVAL, -ENOMEM.
 */
int wmk_consumer_add_kernel(struct wmk_consumer *consumer, struct wmk_kreader *reader,
			    const struct wmk_consumer_set *how);
/*
 * Add the rings in which BPF programs record the system calls of a kernel channel (kernel/channel/syscall_reader.h).
 * Each ring becomes a stream `<channel>_calls_<cpu>`. The rings of system calls are removed together with the channel.
 */
int wmk_consumer_add_syscalls(struct wmk_consumer *consumer, struct wmk_kreader *reader,
			   const struct wmk_consumer_set *how);
/*
 * Write a state dump (kernel/statedump/statedump.h) to the stream `<channel>_statedump` of a kernel channel. `reader`,
 * the reader of the channel, must have the events of the state dump. The state dump runs in a separate thread. If a
 * state dump of this number or of a later number has been started or is in the trace, the function does nothing. The
 * state dump is written at once, even if the channel is written only at stop. `how` is the same value with which the
 * channel was added.
 */
int wmk_consumer_dump(struct wmk_consumer *consumer, struct wmk_kreader *reader, const struct wmk_consumer_set *how);
/*
 * Add a source of another kind than a ring set or a kernel channel. After success, the consumer owns the source. `cpu`:
 * WMK_CTF_CPU_NONE if the source has no CPU.
 */
int wmk_consumer_add_source(struct wmk_consumer *consumer, struct wmk_source *source, const char *name,
			    uint32_t stream_id, uint64_t instance, uint32_t cpu);
int wmk_consumer_start(struct wmk_consumer *consumer);
/*
 * Write all committed records, also of partial sub-buffers. Returns 0 when all committed records are written, or -errno
 * of the output. The function skips sources that are written only at stop; it returns -EINVAL if the whole consumer
 * writes only at stop.
 */
int wmk_consumer_flush(struct wmk_consumer *consumer);
/*
 * Write all committed records and the current lost counts of `from` (NULL: of all sources). The function also writes
 * the records of sources that are otherwise written only at stop. Recording continues. 0, or -errno of the output:
 * records that could not be written stay in the rings.
 */
int wmk_consumer_settle(struct wmk_consumer *consumer, const void *from);
/*
 * Take all complete sub-buffers of `from`, then reclaim the memory of each ring of `from` that had no record for
 * `idle_ns`. Rings in overwrite mode and kernel channels keep their memory. 0, or the first -errno.
 */
int wmk_consumer_reclaim(struct wmk_consumer *consumer, const void *from, uint64_t idle_ns);
/*
 * Discard all records so far, in the rings and in the trace, but keep the metadata. All counts and all streams start
 * again; this includes streams that ended with an error. A source that is still corrupt is counted and reported again.
 * 0, or the first -errno. After an error, the function still clears the remaining streams.
 */
int wmk_consumer_clear(struct wmk_consumer *consumer);
/*
 * End the sleep of the consumer's thread, which then carries out queued work and drains all sources. Call
 * wmk_consumer_wake() if a writer may have crashed before the writer woke the consumer. Never waits.
 */
void wmk_consumer_wake(struct wmk_consumer *consumer);
/*
 * Queue function(arg) for the consumer's thread, which calls queued functions in order. `function` may call every
 * function that is declared above this comment. If the consumer's thread does not run, the function is called at once.
 * -ENOMEM.
 */
int wmk_consumer_queue_work(struct wmk_consumer *consumer, void (*function)(void *arg), void *arg);
/*
 * Queue function(arg) as wmk_consumer_queue_work() does, but wait for the function and return its result. In the
 * consumer's thread, or if the consumer's thread does not run, the function is called at once. -ENOMEM.
 */
int wmk_consumer_run_work(struct wmk_consumer *consumer, int (*function)(void *arg), void *arg);
/*
 * Write all committed records, end all streams, and join the consumer's thread. 0, or -errno of the output if something
 * could not be written (the statistics include it). Idempotent.
 */
int wmk_consumer_stop(struct wmk_consumer *consumer);
/*
 * Called when real time was set, or when the machine has resumed from suspend: measure a sync point of the clock now,
 * and write the sync point to the trace. Any thread; does not wait.
 */
void wmk_consumer_clock_stepped(struct wmk_consumer *consumer);
/* Store the statistics as of a recent pass; the statistics include removed sets. */
void wmk_consumer_stats(struct wmk_consumer *consumer, struct wmk_consumer_stats *stats);
/* Store the current statistics of `from`; `bytes` is the size of the stream files of `from`. -ENOENT. */
int wmk_consumer_stats_of(struct wmk_consumer *consumer, const void *from, struct wmk_consumer_stats *stats);
/* Add the counts of `more` to `sum`. */
void wmk_consumer_stats_add(struct wmk_consumer_stats *sum, const struct wmk_consumer_stats *more);
void wmk_consumer_close(struct wmk_consumer *consumer);

#endif
