/* SPDX-License-Identifier: MIT */
/*
 * test_nearest.c - edit distance, and the names that are suggested for a misspelt one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/nearest.h"

static void edit_distance_ignores_case_and_counts_a_swap_once(void **state)
{
	char longer[200], other[200];

	(void)state;
	assert_int_equal(wmk_nearest_distance("", ""), 0);
	assert_int_equal(wmk_nearest_distance("", "abc"), 3);
	assert_int_equal(wmk_nearest_distance("record", "Record"), 0);
	assert_int_equal(wmk_nearest_distance("recrod", "record"), 1);       /* a swap */
	assert_int_equal(wmk_nearest_distance("reco", "record"), 2);
	assert_int_equal(wmk_nearest_distance("kitten", "sitting"), 3);
	memset(longer, 'a', sizeof(longer));
	memset(other, 'b', sizeof(other));
	longer[199] = other[199] = '\0';
	assert_int_equal(wmk_nearest_distance(longer, other), 64);
}

static void test_nearest_names_come_first(void **state)
{
	struct wmk_nearest near;
	char text[64], small[8];

	(void)state;
	wmk_nearest_init(&near, "paid");
	wmk_nearest_offer(&near, "pain");
	wmk_nearest_offer(&near, "shop:order");
	wmk_nearest_offer(&near, "Paid");
	wmk_nearest_offer(&near, "Paid");
	wmk_nearest_offer(&near, "apid");
	wmk_nearest_offer(&near, "pa");
	assert_string_equal(wmk_nearest_text(&near, text, sizeof(text)), "Paid, pain, apid");
	wmk_nearest_text(&near, small, sizeof(small));
	assert_int_equal(strlen(small), sizeof(small) - 1);
	wmk_nearest_init(&near, "zzz");
	wmk_nearest_offer(&near, "record");
	assert_string_equal(wmk_nearest_text(&near, text, sizeof(text)), "");
	wmk_nearest_init(&near, "rec");
	wmk_nearest_offer(&near, "record-everything");
	assert_string_equal(wmk_nearest_text(&near, text, sizeof(text)), "record-everything");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(edit_distance_ignores_case_and_counts_a_swap_once),
		cmocka_unit_test(test_nearest_names_come_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
