/* SPDX-License-Identifier: MIT */
/*
 * test_counts.c - counts of records (wire/counts.def): sums saturate, and each count travels between the daemons.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "wire/consumerd.h"
#include "wire/ctl.h"
#include "wire/counts.h"

static struct wmk_counts numbered(uint64_t first)
{
	struct wmk_counts counts;

#define WMK_COUNT(name) counts.name = first++;
#define WMK_COUNT_INTERNAL(name) counts.name = first++;
#include "wire/counts.def"
	return counts;
}

static void sums_of_wire_counts_saturate_at_the_maximum(void **state)
{
	struct wmk_counts sum = numbered(UINT64_MAX - 5), more = { .records = 5, .lost = 5, .sink_errors = UINT64_MAX };

	(void)state;
	wmk_counts_add(&sum, &more);
	assert_true(sum.records == UINT64_MAX && sum.lost == UINT64_MAX && sum.sink_errors == UINT64_MAX);
	assert_true(sum.lost_full == UINT64_MAX - 3);
}

static void replacing_counts_does_not_make_a_sum_negative(void **state)
{
	struct wmk_counts sum = numbered(10), old = { .records = 4, .lost = 100 }, now = { .records = 7, .lost = 3 };
	const struct wmk_counts before = sum;

	(void)state;
	wmk_counts_replace(&sum, &old, &now);
	assert_true(sum.records == before.records - 4 + 7);
	assert_true(sum.lost == 3);
	assert_true(sum.bytes == before.bytes);
}

static void consumer_report_transfers_all_counts(void **state)
{
	struct wmk_consumerd_channel channel = { .channel = "a", .stats = { .counts = numbered(1000) } }, *read;
	const struct wmk_consumerd_report report = { { &channel, 1 } };
	struct wmk_consumerd_report copy;
	struct wmk_arena arena = { 0 };
	uint8_t *bytes;
	const long len = wmk_object_encode(&wmk_consumerd_report_object, &report, &bytes);

	(void)state;
	assert_true(len > 0);
	assert_int_equal(wmk_object_decode(&wmk_consumerd_report_object, bytes, (size_t)len, &copy, &arena), 0);
	read = copy.channels.items;
	assert_memory_equal(&read->stats.counts, &channel.stats.counts, sizeof(channel.stats.counts));
	free(bytes);
	wmk_arena_free(&arena);
}

/* JSON files have these names, in this order. */
static void json_counts_have_eleven_names_in_fixed_order(void **state)
{
	static const char *const names[] = {
		"records", "lost", "lost_full", "lost_memory", "lost_size", "lost_retry",
		"overwritten", "unwritten", "cut", "bytes", "gaps",
	};
	const unsigned n = sizeof(names) / sizeof(names[0]);

	(void)state;
	assert_int_equal(wmk_ctl_counts_object.n_members, n);
	for (unsigned i = 0; i < n; i++)
		assert_string_equal(wmk_ctl_counts_object.members[i].name, names[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_of_wire_counts_saturate_at_the_maximum),
		cmocka_unit_test(replacing_counts_does_not_make_a_sum_negative),
		cmocka_unit_test(consumer_report_transfers_all_counts),
		cmocka_unit_test(json_counts_have_eleven_names_in_fixed_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
