/* SPDX-License-Identifier: MIT */
/* test_source_copy.c - copies of a source of the kernel: counts begin at 0, gaps and limits drop the oldest packets. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "consumer/source_copy.h"
#include "ctf/writer.h"
#include "ring/packet_source.h"

#define PACKET 100u

/* A source with packets of 100 bytes and 10 records; `lost` is the lost count of each. */
struct fake {
	struct wmk_source source;
	uint64_t lost[8];
	unsigned n, at, failing;
	uint64_t records;                /* released before the copy */
	uint8_t data[PACKET];
};

static int fake_next(struct wmk_source *source, int flush, struct wmk_packet *packet)
{
	struct fake *fake = (struct fake *)source;

	assert_true(flush);
	if (fake->failing && fake->at + 1 == fake->failing)
		return -EIO;
	if (fake->at == fake->n)
		return 0;
	memset(fake->data, (int)fake->at, sizeof(fake->data));
	*packet = (struct wmk_packet){
		.begin_ts = fake->at, .end_ts = fake->at, .end = (fake->at + 1) * PACKET,
		.records = fake->records + (fake->at + 1) * 10, .lost = fake->lost[fake->at], .data = fake->data,
		.len = PACKET,
	};
	return 1;
}

static int fake_release(struct wmk_source *source, const struct wmk_packet *packet)
{
	(void)packet;
	((struct fake *)source)->at++;
	return 0;
}

static uint64_t fake_head(struct wmk_source *source)
{
	(void)source;
	return UINT64_MAX;
}

static uint64_t fake_lost(struct wmk_source *source, uint64_t by_cause[WAYMARK_LOST_CAUSES])
{
	(void)source;
	(void)by_cause;
	return 77;
}

static const struct wmk_source_ops fake_ops = {
	.next = fake_next, .release = fake_release, .head = fake_head, .lost = fake_lost,
};

/* Copy the source, and check the packets of the copy: `first` is the number of the first one. Returns `missed`. */
static uint64_t copied(struct fake *fake, uint64_t max_bytes, unsigned first)
{
	struct wmk_packet packet, last = { .records = fake->records };
	struct wmk_source *copy;
	uint64_t missed;

	fake->source.ops = &fake_ops;
	assert_int_equal(wmk_source_copy_take(&fake->source, max_bytes, &last, &copy, &missed), 0);
	assert_true(last.records == fake->records + fake->n * 10);
	for (unsigned i = first; i < fake->n; i++) {
		assert_int_equal(copy->ops->next(copy, 1, &packet), 1);
		assert_true(packet.begin_ts == i && packet.len == PACKET && packet.room);
		assert_int_equal(((const uint8_t *)packet.data)[PACKET - 1], i);
		assert_true(packet.records == (i + 1 - first) * 10 && packet.lost == 0);
		copy->ops->release(copy, &packet);
	}
	assert_int_equal(copy->ops->next(copy, 1, &packet), 0);
	assert_true(copy->ops->lost(copy, NULL) == 0);
	copy->ops->close(copy);
	return missed;
}

static void lost_counts_of_a_source_copy_start_at_0(void **state)
{
	struct fake fake = { .n = 4, .records = 1000, .lost = { 5, 5, 5, 5 } };

	(void)state;
	assert_true(copied(&fake, 0, 0) == 5);
	fake = (struct fake){ .n = 0, .records = 3 };
	assert_true(copied(&fake, 0, 0) == 77);                  /* empty: all lost records */
}

static void source_copy_drops_packets_before_a_gap(void **state)
{
	struct fake fake = { .n = 6, .records = 20, .lost = { 0, 0, 0, 8, 8, 8 } };

	(void)state;
	assert_true(copied(&fake, 0, 3) == 30 + 8);
}

static void size_limit_keeps_the_newest_packets_of_a_source_copy(void **state)
{
	struct fake fake = { .n = 6, .lost = { 4, 4, 4, 4, 4, 4 } };

	(void)state;
	assert_true(copied(&fake, 2 * PACKET + 50, 4) == 40 + 4);
	fake.at = 0;
	assert_true(copied(&fake, 50, 6) == 60 + 4);
}

static void copy_of_a_failing_source_returns_an_error(void **state)
{
	struct fake fake = { .n = 4, .failing = 3 };
	struct wmk_packet last = { .records = 0 };
	struct wmk_source *copy;
	uint64_t missed;

	(void)state;
	fake.source.ops = &fake_ops;
	assert_int_equal(wmk_source_copy_take(&fake.source, 0, &last, &copy, &missed), -EIO);
	assert_true(last.records == 20);                         /* these were taken */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lost_counts_of_a_source_copy_start_at_0),
		cmocka_unit_test(source_copy_drops_packets_before_a_gap),
		cmocka_unit_test(size_limit_keeps_the_newest_packets_of_a_source_copy),
		cmocka_unit_test(copy_of_a_failing_source_returns_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
