/* SPDX-License-Identifier: MIT */
/*
 * observer.c - a second reader of a ring in overwrite mode. The observer uses the overwrite protocol of reader.c,
 * and writes nothing into the ring. The observer stores no position for later readers. The observer releases no space,
 * because writers in overwrite mode do not wait for a release.
 *
 *     ring     │ 5 │ 6 │ 7 │ 8 │ 9 │10. │     sub-buffers; the writer is in 10, and overwrites 5 next
 *     observer       └── begins here (oldest); with max_bytes = 2 sub-buffers at 9
 *
 * The counts of an observer start at its first piece, and start again at the first piece after a gap.
 */
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "ring/reader.h"

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif

void wmk_ring_count_from(struct waymark_ring_reader *r, const struct wmk_ring_sub *sub)
{
	const uint64_t sum = wmk_ring_sum_lost(r);

	/*
	 * The header of a sub-buffer has only the sum of all causes, so the observer has no counts by cause. If a sum
	 * in a sub-buffer header exceeds the sum of the ring, the sum in the header is forged, and the observer uses
	 * the sum of the ring.
	 */
	memset(r->base.lost, 0, sizeof(r->base.lost));
	r->base.lost[0] = sub->lost_start < sum ? sub->lost_start : sum;
	r->base.records = sub->records_start;
	r->base.overwritten = r->next_overwritten;
	r->missed = r->next_overwritten + r->base.lost[0];
	r->lost = 0;
}

/*
 * Find the position at which the observer begins, and store 0 for the oldest sub-buffer. Returns 0; -EAGAIN: the
 * writers are too fast at the moment; -EIO: the ring is corrupt.
 */
static int find_begin(struct waymark_ring_reader *r, uint64_t max_bytes, uint64_t *begin)
{
	const uint64_t size = r->set->subbuf_size;
	struct wmk_ring_snapshot s;
	int rc = wmk_ring_snapshot(r, &s);

	if (rc < 0)
		return rc;
	const uint64_t current = s.pos & ~(size - 1), limit = max_bytes & ~(size - 1);

	*begin = 0;
	if (max_bytes && current + size > limit)
		*begin = limit >= size ? current + size - limit : current;
	return 0;
}

/*
 * Map all pages with records in one call: otherwise, the first access to each page would cost a page fault. After
 * memory was given back, the pages between the records have no memory, and must not get memory. If the call fails, each
 * page is mapped at the first access.
 */
static void map_records(struct waymark_ring_set *set, uint32_t ring)
{
	const struct wmk_ring_view *view = &set->ring[ring];
	const uint64_t size = set->ring_mask + 1, pos = wmk_ring_load(&view->ctl->write_pos);

	if (wmk_ring_load(&view->ctl->reclaimed_pos) == 0)
		wmk_ring_syscall(SYS_madvise, (long)view->data, (long)(pos < size ? pos : size), MADV_POPULATE_READ, 0,
				 0, 0);
}

int waymark_ring_reader_observe(struct waymark_ring_set *set, uint32_t ring, uint64_t max_bytes,
				struct waymark_ring_reader **reader)
{
	struct waymark_ring_reader *r;
	uint64_t begin = 0;
	int rc;

	if (set->options.mode != WAYMARK_RING_OVERWRITE)
		return -ENOTSUP;
	rc = waymark_ring_reader_open(set, ring, &r);
	if (rc < 0)
		return rc;
	/* Records before the last clear of the ring are not counted. */
	r->pos = r->counted_pos = r->base.pos;
	r->last_ts = r->base.ts;
	r->records = r->base.records;
	r->overwritten = r->base.overwritten;
	rc = r->broken ? -EIO : find_begin(r, max_bytes, &begin);
	if (rc < 0) {
		waymark_ring_reader_close(r);
		return rc;
	}
	map_records(set, ring);
	r->observer = 1;
	r->begin = begin;
	/*
	 * A ring does not store a position together with the count of cut fields, so an observer counts only the fields
	 * that are cut after the observer was opened.
	 */
	wmk_ring_counts_load(r);
	r->base.cut = r->counts[WMK_RING_CUT];
	*reader = r;
	return 0;
}

uint64_t waymark_ring_reader_missed(const struct waymark_ring_reader *r)
{
	return r->missed;
}
