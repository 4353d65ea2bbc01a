/* SPDX-License-Identifier: MIT */
/*
 * layout.h - the layout of a ring set in shared memory. The layout is an ABI between processes: any change of the
 * layout also changes WAYMARK_RING_ABI_VERSION.
 *
 *     page 0           struct wmk_set_header
 *     page 1 ..        struct wmk_ring_ctl × n_rings, rounded up to whole pages
 *     data_offset ..   data of ring 0, of ring 1, ...: n_subbufs × subbuf_size bytes each
 *
 * The control blocks are contiguous, so that a set is mapped with two system calls for any number of CPUs. The creator
 * of the set allocates the control blocks. The data is sparse.
 *
 *     sub-buffer       struct wmk_ring_sub | header_room bytes for the reader | records ... | WMK_RING_SLACK or more
 *
 * Positions count bytes since the ring was created, including sub-buffer headers. (position & (ring size - 1)) is the
 * offset in the ring's data. A position at the start of a sub-buffer means that the sub-buffer is not open yet, and
 * that the next record opens the sub-buffer.
 */
#ifndef WMK_RING_LAYOUT_H
#define WMK_RING_LAYOUT_H

#include <stdint.h>

#include <waymark/ring.h>

#define WMK_RING_MAGIC 0x676e69726b6d7977ull /* "wymkring" */
#define WMK_RING_LINE 128
#define WMK_RING_SLACK 8u        /* word-wise copies write up to 7 bytes past the end of a record */
#define WMK_RING_SPARES 24u      /* rings that replace retired claim rings */
#define WMK_RING_HEADER_SIZE 4096u
#define WMK_RING_MIN_SUBBUF 4096u
#define WMK_RING_MAX_SUBBUF (1u << 30)
#define WMK_RING_MAX_CPUS 8192u
#define WMK_RING_MAX_ROOM 1024u
#define WMK_RING_MAX_SIZE (1ull << 46) /* bytes of one ring's data */

/* State of the writers, which each record stores for the next record. A slot is valid if its tag equals write_pos. */
struct wmk_ring_slot {
	uint64_t tag;
	uint64_t last_ts;
	uint64_t records;
};

struct wmk_ring_ctl {
	/* Line 0: written by writers. A writer accesses only the first 64 bytes of the control block for a record. */
	uint64_t write_pos;
	struct wmk_ring_slot slot[2];
	uint64_t reserved0[9];
	/* Line 1: written by writers, rarely. */
	uint64_t lost[WAYMARK_LOST_CAUSES];
	uint64_t cut;
	uint64_t claim;        /* claim rings: 0 free, WMK_CLAIM_RETIRED, or the identity of the holder */
	uint64_t claims;       /* claim rings: number of claims so far */
	uint64_t reserved1[9];
	/* Line 2: written by the reader. */
	uint64_t consumed_pos; /* writers may reuse the space below; a multiple of subbuf_size */
	uint64_t backed_pos;   /* writers may enter the sub-buffers below; UINT64_MAX: the whole ring has memory */
	uint64_t floor_ts;     /* no record may be older */
	uint64_t armed;        /* not 0: the writer of the next record wakes the reader */
	/* write_pos when memory was given back last; 0: never, or before the first record (reclaim.c) */
	uint64_t reclaimed_pos;
	uint64_t reserved2[11];
	/* Line 3 is written by a reader, for a later reader. */
	uint64_t read_pos;
	uint64_t read_ts;      /* time of the last record before read_pos */
	uint64_t read_records; /* records committed before read_pos */
	uint64_t read_lost;    /* records overwritten before they were read, before read_pos */
	uint64_t given_pos;    /* end of the last piece that was returned; next two: counts at this end */
	uint64_t given_records;
	uint64_t given_lost;
	/* where counting starts; the next members: the counts at base_pos; UINT64_MAX: being changed */
	uint64_t base_pos;
	uint64_t base_ts;      /* time of the last record before base_pos */
	uint64_t base_records;
	uint64_t base_overwritten;
	uint64_t base_cut;
	uint64_t base_lost[WAYMARK_LOST_CAUSES];
};

struct wmk_ring_sub {
	uint64_t begin_ts;     /* time of its first record */
	uint64_t end_ts;       /* time of its last record; valid once write_pos is past this sub-buffer */
	uint64_t sequence;     /* position of the sub-buffer / subbuf_size */
	uint64_t records_start;/* records committed before its first record */
	uint64_t lost_start;
	uint64_t content_end;  /* offset of the end of its last record; valid as end_ts, as are the next two */
	uint64_t records_end;
	uint64_t lost_end;
};

#define WMK_RING_WHYS 8
#define WMK_RING_REASON_MAX 127u

/*
 * A request for a snapshot (ring/request.h): a writer stores the request, and the session daemon removes the request.
 */
struct wmk_ring_request_slot {
	uint64_t owner;        /* identity of the writer that stores the request, as in `claim`; 0: the slot is free */
	uint64_t id;           /* not 0: the request is complete */
	uint64_t refused;      /* number of requests that found another request in the slot */
	char reason[WMK_RING_REASON_MAX + 1];
	uint64_t reserved[13];
};

struct wmk_set_header {
	uint64_t magic;
	uint32_t abi;
	uint32_t page_size;
	uint32_t subbuf_size;
	uint32_t n_subbufs;
	uint32_t n_cpus;
	uint32_t n_rings;
	uint32_t header_room;
	uint32_t mode;
	uint32_t clock;
	uint32_t owner;        /* uid of the creator */
	int64_t block_us;
	uint64_t data_offset;
	uint64_t total_size;
	uint8_t uuid[16];
	uint32_t poll_us;
	uint32_t allocation;
	uint8_t reserved0[WMK_RING_LINE - 96];
	/* Line 1: written by the reader. */
	uint32_t waiting;      /* futex: 1 while the reader sleeps */
	uint32_t reserved1;
	uint64_t heartbeat;    /* CLOCK_MONOTONIC, ns; or WMK_HEART_IDLE */
	uint32_t claims_end;   /* rings n_cpus .. claims_end-1 can be claimed */
	uint32_t reserved2[27];
	/* Line 2: written by all processes. */
	uint64_t lost_without_ring;
	uint64_t why[WMK_RING_WHYS]; /* entries for wmk_ring_explain(); 0: free */
	uint64_t reserved3[15 - WMK_RING_WHYS];
	/* Lines 3 and 4. */
	struct wmk_ring_request_slot request;
};

/*
 * WMK_HEART_IDLE as the heartbeat means that the reader is idle: the reader sleeps until a writer wakes it. A writer
 * that waits for room assumes once that an idle reader is alive, and stores the current time as the reader's heartbeat.
 * A reader that was woken updates the heartbeat, and a crashed reader does not.
 */
#define WMK_HEART_IDLE UINT64_MAX

#define WMK_CLAIM_FREE 0ull
#define WMK_CLAIM_ANONYMOUS (1ull << 63)
#define WMK_CLAIM_RETIRED (3ull << 62)
#define WMK_CLAIM_NAMED (1ull << 61)    /* | generation << 32 | slot */

_Static_assert(sizeof(struct wmk_ring_slot) == 24, "ABI");
_Static_assert(sizeof(struct wmk_ring_ctl) == 4 * WMK_RING_LINE, "ABI");
_Static_assert(__builtin_offsetof(struct wmk_ring_ctl, lost) == WMK_RING_LINE, "ABI");
_Static_assert(__builtin_offsetof(struct wmk_ring_ctl, consumed_pos) == 2 * WMK_RING_LINE, "ABI");
_Static_assert(__builtin_offsetof(struct wmk_ring_ctl, floor_ts) == 272, "written out in arch/");
_Static_assert(__builtin_offsetof(struct wmk_ring_ctl, armed) == 280, "offset is hard-coded in tracer/enter.S");
_Static_assert(__builtin_offsetof(struct wmk_ring_ctl, read_pos) == 3 * WMK_RING_LINE, "ABI");
_Static_assert(sizeof(struct wmk_ring_sub) == 64, "ABI");
_Static_assert(__builtin_offsetof(struct wmk_set_header, waiting) == WMK_RING_LINE, "ABI");
_Static_assert(__builtin_offsetof(struct wmk_set_header, request) == 3 * WMK_RING_LINE, "ABI");
_Static_assert(sizeof(struct wmk_set_header) == 5 * WMK_RING_LINE, "ABI");

#endif
