/* SPDX-License-Identifier: MIT */
/*
 * reader.h - what reader.c (pieces of a ring) and resume.c (where reading and counting begin) share.
 */
#ifndef WMK_RING_READER_H
#define WMK_RING_READER_H

#include "ring/inside.h"

/* Where counting begins: the ring's counts at that moment (waymark_ring_reader_clear()). Zeros: at the ring's beginning. */
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
	int broken;            /* -EIO has been said */
	int unsure;            /* resumed: `records` was counted at the beginning of the sub-buffer */
	uint64_t pos;          /* everything before has been released */
	uint64_t last_ts;      /* of the last record released */
	uint64_t records;      /* committed before pos */
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
 * 0; -EAGAIN: the writer is too fast at the moment; -EIO: no slot belongs to write_pos, though nobody moves it: no
 * writer does that.
 */
int wmk_ring_snapshot(const struct wmk_ring_ctl *ctl, struct wmk_ring_snapshot *s);
/* The header of the sub-buffer at `sub`, as it is now. */
void wmk_ring_read_sub(const struct waymark_ring_reader *r, uint64_t sub, struct wmk_ring_sub *out);
/* Position and counts of the reader, into the ring, for who takes over. */
void wmk_ring_leave_word(struct waymark_ring_reader *r);
/* What an earlier reader left of a clearing: r->base. */
void wmk_ring_base_load(struct waymark_ring_reader *r);
/* Lost by writers since the ring's beginning. */
uint64_t wmk_ring_sum_lost(const struct waymark_ring_reader *r, uint64_t by_cause[WAYMARK_LOST_CAUSES]);

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
