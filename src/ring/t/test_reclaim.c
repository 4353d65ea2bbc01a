/* SPDX-License-Identifier: MIT */
/*
 * test_reclaim.c - the memory of idle rings is given back (reclaim.c). No record is lost by it, except those that find
 * no memory, which are counted.
 */
#include <errno.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ring_test.h"

#define SUBBUF 16384u
#define SUBBUFS 8u

static uint64_t memory_of(const struct waymark_ring_set *set)
{
	struct stat st;

	assert_int_equal(fstat(waymark_ring_set_fd(set), &st), 0);
	return (uint64_t)st.st_blocks * 512;
}

/* Read all records of all rings, which are one counter, and add them to *next. */
static void read_all(struct pair *p, uint64_t *next)
{
	struct waymark_ring_packet packet;

	for (uint32_t i = 0; i < p->n_rings; i++)
		while (waymark_ring_reader_next(p->readers[i], WAYMARK_RING_FLUSH, &packet) == 1) {
			check_u64(&packet, next);
			assert_int_equal(waymark_ring_reader_release(p->readers[i], &packet), 0);
		}
}

static int64_t reclaim_all(struct pair *p)
{
	int64_t sum = 0;

	for (uint32_t i = 0; i < p->n_rings; i++) {
		const int64_t bytes = waymark_ring_set_reclaim(p->reader, i);

		assert_true(bytes >= 0 || bytes == -EAGAIN);
		sum += bytes > 0 ? bytes : 0;
	}
	return sum;
}

static uint64_t lost_memory(struct pair *p)
{
	uint64_t by_cause[WAYMARK_LOST_CAUSES], sum = 0;

	for (uint32_t i = 0; i < p->n_rings; i++) {
		waymark_ring_reader_lost(p->readers[i], by_cause);
		sum += by_cause[WAYMARK_LOST_MEMORY];
	}
	return sum;
}

/* Record and read `n` records, one after another. */
static void fill(struct pair *p, uint64_t n, uint64_t *written, uint64_t *next)
{
	for (uint64_t i = 0; i < n; i++) {
		assert_int_equal(record_u64(p->writer, *written), 0);
		(*written)++;
		if (i % 64 == 0) {
			waymark_ring_set_back(p->reader);
			read_all(p, next);
		}
	}
	waymark_ring_set_back(p->reader);
	read_all(p, next);
}

/* At each position of the writers, in several laps: memory goes down, comes back, and no record is lost. */
static void idle_ring_releases_memory_after_each_wrap_around(void **state)
{
	uint64_t written = 0, next = 0, full, now;
	struct pair p;

	(void)state;
	pair_open(&p, (struct waymark_ring_options){ .subbuf_size = SUBBUF, .n_subbufs = SUBBUFS });
	pin();
	for (unsigned lap = 0; lap < 40; lap++) {
		fill(&p, 900 + lap * 7, &written, &next);
		assert_int_equal(next, written);
		full = memory_of(p.reader);
		now = (uint64_t)reclaim_all(&p);
		assert_true(now >= (SUBBUFS - 2) * SUBBUF);
		assert_int_equal(memory_of(p.reader), full - now);
		assert_int_equal(reclaim_all(&p), 0);
		/* a drain pass of an idle ring allocates nothing */
		assert_int_equal(waymark_ring_set_back(p.reader), 0);
		assert_int_equal(memory_of(p.reader), full - now);
		assert_int_equal(record_u64(p.writer, written), 0);
		written++;
		assert_int_equal(waymark_ring_set_back(p.reader), 0);
		assert_true(memory_of(p.reader) >= full - SUBBUFS * SUBBUF);
		assert_true(memory_of(p.reader) > full - now);
	}
	assert_int_equal(lost_memory(&p), 0);
	unpin();
	pair_close(&p);
}

/* Until the reader allocates memory, at least one sub-buffer of records has room; the rest is counted as lost. */
static void record_without_available_ring_memory_is_counted_as_lost(void **state)
{
	uint64_t written = 0, next = 0, lost = 0, stored = 0;
	struct pair p;

	(void)state;
	pair_open(&p, (struct waymark_ring_options){ .subbuf_size = SUBBUF, .n_subbufs = SUBBUFS });
	pin();
	fill(&p, 20000, &written, &next);
	assert_true(reclaim_all(&p) > 0);
	while (lost < 10) {
		if (record_u64(p.writer, written) == 0) {
			written++;
			stored++;
		} else {
			lost++;
		}
	}
	assert_true(stored >= SUBBUF / 12 - 20);
	assert_int_equal(lost_memory(&p), 10);
	assert_int_equal(waymark_ring_set_back(p.reader), 0);
	fill(&p, 20000, &written, &next);
	assert_int_equal(next, written);
	assert_int_equal(lost_memory(&p), 10);
	unpin();
	pair_close(&p);
}

/* Nothing is given back: unread complete sub-buffers, overwrite mode, writers that block or make no system call. */
static void memory_is_not_reclaimed_from_rings_that_need_it(void **state)
{
	uint64_t written = 0, next = 0;
	struct pair p;

	(void)state;
	pair_open(&p, (struct waymark_ring_options){ .subbuf_size = SUBBUF, .n_subbufs = SUBBUFS,
						     .prefault = WAYMARK_RING_PREFAULT_ALL });
	pin();
	fill(&p, 100, &written, &next);
	for (unsigned i = 0; i < 3000; i++)
		assert_int_equal(record_u64(p.writer, written++), 0);
	for (uint32_t i = 0; i < p.n_rings; i++)
		if (p.reader->ring[i].ctl->write_pos != 0)
			assert_int_equal(waymark_ring_set_reclaim(p.reader, i), -EAGAIN);
	read_all(&p, &next);
	assert_int_equal(next, written);
	assert_true(reclaim_all(&p) > 0);
	unpin();
	pair_close(&p);
	for (unsigned kind = 0; kind < 3; kind++) {
		struct waymark_ring_options o = { .subbuf_size = SUBBUF, .n_subbufs = SUBBUFS,
						  .prefault = WAYMARK_RING_PREFAULT_ALL };

		o.mode = kind == 0 ? WAYMARK_RING_OVERWRITE : WAYMARK_RING_DISCARD;
		o.poll_us = kind == 1 ? 1000 : 0;
		o.block_us = kind == 2 ? 1000 : 0;
		pair_open(&p, o);
		assert_int_equal(waymark_ring_set_may_reclaim(p.reader), 0);
		assert_int_equal(waymark_ring_set_reclaim(p.reader, 0), 0);
		pair_close(&p);
	}
}

/* Rings that never recorded keep one sub-buffer. */
static void ring_without_records_keeps_its_first_sub_buffer(void **state)
{
	uint64_t written = 0, next = 0, before;
	struct pair p;

	(void)state;
	pair_open(&p, (struct waymark_ring_options){ .subbuf_size = SUBBUF, .n_subbufs = SUBBUFS,
						     .prefault = WAYMARK_RING_PREFAULT_ALL });
	before = memory_of(p.reader);
	assert_true(reclaim_all(&p) >= (int64_t)(p.n_cpus * (SUBBUFS - 1) * SUBBUF));
	assert_true(memory_of(p.reader) <= before - p.n_cpus * (SUBBUFS - 1) * SUBBUF);
	pin();
	fill(&p, 20000, &written, &next);
	assert_int_equal(next, written);
	assert_int_equal(lost_memory(&p), 0);
	unpin();
	pair_close(&p);
}

/* The next reader of the ring finds out from the ring that its memory was given back. */
static void next_reader_allocates_reclaimed_ring_memory_again(void **state)
{
	uint64_t written = 0, next = 0, full, given;
	struct waymark_ring_set *later;
	struct pair p;

	(void)state;
	pair_open(&p, (struct waymark_ring_options){ .subbuf_size = SUBBUF, .n_subbufs = SUBBUFS });
	pin();
	fill(&p, 20000, &written, &next);
	full = memory_of(p.reader);
	given = (uint64_t)reclaim_all(&p);
	assert_int_equal(waymark_ring_set_open_reader(waymark_ring_set_fd(p.reader), &later), 0);
	assert_int_equal(waymark_ring_set_back(later), 0);
	assert_int_equal(memory_of(later), full - given);
	assert_int_equal(record_u64(p.writer, written++), 0);
	assert_int_equal(waymark_ring_set_back(later), 0);
	assert_true(memory_of(later) > full - given);
	/* a process that opens the set after this has room everywhere */
	for (unsigned i = 0; i < 3000; i++)
		assert_int_equal(record_u64(p.writer, written++), 0);
	read_all(&p, &next);
	assert_int_equal(next, written);
	waymark_ring_set_close(later);
	unpin();
	pair_close(&p);
}

/* ── writers in other threads, while a reader gives memory back in a loop ────────────────────────────────── */

#define WRITERS 4

struct storm {
	struct pair p;
	uint64_t ok[WRITERS], lost[WRITERS], seen[WRITERS];
	unsigned bursts;
	int done;
};

struct storm_writer {
	struct storm *storm;
	unsigned number;
	pthread_t thread;
};

static void *storm_write(void *arg)
{
	struct storm_writer *me = arg;
	struct storm *storm = me->storm;
	uint64_t v = (uint64_t)me->number << 56, rnd = me->number + 1;

	for (unsigned burst = 0; burst < storm->bursts; burst++) {
		rnd = rnd * 6364136223846793005ull + 1442695040888963407ull;
		for (unsigned n = (unsigned)(rnd >> 33) % 3000 + 1; n > 0; n--)
			if (record_u64(storm->p.writer, v + storm->ok[me->number]) == 0)
				storm->ok[me->number]++;
			else
				storm->lost[me->number]++;
		sched_yield();
	}
	__atomic_fetch_add(&storm->done, 1, __ATOMIC_RELEASE);
	return NULL;
}

/* Each writer's values rise by one, in each ring and so in the sum. */
static void storm_read(struct storm *storm)
{
	struct waymark_ring_packet packet;

	for (uint32_t i = 0; i < storm->p.n_rings; i++)
		while (waymark_ring_reader_next(storm->p.readers[i], WAYMARK_RING_FLUSH, &packet) == 1) {
			const unsigned char *at = packet.data, *end = at + packet.len;
			uint64_t ts = packet.begin_ts, v;

			while (at < end) {
				assert_int_equal(record_header(&at, end, &ts), 3);
				memcpy(&v, at, 8);
				at += 8;
				assert_true(v >> 56 < WRITERS);
				assert_true((v & ((1ull << 56) - 1)) < UINT32_MAX);
				storm->seen[v >> 56]++;
			}
			assert_int_equal(ts, packet.end_ts);
			assert_int_equal(waymark_ring_reader_release(storm->p.readers[i], &packet), 0);
		}
}

static void threads_lose_only_counted_records_while_memory_is_given_back(void **state)
{
	static struct storm storm;
	struct storm_writer writers[WRITERS];
	uint64_t ok = 0, lost = 0, seen = 0, counted = 0, given = 0;

	(void)state;
	storm.bursts = rounds(1000);
	pair_open(&storm.p, (struct waymark_ring_options){ .subbuf_size = SUBBUF, .n_subbufs = SUBBUFS });
	for (unsigned i = 0; i < WRITERS; i++) {
		writers[i] = (struct storm_writer){ .storm = &storm, .number = i };
		assert_int_equal(pthread_create(&writers[i].thread, NULL, storm_write, &writers[i]), 0);
	}
	while (__atomic_load_n(&storm.done, __ATOMIC_ACQUIRE) < WRITERS) {
		waymark_ring_set_back(storm.p.reader);
		storm_read(&storm);
		given += (uint64_t)reclaim_all(&storm.p);
	}
	for (unsigned i = 0; i < WRITERS; i++)
		pthread_join(writers[i].thread, NULL);
	storm_read(&storm);
	for (unsigned i = 0; i < WRITERS; i++) {
		assert_int_equal(storm.seen[i], storm.ok[i]);
		ok += storm.ok[i];
		lost += storm.lost[i];
		seen += storm.seen[i];
	}
	for (uint32_t i = 0; i < storm.p.n_rings; i++)
		counted += waymark_ring_reader_lost(storm.p.readers[i], NULL);
	printf("%llu records, %llu lost, %llu MiB given back\n", (unsigned long long)ok, (unsigned long long)lost,
	       (unsigned long long)(given >> 20));
	assert_int_equal(seen, ok);
	assert_int_equal(counted, lost);
	assert_true(given > 0);
	pair_close(&storm.p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(idle_ring_releases_memory_after_each_wrap_around),
		cmocka_unit_test(record_without_available_ring_memory_is_counted_as_lost),
		cmocka_unit_test(memory_is_not_reclaimed_from_rings_that_need_it),
		cmocka_unit_test(ring_without_records_keeps_its_first_sub_buffer),
		cmocka_unit_test(next_reader_allocates_reclaimed_ring_memory_again),
		cmocka_unit_test(threads_lose_only_counted_records_while_memory_is_given_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
