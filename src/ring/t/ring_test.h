/* SPDX-License-Identifier: MIT */
/* ring_test.h - shared by the tests of the ring: a set with both mappings, and a decoder of records. */
#ifndef RING_TEST_H
#define RING_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ring/record_header.h"

struct pair {
	struct waymark_ring_set *reader, *writer;
	struct waymark_ring_reader *readers[512];
	uint32_t n_rings, n_cpus;
};

static inline void pair_open(struct pair *p, struct waymark_ring_options o)
{
	o.size = sizeof(o);
	if (o.header_room == 0)
		o.header_room = 96;
	assert_int_equal(waymark_ring_set_create(&o, &p->reader), 0);
	assert_int_equal(waymark_ring_set_open(waymark_ring_set_fd(p->reader), &p->writer), 0);
	p->n_rings = waymark_ring_set_rings(p->reader);
	p->n_cpus = waymark_ring_set_cpus(p->reader);
	assert_true(p->n_rings <= 512);
	for (uint32_t i = 0; i < p->n_rings; i++)
		assert_int_equal(waymark_ring_reader_open(p->reader, i, &p->readers[i]), 0);
}

static inline void pair_close(struct pair *p)
{
	for (uint32_t i = 0; i < p->n_rings; i++)
		waymark_ring_reader_close(p->readers[i]);
	waymark_ring_set_close(p->writer);
	waymark_ring_set_close(p->reader);
}

/*
 * Decode the record header at *at. *ts is the time of the previous record, and then the time of this one. Returns the
 * id, or UINT32_MAX past the end.
 */
static inline uint32_t record_header(const unsigned char **at, const unsigned char *end, uint64_t *ts)
{
	const uint64_t mask = (1ull << 27) - 1;
	const unsigned char *p = *at;
	uint64_t word = 0, low;
	uint32_t id;

	if (end - p < 4)
		return UINT32_MAX;
	memcpy(&word, p, end - p < 8 ? (size_t)(end - p) : 8);
	id = word & 31;
	if (id == 31) {
		memcpy(&id, p + 1, 4);
		memcpy(ts, p + 5, 8);
		*at = p + 13;
		return id;
	}
	low = word >> 5 & mask;
	*at = p + 4;
	if (id == 30) {
		id = word >> 5 & 0xffff;
		low = word >> 21 & mask;
		*at = p + 6;
	}
	if (low < (*ts & mask))
		*ts += mask + 1;
	*ts = (*ts & ~mask) | low;
	return id;
}

/*
 * Check all records of a packet, and return their number. Each record has id 3 and holds one u64. Times must rise, and
 * the last one must be the end time of the packet.
 */
static inline uint64_t check_u64(const struct waymark_ring_packet *p, uint64_t *next)
{
	const unsigned char *at = p->data, *end = at + p->len;
	uint64_t ts = p->begin_ts, n = 0, last = ts, v;

	while (at < end) {
		assert_int_equal(record_header(&at, end, &ts), 3);
		assert_true(ts >= last);
		last = ts;
		assert_true(end - at >= 8);
		memcpy(&v, at, 8);
		at += 8;
		if (next) {
			assert_int_equal(v, *next);
			*next = v + 1;
		}
		n++;
	}
	assert_int_equal(ts, p->end_ts);
	return n;
}

static inline void stay_on(int cpu)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
}

/* Stay on the current CPU. */
static inline void pin(void)
{
	stay_on(sched_getcpu());
}

static inline void unpin(void)
{
	cpu_set_t all;

	memset(&all, 0xff, sizeof(all));
	sched_setaffinity(0, sizeof(all), &all);
}

static inline int record_u64(struct waymark_ring_set *set, uint64_t v)
{
	struct waymark_ring_frag f = { &v, 8, WAYMARK_FRAG_WORDS };

	return waymark_ring_record(set, 3, &f, 1);
}

static inline unsigned rounds(unsigned n)
{
	const char *percent = getenv("WMK_ROUNDS_PERCENT");
	unsigned scaled = n * (percent ? (unsigned)atoi(percent) : 10) / 100;

	return scaled ? scaled : 1;
}

#endif
