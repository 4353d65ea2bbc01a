/* SPDX-License-Identifier: MIT */
/*
 * counts.c - the counts of lost records in a ring. Every application that maps the ring can write the counts, so a
 * process loads each count once and checks the loaded value before use. A valid count never decreases, and never
 * exceeds WMK_RING_COUNT_MAX. A ring with an invalid count is corrupt. The reader of a corrupt ring keeps the last
 * valid counts of the ring.
 *
 * wmk_ring_set_totals() makes the same checks for a process that does not read the ring.
 */
#include <string.h>

#include "ring/reader.h"

int wmk_ring_in(struct waymark_ring_reader *r, const char *what, uint64_t value, uint64_t least, uint64_t most)
{
	if (value >= least && value <= most)
		return 0;
	r->wrong = (struct wmk_ring_wrong){ what, value, least, most };
	return -EIO;
}

const struct wmk_ring_wrong *wmk_ring_reader_wrong(const struct waymark_ring_reader *r)
{
	return r->wrong.what ? &r->wrong : NULL;
}

/*
 * The set header counts records that were lost without a ring. The reader reports the records that were lost without a
 * ring together with the first claim ring.
 */
static const uint64_t *count_at(const struct waymark_ring_reader *r, unsigned which)
{
	return which < WAYMARK_LOST_CAUSES         ? &r->ctl->lost[which]
	       : which == WMK_RING_CUT             ? &r->ctl->cut
	       : r->ring == r->set->options.n_cpus ? &r->set->header->lost_without_ring
						   : NULL;
}

int wmk_ring_counts_load(struct waymark_ring_reader *r)
{
	static const char *const words[WMK_RING_COUNTS] = {
		[WAYMARK_LOST_FULL] = "records lost because it was full",
		[WAYMARK_LOST_MEMORY] = "records lost for lack of memory",
		[WAYMARK_LOST_SIZE] = "records lost because of their size",
		[WAYMARK_LOST_RETRY] = "records lost after too many attempts",
		[WMK_RING_CUT] = "cut fields",
		[WMK_RING_WITHOUT] = "records lost without a ring",
	};

	for (unsigned i = 0; i < WMK_RING_COUNTS && !r->broken; i++) {
		const uint64_t *at = count_at(r, i), now = at ? wmk_ring_load(at) : 0;

		if (wmk_ring_in(r, words[i], now, r->counts[i], WMK_RING_COUNT_MAX) < 0)
			r->broken = WMK_RING_FOUND_OUT;
		else
			r->counts[i] = now;
	}
	return r->broken ? -EIO : 0;
}

uint64_t wmk_ring_lost_by(const struct waymark_ring_reader *r, unsigned cause)
{
	return r->counts[cause] + (cause == WAYMARK_LOST_RETRY ? r->counts[WMK_RING_WITHOUT] : 0);
}

uint64_t wmk_ring_sum_lost(const struct waymark_ring_reader *r)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < WAYMARK_LOST_CAUSES; i++)
		sum += wmk_ring_lost_by(r, i);
	return sum;
}

uint64_t waymark_ring_reader_lost(struct waymark_ring_reader *r, uint64_t by_cause[WAYMARK_LOST_CAUSES])
{
	uint64_t sum = 0;

	/* An observer knows only the sum of the counts, as of its last piece. */
	if (r->observer && by_cause)
		memset(by_cause, 0, WAYMARK_LOST_CAUSES * sizeof(*by_cause));
	if (r->observer)
		return r->lost + wmk_ring_since(r->overwritten, r->base.overwritten);
	wmk_ring_counts_load(r);
	for (unsigned i = 0; i < WAYMARK_LOST_CAUSES; i++) {
		uint64_t own = wmk_ring_since(wmk_ring_lost_by(r, i), r->base.lost[i]);

		if (by_cause)
			by_cause[i] = own;
		sum += own;
	}
	return sum + wmk_ring_since(r->overwritten, r->base.overwritten);
}

uint64_t waymark_ring_reader_cut(struct waymark_ring_reader *r)
{
	wmk_ring_counts_load(r);
	return wmk_ring_since(r->counts[WMK_RING_CUT], r->base.cut);
}

#define OLDEST_TRIES 10

/*
 * Count the records before the oldest sub-buffer that a reader can copy (see overtaken() in reader.c). The header of
 * the oldest sub-buffer contains the number of records before the sub-buffer. -EAGAIN: the writers are too fast at the
 * moment.
 */
static int count_overwritten(struct waymark_ring_reader *r, uint64_t *overwritten)
{
	const uint64_t size = r->set->subbuf_size, kept = r->set->ring_mask + 1 - 2 * size;
	struct wmk_ring_snapshot now;
	struct wmk_ring_sub sub;

	*overwritten = 0;
	for (unsigned i = 0; i < OLDEST_TRIES; i++) {
		const int err = wmk_ring_snapshot(r, &now);
		const uint64_t current = now.pos & ~(size - 1);

		if (err < 0)
			return err;
		if (current <= kept || current - kept <= r->base.pos)
			return 0;
		wmk_ring_read_sub(r, current - kept, &sub);
		if (sub.sequence != (current - kept) / size)
			continue;
		if (sub.records_start < r->base.records || sub.records_start > now.records)
			return -EAGAIN;
		*overwritten = sub.records_start - r->base.records;
		return 0;
	}
	return -EAGAIN;
}

int wmk_ring_set_totals(struct waymark_ring_set *set, uint32_t ring, struct wmk_ring_totals *totals)
{
	struct waymark_ring_reader r = { .set = set, .ctl = set->ring[ring].ctl, .data = set->ring[ring].data,
					 .ring = ring };
	struct wmk_ring_snapshot now;

	if (wmk_ring_load(&r.ctl->base_pos) == UINT64_MAX)
		return -EAGAIN;
	wmk_ring_base_load(&r);
	int err = r.broken ? -EIO : wmk_ring_snapshot(&r, &now);

	if (err == 0)
		err = wmk_ring_in(&r, "its number of records", now.records, r.base.records, WMK_RING_COUNT_MAX);
	if (err == 0)
		err = wmk_ring_counts_load(&r);
	if (err < 0)
		return err;
	totals->overwritten = 0;
	if (set->options.mode == WAYMARK_RING_OVERWRITE)
		err = count_overwritten(&r, &totals->overwritten);
	if (err < 0)
		return err;
	totals->records = now.records - r.base.records;
	if (totals->overwritten > totals->records)
		totals->records = totals->overwritten;
	totals->cut = wmk_ring_since(r.counts[WMK_RING_CUT], r.base.cut);
	for (unsigned i = 0; i < WAYMARK_LOST_CAUSES; i++)
		totals->lost[i] = wmk_ring_since(wmk_ring_lost_by(&r, i), r.base.lost[i]);
	return 0;
}
