/* SPDX-License-Identifier: MIT */
/* test_observer.c - an observer beside the reader of a ring: what it reads while threads write, and what it changes */
#include "ring_test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "ring/reader.h"

#define SUBBUF 4096u
#define SUBBUFS 8u
#define ROUNDS 300

static struct waymark_ring_options overwrite(void)
{
	return (struct waymark_ring_options){ .subbuf_size = SUBBUF, .n_subbufs = SUBBUFS,
					      .mode = WAYMARK_RING_OVERWRITE, .prefault = 64ull << 20 };
}

/* The pieces of one ring, without gaps, up to its end at the time of the call. */
struct range {
	uint64_t from, to;         /* values of the records; `to` is one after the last */
	uint64_t bytes;            /* bytes of the ring between the first and the last position */
	uint64_t records, lost, missed;
	unsigned pieces;
};

static void take_range(struct waymark_ring_set *set, uint32_t ring, uint64_t max_bytes, struct range *range)
{
	struct waymark_ring_reader *observer;
	struct waymark_ring_packet packet;
	uint64_t begin = 0, last = 0, target;
	int err;

	while ((err = waymark_ring_reader_observe(set, ring, max_bytes, &observer)) == -EAGAIN)
		continue;
	assert_int_equal(err, 0);
	*range = (struct range){ 0 };
	target = waymark_ring_reader_position(observer);
	while (waymark_ring_reader_next(observer, WAYMARK_RING_FLUSH, &packet) > 0) {
		const uint64_t sub = packet.begin_pos & ~(uint64_t)(SUBBUF - 1);

		if (!range->pieces || sub != last) {
			/*
			 * This is the first piece, or the writers have overtaken the observer: the range begins again.
			 */
			range->pieces = 0;
			begin = packet.begin_pos;
			target = waymark_ring_reader_position(observer);
			memcpy(&range->from, (const char *)packet.data + (packet.len ? 4 : 0), sizeof(range->from));
			if ((*(const unsigned char *)packet.data & 31) == 31)
				memcpy(&range->from, (const char *)packet.data + 13, sizeof(range->from));
			range->to = range->from;
		}
		range->pieces++;
		check_u64(&packet, &range->to);
		last = packet.whole ? sub + SUBBUF : sub;
		range->records = packet.records;
		range->lost = packet.lost;
		range->bytes = packet.begin_pos + packet.len - begin;
		assert_int_equal(waymark_ring_reader_release(observer, &packet), 0);
		if (packet.begin_pos + packet.len >= target)
			break;
	}
	range->missed = waymark_ring_reader_missed(observer);
	waymark_ring_reader_close(observer);
}

static void ring_observer_counts_records_from_its_first_read(void **state)
{
	struct pair p;
	struct range range;
	uint64_t n;
	uint32_t ring;

	(void)state;
	pin();
	pair_open(&p, overwrite());
	for (n = 0; n < 10000; n++)
		assert_int_equal(record_u64(p.writer, n), 0);
	for (ring = 0; waymark_ring_reader_position(p.readers[ring]) == 0; ring++)
		assert_true(ring + 1 < p.n_rings);
	take_range(p.reader, ring, 0, &range);
	assert_int_equal(range.to, 10000);
	assert_int_equal(range.records, range.to - range.from);
	assert_int_equal(range.missed, range.from);
	assert_int_equal(range.lost, 0);
	assert_true(range.bytes >= (SUBBUFS - 2) * SUBBUF);
	/* With a limit, the observer reads the newest sub-buffers. */
	take_range(p.reader, ring, 3 * SUBBUF, &range);
	assert_int_equal(range.to, 10000);
	assert_true(range.bytes > 2 * SUBBUF && range.bytes <= 3 * SUBBUF);
	assert_int_equal(range.missed, range.from);
	take_range(p.reader, ring, 1, &range);
	assert_int_equal(range.pieces, 1);
	assert_int_equal(range.to, 10000);
	pair_close(&p);
}

static void ring_observer_does_not_change_the_ring(void **state)
{
	struct waymark_ring_packet packet;
	struct range range;
	struct pair p;
	uint64_t value = 0;
	uint32_t ring;

	(void)state;
	pin();
	pair_open(&p, overwrite());
	for (uint64_t n = 0; n < 1000; n++)
		assert_int_equal(record_u64(p.writer, n), 0);
	for (ring = 0; waymark_ring_reader_position(p.readers[ring]) == 0; ring++)
		assert_true(ring + 1 < p.n_rings);
	const size_t len = (size_t)(p.reader->ring[0].data - (unsigned char *)p.reader->header) +
			   (size_t)p.n_rings * SUBBUF * SUBBUFS;
	void *before = malloc(len);

	assert_non_null(before);
	memcpy(before, p.reader->header, len);
	take_range(p.reader, ring, 0, &range);
	assert_int_equal(range.from, 0);
	assert_int_equal(range.to, 1000);
	assert_memory_equal(before, p.reader->header, len);
	free(before);
	/* The reader still reads everything. */
	while (waymark_ring_reader_next(p.readers[ring], WAYMARK_RING_FLUSH, &packet) > 0) {
		check_u64(&packet, &value);
		assert_int_equal(waymark_ring_reader_release(p.readers[ring], &packet), 0);
	}
	assert_int_equal(value, 1000);
	pair_close(&p);
}

static void ring_observer_starts_after_the_last_clear(void **state)
{
	struct pair p;
	struct range range;
	uint32_t ring;

	(void)state;
	pin();
	pair_open(&p, overwrite());
	for (uint64_t n = 0; n < 5000; n++)
		assert_int_equal(record_u64(p.writer, n), 0);
	for (ring = 0; waymark_ring_reader_position(p.readers[ring]) == 0; ring++)
		assert_true(ring + 1 < p.n_rings);
	assert_int_equal(waymark_ring_reader_clear(p.readers[ring]), 0);
	take_range(p.reader, ring, 0, &range);
	assert_int_equal(range.pieces, 0);
	for (uint64_t n = 5000; n < 5100; n++)
		assert_int_equal(record_u64(p.writer, n), 0);
	take_range(p.reader, ring, 0, &range);
	assert_int_equal(range.from, 5000);
	assert_int_equal(range.to, 5100);
	assert_int_equal(range.records, 100);
	assert_int_equal(range.missed, 0);
	assert_int_equal(range.lost, 0);
	pair_close(&p);
}

static void ring_in_discard_mode_rejects_an_observer(void **state)
{
	struct waymark_ring_options options = overwrite();
	struct waymark_ring_reader *observer;
	struct pair p;

	(void)state;
	options.mode = WAYMARK_RING_DISCARD;
	pair_open(&p, options);
	assert_int_equal(waymark_ring_reader_observe(p.reader, 0, 0, &observer), -ENOTSUP);
	assert_int_equal(waymark_ring_reader_observe(p.reader, UINT32_MAX, 0, &observer), -ENOTSUP);
	pair_close(&p);
}

struct load {
	struct waymark_ring_set *set;
	_Atomic uint64_t done;     /* values below are recorded */
	atomic_bool stop;
};

static void *record_always(void *arg)
{
	struct load *load = arg;

	/* release: pairs with the acquire below; the records of these values are committed */
	for (uint64_t n = 0; !atomic_load_explicit(&load->stop, memory_order_relaxed); n++) {
		assert_int_equal(record_u64(load->set, n), 0);
		atomic_store_explicit(&load->done, n + 1, memory_order_release);
	}
	return NULL;
}

/* On one CPU, one ring has all records. A writer that is always faster than the observer overtakes it often. */
static void ring_observer_reads_one_contiguous_range_during_writes(void **state)
{
	struct load load = { 0 };
	struct pair p;
	pthread_t writer;
	uint32_t ring = 0;

	(void)state;
	pair_open(&p, overwrite());
	load.set = p.writer;
	pin();
	assert_int_equal(pthread_create(&writer, NULL, record_always, &load), 0);
	/* acquire: pairs with the release of the writer */
	while (atomic_load_explicit(&load.done, memory_order_acquire) < 10000)
		sched_yield();
	while (waymark_ring_reader_position(p.readers[ring]) == 0)
		ring++;
	unpin();
	for (int i = 0; i < ROUNDS; i++) {
		/* acquire: pairs with the release of the writer */
		const uint64_t sampled = atomic_load_explicit(&load.done, memory_order_acquire);
		struct range range;

		take_range(p.reader, ring, 0, &range);
		assert_true(range.to >= sampled);
		assert_true(range.bytes >= (SUBBUFS - 2) * SUBBUF);
		assert_int_equal(range.records, range.to - range.from);
		assert_int_equal(range.lost, 0);
	}
	atomic_store_explicit(&load.stop, true, memory_order_relaxed);
	pthread_join(writer, NULL);
	pair_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ring_observer_counts_records_from_its_first_read),
		cmocka_unit_test(ring_observer_does_not_change_the_ring),
		cmocka_unit_test(ring_observer_starts_after_the_last_clear),
		cmocka_unit_test(ring_in_discard_mode_rejects_an_observer),
		cmocka_unit_test(ring_observer_reads_one_contiguous_range_during_writes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
