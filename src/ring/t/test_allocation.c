/* SPDX-License-Identifier: MIT */
/*
 * test_allocation.c - ring sets with other rules for writers: no system calls (poll_us), and rings that all CPUs share
 * (allocation PER_SET).
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>

#include "ring_test.h"

/* With poll_us, a record that needs a claim ring, and so a system call, is lost and counted; nothing is accessible. */
static void polled_ring_loses_records_that_need_a_system_call(void **state)
{
	static uint64_t words[WAYMARK_RING_SEQ_MAX / 8 + 2];
	const struct waymark_ring_frag small = { words, 8, WAYMARK_FRAG_WORDS };
	const struct waymark_ring_frag large = { words, sizeof(words) - 8, WAYMARK_FRAG_WORDS };
	struct wmk_ring_totals totals;
	uint64_t records = 0, size = 0, retry = 0;
	struct pair p;

	struct waymark_ring_options bad = { .size = sizeof(bad), .subbuf_size = 4096, .n_subbufs = 2, .poll_us = 1,
					    .block_us = 5 };

	(void)state;
	assert_int_equal(waymark_ring_set_create(&bad, &p.reader), -EINVAL);
	bad.block_us = 0;
	bad.allocation = WAYMARK_RING_PER_SET;
	assert_int_equal(waymark_ring_set_create(&bad, &p.reader), -EINVAL);
	pair_open(&p, (struct waymark_ring_options){ .subbuf_size = 65536, .n_subbufs = 2, .poll_us = 1000,
						     .prefault = WAYMARK_RING_PREFAULT_ALL });
	assert_int_equal(waymark_ring_record(p.writer, 1, &small, 1), p.writer->seq_cpus ? 0 : -ENOSPC);
	assert_int_equal(waymark_ring_record(p.writer, 1, &large, 1), -ENOSPC);
	for (uint32_t i = 0; i < p.n_rings; i++) {
		assert_int_equal(wmk_ring_set_totals(p.reader, i, &totals), 0);
		records += totals.records;
		size += totals.lost[WAYMARK_LOST_SIZE];
		retry += totals.lost[WAYMARK_LOST_RETRY];
	}
	assert_int_equal(records, p.writer->seq_cpus != 0);
	assert_int_equal(records + size + retry, 2);
	assert_true(!p.writer->seq_cpus || size == 1);
	pair_close(&p);
}

/* With PER_SET, the CPU ring stays empty, and only min(8, number of CPUs) claim rings are used. */
static void writers_of_a_shared_ring_set_use_no_cpu_rings(void **state)
{
	uint64_t word = 7;
	const struct waymark_ring_frag frag = { &word, 8, WAYMARK_FRAG_WORDS };
	struct wmk_ring_totals totals;
	uint64_t records = 0;
	struct pair p;

	(void)state;
	pair_open(&p, (struct waymark_ring_options){ .subbuf_size = 4096, .n_subbufs = 2,
						     .allocation = WAYMARK_RING_PER_SET });
	assert_int_equal(p.n_cpus, 1);
	assert_true(p.reader->header->claims_end <= 1 + WAYMARK_RING_CLAIMS);
	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(waymark_ring_record(p.writer, 1, &frag, 1), 0);
	for (uint32_t i = 0; i < p.n_rings; i++) {
		assert_int_equal(wmk_ring_set_totals(p.reader, i, &totals), 0);
		assert_true(totals.records == 0 || (i > 0 && i < p.reader->header->claims_end));
		records += totals.records;
	}
	assert_int_equal(records, 5);
	/* While other threads hold all rings, a record is lost after the last attempt, and counted once. */
	for (uint32_t i = 1; i < p.reader->header->claims_end; i++)
		p.reader->ring[i].ctl->claim = WMK_CLAIM_ANONYMOUS;
	assert_int_equal(waymark_ring_record(p.writer, 1, &frag, 1), -ENOSPC);
	assert_int_equal(p.reader->header->lost_without_ring, 1);
	for (uint32_t i = 1; i < p.reader->header->claims_end; i++)
		p.reader->ring[i].ctl->claim = WMK_CLAIM_FREE;
	pair_close(&p);
}

static sem_t may_free;

static void *free_when_asked(void *arg)
{
	struct waymark_ring_set *set = arg;

	sem_wait(&may_free);
	for (uint32_t i = 1; i < set->header->claims_end; i++)
		__atomic_store_n(&set->ring[i].ctl->claim, WMK_CLAIM_FREE, __ATOMIC_RELEASE); /* (H) */
	return NULL;
}

/* The holder of the rings is descheduled on the CPU of the writer. It runs as soon as the writer yields. */
static void writer_yields_to_the_holder_of_shared_rings(void **state)
{
	uint64_t word = 7;
	const struct waymark_ring_frag frag = { &word, 8, WAYMARK_FRAG_WORDS };
	cpu_set_t before, one;
	pthread_t holder;
	struct pair p;

	(void)state;
	pair_open(&p, (struct waymark_ring_options){ .subbuf_size = 4096, .n_subbufs = 2,
						     .allocation = WAYMARK_RING_PER_SET });
	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	CPU_ZERO(&one);
	for (int cpu = 0; CPU_COUNT(&one) == 0; cpu++)
		if (CPU_ISSET(cpu, &before))
			CPU_SET(cpu, &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	sem_init(&may_free, 0, 0);
	for (uint32_t i = 1; i < p.reader->header->claims_end; i++)
		p.reader->ring[i].ctl->claim = WMK_CLAIM_ANONYMOUS;
	assert_int_equal(pthread_create(&holder, NULL, free_when_asked, p.reader), 0);
	sem_post(&may_free);
	assert_int_equal(waymark_ring_record(p.writer, 1, &frag, 1), 0);
	pthread_join(holder, NULL);
	assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
	pair_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(polled_ring_loses_records_that_need_a_system_call),
		cmocka_unit_test(writers_of_a_shared_ring_set_use_no_cpu_rings),
		cmocka_unit_test(writer_yields_to_the_holder_of_shared_rings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
