/* SPDX-License-Identifier: MIT */
/*
 * set.h - a process's private view of a ring set. The process copies the geometry from shared memory once, checks the
 * copy, and stores the copy in the view.
 *
 * The structure and the mapping are one reservation of address space:
 *
 *     struct waymark_ring_set, ring[n_rings] | header page, control blocks | data | guard
 *     private, never unmapped by retire()    | shared, or zero pages once retired
 */
#ifndef WMK_RING_SET_H
#define WMK_RING_SET_H

#include <stddef.h>
#include <stdint.h>

#include "ring/layout.h"

/* One line for each ring. */
struct wmk_ring_view {
	struct wmk_ring_ctl *ctl;
	unsigned char *data;
	/*
	 * A record that ends at or before the position `limit` is in a sub-buffer that is open, and accessible in this
	 * process. A record that ends after `limit` takes the slow path, which sets `limit`. Relaxed: a stale value of
	 * `limit` costs one slow path. The restartable sequence checks write_pos, and rejects a plan that used a stale
	 * value.
	 */
	uint64_t limit;
	uint64_t accessible;   /* bytes from the start of `data` that are readable and writable in this mapping */
	uint64_t seen;         /* reader: number of sub-buffers at the last waymark_ring_set_wait() */
	uint64_t seen_claims;  /* reader: see waymark_ring_set_retire_claims() */
	/* bytes from the start that wmk_ring_set_map_ahead() has mapped; 0: never called */
	uint64_t mapped;
	/* write_pos at the last wmk_ring_set_map_ahead() or wmk_ring_set_wake_for() */
	uint64_t looked;
} __attribute__((aligned(64)));

struct waymark_ring_set {
	ptrdiff_t rseq_offset; /* of the rseq area from the thread pointer */
	uint32_t seq_cpus;     /* n_cpus; 0: no restartable sequences */
	uint32_t clock;        /* enum waymark_ring_clock */
	uint64_t ring_mask;    /* bytes of a ring - 1 */
	uint64_t subbuf_size;
	uint32_t usable;       /* offset in a sub-buffer at which records end at the latest */
	uint32_t first;        /* offset of a sub-buffer's first record */
	uint64_t (*plugin_clock)(void);
	struct wmk_set_header *header;
	uint32_t n_rings;
	int fd;                /* -1 in a writer */
	uint64_t identity;     /* value that this process stores in `claim` */
	uint32_t may_block;
	uint32_t is_reader;
	uint32_t in_file;      /* 1: in a named file (file.h), not in sealed memory */
	size_t private_len, shared_len;
	uint64_t clock_ahead;  /* MONOTONIC: offset of this process's clock (time namespace), ns */
	/*
	 * id of the last request for a snapshot: at the reader's last sleep, at the last wake_for(), at the last report
	 * to the session daemon
	 */
	uint64_t seen_request, looked_request, reported_request;
	struct waymark_ring_set *next_retired;
	struct waymark_ring_options options;
	struct wmk_ring_view ring[];
};

/* Return the identity of a process in claims and requests; 0, 0: anonymous. */
uint64_t wmk_ring_identity(uint32_t slot, uint32_t generation);
/* Read the UUID of a set without a mapping of the set. 0; -EINVAL: `fd` is not a ring set. */
int wmk_ring_set_uuid(int fd, uint8_t uuid[16]);
/*
 * Replace the mapping of the set by anonymous zero pages. A later open of a set with the same shape reuses the
 * structure.
 */
void wmk_ring_set_retire(struct waymark_ring_set *set);
/*
 * Allow or forbid threads of this process to wait for room. The call has an effect only if the creator of the set
 * requested waiting (block_us). Default: allow.
 */
void wmk_ring_set_allow_blocking(struct waymark_ring_set *set, int allow);
/*
 * Set the function of the clock WAYMARK_CLOCK_PLUGIN. The clock function must be async-signal-safe, and its value never
 * decreases.
 */
void wmk_ring_set_plugin_clock(struct waymark_ring_set *set, uint64_t (*now)(void));
/*
 * Wake the reader in place of a writer that crashed after its record or its request for a snapshot, but before it woke
 * the reader. The function wakes the reader only if, since the last call for this mapping, a record was committed or a
 * request was stored. Not for mappings of applications. One thread at a time.
 */
void wmk_ring_set_wake_for(struct waymark_ring_set *set);
/*
 * Store the reason why a writer lost records, if the rings do not contain the cause. The set has room for the reasons
 * of a few writers. The function makes no system call, so a sandbox cannot prevent the store. Any thread;
 * async-signal-safe.
 */
enum wmk_ring_why {
	WMK_RING_WHY_PROTECT = 1,        /* mprotect was refused */
	WMK_RING_WHY_SHARED_STORAGE,
	WMK_RING_WHY_COUNT
};
void wmk_ring_explain(struct waymark_ring_set *set, enum wmk_ring_why why);
/*
 * Read entry `i` of the stored reasons, with the writer's identity (0, 0: anonymous). Returns 1; 0 if the entry does
 * not exist or is invalid.
 */
int wmk_ring_set_explained(const struct waymark_ring_set *set, unsigned i, enum wmk_ring_why *why, uint32_t *slot,
			   uint32_t *generation);
/*
 * Read the identity of the current holder of a claim ring. Returns 1; 0 if the claim ring is free, retired, or held
 * anonymously.
 */
int wmk_ring_set_claimed_by(const struct waymark_ring_set *set, uint32_t ring, uint32_t *slot, uint32_t *generation);
/*
 * Read the counts of ring `ring` since the last clear of the ring. The function is for a process that maps the set
 * without reading its records, and stores nothing in the ring. 0; -EIO: a count is not possible, so the ring is
 * corrupt; -EAGAIN: the ring is being cleared, or its writers are too fast. Any thread.
 */
struct wmk_ring_totals {
	uint64_t records;            /* committed records, including those that were overwritten */
	uint64_t overwritten;        /* overwrite mode: of `records`, those that no reader can copy any more */
	uint64_t lost[WAYMARK_LOST_CAUSES], cut;
};
int wmk_ring_set_totals(struct waymark_ring_set *set, uint32_t ring, struct wmk_ring_totals *totals);
/*
 * Map pages that writers will enter next, so that page faults on the recording path are rare. The first call maps at
 * most 64 KiB of each ring, which is enough for most applications. A later call maps the allocated part of each ring
 * that has records since the last call. For a helper thread. The function maps only memory that is already allocated.
 */
void wmk_ring_set_map_ahead(struct waymark_ring_set *set);
/*
 * Return why waymark_ring_reader_next() returned -EIO: the value `what` is `found`, but must be in the range `least` to
 * `most`. Returns NULL if there is no error.
 */
struct wmk_ring_wrong {
	const char *what;
	uint64_t found, least, most;
};
const struct wmk_ring_wrong *wmk_ring_reader_wrong(const struct waymark_ring_reader *reader);
/*
 * Return a time such that from now on no record with an earlier time is committed, except by a restartable sequence
 * that is already running. A running restartable sequence commits within 1 ms, unless the CPU is stopped, for example
 * by a hypervisor. 0: unknown: this process does not have the clock, or the ring is a claim ring with a holder. The
 * holder of a claim ring may have read the clock long before it commits the record. wmk_ring_reader_raise_floor() is
 * cheaper than waymark_ring_reader_beacon().
 */
uint64_t wmk_ring_reader_raise_floor(struct waymark_ring_reader *reader);
/*
 * Take the memory of the last piece that a reader in overwrite mode returned: `room` and `data` of the piece stay valid
 * until the caller frees the returned memory with free(). The next waymark_ring_reader_next() allocates other memory,
 * and returns -ENOMEM without memory.
 */
void *wmk_ring_reader_take(struct waymark_ring_reader *reader);
/* 1 if the ring has records that the reader has not released, else 0. A corrupt ring has none. */
int wmk_ring_reader_has_unread(const struct waymark_ring_reader *reader);
/*
 * The end of a chunk of a trace (chunk.c): a position of the writers, the time of the last record before that position,
 * and the number of records before that position. A reader returns no packet beyond the cut until the cut is removed.
 */
struct wmk_ring_cut {
	uint64_t pos, ts, records;
};
/*
 * Set the cut at the current position of the writers. 0; -EAGAIN: the writers are too fast at the moment; -EIO:
 * corrupt; 1: no cut. A ring in overwrite mode has no cut: the chunk ends at the last position that was read from the
 * ring.
 */
int wmk_ring_reader_cut_now(struct waymark_ring_reader *reader, struct wmk_ring_cut *cut);
/*
 * Set the cut at a position that an earlier reader has stored; NULL removes the cut. The next read of the ring checks
 * the values of the cut. 1: the earlier reader has already begun the next chunk there; else 0.
 */
int wmk_ring_reader_cut_at(struct waymark_ring_reader *reader, const struct wmk_ring_cut *cut);
/* 1 if everything before the cut was released, or there is no cut. */
int wmk_ring_reader_is_at_cut(const struct waymark_ring_reader *reader);
/* Store the counts of lost records and cut fields of a chunk that ends at the position of the reader. */
void wmk_ring_reader_chunk_end(struct waymark_ring_reader *reader, uint64_t *lost, uint64_t *cut_fields);
/*
 * Begin the next chunk: all counts begin at 0. The cut stays until wmk_ring_reader_cut_at() removes the cut.
 * `lost_before`: the number of losses that were reported in the previous chunk. Losses of the previous chunk beyond
 * `lost_before` belong to the next chunk.
 */
void wmk_ring_reader_chunk_begin(struct waymark_ring_reader *reader, uint64_t lost_before);
/*
 * Return the position up to which space was released to the writers. A reader without a stored position continues at
 * the position up to which space was released.
 */
uint64_t wmk_ring_reader_given(const struct waymark_ring_reader *reader);
/*
 * Return the number of bytes of the ring that waymark_ring_set_reclaim() has given back, and that no reader has
 * allocated again. Any process that maps the set may call the function.
 */
uint64_t wmk_ring_set_reclaimed(const struct waymark_ring_set *set, uint32_t ring);
/* Return the number of rings that have had records. */
unsigned wmk_ring_set_recorded(const struct waymark_ring_set *set);
/* Make the first `bytes` of the ring's data accessible in this process. 0 or -errno. */
int wmk_ring_access(struct waymark_ring_set *set, struct wmk_ring_view *ring, uint64_t bytes);

#endif
