/* SPDX-License-Identifier: MIT */
/*
 * test_overwrite.c - rings that writers overwrite while they are read. Each record in the trace is complete and occurs
 * once. Records in the trace and records that are counted as lost add up to the recorded ones.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "rig.h"

#define SETS 3

struct load {
	struct rig *rig;
	struct waymark_ring_set *set;
	uint64_t each;
	_Atomic bool ended;
};

static void *record_rig(void *arg)
{
	struct load *load = arg;

	assert_int_equal(rig_record_threads(load->rig, 4, load->each), 4 * load->each);
	load->ended = true;
	return NULL;
}

/* Read continuously: complete sub-buffers, and parts. */
static void read_live(struct rig *rig, const struct load *loads, unsigned n)
{
	const struct timespec pause = { .tv_nsec = 200000 };

	for (unsigned i = 0; i < n; i++)
		while (!loads[i].ended) {
			assert_int_equal(wmk_consumer_flush(rig->consumer), 0);
			nanosleep(&pause, NULL);
		}
}

static void test_overwritten_ring_is_drained_while_written(void **state)
{
	static const struct rig_shape shapes[] = {
		{ .subbuf = 4096, .n_subbufs = 4, .mode = WAYMARK_RING_OVERWRITE },
		{ .subbuf = 4096, .n_subbufs = 16, .mode = WAYMARK_RING_OVERWRITE },
		{ .subbuf = 65536, .n_subbufs = 4, .mode = WAYMARK_RING_OVERWRITE },
		{ .subbuf = 1u << 20, .n_subbufs = 8, .mode = WAYMARK_RING_OVERWRITE },
	};
	const uint64_t each = rig_rounds(1000000);

	(void)state;
	for (unsigned i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		struct rig rig;
		struct load load = { .rig = &rig, .each = each };
		pthread_t thread;

		rig_open(&rig, &shapes[i]);
		assert_int_equal(wmk_consumer_start(rig.consumer), 0);
		assert_int_equal(pthread_create(&thread, NULL, record_rig, &load), 0);
		read_live(&rig, &load, 1);
		pthread_join(thread, NULL);
		assert_int_equal(rig_record(&rig, 5, 0, 10), 10);
		assert_int_equal(rig_stop(&rig), 0);
		rig_check(&rig, each);
		print_message("%u x %u: %llu read, %llu overwritten\n", shapes[i].n_subbufs, shapes[i].subbuf,
			      (unsigned long long)rig.stats.counts.records,
			      (unsigned long long)rig.stats.counts.overwritten);
		/* The newest records are never lost, and the trace shows every loss. */
		assert_int_equal(rig.count[5], 10);
		assert_int_equal(rig.stats.counts.records + rig.stats.counts.lost, 4 * each + 10);
		assert_int_equal(rig.stats.counts.overwritten, rig.stats.counts.lost);
		assert_int_equal(rig.lost, rig.stats.counts.lost);
		assert_int_equal(rig.stats.counts.errors, 0);
		rig_babeltrace(&rig, rig.stats.counts.lost != 0);
		rig_close(&rig);
	}
}

static void *record_set(void *arg)
{
	struct load *load = arg;
	uint64_t words[2] = { 0, 0 };
	const struct waymark_ring_frag frag = { words, sizeof(words), WAYMARK_FRAG_WORDS };

	for (; words[1] < load->each; words[1]++)
		assert_int_equal(waymark_ring_record(load->set, 3, &frag, 1), 0);
	load->ended = true;
	return NULL;
}

/* Sum up the records in the streams of a channel, and the lost counts. */
static void sum_streams(const struct rig *rig, const char *channel, uint64_t *records, uint64_t *lost)
{
	uint32_t cpus = waymark_ring_set_cpus(rig->set), rings = waymark_ring_set_rings(rig->set);
	struct decoded one;
	char name[64];

	for (uint32_t i = 0; i < rings; i++) {
		snprintf(name, sizeof(name), "%s_%s%u", channel, i < cpus ? "" : "claim", i < cpus ? i : i - cpus);
		if (decode_stream(rig_path(rig, name), rig->uuid, 16, &one, NULL, NULL) < 0)
			continue;
		*records += one.records;
		*lost += one.lost;
	}
}

static void test_several_overwritten_rings_are_drained(void **state)
{
	static const struct rig_shape shape = { .subbuf = 4096, .n_subbufs = 4, .mode = WAYMARK_RING_OVERWRITE };
	struct waymark_ring_options ring = { .size = sizeof(ring), .n_subbufs = 4,
					     .header_room = WMK_CTF_PACKET_ROOM, .mode = WAYMARK_RING_OVERWRITE,
					     .clock = WAYMARK_CLOCK_MONOTONIC, .prefault = 1ull << 30 };
	struct waymark_ring_set *sets[SETS];
	struct load loads[SETS] = { 0 };
	pthread_t threads[SETS];
	uint64_t all = 0;
	struct rig rig;
	char name[16];

	(void)state;
	rig_open(&rig, &shape);
	for (unsigned i = 0; i < SETS; i++) {
		ring.subbuf_size = 4096u << i;
		loads[i].each = rig_rounds(2000000) + i;
		snprintf(name, sizeof(name), "set%u", i);
		assert_int_equal(waymark_ring_set_create(&ring, &sets[i]), 0);
		assert_int_equal(waymark_ring_set_open(waymark_ring_set_fd(sets[i]), &loads[i].set), 0);
		assert_int_equal(wmk_consumer_add_set(rig.consumer, sets[i], name, 1 + i), 0);
	}
	assert_int_equal(wmk_consumer_start(rig.consumer), 0);
	for (unsigned i = 0; i < SETS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, record_set, &loads[i]), 0);
	read_live(&rig, loads, SETS);
	for (unsigned i = 0; i < SETS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(rig_stop(&rig), 0);
	for (unsigned i = 0; i < SETS; i++) {
		uint64_t records = 0, lost = 0;

		snprintf(name, sizeof(name), "set%u", i);
		sum_streams(&rig, name, &records, &lost);
		assert_int_equal(records + lost, loads[i].each);
		all += loads[i].each;
	}
	assert_int_equal(rig.stats.counts.records + rig.stats.counts.lost, all);
	assert_int_equal(rig.stats.counts.overwritten, rig.stats.counts.lost);
	rig_close(&rig);
	for (unsigned i = 0; i < SETS; i++) {
		waymark_ring_set_close(loads[i].set);
		waymark_ring_set_close(sets[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_overwritten_ring_is_drained_while_written),
		cmocka_unit_test(test_several_overwritten_rings_are_drained),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
