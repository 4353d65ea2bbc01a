/* SPDX-License-Identifier: MIT */
/*
 * reader.h - what reader.c (pieces of a ring), counts.c (losses) and resume.c (where reading and counting begin) share.
 */
#ifndef WMK_RING_READER_H
#define WMK_RING_READER_H

#include <errno.h>

#include "ring/record_header.h"
#include "ring/set.h"

/* A CPU that does nothing but lose a record every 5 ns needs a year to count so many. */
#define WMK_RING_COUNT_MAX (1ull << 53)
/* No clock gets there; a reader of the trace may take times above it for negative ones. */
#define WMK_RING_TIME_MAX (1ull << 62)
#define WMK_RING_RECORD_MIN 4u /* bytes of a record at least */

/* Counts that writers keep, beside those of enum waymark_ring_loss. */
enum { WMK_RING_CUT = WAYMARK_LOST_CAUSES, WMK_RING_WITHOUT, WMK_RING_COUNTS };

/* What a reader knows of a ring that is corrupt. */
enum { WMK_RING_FOUND_OUT = 1, WMK_RING_REPORTED = 2 };

/*
 * Where counting begins: the ring's counts at that moment (waymark_ring_reader_clear()). Zeros: at the ring's
 * beginning.
 */
struct wmk_ring_base {
	uint64_t pos, ts;
	uint64_t records, overwritten, cut;
	uint64_t lost[WAYMARK_LOST_CAUSES];
};

struct waymark_ring_reader {
	struct waymark_ring_set *set;
	struct wmk_ring_ctl *ctl;
	unsigned char *data;
	uint32_t ring;
	int broken; /* 0, or it is corrupt: WMK_RING_FOUND_OUT, and after -EIO WMK_RING_REPORTED */
	struct wmk_ring_wrong wrong;
	uint64_t counts[WMK_RING_COUNTS]; /* as they were last, and valid */
	int unsure;            /* resumed: `records` was counted at the beginning of the sub-buffer */
	uint64_t pos;          /* everything before has been released */
	uint64_t last_ts;      /* of the last record released */
	uint64_t records;      /* committed before pos; counted at ... */
	uint64_t counted_pos;  /* ... pos, or where that was known last before it */
	uint64_t overwritten;  /* unread, before pos */
	/* Greatest count said, since `base`: what a sub-buffer's header says can be older than what a part's said. */
	uint64_t lost;
	uint64_t sequence;
	uint64_t seen_pos;     /* greatest write_pos seen */
	/* Of the piece that was handed out. */
	uint64_t next_pos, next_ts, next_records, next_overwritten;
	uint64_t copied_from, copied_to; /* overwrite: what `copy` holds */
	unsigned char *copy;   /* header_room bytes, then a sub-buffer */
	struct wmk_ring_base base;
};

/* The writer's state at one write_pos. */
struct wmk_ring_snapshot {
	uint64_t pos, last_ts, records;
};

/*
 * 0; -EAGAIN: the writer is too fast at the moment; -EIO: no slot belongs to write_pos, though nobody moves it, or it
 * counts more records than fit before write_pos: no writer does that.
 */
int wmk_ring_snapshot(struct waymark_ring_reader *r, struct wmk_ring_snapshot *s);
/* The header of the sub-buffer at `sub`, as it is now. */
void wmk_ring_read_sub(const struct waymark_ring_reader *r, uint64_t sub, struct wmk_ring_sub *out);
/* Position and counts of the reader, into the ring, for who takes over. */
void wmk_ring_leave_word(struct waymark_ring_reader *r);
/* What an earlier reader left of a clearing: r->base. What cannot be makes the ring corrupt. */
void wmk_ring_base_load(struct waymark_ring_reader *r);
/* 0; -EIO: `what` of the ring is `value`, and must be `least` to `most`: kept for wmk_ring_reader_wrong(). */
int wmk_ring_in(struct waymark_ring_reader *r, const char *what, uint64_t value, uint64_t least, uint64_t most);
/* Load the writers' counts: r->counts. -EIO: one of them is not valid, and the ring is corrupt from here on. */
int wmk_ring_counts_look(struct waymark_ring_reader *r);
/* Lost by writers since the ring's beginning, by wmk_ring_counts_look(). */
uint64_t wmk_ring_lost_by(const struct waymark_ring_reader *r, unsigned cause);
uint64_t wmk_ring_sum_lost(const struct waymark_ring_reader *r);
/* `n` records at position `pos`: they must fit before it, and be no fewer than at the last known place. 0; -EIO. */
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

/* The ring is not trusted: no count is below the one where counting began. */
static inline uint64_t wmk_ring_since(uint64_t count, uint64_t base)
{
	return count > base ? count - base : 0;
}

#endif
