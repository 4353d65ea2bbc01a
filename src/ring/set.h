/* SPDX-License-Identifier: MIT */
/*
 * set.h - a process's private view of a ring set. Geometry is taken from shared memory once, checked, and kept here.
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
	 * A record that ends at or below this position goes into a sub-buffer that is open and accessible here.
	 * Everything else takes the slow path, which sets it. Relaxed: a stale value costs a trip through the slow
	 * path, and the sequence's check of write_pos rejects a proposal made with one.
	 */
	uint64_t limit;
	uint64_t accessible;   /* bytes from the beginning of `data` that are readable and writable in this mapping */
	uint64_t seen;         /* reader: sub-buffer that waymark_ring_set_wait() saw last */
	uint64_t seen_claims;  /* reader: see waymark_ring_set_retire_claims() */
	/* wmk_ring_set_map_ahead(): bytes from the beginning for which pages are there; 0: it never came */
	uint64_t mapped;
	/* ... and write_pos when it came last; where it never comes: what wmk_ring_set_wake_for() saw last */
	uint64_t looked;
} __attribute__((aligned(64)));

struct waymark_ring_set {
	ptrdiff_t rseq_offset; /* of the rseq area from the thread pointer */
	uint32_t seq_cpus;     /* n_cpus, or 0 where there are no restartable sequences */
	uint32_t clock;        /* enum waymark_ring_clock */
	uint64_t ring_mask;    /* bytes of a ring - 1 */
	uint64_t subbuf_size;
	uint32_t usable;       /* offset in a sub-buffer where records end at the latest */
	uint32_t first;        /* offset of a sub-buffer's first record */
	uint64_t (*plugin_clock)(void);
	struct wmk_set_header *header;
	uint32_t n_rings;
	int fd;                /* -1 in a writer's */
	uint64_t identity;     /* what this process writes into `claim` */
	uint32_t may_block;
	uint32_t is_reader;
	uint32_t in_file;      /* not in sealed memory: file.h */
	size_t private_len, shared_len;
	uint64_t clock_ahead;  /* MONOTONIC: this process's clock, of the machine's (time namespace) */
	struct waymark_ring_set *next_retired;
	struct waymark_ring_options options;
	struct wmk_ring_view ring[];
};

/* By which a set is known that is mapped already, without mapping it again. 0; -EINVAL: `fd` is none. */
int wmk_ring_set_uuid(int fd, uint8_t uuid[16]);
/* Anonymous zero pages take the place of the mapping; the structure stays for a later open of the same shape. */
void wmk_ring_set_retire(struct waymark_ring_set *set);
/* Whether threads of this process wait for room where the creator asked for that (block_us). On in a new set. */
void wmk_ring_set_allow_blocking(struct waymark_ring_set *set, int allow);
/* The clock of kind WAYMARK_CLOCK_PLUGIN: async-signal-safe, never goes back. */
void wmk_ring_set_plugin_clock(struct waymark_ring_set *set, uint64_t (*now)(void));
/*
 * In the place of a writer that died and may have entered a sub-buffer without waking anybody: wakes the reader if a
 * ring has entered one since the last call for this mapping, which is not a program's. One thread at a time.
 */
void wmk_ring_set_wake_for(struct waymark_ring_set *set);
/*
 * Why a writer lost records, where rings are not the reason. The set keeps it, for a few writers: it needs no system
 * call, so a sandbox cannot prevent it. Any thread, signal handlers too.
 */
enum wmk_ring_why {
	WMK_RING_WHY_PROTECT = 1,        /* mprotect was refused */
	WMK_RING_WHY_SHARED_STORAGE,
	WMK_RING_WHY_COUNT
};
void wmk_ring_explain(struct waymark_ring_set *set, enum wmk_ring_why why);
/* The i-th, with the writer's identity (0, 0: it had none). 1; 0: past the last, or not a valid entry. */
int wmk_ring_set_explained(const struct waymark_ring_set *set, unsigned i, enum wmk_ring_why *why, uint32_t *slot,
			   uint32_t *generation);
/* Who stands in this claim ring at the moment: 1 and its identity; 0: nobody who was given one. */
int wmk_ring_set_claimed_by(const struct waymark_ring_set *set, uint32_t ring, uint32_t *slot, uint32_t *generation);
/*
 * Map what writers will enter next, so that faults on the recording path are rare: the first time a little, for most
 * programs end before they need more, then, when a ring has moved, all of it. For a helper thread; never allocates
 * memory, only maps what is backed.
 */
void wmk_ring_set_map_ahead(struct waymark_ring_set *set);
/* Why waymark_ring_reader_next() returned -EIO: `what` is `found`, and must be `least` to `most`. NULL: it did not. */
struct wmk_ring_wrong {
	const char *what;
	uint64_t found, least, most;
};
const struct wmk_ring_wrong *wmk_ring_reader_wrong(const struct waymark_ring_reader *reader);
/* All before it has been given back to the writers: where a reader goes on that has lost its place, in discard mode. */
uint64_t wmk_ring_reader_given(const struct waymark_ring_reader *reader);
/* Make the first `bytes` of the ring's data readable and writable here. 0 or -errno. */
int wmk_ring_access(struct waymark_ring_set *set, struct wmk_ring_view *ring, uint64_t bytes);

#endif
