/* SPDX-License-Identifier: MIT */
/*
 * test_streams.c - each stream by itself, with sources and a sink that do as they are told: what its packets say, and what becomes of the
 * others when one is in trouble.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "consumer/internal.h"
#include "rig.h"
#include "store/t/testdir.h"

#define PACKETS 32

static const struct rig_shape shape = { .subbuf = 4096, .n_subbufs = 4 };

/* ── a source of packets that are made by hand ───────────────────────────────────────────────────────── */

struct made {
	struct wmk_source source;
	struct wmk_packet packets[PACKETS];
	unsigned n, at;                  /* so many are there; so many have been taken */
	uint64_t lost;                   /* up to now */
};

static struct made *made_of(struct wmk_source *source)
{
	return (struct made *)source;
}

static int made_next(struct wmk_source *source, int flush, struct wmk_packet *packet)
{
	struct made *made = made_of(source);

	(void)flush;
	if (made->at == made->n)
		return 0;
	*packet = made->packets[made->at];
	return 1;
}

static int made_release(struct wmk_source *source, const struct wmk_packet *packet)
{
	(void)packet;
	made_of(source)->at++;
	return 0;
}

static uint64_t made_head(struct wmk_source *source)
{
	return 64 * (uint64_t)made_of(source)->n;
}

static uint64_t made_lost(struct wmk_source *source, uint64_t by_cause[WAYMARK_LOST_CAUSES])
{
	memset(by_cause, 0, WAYMARK_LOST_CAUSES * sizeof(*by_cause));
	by_cause[WAYMARK_LOST_FULL] = made_of(source)->lost;
	return made_of(source)->lost;
}

static void made_close(struct wmk_source *source)
{
	(void)source;
}

static const struct wmk_source_ops made_ops = {
	.next = made_next, .release = made_release, .head = made_head, .lost = made_lost, .close = made_close,
};

/* One more packet, of one record; so many were lost by its end. */
static void make_packet(struct made *made, uint64_t lost)
{
	static const uint8_t record[64];
	const unsigned i = made->n;

	assert_true(i < PACKETS);
	made->packets[made->n++] = (struct wmk_packet){ .begin_ts = i + 1, .end_ts = i + 1, .position = 64 * i, .end = 64 * (i + 1),
							.records = i + 1, .lost = lost, .data = record, .len = sizeof(record) };
}

static void add_made(struct rig *rig, struct made *made, const char *name)
{
	*made = (struct made){ .source = { &made_ops } };
	assert_int_equal(wmk_consumer_add_source(rig->consumer, &made->source, name, 0, 7, WMK_CTF_CPU_NONE), 0);
}

/* The lost counts in the packets of a stream, as many as are there. */
static unsigned lost_in(const struct rig *rig, const char *name, uint64_t lost[PACKETS])
{
	struct wmk_ctf_packet packet;
	unsigned n = 0;
	size_t len;
	char *bytes = testdir_slurp(rig_path(rig, name), &len);

	for (size_t at = 0; at < len; at += wmk_ctf_packet_size(&packet)) {
		assert_true(n < PACKETS);
		assert_int_equal(wmk_ctf_packet_decode((const uint8_t *)bytes + at, rig->uuid, &packet), 0);
		lost[n++] = packet.lost;
	}
	free(bytes);
	return n;
}

/* ── what packets say of losses ──────────────────────────────────────────────────────────────────────── */

/* Each packet its own count, but none less than one before it; what is known by now stands in the packets that tell counts alone. */
static void test_lost_counts(void **state)
{
	static const uint64_t expected[] = { 0, 2, 7, 7, 9 };
	struct wmk_consumer_stats seen;
	uint64_t lost[PACKETS];
	struct made made;
	struct rig rig;

	(void)state;
	rig_open(&rig, &shape);
	add_made(&rig, &made, "made");
	make_packet(&made, 0);
	make_packet(&made, 2);
	made.lost = 7;
	assert_int_equal(wmk_consumer_set_stats(rig.consumer, NULL, &seen), 0);
	assert_int_equal(seen.lost, 7);
	assert_int_equal(wmk_consumer_settle(rig.consumer, NULL), 0);
	make_packet(&made, 3);
	made.lost = 9;
	assert_int_equal(rig_stop(&rig), 0);
	assert_int_equal(rig.stats.records, 3);
	assert_int_equal(rig.stats.lost, 9);
	assert_int_equal(lost_in(&rig, "made", lost), 5);
	assert_memory_equal(lost, expected, sizeof(expected));
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lost_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
