/* SPDX-License-Identifier: MIT */
/*
 * reader.h - the state shared by reader.c (pieces of a ring), counts.c (lost records), resume.c (where reading and
 * counting start) and observer.c (a second reader, which changes nothing in the ring).
 */
#ifndef WMK_RING_READER_H
#define WMK_RING_READER_H

#include <errno.h>

#include "ring/record_header.h"
#include "ring/set.h"

/* A CPU that loses one record every 5 ns needs more than a year to reach WMK_RING_COUNT_MAX. */
#define WMK_RING_COUNT_MAX (1ull << 53)
/* No clock reaches this value. Readers of the trace may treat times above WMK_RING_TIME_MAX as negative. */
#define WMK_RING_TIME_MAX (1ull << 62)
#define WMK_RING_RECORD_MIN 4u /* minimum bytes of a record */

/* Further counts of the writers: the indices follow the indices of enum waymark_ring_loss. */
enum { WMK_RING_CUT = WAYMARK_LOST_CAUSES, WMK_RING_WITHOUT, WMK_RING_COUNTS };

/* The states of a corrupt ring in its reader. */
enum { WMK_RING_FOUND_OUT = 1, WMK_RING_REPORTED = 2 };

/*
 * The base, where counting starts: the ring's counts at the time of waymark_ring_reader_clear(). A base of zeros means
 * the start of the ring.
 */
struct wmk_ring_base {
	uint64_t pos, ts;
	uint64_t records, overwritten, cut;
	uint64_t lost[WAYMARK_LOST_CAUSES];
};

/* The state of the writer at one value of write_pos. */
struct wmk_ring_snapshot {
	uint64_t pos, last_ts, records;
};

struct waymark_ring_reader {
	struct waymark_ring_set *set;
	struct wmk_ring_ctl *ctl;
	unsigned char *data;
	uint32_t ring;
	int broken; /* 0; WMK_RING_FOUND_OUT: corrupt; WMK_RING_REPORTED: corrupt, and -EIO was returned */
	struct wmk_ring_wrong wrong;
	uint64_t counts[WMK_RING_COUNTS]; /* the latest valid counts */
	int unsure;            /* resumed: `records` is the count at the start of the sub-buffer */
	uint64_t pos;          /* everything before has been released */
	uint64_t last_ts;      /* of the last record released */
	uint64_t records;      /* records committed before pos; the count is exact only at counted_pos */
	uint64_t counted_pos;  /* pos, or the last position before it with a known count */
	uint64_t overwritten;  /* records overwritten unread before pos */
	/*
	 * `lost` is the greatest lost count that was returned since `base`. A sub-buffer header can have a smaller lost
	 * count than an earlier packet with a part of that sub-buffer.
	 */
	uint64_t lost;
	uint64_t sequence;
	uint64_t seen_pos;     /* greatest write_pos seen */
	/* The release of the last returned piece copies the next_ members to pos, last_ts, records and overwritten. */
	uint64_t next_pos, next_ts, next_records, next_overwritten;
	int observer;          /* writes nothing into the ring; see waymark_ring_reader_observe() */
	uint64_t begin;        /* of an observer, which reads nothing before this position */
	/* of an observer: number of records that were overwritten or lost before it began to count */
	uint64_t missed;
	unsigned char *copy;   /* header_room bytes, then a sub-buffer; NULL after wmk_ring_reader_take() */
	struct wmk_ring_base base;
	/*
	 * The end of a chunk (chunk.c): waymark_ring_reader_next() returns no piece beyond the position limit.pos. pos
	 * UINT64_MAX: no limit.
	 */
	struct wmk_ring_snapshot limit;
};

/*
 * 0; -EAGAIN: the writer is too fast at the moment; -EIO: the ring is corrupt: write_pos does not change and no slot
 * has it as its tag, or the slot counts more records than fit before write_pos.
 */
int wmk_ring_snapshot(struct waymark_ring_reader *r, struct wmk_ring_snapshot *s);
/* Copy the header of the sub-buffer at `sub`. */
void wmk_ring_read_sub(const struct waymark_ring_reader *r, uint64_t sub, struct wmk_ring_sub *out);
/*
 * Let an observer count from the beginning of the sub-buffer with the header `sub`: at its first piece, and after each
 * gap.
 */
void wmk_ring_count_from(struct waymark_ring_reader *r, const struct wmk_ring_sub *sub);
/* Store the position and counts of the reader in the ring, for a later reader. */
void wmk_ring_leave_word(struct waymark_ring_reader *r);
/*
 * Load r->base, which an earlier reader stored in the ring when the earlier reader cleared the ring. If the stored
 * values are invalid, the ring is corrupt.
 */
void wmk_ring_base_load(struct waymark_ring_reader *r);
/* Store r->base in the ring, for a later reader. */
void wmk_ring_base_store(const struct waymark_ring_reader *r);
/* Check a range. -EIO: `value` is not in `least` to `most`; `what` is stored for wmk_ring_reader_wrong(). */
int wmk_ring_in(struct waymark_ring_reader *r, const char *what, uint64_t value, uint64_t least, uint64_t most);
/* Load the counts of the writers into r->counts. -EIO: one of them is invalid, and the ring is corrupt from here on. */
int wmk_ring_counts_load(struct waymark_ring_reader *r);
/*
 * Return the number of records that writers have lost since the start of the ring, as of the last
 * wmk_ring_counts_load().
 */
uint64_t wmk_ring_lost_by(const struct waymark_ring_reader *r, unsigned cause);
uint64_t wmk_ring_sum_lost(const struct waymark_ring_reader *r);
/*
 * Check `n`, the number of records before position `pos`. `n` must be at least the count at counted_pos, and at most
 * this count plus the number of records that fit between counted_pos and `pos`. 0; -EIO.
 */
static inline int wmk_ring_records_fit(struct waymark_ring_reader *r, uint64_t n, uint64_t pos)
{
	const uint64_t most =
		pos > r->counted_pos ? r->records + (pos - r->counted_pos) / WMK_RING_RECORD_MIN : r->records;

	return wmk_ring_in(r, "its number of records", n, r->records, most);
}

static inline uint64_t wmk_ring_base_lost(const struct waymark_ring_reader *r)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < WAYMARK_LOST_CAUSES; i++)
		sum += r->base.lost[i];
	return sum;
}

/* Return the difference of two counts, or 0 if a forged count is below the base. */
static inline uint64_t wmk_ring_since(uint64_t count, uint64_t base)
{
	return count > base ? count - base : 0;
}

#endif
