/* SPDX-License-Identifier: MIT */
/* test_patterns.c - the events that a pattern matches, and names similar to a pattern that matches none. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "client.h"
#include "session/apps/shard.h"

static void patterns_that_match_no_event_are_reported(void **state)
{
	static const char *const secret[] = { "*:secret" };
	static const struct wmk_ctl_rule first[] = { { .pattern = "shop:*",
						       .exclusions = { (void *)(uintptr_t)secret, 1 } },
						     { .pattern = "nosuch:*" } },
					 second[] = { { .pattern = "net" }, { .pattern = "shop:paid" } };
	static const char *const events[][2] = { { "shop", "paid" },
						 { "shop", "secret" },
						 { "net", "rx" },
						 { "other", "x" },
						 { WMK_STATEDUMP_PROVIDER, "bin_info" },
						 { WMK_LIBRARY_PROVIDER, "load" } };
	struct place p;
	struct client c;
	struct wmk_shard_stats stats;

	(void)state;
	place_prepare(&p);
	p.n_channels = 2;
	p.given[0].rules = place_rules(first, 2);
	p.given[1].rules = place_rules(second, 2);       /* the first channel keeps the events that it selects */
	p.statedump = true;
	place_open(&p);
	client_connect(&c, &p);
	client_hello(&c, "x");
	assert_int_equal(client_next(&c, &p), WMK_MSG_WELCOME);
	for (uint32_t i = 0; i < 6; i++)
		client_event(&c, i, events[i][0], events[i][1], 0);
	client_u32(&c, WMK_MSG_EVENTS_END, 0);
	assert_int_equal(client_next(&c, &p), WMK_MSG_CHANNEL);
	client_expect_enable(&c, &p, 0, 4, 0);
	client_expect_enable(&c, &p, 0, 5, 1);
	assert_int_equal(client_next(&c, &p), WMK_MSG_CHANNEL);
	client_expect_enable(&c, &p, 1, 0, 0);
	assert_int_equal(client_next(&c, &p), WMK_MSG_CHANNEL);
	client_expect_enable(&c, &p, 2, 2, 0);
	client_expect_u32(&c, &p, WMK_MSG_DONE, 0);
	assert_int_equal(wmk_tracing_matching(p.tracing, "shop:*"), 2);
	assert_int_equal(wmk_tracing_matching(p.tracing, "!*:secret"), 1);
	assert_int_equal(wmk_tracing_matching(p.tracing, "nosuch:*"), 0);
	assert_int_equal(wmk_tracing_matching(p.tracing, "*"), 4);
	wmk_shard_stats(p.apps, &stats);
	assert_int_equal(stats.events_seen, 4);          /* events of the tracer do not count */
	assert_int_equal(stats.classes_enabled, 2);
	client_close(&c);
	place_close(&p);
}

static void misspelled_pattern_yields_the_most_similar_names(void **state)
{
	static const char *const events[][2] = {
		{ "shop", "order_paid" }, { "shop", "order_sent" }, { "net", "receive" }, { "net", "send" }
	};
	struct place p;
	struct client c;
	const char *names[3];

	(void)state;
	place_prepare(&p);
	place_open(&p);
	client_connect(&c, &p);
	client_hello(&c, "x");
	for (uint32_t i = 0; i < 4; i++)
		client_event(&c, i, events[i][0], events[i][1], 0);
	client_event(&c, 4, "net", "send", 2);
	place_settle(&p);
	assert_int_equal(wmk_tracing_nearest(p.tracing, "shop:order_payd", names, 3), 2);
	assert_string_equal(names[0], "shop:order_paid");
	assert_string_equal(names[1], "shop:order_sent");
	assert_int_equal(wmk_tracing_nearest(p.tracing, "nett:*", names, 3), 2);
	assert_string_equal(names[0], "net:receive");
	assert_string_equal(names[1], "net:send");
	assert_int_equal(wmk_tracing_nearest(p.tracing, "net:sned", names, 3), 1);
	assert_string_equal(names[0], "net:send");
	assert_int_equal(wmk_tracing_nearest(p.tracing, "recieve", names, 3), 1);
	assert_string_equal(names[0], "net:receive");
	assert_int_equal(wmk_tracing_nearest(p.tracing, "web:order_paid", names, 1), 1);
	assert_string_equal(names[0], "shop:order_paid");
	assert_int_equal(wmk_tracing_nearest(p.tracing, "!shp:order_paid", names, 1), 1);
	assert_int_equal(wmk_tracing_nearest(p.tracing, "completely:different", names, 3), 0);
	assert_int_equal(wmk_tracing_nearest(p.tracing, "*", names, 3), 0);
	client_close(&c);
	place_close(&p);
}

static void patterns_match_like_globs_and_invalid_ones_are_refused(void **state)
{
	(void)state;
#define YES(p, q) assert_true(wmk_pattern_match(p, "shop", q))
#define NO(p, q) assert_false(wmk_pattern_match(p, "shop", q))
	YES("*", "paid");
	YES("shop", "paid");
	YES("shop:paid", "paid");
	YES("sh?p:*", "paid");
	YES("*paid", "paid");
	YES("s*:p*d", "paid");
	YES("shop:[a-q]aid", "paid");
	YES("shop:[!a-c]aid", "paid");
	YES("shop:[]p]aid", "paid");
	YES("s*p*p*d", "paid");
	YES("shop:\\paid", "paid");
	YES("shop:a\\*", "a*"); YES("sho?", "x"); YES("*:*", "x");
	NO("paid", "paid");
	NO("shop:", "paid");
	NO("shop:pai", "paid");
	NO("shop:paid?", "paid");
	NO("shop:[q-z]aid", "paid");
	NO("shop:a\\*", "ab"); NO("sho", "paid"); NO("", "paid"); NO("shop:[p", "p");
	assert_int_equal(wmk_pattern_check("shop:*"), 0);
	assert_int_equal(wmk_pattern_check("!a[b-c]\\["), 0);
	assert_int_equal(wmk_pattern_check(""), -EINVAL);
	assert_int_equal(wmk_pattern_check("!"), -EINVAL);
	assert_int_equal(wmk_pattern_check("a[b"), -EINVAL);
	assert_int_equal(wmk_pattern_check("a\\"), -EINVAL);
	char longer[600];
	memset(longer, 'a', 599);
	longer[599] = '\0';
	assert_int_equal(wmk_pattern_check(longer), -EINVAL);
	/* the time for a pattern with many stars is bounded */
	longer[200] = '\0';
	assert_false(wmk_pattern_match("*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b", longer, longer));
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(patterns_match_like_globs_and_invalid_ones_are_refused),
					    cmocka_unit_test(patterns_that_match_no_event_are_reported),
					    cmocka_unit_test(misspelled_pattern_yields_the_most_similar_names) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
