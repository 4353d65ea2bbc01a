/* SPDX-License-Identifier: MIT */
/*
 * ring.h - per-CPU ring buffers in shared memory: any number of writing threads and processes, one reader.
 *
 *          writers (any thread, signal handlers, several processes)            one reader
 *     waymark_ring_record(set, id, frags, n)                          waymark_ring_reader_next()
 *            │  CPU 0  ┌────────┬────────┬────────┐                      │ whole sub-buffers, or the part
 *            ├────────►│ sub 0  │ sub 1  │ ...    │─────────────────────►│ committed now
 *            │  CPU 1  ├────────┼────────┼────────┤                      ▼
 *            ├────────►│        │        │        │──────────►  waymark_ring_reader_release()
 *            │ claim 0 ├────────┼────────┼────────┤
 *            └────────►│        │        │        │   threads without restartable sequences, very long records
 *                      └────────┴────────┴────────┘
 *
 * A *ring set* has one ring for each possible CPU, followed by claim rings. A record is complete or absent: one store
 * at the end (in the ring of a CPU: at the end of a restartable sequence, rseq(2)) makes the record visible. A writer
 * that is killed leaves nothing to repair, except the claim of a claim ring (waymark_ring_set_free_claims()). See
 * docs/ring.md.
 *
 * Each record is <header><payload>. The record header has 4, 6 or 13 bytes, with the id and the time (struct
 * event_header in docs/trace-format.md). The payload of a record is the sequence of its fragments.
 *
 * Errors are negative errno values. The functions of this header do not print, exit, or keep global state.
 */
#ifndef WAYMARK_RING_H
#define WAYMARK_RING_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WAYMARK_RING_ABI_VERSION 2
#define WAYMARK_RING_CLAIMS 8          /* claim rings in use at a time */
#define WAYMARK_RING_MAX_FRAGS 104
#define WAYMARK_RING_SEQ_MAX 16384u    /* longest payload that a restartable sequence carries, in bytes */

enum waymark_ring_mode { WAYMARK_RING_DISCARD = 0, WAYMARK_RING_OVERWRITE = 1 };
enum waymark_ring_clock {
	WAYMARK_CLOCK_MONOTONIC = 0,
	WAYMARK_CLOCK_COUNTER = 1, /* rdtsc, cntvct_el0 */
	WAYMARK_CLOCK_PLUGIN = 2,
};

/* Causes of lost records. The lost count of a ring is the sum over all causes. */
enum waymark_ring_loss {
	WAYMARK_LOST_FULL = 0,     /* discard mode: no free sub-buffer */
	WAYMARK_LOST_MEMORY = 1,   /* the sub-buffer has no memory yet, or its memory cannot be made accessible */
	WAYMARK_LOST_SIZE = 2,     /* larger than a sub-buffer; with poll_us, also larger than WAYMARK_RING_SEQ_MAX */
	WAYMARK_LOST_RETRY = 3,    /* no sequence could commit it, and no claim ring was free */
	WAYMARK_LOST_CAUSES = 4,
};

struct waymark_ring_options {
	size_t size;               /* sizeof(struct waymark_ring_options) */
	uint32_t subbuf_size;      /* bytes, power of two, 4096 .. 1 GiB, at least a page */
	uint32_t n_subbufs;        /* power of two; >= 2 to discard, >= 4 to overwrite */
	uint32_t n_cpus;           /* 0: every possible CPU of the machine; PER_SET: 0 or 1 */
	uint32_t header_room;      /* bytes for the reader at the start of each sub-buffer; multiple of 8, <= 1024 */
	uint32_t mode;             /* enum waymark_ring_mode */
	uint32_t clock;            /* enum waymark_ring_clock */
	int64_t block_us;          /* discard mode: longest wait for room in us; 0: no wait, -1: no limit */
	/* bytes of the CPU rings (PER_SET: claim rings) to allocate at creation, at least one sub-buffer each */
	uint64_t prefault;
	uint8_t uuid[16];
	/*
	 * If poll_us is 0, writers wake the reader. If poll_us is greater, the reader polls the rings every poll_us
	 * microseconds, and writers make no system call. A record that would need a system call (larger than 16 KiB, no
	 * restartable sequences) is lost and counted. All memory of the CPU rings is accessible from the beginning.
	 * Excludes block_us and PER_SET.
	 */
	uint32_t poll_us;
	uint32_t allocation;       /* enum waymark_ring_allocation */
};
#define WAYMARK_RING_PREFAULT_ALL UINT64_MAX  /* `prefault`: the whole rings that writers normally use */

/*
 * PER_SET: a fixed number of claim rings, min(8, possible CPUs), instead of a ring for each CPU. n_cpus is 1, and the
 * ring of this CPU stays empty. A writer that finds no free ring calls sched_yield(2), up to 100 times, before the
 * record is counted as lost.
 */
enum waymark_ring_allocation { WAYMARK_RING_PER_CPU = 0, WAYMARK_RING_PER_SET = 1 };

struct waymark_ring_set;

/*
 * Create a ring set in a sealed memfd and map it for reading. Returns 0 or -errno. The caller owns *set;
 * waymark_ring_set_close() frees it.
 */
int waymark_ring_set_create(const struct waymark_ring_options *options, struct waymark_ring_set **set);
/*
 * Map a ring set of another process for writing. The function checks the seals, size, magic, version and geometry of
 * the set. The caller keeps `fd`. Returns 0 or -errno.
 */
int waymark_ring_set_open(int fd, struct waymark_ring_set **set);
/*
 * Map a ring set of another process for reading, in place of its creator or of a reader that crashed. The checks are
 * the same as in waymark_ring_set_open(). The caller keeps `fd`; the ring set keeps a copy. The caller must ensure that
 * each ring has one reader at a time. The process that reads also allocates memory, updates the heartbeat, waits for
 * records, and wakes writers. The creator may continue to free claims. Only one process may retire claims: either the
 * creator or the reading process. Returns 0 or -errno.
 */
int waymark_ring_set_open_reader(int fd, struct waymark_ring_set **set);
/* Return the memfd, which the set owns; -1 if the set was opened for writing. */
int waymark_ring_set_fd(const struct waymark_ring_set *set);
/* Unmap and free the set. No thread may be recording into the mapping of the set. */
void waymark_ring_set_close(struct waymark_ring_set *set);
/* Rings 0 .. n_cpus-1 belong to CPUs, n_cpus .. n_rings-1 are claim rings. */
uint32_t waymark_ring_set_cpus(const struct waymark_ring_set *set);
uint32_t waymark_ring_set_rings(const struct waymark_ring_set *set);
const struct waymark_ring_options *waymark_ring_set_options(const struct waymark_ring_set *set);

/* ── writing ─────────────────────────────────────────────────────────────────────────────────────────── */

enum waymark_ring_frag_kind {
	WAYMARK_FRAG_WORDS = 0,    /* 8-byte aligned; up to 7 bytes past `len` are read, not recorded */
	WAYMARK_FRAG_BYTES = 1,    /* exactly `len` bytes are read */
	WAYMARK_FRAG_TEXT = 2,     /* `len` bytes are read; a NUL among them becomes '#'; a NUL is added at the end */
	WAYMARK_FRAG_TEXT_OPEN = 3 /* as TEXT, without the NUL at the end */
};

struct waymark_ring_frag {
	const void *base;
	uint32_t len;
	uint32_t kind;
};

/*
 * Record one event. Returns 0, -ENOSPC (lost and counted) or -EINVAL (n too large). Any thread; async-signal-safe; no
 * allocation, no lock. The function makes system calls only:
 * - when the process enters a sub-buffer for the first time (mprotect);
 * - on claim rings (signal mask; PER_SET also sched_yield);
 * - to wake a sleeping reader: when it enters a new sub-buffer, when a sub-buffer has no memory, when no claim ring is
 *   free, or during waymark_ring_sets_wait_record();
 * - to block, if `block_us` is set.
 * With `poll_us`, it makes none.
 */
int waymark_ring_record(struct waymark_ring_set *set, uint32_t id, const struct waymark_ring_frag *frags, unsigned n);

/* ── reading ─────────────────────────────────────────────────────────────────────────────────────────── */

struct waymark_ring_reader;

/* A piece of a ring consists of whole records, in order. */
struct waymark_ring_packet {
	/* of the records in the piece; a continuation begins at the end of the previous piece */
	uint64_t begin_ts, end_ts;
	uint64_t begin_pos;         /* ring position of the first byte of `data` (monotonic) */
	uint64_t sequence;          /* number of this piece among the pieces read from this ring, from 0 */
	uint64_t records;           /* from the beginning of the ring to the end of this piece, without lost records */
	uint64_t lost;              /* lost records in the same range: all causes, and overwritten records */
	uint64_t cut;               /* fields cut to the limit of the channel, so far */
	const void *data;           /* valid until release; in the mapping (discard) or a checked copy (overwrite) */
	size_t len;                 /* bytes of `data`; may be 0 */
	void *room;                 /* header_room writable bytes that end at `data`; NULL: write elsewhere */
	uint64_t file_offset;       /* of `data` in the set's fd, for splice; UINT64_MAX when data is a copy */
	uint32_t whole;             /* 1: the sub-buffer is complete, the next piece starts a new one */
	uint32_t ring;
};

#define WAYMARK_RING_FLUSH 1u       /* also read the committed part of the current sub-buffer */

/*
 * Open a reader of one ring. The reader does not trust shared memory: it uses the geometry that the set was opened
 * with, and checks every offset, count and time. Returns 0 or -errno. Only one thread at a time may call the functions
 * of a reader.
 */
int waymark_ring_reader_open(struct waymark_ring_set *set, uint32_t ring, struct waymark_ring_reader **reader);
/*
 * Open an observer: a reader that copies what a ring in overwrite mode holds, and writes nothing into the ring. A ring
 * may have any number of observers in addition to its reader. An observer begins at the oldest sub-buffer that writers
 * do not overwrite next, or at the position of the last waymark_ring_reader_clear(). `max_bytes` (0: no limit) limits
 * an observer to the newest sub-buffers with a total size of at most `max_bytes`. The observer always includes the
 * current sub-buffer. The observer counts from its first position: `records` and `lost` of the first piece do not
 * include earlier records. If writers overwrite a sub-buffer that the observer has not read yet, the observer continues
 * at the oldest sub-buffer, and counts from this sub-buffer. begin_pos of the next piece then does not equal the end of
 * the previous piece. waymark_ring_reader_clear() and _resume() return -EINVAL. Returns 0; -ENOTSUP in discard mode;
 * -EIO: the ring is corrupt; -EAGAIN: the writer overwrites sub-buffers too fast at the moment; -EINVAL; -ENOMEM.
 */
int waymark_ring_reader_observe(struct waymark_ring_set *set, uint32_t ring, uint64_t max_bytes,
				struct waymark_ring_reader **reader);
/*
 * Return the number of records that were overwritten or lost before the first piece of an observer. If the observer had
 * to begin again, the number includes the records before the new first piece.
 */
uint64_t waymark_ring_reader_missed(const struct waymark_ring_reader *reader);
void waymark_ring_reader_close(struct waymark_ring_reader *reader);
/*
 * Read the next piece. Returns 1 and fills *packet; 0 if no piece is ready; -EIO, once, if the ring is corrupt. A
 * corrupt ring returns no more pieces, and does not affect other rings.
 */
int waymark_ring_reader_next(struct waymark_ring_reader *reader, unsigned flags, struct waymark_ring_packet *packet);
/*
 * Release a piece that has been processed. When the last piece of a sub-buffer is released, writers can use the
 * sub-buffer again. Returns 0 or -errno.
 */
int waymark_ring_reader_release(struct waymark_ring_reader *reader, const struct waymark_ring_packet *packet);
/*
 * Return the number of records lost in the ring up to now, and store the number for each cause in `by_cause` (may be
 * NULL). The returned number includes the overwritten records that the reader has detected. If counts decrease or
 * exceed the possible range, the function returns the last valid counts, and the next call of
 * waymark_ring_reader_next() returns -EIO. For an observer, the function returns the number of records lost up to the
 * last piece, without causes.
 */
uint64_t waymark_ring_reader_lost(struct waymark_ring_reader *reader, uint64_t by_cause[WAYMARK_LOST_CAUSES]);
/* Return the number of fields that were cut to the limit of the channel, up to now. */
uint64_t waymark_ring_reader_cut(struct waymark_ring_reader *reader);
/* Return the ring position up to which writers have committed records: a cheap check for new records. */
uint64_t waymark_ring_reader_position(const struct waymark_ring_reader *reader);
/*
 * Resume reading where an earlier reader stopped. Call waymark_ring_reader_resume() before the first
 * waymark_ring_reader_next(). `pos` is the end of a piece (begin_pos + len): all records before `pos` have been
 * processed. The next piece gets the sequence number `sequence`, and its records are not older than `last_ts`, the
 * end_ts of the last piece. `pos`, `sequence` and `last_ts` come from the data that the earlier reader wrote. The
 * function stores the number of records before `pos` in *records (may be NULL).
 *
 * Returns 0; -EINVAL if `pos` is not a position of the ring; -ESTALE if the data after `pos` has been released to
 * writers; -EIO if the ring is corrupt; -EAGAIN if the writers are too fast at the moment. Returns 1 if *records counts
 * only to the beginning of the sub-buffer; the next piece then has the exact number.
 */
int waymark_ring_reader_resume(struct waymark_ring_reader *reader, uint64_t pos, uint64_t sequence, uint64_t last_ts,
			       uint64_t *records);
/*
 * Discard all records committed so far, and count records, losses, cut fields and pieces from zero. Later readers of
 * this ring also count from the position of this call. Call waymark_ring_reader_clear() before the first
 * waymark_ring_reader_next(), or after a release. Returns 0; -EAGAIN if the writers are too fast at the moment; -EIO if
 * the ring is corrupt.
 */
int waymark_ring_reader_clear(struct waymark_ring_reader *reader);
/*
 * Return the position at which counting begins, and store the time of the last record before that position in *ts (`ts`
 * may be NULL). 0: the ring was never cleared.
 */
uint64_t waymark_ring_reader_base(const struct waymark_ring_reader *reader, uint64_t *ts);
/*
 * Store a time in *floor, so that no later record of this ring has an earlier time (a beacon). The function moves the
 * calling thread to the CPU of the ring, and back. Returns 0; -ENOTSUP for claim rings; -EPERM or -EINVAL if the thread
 * may not run on the CPU of the ring.
 */
int waymark_ring_reader_beacon(struct waymark_ring_reader *reader, uint64_t *floor);

/*
 * Allocate the memory of all rings that have begun to record. Call waymark_ring_set_back() in each drain pass: writers
 * enter only allocated sub-buffers, and never allocate. Returns 0, or -ENOMEM or -ENOSPC: writers then lose records
 * (cause: memory) until a later call succeeds.
 */
int waymark_ring_set_back(struct waymark_ring_set *set);
/*
 * Give the memory of an idle ring back to the system, except the current and the next sub-buffer.
 * waymark_ring_set_back() allocates it again after the next record. Only the reader may call this function, between
 * drain passes. Returns the number of bytes given back; 0 if the memory was given back before, or if the set needs its
 * memory (waymark_ring_set_may_reclaim()); -EAGAIN if a complete sub-buffer is unread, or if a record is committed
 * during the call; -EOPNOTSUPP if the file system of the rings cannot release parts of a file; -errno.
 */
int64_t waymark_ring_set_reclaim(struct waymark_ring_set *set, uint32_t ring);
/*
 * 1 if the memory of idle rings can be given back, else 0. In overwrite mode, memory is not reclaimed, because the
 * rings hold records that are not read yet. With poll_us, writers expect that all memory stays allocated. With
 * block_us, memory is not reclaimed, because writers wait for room, but not for memory.
 */
int waymark_ring_set_may_reclaim(const struct waymark_ring_set *set);
/*
 * Update the heartbeat of the reader. Writers that block for room stop waiting if the heartbeat is not updated for 2 s.
 */
void waymark_ring_set_heartbeat(struct waymark_ring_set *set);
/*
 * Sleep until a writer enters a new sub-buffer of any ring, or wakes the reader for another reason (a request for a
 * snapshot, missing memory), for at most `timeout_us` (<= 1 s). Returns 1 if woken, 0 after the timeout.
 */
int waymark_ring_set_wait(struct waymark_ring_set *set, uint64_t timeout_us);
/*
 * Sleep as waymark_ring_set_wait() does, for up to WAYMARK_RING_WAIT_SETS sets. The sleep also ends when *word differs
 * from `value`: another thread changes *word, then wakes its futex. timeout_us -1: no limit. While the reader is in
 * this sleep, a writer that waits for room treats the reader as running, and detects a crash of the reader. Returns 1
 * if a writer entered a sub-buffer or requested a snapshot; 0 after the timeout, a change of *word, a signal or another
 * wake-up; -ENOTSUP if there are too many sets, or before Linux 5.16.
 */
#define WAYMARK_RING_WAIT_SETS 127u
int waymark_ring_sets_wait(struct waymark_ring_set *const *sets, unsigned n, const uint32_t *word, uint32_t value,
			   int64_t timeout_us);
/*
 * Sleep as waymark_ring_sets_wait() does. In discard mode, a record also ends the sleep, if the record was committed
 * after the last call of a wait function. A membarrier(2) of all CPUs precedes the sleep and takes about 10 ms. During
 * the sleep, the first writer calls futex(2) to wake the reader. The function also returns -ENOTSUP if the kernel
 * refuses the membarrier (nohz_full CPUs).
 */
int waymark_ring_sets_wait_record(struct waymark_ring_set *const *sets, unsigned n, const uint32_t *word,
				  uint32_t value, int64_t timeout_us);
/*
 * End a sleep of another thread of this process in waymark_ring_set_wait(). A sleep that begins later is not affected.
 */
void waymark_ring_set_wake(struct waymark_ring_set *set);

/* ── claim rings: identities, and the end of processes ───────────────────────────────────────────────── */

/*
 * Set the identity with which this process claims rings. The process that frees the claims of ended writers assigns the
 * identities. 0, 0: anonymous.
 */
void waymark_ring_set_identity(struct waymark_ring_set *set, uint32_t slot, uint32_t generation);
/*
 * Free the claims of a process; its pidfd must have reported the end of the process. Returns their number; -EINVAL for
 * the anonymous identity.
 */
int waymark_ring_set_free_claims(struct waymark_ring_set *set, uint32_t slot, uint32_t generation);
/*
 * Retire rings with anonymous claims that made no progress since the last call, and replace them by spare rings.
 * Returns their number.
 */
int waymark_ring_set_retire_claims(struct waymark_ring_set *set);

#ifdef __cplusplus
}
#endif
#endif
