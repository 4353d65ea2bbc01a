/* SPDX-License-Identifier: MIT */
/* test_consumerd.c - the events of a kernel channel are limited to those that fit into one message. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "wire/consumerd.h"

#define WORDS 8192u

static uint64_t filter[WORDS];

/* Make event `id` with a filter of `words` words. */
static struct wmk_consumerd_event event_of(char name[20], uint32_t id, uint32_t words)
{
	snprintf(name, 20, "event%u", id);
	return (struct wmk_consumerd_event){
		.system = "some", .name = name, .id = id, .filter_len = words * 8, .filter = { filter, words }
	};
}

static int add(struct wmk_list *events, uint32_t id, uint32_t words, struct wmk_arena *arena)
{
	char name[20];
	struct wmk_consumerd_event event = event_of(name, id, words);
	const struct wmk_list more = { &event, 1 };

	return wmk_consumerd_events_add(events, &more, arena);
}

static long encoded(const struct wmk_list *events)
{
	const struct wmk_consumerd_rings rings = { .kernel = true, .events = *events };
	uint8_t *bytes;
	const long len = wmk_object_encode(&wmk_consumerd_rings_object, &rings, &bytes);

	free(bytes);
	return len;
}

/*
 * Add events up to the last one that fits, with filters of three quarters of a message. A refused event changes
 * nothing.
 */
static void event_filter_above_the_message_limit_is_refused(void **state)
{
	struct wmk_list events = { NULL, 0 };
	struct wmk_arena arena = { 0 };
	const long none = encoded(&events);
	uint32_t n = 0, words = WORDS;

	(void)state;
	while (add(&events, n, WORDS, &arena) == 1)
		n++;
	assert_true(n > 100);
	assert_string_equal(wmk_error_get(0),
			    "the filters of one kernel channel exceed 12582912 bytes: use fewer or shorter filters");
	assert_int_equal(events.n, n);
	assert_true(encoded(&events) - none <= WMK_OBJECT_MAX / 4 * 3);
	/* the largest filter that fits, found step by step */
	while (add(&events, n, words, &arena) == -E2BIG)
		words--;
	assert_int_equal(events.n, n + 1);
	assert_true(encoded(&events) - none <= WMK_OBJECT_MAX / 4 * 3);
	assert_true(encoded(&events) - none + 8 > WMK_OBJECT_MAX / 4 * 3);
	/* the filter of an existing event can become smaller, and can return to its size, but cannot exceed it */
	assert_int_equal(add(&events, n, words + 1, &arena), -E2BIG);
	assert_int_equal(((struct wmk_consumerd_event *)events.items)[n].filter.n, words);
	assert_int_equal(add(&events, 0, 10, &arena), 0);
	assert_int_equal(add(&events, 0, WORDS, &arena), 0);
	wmk_arena_free(&arena);
}

static void list_of_filters_above_the_limit_is_refused_completely(void **state)
{
	enum { N = 200 };
	static struct wmk_consumerd_event items[N];
	static char names[N][20];
	const struct wmk_list more = { items, N };
	struct wmk_list events = { NULL, 0 };
	struct wmk_arena arena = { 0 };

	(void)state;
	for (uint32_t i = 0; i < N; i++)
		items[i] = event_of(names[i], i, WORDS);
	assert_int_equal(add(&events, 0, 1, &arena), 1);
	assert_int_equal(wmk_consumerd_events_add(&events, &more, &arena), -E2BIG);
	assert_int_equal(events.n, 1);
	assert_int_equal(((struct wmk_consumerd_event *)events.items)[0].filter.n, 1);
	wmk_arena_free(&arena);
}

/* A filter that is changed often needs at most about twice the memory of its largest version. */
static void filter_that_is_changed_often_does_not_grow_memory(void **state)
{
	struct wmk_list events = { NULL, 0 };
	struct wmk_arena arena = { 0 };
	size_t used = 0;

	(void)state;
	assert_int_equal(add(&events, 7, 0, &arena), 1);
	for (uint32_t i = 0; i < 10000; i++) {
		const uint32_t words = i % 2 ? i % 100 : 3 + i % 1000;
		const struct wmk_consumerd_event *event;

		filter[0] = i;
		filter[words ? words - 1 : 0] = i;
		assert_int_equal(add(&events, 7, words, &arena), 0);
		event = events.items;
		assert_int_equal(event->filter_len, words * 8);
		assert_int_equal(event->filter.n, words);
		assert_memory_equal(event->filter.items, filter, words * 8);
		if (i == 1000)
			used = arena.used;
	}
	assert_int_equal(arena.used, used);
	assert_true(used < 4 * 1024 * sizeof(uint64_t));
	wmk_arena_free(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(event_filter_above_the_message_limit_is_refused),
		cmocka_unit_test(list_of_filters_above_the_limit_is_refused_completely),
		cmocka_unit_test(filter_that_is_changed_often_does_not_grow_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
