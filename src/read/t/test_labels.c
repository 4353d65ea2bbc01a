/* SPDX-License-Identifier: MIT */
/*
 * test_labels.c - the labels of a value: few or many, with or without overlap. Each name is printed once, in the order
 * of the names; the result is compared with a linear search.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "read/print_state.h"

#define HANGS_S 100                  /* a limit for work that takes less than a second */
#define SOME 80

static uint64_t some(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	return *seed ^= *seed << 17;
}

/* A value: one of a few, any of 64 bits, or one at the limits. */
static uint64_t some_value(uint64_t *seed)
{
	static const uint64_t ends[] = { 0,
					 1,
					 INT64_MAX - 1,
					 INT64_MAX,
					 (uint64_t)INT64_MAX + 1,
					 (uint64_t)INT64_MAX + 2,
					 UINT64_MAX - 1,
					 UINT64_MAX };

	switch (some(seed) >> 7 & 3) {
	case 0: return ends[some(seed) >> 7 & 7];
	case 1: return some(seed);
	default: return (some(seed) >> 7 & 127) - 64;
	}
}

static bool fits(const struct wmk_type *type, const struct wmk_label *label, uint64_t value)
{
	return type->is_signed ? (int64_t)value >= label->from && (int64_t)value <= label->to :
				 value >= (uint64_t)label->from && value <= (uint64_t)label->to;
}

/* The expected result: the names in order of their first label, each if any label of that name matches. */
static void show_slowly(const struct wmk_type *type, uint64_t value, char *text)
{
	char *p = text;

	for (uint32_t i = 0; i < type->count; i++) {
		bool is_first = true, has = false;

		for (uint32_t j = 0; j < i && is_first; j++)
			is_first = strcmp(type->labels[j].name, type->labels[i].name) != 0;
		for (uint32_t j = i; j < type->count && !has; j++)
			has = !strcmp(type->labels[j].name, type->labels[i].name) &&
			      fits(type, &type->labels[j], value);
		if (is_first && has)
			p += sprintf(p, "%s\"%s\"", p == text ? "" : ", ", type->labels[i].name);
	}
	if (p == text)
		strcpy(text, "<unknown>");
}

/* The printed text in `out`, with a NUL. */
static const char *show(const struct wmk_print_labels *labels, uint64_t value, struct wmk_print_text *out)
{
	char *p = wmk_print_room(out, out->text, 1);

	assert_non_null(p);
	p = wmk_print_labels_put(labels, out, p, value);
	assert_non_null(p);
	p = wmk_print_room(out, p, 1);
	assert_non_null(p);
	*p = '\0';
	return out->text;
}

/* Random ranges in random order, also with the end before the begin; with shared names or without. */
static void label_search_equals_linear_search_for_random_ranges(void **state)
{
	uint64_t seed = 88172645463325252u;
	struct wmk_print_text out = { .max = SIZE_MAX };
	unsigned trees = 0;

	(void)state;
	for (unsigned round = 0; round < 1500; round++) {
		const unsigned n_names = 1 + (unsigned)(some(&seed) >> 7) % SOME,
			       wide = (unsigned)(some(&seed) >> 7) % 3;
		struct wmk_label labels[SOME];
		char names[SOME][8], wanted[SOME * 8 + 16];
		const struct wmk_type type = { .kind = WMK_TYPE_ENUM,
					       .width = 64,
					       .is_signed = round % 2,
					       .count = (uint32_t)(some(&seed) >> 7) % (SOME + 1),
					       .labels = labels };
		struct wmk_read_table table = { .n = 0 };
		const struct wmk_print_labels *made;

		for (uint32_t i = 0; i < SOME; i++) {
			snprintf(names[i], sizeof(names[i]), "n%u", (unsigned)(some(&seed) >> 7) % n_names);
			labels[i] = (struct wmk_label){ .name = names[i], .from = (int64_t)some_value(&seed) };
			labels[i].to = (int64_t)(wide && some(&seed) & 64
							 ? some_value(&seed)
							 : (uint64_t)labels[i].from + (some(&seed) >> 7 & wide));
		}
		assert_int_equal(wmk_print_labels_of(&table, &type, type.is_signed, false, &made), 0);
		trees += made->reach != NULL;
		for (unsigned i = 0; i < 50; i++) {
			const uint64_t value = some_value(&seed);

			show_slowly(&type, value, wanted);
			assert_string_equal(show(made, value, &out), wanted);
		}
		wmk_print_labels_free(&table);
	}
	assert_true(trees >= 200);
	wmk_print_text_free(&out);
}

enum way { NEXT, ONE_HAS_ALL, HALVES, ONE_NAME, WAYS };
enum { N = 300000 };

static void make_ranges(enum way way, struct wmk_label *labels, char (*names)[8])
{
	for (int64_t i = 0; i < N; i++)
		labels[i] = (struct wmk_label){ .name = names[way == ONE_NAME ? 0 : i],
						.from = way == ONE_NAME ? 0 : 2 * i,
						.to = 2 * i + (way == NEXT ? 2 : 0) };
	if (way == ONE_HAS_ALL)
		labels[N - 1] = (struct wmk_label){ .name = names[N - 1], .from = 0, .to = 4 * N };
	for (int64_t i = 0; i < N / 2 && way == HALVES; i++)
		labels[i].from = labels[i].to = N + i;
}

/* The expected text of an even value, or of an odd one that few labels have. */
static uint64_t some_shown(enum way way, unsigned i, char *wanted, size_t size)
{
	const unsigned value = 2 * i + (way == ONE_HAS_ALL || way == HALVES);

	if (way == NEXT)
		snprintf(wanted, size, "\"n%u\", \"n%u\"", i - 1, i);
	else if (way == HALVES && (value < N || value >= N + N / 2))
		snprintf(wanted, size, "<unknown>");
	else
		snprintf(wanted, size, "\"n%u\"", way == HALVES ? value - N : way == ONE_HAS_ALL ? N - 1 : 0);
	return value;
}

/*
 * 300,000 labels for half as many values: each overlaps the next one; one covers all values; half of them are beside
 * and within the others; all have the same name.
 */
static void label_search_is_fast_with_many_overlapping_labels(void **state)
{
	static struct wmk_label labels[N];
	static char names[N][8];
	const struct wmk_type type = { .kind = WMK_TYPE_ENUM, .width = 32, .count = N, .labels = labels };
	struct wmk_print_text out = { .max = SIZE_MAX };
	char wanted[32];

	(void)state;
	alarm(HANGS_S);
	for (uint32_t i = 0; i < N; i++)
		snprintf(names[i], sizeof(names[i]), "n%u", i % N);
	for (enum way way = NEXT; way < WAYS; way++) {
		struct wmk_read_table table = { .n = 0 };
		const struct wmk_print_labels *made;

		make_ranges(way, labels, names);
		assert_int_equal(wmk_print_labels_of(&table, &type, false, false, &made), 0);
		assert_int_equal(made->overlap, way != ONE_NAME);
		for (unsigned i = 1; i < N / 2; i++) {
			const uint64_t value = some_shown(way, i, wanted, sizeof(wanted));

			assert_string_equal(show(made, value, &out), wanted);
		}
		wmk_print_labels_free(&table);
	}
	alarm(0);
	wmk_print_text_free(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(label_search_equals_linear_search_for_random_ranges),
		cmocka_unit_test(label_search_is_fast_with_many_overlapping_labels),
	};

	return cmocka_run_group_tests_name("read-labels", tests, NULL, NULL);
}
