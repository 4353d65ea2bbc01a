/* SPDX-License-Identifier: MIT */
/*
 * ring.h - per-CPU ring buffers in shared memory: any number of writing threads and processes, one reader.
 *
 *          writers (any thread, signal handlers, several processes)            one reader
 *     waymark_ring_record(set, id, frags, n)                          waymark_ring_reader_next()
 *            │  CPU 0  ┌────────┬────────┬────────┐                      │ whole sub-buffers, or what is
 *            ├────────►│ sub 0  │ sub 1  │ ...    │─────────────────────►│ there now
 *            │  CPU 1  ├────────┼────────┼────────┤                      ▼
 *            ├────────►│        │        │        │──────────►  waymark_ring_reader_release()
 *            │ claim 0 ├────────┼────────┼────────┤
 *            └────────►│        │        │        │   threads without restartable sequences, very long records
 *                      └────────┴────────┴────────┘
 *
 * A *set* holds one ring for each possible CPU, then claim rings. An event record is wholly in its ring or not at
 * all: it becomes visible by one store at the end of a restartable sequence (rseq(2)). A writer that is killed leaves
 * nothing behind. See docs/ring.md.
 *
 * Each record is <header><payload>: the header is 4, 6 or 13 bytes and holds the id and the time (struct event_header
 * in docs/trace-format.md); the payload is the fragments, back to back.
 *
 * Errors are negative errno values. Nothing here prints, exits, or keeps global state.
 */
#ifndef WAYMARK_RING_H
#define WAYMARK_RING_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WAYMARK_RING_ABI_VERSION 1
#define WAYMARK_RING_CLAIMS 8          /* claim rings in use at a time */
#define WAYMARK_RING_MAX_FRAGS 104
#define WAYMARK_RING_SEQ_MAX 16384u    /* longest payload that a restartable sequence carries, in bytes */

enum waymark_ring_mode { WAYMARK_RING_DISCARD = 0, WAYMARK_RING_OVERWRITE = 1 };
enum waymark_ring_clock {
	WAYMARK_CLOCK_MONOTONIC = 0,
	WAYMARK_CLOCK_COUNTER = 1, /* rdtsc, cntvct_el0 */
	WAYMARK_CLOCK_PLUGIN = 2,
};

/* Why a record was lost. Σ over causes is the ring's loss. */
enum waymark_ring_loss {
	WAYMARK_LOST_FULL = 0,     /* discard mode: no free sub-buffer */
	WAYMARK_LOST_MEMORY = 1,   /* the sub-buffer's memory could not be had */
	WAYMARK_LOST_SIZE = 2,     /* larger than a sub-buffer */
	WAYMARK_LOST_RETRY = 3,    /* could not be committed, nor a claim ring be had */
	WAYMARK_LOST_CAUSES = 4,
};

struct waymark_ring_options {
	size_t size;               /* sizeof(struct waymark_ring_options) */
	uint32_t subbuf_size;      /* bytes, power of two, 4096 .. 1 GiB */
	uint32_t n_subbufs;        /* power of two; >= 2 to discard, >= 4 to overwrite */
	uint32_t n_cpus;           /* 0: every possible CPU of the machine */
	uint32_t header_room;      /* bytes the reader may use at the head of each sub-buffer; multiple of 8, <= 1024 */
	uint32_t mode;             /* enum waymark_ring_mode */
	uint32_t clock;            /* enum waymark_ring_clock */
	int64_t block_us;          /* discard mode: wait this long for room; 0 never, -1 for ever */
	uint64_t prefault;         /* bytes of the CPU rings to back at once, at least a sub-buffer each */
	uint8_t uuid[16];
};

struct waymark_ring_set;

/* Create a set in a sealed memfd and map it as its reader. The caller owns *set; waymark_ring_set_close() frees it. */
int waymark_ring_set_create(const struct waymark_ring_options *options, struct waymark_ring_set **set);
/*
 * Map a set that another process created, to write. `fd` stays the caller's. Seals, size, magic, version and geometry
 * are checked.
 */
int waymark_ring_set_open(int fd, struct waymark_ring_set **set);
/*
 * Map a set that another process created, to read: after a reader that died, or in its place. Checked likewise; `fd`
 * stays the caller's, a copy is kept. Rings must have one reader at a time, which is the caller's to see to; memory,
 * heartbeat, waiting and waking are that one's too. Who created the set may go on to free claims (and may not retire
 * them, if the reader does).
 */
int waymark_ring_set_open_reader(int fd, struct waymark_ring_set **set);
/* The memfd, owned by the set; -1 in one that was opened to write. */
int waymark_ring_set_fd(const struct waymark_ring_set *set);
/* No thread may be recording into this mapping (libwaymark has means of its own for that). */
void waymark_ring_set_close(struct waymark_ring_set *set);
/* Rings: 0 .. n_cpus-1 are the CPUs', n_cpus .. n_rings-1 claim rings. */
uint32_t waymark_ring_set_cpus(const struct waymark_ring_set *set);
uint32_t waymark_ring_set_rings(const struct waymark_ring_set *set);
const struct waymark_ring_options *waymark_ring_set_options(const struct waymark_ring_set *set);

/* ── writing ─────────────────────────────────────────────────────────────────────────────────────────── */

enum waymark_ring_frag_kind {
	WAYMARK_FRAG_WORDS = 0,    /* 8-byte aligned; up to 7 bytes past `len` are read, not recorded */
	WAYMARK_FRAG_BYTES = 1,    /* exactly `len` bytes are read */
	WAYMARK_FRAG_TEXT = 2,     /* `len` bytes are read; a NUL among them becomes '#'; one is added behind */
	WAYMARK_FRAG_TEXT_OPEN = 3 /* the same, without the NUL behind */
};

struct waymark_ring_frag {
	const void *base;
	uint32_t len;
	uint32_t kind;
};

/*
 * Record: 0, or -ENOSPC (lost, and counted), -EINVAL (n too large). Async-signal-safe, any thread, no allocation, no
 * lock. System calls only at a process's first entry of a sub-buffer (mprotect), on claim rings (signal masking), to
 * wake a sleeping reader at the entry of a new sub-buffer, and where blocking was asked for.
 */
int waymark_ring_record(struct waymark_ring_set *set, uint32_t id, const struct waymark_ring_frag *frags, unsigned n);

/* ── reading ─────────────────────────────────────────────────────────────────────────────────────────── */

struct waymark_ring_reader;

/* A piece of a ring: whole records, in order. */
struct waymark_ring_packet {
	uint64_t begin_ts, end_ts;  /* of the records within; a continuation begins at the end of the previous piece */
	uint64_t begin_pos;         /* ring position of the first byte of `data` (monotonic) */
	uint64_t sequence;          /* of pieces read from this ring, from 0 */
	uint64_t records;           /* from the ring's beginning to the end of this piece, lost ones not counted */
	uint64_t lost;              /* likewise: all causes and overwritten ones */
	uint64_t cut;               /* fields cut to the channel's limit, so far */
	const void *data;           /* until release; in the mapping (discard) or a checked copy (overwrite) */
	size_t len;                 /* bytes of `data`; may be 0 */
	void *room;                 /* header_room writable bytes that end at `data`; NULL: write elsewhere */
	uint64_t file_offset;       /* of `data` in the set's fd, for splice; UINT64_MAX when data is a copy */
	uint32_t whole;             /* 1: the sub-buffer is complete, the next piece starts a new one */
	uint32_t ring;
};

#define WAYMARK_RING_FLUSH 1u       /* also the part of the current sub-buffer that is there now */

/* The reader trusts nothing in shared memory: geometry is the set's own, every offset, count and time is checked. */
int waymark_ring_reader_open(struct waymark_ring_set *set, uint32_t ring, struct waymark_ring_reader **reader);
void waymark_ring_reader_close(struct waymark_ring_reader *reader);
/*
 * 1: *packet is filled; 0: nothing (yet); -EIO: this ring lies (said once; it yields nothing more), others are
 * unharmed.
 */
int waymark_ring_reader_next(struct waymark_ring_reader *reader, unsigned flags, struct waymark_ring_packet *packet);
/* The piece has been dealt with; its room in the ring is given back to the writers when its sub-buffer is complete. */
int waymark_ring_reader_release(struct waymark_ring_reader *reader, const struct waymark_ring_packet *packet);
/*
 * What has been lost in the ring up to now, by cause (may be NULL). The sum includes `overwritten` as the reader
 * knows it. Counts that decrease, or are larger than any ring's, are not returned: the last valid ones are, and the
 * next waymark_ring_reader_next() returns -EIO.
 */
uint64_t waymark_ring_reader_lost(struct waymark_ring_reader *reader, uint64_t by_cause[WAYMARK_LOST_CAUSES]);
/* Fields cut to the channel's limit in the ring, up to now. */
uint64_t waymark_ring_reader_cut(struct waymark_ring_reader *reader);
/* Bytes committed so far; a cheap look whether there is anything to do. */
uint64_t waymark_ring_reader_position(const struct waymark_ring_reader *reader);
/*
 * Go on where an earlier reader stopped, before the first waymark_ring_reader_next(): all before `pos` (the end of any
 * piece, begin_pos + len) has been dealt with; the next piece has sequence number `sequence`, and no record in it is
 * older than `last_ts` (end_ts of the last piece). The caller knows these from what it wrote; *records (may be NULL)
 * becomes the number of records before `pos`. 0; 1: the same, but *records counts only to the beginning of the
 * sub-buffer, until the next piece tells; -EINVAL: no such position; -ESTALE: what follows `pos` has been given back
 * to the writers.
 */
int waymark_ring_reader_resume(struct waymark_ring_reader *reader, uint64_t pos, uint64_t sequence, uint64_t last_ts,
			       uint64_t *records);
/*
 * Drop everything that has been committed by now, and begin to count at zero: records, losses, cut fields and pieces.
 * Later readers of this ring count from there too. Before the first waymark_ring_reader_next() or behind a release. 0;
 * -EAGAIN: the writer is too fast at the moment; -EIO: the ring lies.
 */
int waymark_ring_reader_clear(struct waymark_ring_reader *reader);
/*
 * Where counting begins: position, and the time of the last record before (`ts` may be NULL). 0: it was never cleared.
 */
uint64_t waymark_ring_reader_base(const struct waymark_ring_reader *reader, uint64_t *ts);
/*
 * Beacon: moves the calling thread to the ring's CPU (and back), after which *floor is a time below which no further
 * record will come from this ring. -ENOTSUP for claim rings, -EPERM/-EINVAL for a CPU that this thread may not run
 * on.
 */
int waymark_ring_reader_beacon(struct waymark_ring_reader *reader, uint64_t *floor);

/*
 * Memory, once per look: backs with memory the rings that have begun to record. Writers enter only what is backed:
 * they never allocate. Returns 0, or -ENOMEM/-ENOSPC (writers then lose records, cause memory, until a later call
 * succeeds).
 */
int waymark_ring_set_back(struct waymark_ring_set *set);
/* Says that the reader is alive (writers that block for room give up when this stops). */
void waymark_ring_set_heartbeat(struct waymark_ring_set *set);
/*
 * Sleep until a writer enters a new sub-buffer of any ring, `timeout_us` at most (<= 1 s). 1: woken, 0: time is over.
 */
int waymark_ring_set_wait(struct waymark_ring_set *set, uint64_t timeout_us);
/*
 * The same for several sets, WAYMARK_RING_WAIT_SETS at most, and a word of the caller's: also until *word is not
 * `value` (change it, then futex-wake it). timeout_us -1: for ever. A writer that waits for room takes a reader that
 * sleeps here for alive, and who dies here is found out. 1: a writer entered a sub-buffer; 0: time is over, or the
 * word; -ENOTSUP: too many sets, or the kernel cannot (Linux 5.16).
 */
#define WAYMARK_RING_WAIT_SETS 127u
int waymark_ring_sets_wait(struct waymark_ring_set *const *sets, unsigned n, const uint32_t *word, uint32_t value,
			   int64_t timeout_us);
/*
 * Ends a sleep in waymark_ring_set_wait() of another thread of the reader's process. A sleep that has not begun yet
 * is not affected.
 */
void waymark_ring_set_wake(struct waymark_ring_set *set);

/* ── claim rings: who may claim, and who died ────────────────────────────────────────────────────────── */

/* This process writes claims as (slot, generation), given by whoever watches over its death. 0, 0: anonymous. */
void waymark_ring_set_identity(struct waymark_ring_set *set, uint32_t slot, uint32_t generation);
/* The process with that identity is dead (pidfd says so): frees its claims. Returns how many. */
int waymark_ring_set_free_claims(struct waymark_ring_set *set, uint32_t slot, uint32_t generation);
/*
 * Anonymous claims that made no progress since the last call are retired, fresh rings take their place. Returns how
 * many.
 */
int waymark_ring_set_retire_claims(struct waymark_ring_set *set);

#ifdef __cplusplus
}
#endif
#endif
