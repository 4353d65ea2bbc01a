/* SPDX-License-Identifier: MIT */
/*
 * test_counts.c - corrupt every number that a ring reports, in every possible way. The ring is then corrupt, which its
 * reader reports once. The last valid counts remain, and no other ring of the set is affected.
 */
#include <errno.h>
#include <stdbool.h>

#include "base/array.h"
#include "ring/reader.h"
#include "ring_test.h"

#define VALID 10u /* of each count of losses, and of cut fields */

/* The location of a number. */
enum where { CTL, SLOT, HEADER, SUB };
/* The time at which it is written: before the first read; after that; before a later reader resumes; after a clear. */
enum when { FRESH, SEEN, RESUMED, CLEARED };

static const struct number {
	const char *name;
	enum where where;
	size_t at;
	enum when when;
	bool overwrite; /* the number matters in overwrite mode only */
	bool count;     /* a number that never decreases, and has no other limit */
} numbers[] = {
#define CTL_AT(m) CTL, offsetof(struct wmk_ring_ctl, m)
#define SLOT_AT(m) SLOT, offsetof(struct wmk_ring_slot, m)
#define SUB_AT(m) SUB, offsetof(struct wmk_ring_sub, m)
	{ "lost, full", CTL_AT(lost[WAYMARK_LOST_FULL]), SEEN, false, true },
	{ "lost, memory", CTL_AT(lost[WAYMARK_LOST_MEMORY]), SEEN, false, true },
	{ "lost, size", CTL_AT(lost[WAYMARK_LOST_SIZE]), SEEN, false, true },
	{ "lost, retry", CTL_AT(lost[WAYMARK_LOST_RETRY]), SEEN, false, true },
	{ "cut", CTL_AT(cut), SEEN, false, true },
	{ "lost without a ring", HEADER, offsetof(struct wmk_set_header, lost_without_ring), SEEN, false, true },
	{ "write position", CTL_AT(write_pos), SEEN, false, false },
	{ "records of the position", SLOT_AT(records), FRESH, false, false },
	{ "time of the position", SLOT_AT(last_ts), FRESH, false, false },
	{ "sub-buffer's number", SUB_AT(sequence), FRESH, false, false },
	{ "sub-buffer's first time", SUB_AT(begin_ts), FRESH, false, false },
	{ "sub-buffer's last time", SUB_AT(end_ts), FRESH, false, false },
	{ "records before a sub-buffer", SUB_AT(records_start), FRESH, true, false },
	{ "records at its end", SUB_AT(records_end), FRESH, false, false },
	{ "lost at its end", SUB_AT(lost_end), FRESH, false, false },
	{ "its end", SUB_AT(content_end), FRESH, false, false },
	{ "records read", CTL_AT(read_records), RESUMED, false, false },
	{ "overwritten before what was read", CTL_AT(read_lost), RESUMED, false, false },
	{ "position of a clearing", CTL_AT(base_pos), CLEARED, false, false },
	{ "time of a clearing", CTL_AT(base_ts), CLEARED, false, false },
	{ "records before a clearing", CTL_AT(base_records), CLEARED, false, false },
	{ "overwritten before a clearing", CTL_AT(base_overwritten), CLEARED, false, false },
	{ "cut before a clearing", CTL_AT(base_cut), CLEARED, false, false },
	{ "lost before a clearing", CTL_AT(base_lost[WAYMARK_LOST_FULL]), CLEARED, false, false },
};

static const struct violation {
	const char *name;
	uint64_t value;
	bool counts_only; /* the violation applies only to counts, and starts from VALID */
} violations[] = {
	{ "one less", VALID - 1, true },
	{ "none", 0, true },
	{ "above the largest count", WMK_RING_COUNT_MAX + 1, true },
	{ "negative", (uint64_t)-1000, false },
	{ "highest bit", 1ull << 63, false },
	{ "largest", UINT64_MAX - 1, false },
	{ "all bits", UINT64_MAX, false },
};

static uint32_t busy(const struct pair *p)
{
	for (uint32_t i = 0; i < p->n_rings; i++)
		if (waymark_ring_reader_position(p->readers[i]) != 0)
			return i;
	fail_msg("no ring has a record");
	return 0;
}

/*
 * Record into one ring until it has entered its second sub-buffer; in overwrite mode, until it has entered its first
 * sub-buffer again.
 */
static uint32_t fill(struct pair *p, bool overwrite)
{
	const unsigned n = overwrite ? 2200 : 500;
	cpu_set_t all, one;
	uint64_t word = 7;
	struct waymark_ring_frag frag = { &word, sizeof(word), WAYMARK_FRAG_WORDS };

	pair_open(p,
		  (struct waymark_ring_options){ .subbuf_size = 4096,
						 .n_subbufs = 4,
						 .prefault = 1 << 30,
						 .mode = overwrite ? WAYMARK_RING_OVERWRITE : WAYMARK_RING_DISCARD });
	assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
	CPU_ZERO(&one);
	for (unsigned cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; cpu++)
		if (CPU_ISSET(cpu, &all))
			CPU_SET(cpu, &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(waymark_ring_record(p->writer, 1, &frag, 1), 0);
	assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
	return busy(p);
}

static uint64_t *number_at(const struct pair *p, uint32_t ring, const struct number *number)
{
	struct wmk_ring_ctl *ctl = p->reader->ring[ring].ctl;
	char *base = (char *)ctl;

	if (number->where == HEADER)
		base = (char *)p->reader->header;
	else if (number->where == SLOT)
		base = (char *)&ctl->slot[ctl->slot[0].tag != ctl->write_pos];
	else if (number->where == SUB) /* the oldest sub-buffer that a reader takes */
		base = (char *)p->reader->ring[ring].data +
		       (number->overwrite ? ((ctl->write_pos & ~4095ull) - 2 * 4096) & p->reader->ring_mask : 0);
	return (uint64_t *)(void *)(base + number->at);
}

static void put(struct pair *p, uint32_t ring, const struct number *number, uint64_t value)
{
	/* (the memory of the set, which the reader has mapped for writing) */
	*(volatile uint64_t *)number_at(p, ring, number) = value;
}

/* Set all counts to VALID, and let the reader load them. The first claim ring also reports the counts of the set. */
static void counts_valid(struct pair *p, uint32_t ring)
{
	struct wmk_ring_ctl *ctl = p->reader->ring[ring].ctl;

	for (unsigned i = 0; i < WAYMARK_LOST_CAUSES; i++)
		ctl->lost[i] = VALID;
	ctl->cut = VALID;
	p->reader->header->lost_without_ring = VALID;
	waymark_ring_reader_lost(p->readers[ring], NULL);
	waymark_ring_reader_lost(p->readers[p->n_cpus], NULL);
}

static uint64_t last_valid(const struct pair *p, uint32_t ring)
{
	return WAYMARK_LOST_CAUSES * VALID + (ring == p->n_cpus ? VALID : 0);
}

/* Take all packets. Returns -EIO, once, or 0 when no packet is left. */
static int drain(struct waymark_ring_reader *r)
{
	struct waymark_ring_packet packet;
	int rc;

	while ((rc = waymark_ring_reader_next(r, WAYMARK_RING_FLUSH, &packet)) == 1) {
		assert_true(packet.records <= 2200);
		assert_true(packet.lost <= 2200 + 6 * VALID);
		assert_true(packet.begin_ts <= packet.end_ts && packet.end_ts <= WMK_RING_TIME_MAX);
		waymark_ring_reader_release(r, &packet);
	}
	return rc;
}

/* Replace the reader of this ring by another one. */
static void take_over(struct pair *p, uint32_t ring)
{
	waymark_ring_reader_close(p->readers[ring]);
	assert_int_equal(waymark_ring_reader_open(p->reader, ring, &p->readers[ring]), 0);
}

/* Let the next reader resume at that position. It must report an error, or at most as many records as were recorded. */
static int resumed(struct pair *p, uint32_t ring, const struct number *number, uint64_t value)
{
	const uint64_t pos = p->reader->ring[ring].ctl->write_pos;
	uint64_t records = 0;

	assert_int_equal(drain(p->readers[ring]), 0);
	put(p, ring, number, value);
	take_over(p, ring);
	int rc = waymark_ring_reader_resume(p->readers[ring], pos, 1, 0, &records);
	assert_true(records <= 500);
	return rc < 0 ? rc : drain(p->readers[ring]) == 0 ? -EIO : 0;
}

static void one(const struct number *number, const struct violation *violation)
{
	struct pair p;
	uint32_t ring = fill(&p, number->overwrite), other;
	int rc;

	if (number->where == HEADER)
		ring = p.n_cpus;
	other = ring == 0 ? 1 : 0;
	counts_valid(&p, ring);
	if (number->when == RESUMED) {
		rc = resumed(&p, ring, number, violation->value);
	} else if (number->when == CLEARED) {
		assert_int_equal(waymark_ring_reader_clear(p.readers[ring]), 0);
		put(&p, ring, number, violation->value);
		take_over(&p, ring);
		/* a reader that was killed while it cleared the ring leaves this value */
		rc = number->at == offsetof(struct wmk_ring_ctl, base_pos) && violation->value == UINT64_MAX
			     ? -EIO
			     : drain(p.readers[ring]);
	} else {
		put(&p, ring, number, violation->value);
		rc = drain(p.readers[ring]);
	}
	if (rc != -EIO)
		fail_msg("%s, %s: the reader returns %d", number->name, violation->name, rc);
	assert_int_equal(drain(p.readers[ring]), 0);
	if (number->when == SEEN) {
		if (waymark_ring_reader_lost(p.readers[ring], NULL) != last_valid(&p, ring) ||
		    waymark_ring_reader_cut(p.readers[ring]) > VALID)
			fail_msg("%s, %s: the counts are not those that were valid last", number->name,
				 violation->name);
		assert_non_null(wmk_ring_reader_wrong(p.readers[ring]));
	}
	assert_int_equal(drain(p.readers[other]), 0);
	assert_true(waymark_ring_reader_lost(p.readers[other], NULL) <= VALID);
	pair_close(&p);
}

static void out_of_range_position_or_count_makes_the_ring_corrupt(void **state)
{
	(void)state;
	for (size_t n = 0; n < WMK_ARRAY_LEN(numbers); n++)
		for (size_t v = 0; v < WMK_ARRAY_LEN(violations); v++)
			if (numbers[n].count || !violations[v].counts_only)
				one(&numbers[n], &violations[v]);
}

/* Up to its limit, a count is returned unchanged. */
static void ring_counts_up_to_their_maximum_are_valid(void **state)
{
	struct waymark_ring_packet packet;
	struct pair p;
	uint32_t ring;

	(void)state;
	ring = fill(&p, false);
	for (unsigned i = 0; i < WAYMARK_LOST_CAUSES; i++)
		p.reader->ring[ring].ctl->lost[i] = WMK_RING_COUNT_MAX;
	p.reader->ring[ring].ctl->cut = WMK_RING_COUNT_MAX;
	assert_int_equal(waymark_ring_reader_next(p.readers[ring], WAYMARK_RING_FLUSH, &packet), 1);
	assert_true(waymark_ring_reader_lost(p.readers[ring], NULL) == WAYMARK_LOST_CAUSES * WMK_RING_COUNT_MAX);
	pair_close(&p);
}

/* The totals for another process are current without a read. They count from the last clear. */
static void ring_totals_include_unread_records(void **state)
{
	struct wmk_ring_totals totals;
	struct pair p;
	uint32_t ring;

	(void)state;
	ring = fill(&p, false);
	const uint64_t recorded = p.reader->ring[ring].ctl->slot[0].records > p.reader->ring[ring].ctl->slot[1].records
					  ? p.reader->ring[ring].ctl->slot[0].records
					  : p.reader->ring[ring].ctl->slot[1].records;

	p.reader->ring[ring].ctl->lost[WAYMARK_LOST_SIZE] = VALID;
	p.reader->ring[ring].ctl->cut = 2 * VALID;
	assert_int_equal(wmk_ring_set_totals(p.reader, ring, &totals), 0);
	assert_true(totals.records == recorded && recorded > 100);
	assert_true(totals.lost[WAYMARK_LOST_SIZE] == VALID && totals.cut == 2 * VALID);
	assert_int_equal(drain(p.readers[ring]), 0);
	assert_int_equal(wmk_ring_set_totals(p.reader, ring, &totals), 0);
	assert_true(totals.records == recorded);
	assert_int_equal(waymark_ring_reader_clear(p.readers[ring]), 0);
	p.reader->ring[ring].ctl->lost[WAYMARK_LOST_SIZE]++;
	assert_int_equal(wmk_ring_set_totals(p.reader, ring, &totals), 0);
	assert_true(totals.records == 0 && totals.lost[WAYMARK_LOST_SIZE] == 1 && totals.cut == 0);
	p.reader->ring[ring].ctl->base_pos = UINT64_MAX;
	assert_int_equal(wmk_ring_set_totals(p.reader, ring, &totals), -EAGAIN);
	pair_close(&p);
}

/* In overwrite mode, the reader then finds exactly the records that the totals do not count as overwritten. */
static void ring_totals_include_overwritten_records(void **state)
{
	struct waymark_ring_packet packet;
	struct wmk_ring_totals totals;
	struct pair p;
	uint64_t lost;

	(void)state;
	const uint32_t ring = fill(&p, true);

	assert_int_equal(wmk_ring_set_totals(p.reader, ring, &totals), 0);
	assert_true(totals.records == 2200 && totals.overwritten > 0 && totals.overwritten < 2200);
	assert_int_equal(waymark_ring_reader_next(p.readers[ring], WAYMARK_RING_FLUSH, &packet), 1);
	lost = packet.lost;
	waymark_ring_reader_release(p.readers[ring], &packet);
	assert_true(lost == totals.overwritten);
	assert_int_equal(waymark_ring_reader_clear(p.readers[ring]), 0);
	assert_int_equal(wmk_ring_set_totals(p.reader, ring, &totals), 0);
	assert_true(totals.records == 0 && totals.overwritten == 0);
	pair_close(&p);
}

/* Read totals from a ring with an invalid number. The result must be an error, or within the limits of a count. */
static void one_total(const struct number *number, const struct violation *violation)
{
	struct wmk_ring_totals totals;
	struct pair p;
	uint32_t ring = fill(&p, number->overwrite);

	counts_valid(&p, ring);
	put(&p, ring, number, violation->value);
	const int rc = wmk_ring_set_totals(p.reader, ring, &totals);

	if (rc == 0 && totals.records > WMK_RING_COUNT_MAX)
		fail_msg("%s, %s: %llu records", number->name, violation->name, (unsigned long long)totals.records);
	for (unsigned i = 0; i < WAYMARK_LOST_CAUSES && rc == 0; i++)
		if (totals.lost[i] > 2 * WMK_RING_COUNT_MAX)
			fail_msg("%s, %s: %llu lost", number->name, violation->name,
				 (unsigned long long)totals.lost[i]);
	pair_close(&p);
}

static void test_totals_of_a_corrupt_ring_are_limited(void **state)
{
	(void)state;
	for (size_t n = 0; n < WMK_ARRAY_LEN(numbers); n++)
		for (size_t v = 0; v < WMK_ARRAY_LEN(violations); v++)
			one_total(&numbers[n], &violations[v]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ring_totals_include_unread_records),
		cmocka_unit_test(ring_totals_include_overwritten_records),
		cmocka_unit_test(test_totals_of_a_corrupt_ring_are_limited),
		cmocka_unit_test(out_of_range_position_or_count_makes_the_ring_corrupt),
		cmocka_unit_test(ring_counts_up_to_their_maximum_are_valid),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
