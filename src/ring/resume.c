/* SPDX-License-Identifier: MIT */
/*
 * resume.c - where reading and counting start: after an earlier reader, or where a reader cleared the ring.
 *
 * A ring outlives its readers. Each reader stores its position and its counts in the ring's control block. The next
 * reader continues at the position in the trace. The next reader uses the stored counts if the stored counts belong to
 * the position in the trace.
 */
#include <string.h>

#include "ring/reader.h"

void wmk_ring_leave_word(struct waymark_ring_reader *r)
{
	struct wmk_ring_ctl *ctl = r->ctl;

	/*
	 * If this process is killed here, the ring must not have the old position together with new counts. UINT64_MAX
	 * is never a position.
	 */
	wmk_ring_set_to(&ctl->read_pos, UINT64_MAX);
	__asm__ __volatile__("" : : : "memory");
	wmk_ring_set_to(&ctl->read_ts, r->last_ts);
	wmk_ring_set_to(&ctl->read_records, r->records);
	wmk_ring_set_to(&ctl->read_lost, r->overwritten);
	__asm__ __volatile__("" : : : "memory");
	wmk_ring_set_to(&ctl->read_pos, r->pos);
}

/* ── clear ───────────────────────────────────────────────────────────────────────────────────────────── */

/* Check the base of an earlier reader, because every writer can change the base. */
static int base_is_sane(struct waymark_ring_reader *r)
{
	const struct wmk_ring_base *base = &r->base;
	const uint64_t position = waymark_ring_reader_position(r), most = base->pos / WMK_RING_RECORD_MIN;
	int bad = wmk_ring_counts_load(r);

	bad |= wmk_ring_in(r, "the position of its clearing", base->pos, 0, position);
	bad |= wmk_ring_in(r, "the time of its clearing", base->ts, 0, WMK_RING_TIME_MAX);
	bad |= wmk_ring_in(r, "records before its clearing", base->records, 0, most);
	bad |= wmk_ring_in(r, "records overwritten before its clearing", base->overwritten, 0, base->records);
	bad |= wmk_ring_in(r, "fields cut before its clearing", base->cut, 0, r->counts[WMK_RING_CUT]);
	for (unsigned i = 0; i < WAYMARK_LOST_CAUSES; i++)
		bad |= wmk_ring_in(r, "records lost before its clearing", base->lost[i], 0, wmk_ring_lost_by(r, i));
	return !bad;
}

void wmk_ring_base_load(struct waymark_ring_reader *r)
{
	const struct wmk_ring_ctl *ctl = r->ctl;

	memset(&r->base, 0, sizeof(r->base));
	if (wmk_ring_load(&ctl->base_pos) == UINT64_MAX)
		return;
	r->base.pos = wmk_ring_load(&ctl->base_pos);
	r->base.ts = wmk_ring_load(&ctl->base_ts);
	r->base.records = wmk_ring_load(&ctl->base_records);
	r->base.overwritten = wmk_ring_load(&ctl->base_overwritten);
	r->base.cut = wmk_ring_load(&ctl->base_cut);
	for (unsigned i = 0; i < WAYMARK_LOST_CAUSES; i++)
		r->base.lost[i] = wmk_ring_load(&ctl->base_lost[i]);
	if (base_is_sane(r))
		return;
	memset(&r->base, 0, sizeof(r->base));
	r->broken = WMK_RING_FOUND_OUT;
}

void wmk_ring_base_store(const struct waymark_ring_reader *r)
{
	struct wmk_ring_ctl *ctl = r->ctl;

	wmk_ring_set_to(&ctl->base_pos, UINT64_MAX);
	__asm__ __volatile__("" : : : "memory");
	wmk_ring_set_to(&ctl->base_ts, r->base.ts);
	wmk_ring_set_to(&ctl->base_records, r->base.records);
	wmk_ring_set_to(&ctl->base_overwritten, r->base.overwritten);
	wmk_ring_set_to(&ctl->base_cut, r->base.cut);
	for (unsigned i = 0; i < WAYMARK_LOST_CAUSES; i++)
		wmk_ring_set_to(&ctl->base_lost[i], r->base.lost[i]);
	__asm__ __volatile__("" : : : "memory");
	wmk_ring_set_to(&ctl->base_pos, r->base.pos);
}

int waymark_ring_reader_clear(struct waymark_ring_reader *r)
{
	const uint64_t size = r->set->subbuf_size;
	struct wmk_ring_snapshot s;
	uint64_t consumed;
	int rc;

	if (r->observer)
		return -EINVAL;
	if (r->broken)
		return -EIO;
	rc = wmk_ring_snapshot(r, &s);
	if (rc == 0)
		rc = wmk_ring_counts_load(r);
	if (rc < 0)
		return rc;
	if (wmk_ring_in(r, "its write position", s.pos, r->seen_pos > r->pos ? r->seen_pos : r->pos, UINT64_MAX) < 0)
		return -EIO;
	/* Load the counts first: records that are lost after this load are counted as lost after the clear. */
	r->base.pos = s.pos;
	r->base.ts = s.last_ts;
	r->base.records = s.records;
	r->base.overwritten = r->overwritten;
	r->base.cut = r->counts[WMK_RING_CUT];
	for (unsigned i = 0; i < WAYMARK_LOST_CAUSES; i++)
		r->base.lost[i] = wmk_ring_lost_by(r, i);
	wmk_ring_base_store(r);
	r->pos = r->seen_pos = s.pos;
	r->last_ts = s.last_ts;
	r->records = s.records;
	r->counted_pos = s.pos;
	r->lost = 0;
	r->unsure = 0;
	r->sequence = 0;
	wmk_ring_leave_word(r);
	consumed = s.pos & ~(size - 1);
	if (r->set->options.mode == WAYMARK_RING_DISCARD && consumed > wmk_ring_load(&r->ctl->consumed_pos))
		/* (B) release: after all reads of the released space; pairs with the writer's load-acquire. */
		__atomic_store_n(&r->ctl->consumed_pos, consumed, __ATOMIC_RELEASE);
	return 0;
}

uint64_t waymark_ring_reader_base(const struct waymark_ring_reader *r, uint64_t *ts)
{
	if (ts)
		*ts = r->base.ts;
	return r->base.pos;
}

uint64_t wmk_ring_reader_given(const struct waymark_ring_reader *r)
{
	return wmk_ring_load(&r->ctl->consumed_pos);     /* only readers write it: no order needed */
}

/* ── continue after an earlier reader ────────────────────────────────────────────────────────────────── */

/* Load the counts at `pos` that an earlier reader stored. 1: found and valid. */
static int recall(struct waymark_ring_reader *r, uint64_t pos, const struct wmk_ring_snapshot *s)
{
	const struct wmk_ring_ctl *ctl = r->ctl;
	const uint64_t most = pos / WMK_RING_RECORD_MIN < s->records ? pos / WMK_RING_RECORD_MIN : s->records;
	uint64_t records, overwritten = wmk_ring_load(&ctl->read_lost);

	r->overwritten = overwritten < most ? overwritten : most;
	if (wmk_ring_load(&ctl->read_pos) == pos) {
		records = wmk_ring_load(&ctl->read_records);
	} else if (wmk_ring_load(&ctl->given_pos) == pos) {
		records = wmk_ring_load(&ctl->given_records);
		overwritten = wmk_ring_load(&ctl->given_lost);
	} else {
		return 0;
	}
	if (records > most || overwritten > records || s->records - records > (s->pos - pos) / WMK_RING_RECORD_MIN)
		return 0;
	r->records = records;
	r->overwritten = overwritten;
	return 1;
}

/*
 * Load the counts at `pos` from the header of the sub-buffer that contains `pos`. 0: exact; 1: counts at the start of
 * the sub-buffer; -ESTALE: the sub-buffer was overwritten.
 */
static int infer(struct waymark_ring_reader *r, uint64_t pos, const struct wmk_ring_snapshot *s)
{
	uint64_t offset = pos & (r->set->subbuf_size - 1), sub = pos - offset;
	struct wmk_ring_sub header;

	r->counted_pos = pos;
	if (s->pos == pos) {
		r->records = s->records;
		return 0;
	}
	wmk_ring_read_sub(r, sub, &header);
	if (header.sequence != sub / r->set->subbuf_size) {
		if (r->set->options.mode != WAYMARK_RING_OVERWRITE)
			return -ESTALE;
		/*
		 * The sub-buffer was overwritten. If the earlier reader stopped at the end of the sub-buffer, the
		 * counts that it stored are the counts at `pos`.
		 */
		const int ended = offset != 0 && wmk_ring_load(&r->ctl->read_pos) == sub + r->set->subbuf_size;

		r->records = ended ? wmk_ring_load(&r->ctl->read_records) : 0;
		if (r->records < r->overwritten)
			r->records = r->overwritten;
		if (!ended)
			r->counted_pos = 0;
		return !ended;
	}
	r->records = header.records_start;
	if (offset <= r->set->first)
		return 0;
	if (s->pos - sub > r->set->subbuf_size && header.content_end == offset) {
		r->records = header.records_end;
		return 0;
	}
	r->counted_pos = sub;
	return 1;
}

/* Check the counts that were found, because writers can change the counts. */
static int resumed_is_sane(struct waymark_ring_reader *r, uint64_t pos, const struct wmk_ring_snapshot *s)
{
	if (r->overwritten > r->records)
		r->overwritten = r->records;
	return wmk_ring_in(r, "its number of records read", r->records, 0, pos / WMK_RING_RECORD_MIN) == 0 &&
	       wmk_ring_records_fit(r, s->records, s->pos) == 0;
}

int waymark_ring_reader_resume(struct waymark_ring_reader *r, uint64_t pos, uint64_t sequence, uint64_t last_ts,
			       uint64_t *records)
{
	const uint64_t size = r->set->subbuf_size, offset = pos & (size - 1);
	uint64_t consumed = wmk_ring_load(&r->ctl->consumed_pos); /* only readers write it: no order needed */
	struct wmk_ring_snapshot s;
	int rc = r->observer ? -EINVAL : r->broken ? -EIO : wmk_ring_snapshot(r, &s);

	if (rc < 0)
		return rc;
	if (pos > s.pos || (offset != 0 && (offset < r->set->first || offset > r->set->usable)) ||
	    (consumed & (size - 1)) != 0)
		return -EINVAL;
	if (r->set->options.mode == WAYMARK_RING_DISCARD && consumed > pos) {
		/* The sub-buffer was read to its end and released, so continue with the next sub-buffer. */
		if (offset == 0 || consumed - pos > size - offset || consumed > s.pos)
			return -ESTALE;
		pos = consumed;
	}
	r->counted_pos = pos;
	rc = recall(r, pos, &s) ? 0 : infer(r, pos, &s);
	if (rc < 0)
		return rc;
	if (!resumed_is_sane(r, pos, &s))
		return -EIO;
	r->pos = pos;
	r->sequence = sequence;
	r->last_ts = last_ts;
	r->unsure = rc;
	/* The next piece replaces the stored counts of the last piece, which may be the only exact counts of `pos`. */
	if (rc == 0)
		wmk_ring_leave_word(r);
	if (records)
		*records = wmk_ring_since(r->records - r->overwritten, r->base.records - r->base.overwritten);
	return rc;
}
