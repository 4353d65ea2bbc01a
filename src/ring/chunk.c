/* SPDX-License-Identifier: MIT */
/*
 * chunk.c - the positions in a ring at which chunks of a trace end and begin (docs/rotation.md).
 *
 *     cut_now ──► records up to the cut are read ──► chunk_end ──► chunk_begin
 *                 nothing beyond it is returned      counts        the base of all counts is here (resume.c)
 *
 * The ring's control block stores the base, so a later reader also counts from this base.
 */
#include "ring/reader.h"

int wmk_ring_reader_cut_now(struct waymark_ring_reader *r, struct wmk_ring_cut *cut)
{
	struct wmk_ring_snapshot s = { .pos = r->pos };
	int rc = 0;

	if (r->broken)
		return -EIO;
	if (r->set->options.mode == WAYMARK_RING_OVERWRITE)
		return 1;
	if (waymark_ring_reader_position(r) != r->pos)
		rc = wmk_ring_snapshot(r, &s);
	else
		s = (struct wmk_ring_snapshot){ r->pos, r->last_ts, r->records };
	if (rc < 0)
		return rc;
	r->limit = s;
	*cut = (struct wmk_ring_cut){ s.pos, s.last_ts, s.records };
	return 0;
}

int wmk_ring_reader_cut_at(struct waymark_ring_reader *r, const struct wmk_ring_cut *cut)
{
	r->limit.pos = UINT64_MAX;
	if (cut && r->set->options.mode != WAYMARK_RING_OVERWRITE)
		r->limit = (struct wmk_ring_snapshot){ cut->pos, cut->ts, cut->records };
	return cut && r->base.pos == cut->pos;
}

int wmk_ring_reader_is_at_cut(const struct waymark_ring_reader *r)
{
	return r->broken || r->limit.pos == UINT64_MAX || r->pos >= r->limit.pos;
}

void wmk_ring_reader_chunk_end(struct waymark_ring_reader *r, uint64_t *lost, uint64_t *cut_fields)
{
	wmk_ring_counts_load(r);
	*lost = wmk_ring_since(wmk_ring_sum_lost(r), wmk_ring_base_lost(r)) +
		wmk_ring_since(r->overwritten, r->base.overwritten);
	*cut_fields = wmk_ring_since(r->counts[WMK_RING_CUT], r->base.cut);
}

void wmk_ring_reader_chunk_begin(struct waymark_ring_reader *r, uint64_t lost_before)
{
	uint64_t left = wmk_ring_since(r->overwritten, r->base.overwritten);

	if (r->broken)
		return;
	r->base.pos = r->pos;
	r->base.ts = r->last_ts;
	r->base.records = r->records;
	r->base.overwritten += lost_before < left ? lost_before : left;
	lost_before -= lost_before < left ? lost_before : left;
	r->base.cut = r->counts[WMK_RING_CUT];
	for (unsigned i = 0; i < WAYMARK_LOST_CAUSES; i++) {
		left = wmk_ring_since(wmk_ring_lost_by(r, i), r->base.lost[i]);
		left = left < lost_before ? left : lost_before;
		r->base.lost[i] += left;
		lost_before -= left;
	}
	wmk_ring_base_store(r);
	r->lost = wmk_ring_since(wmk_ring_sum_lost(r), wmk_ring_base_lost(r));
}
