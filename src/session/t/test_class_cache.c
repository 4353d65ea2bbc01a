/* SPDX-License-Identifier: MIT */
/*
 * test_class_cache.c - classes by their encoding: equal encodings give one class, different ones are distinguished, in
 * any order of registration.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/error.h"
#include "session/apps/app.h"
#include "session/model/class_table.h"

#define CLASSES 300u
#define LINES 3u                     /* sites of each class: different encodings of the same class */
#define LEVELS 2u                    /* separate classes, which are kin */
#define THREADS 4u
#define ENCODED 512u

static struct wmk_tracing *tracing;
static uint8_t bytes[CLASSES][LEVELS][LINES][ENCODED];
static size_t lens[CLASSES][LEVELS][LINES];

static int begin(void **state)
{
	static const struct wmk_consumer_port_ops none;
	static const struct wmk_clocks clocks = {
		.of[WMK_CLOCK_MONOTONIC] = { .kind = WMK_CLOCK_MONOTONIC, .freq = 1000000000, .name = "monotonic" }
	};
	const struct wmk_tracing_options options = { .size = sizeof(options), .consumer = &none, .clocks = &clocks };

	(void)state;
	wmk_tracing_thread_begin();
	for (unsigned c = 0; c < CLASSES; c++)
		for (unsigned l = 0; l < LEVELS * LINES; l++) {
			char name[32];
			struct wmk_event_class event = { .provider = "shop",
							 .name = name,
							 .file = "a.c",
							 .line = 10 + l % LINES,
							 .kind = 1,
							 .level = (uint8_t)(6 + l / LINES) };

			snprintf(name, sizeof(name), "paid_%u", c);
			long len = wmk_event_encode(&event, bytes[c][l / LINES][l % LINES], ENCODED, NULL);

			assert_in_range(len, 1, ENCODED);
			lens[c][l / LINES][l % LINES] = (size_t)len;
		}
	return wmk_tracing_open(&options, &tracing);
}

static int end(void **state)
{
	(void)state;
	wmk_tracing_close(tracing);
	wmk_tracing_thread_end();
	return 0;
}

static struct class *class_of(unsigned c, unsigned level, unsigned line)
{
	struct class *class;

	return wmk_class_lookup(tracing, bytes[c][level][line], lens[c][level][line], 0, &class) == 0 ? class : NULL;
}

/* Looks up all encodings in an order of its own; the results are compared at the end. */
struct worker {
	pthread_t thread;
	unsigned seed;
	struct class *found[CLASSES][LEVELS][LINES];
};

static void *work(void *data)
{
	struct worker *w = data;
	unsigned n = CLASSES * LEVELS * LINES, at = w->seed * 7919u % n;

	wmk_tracing_thread_begin();
	for (unsigned i = 0; i < 2 * n; i++, at = (at + 2 * w->seed + 1) % n)
		w->found[at / LINES / LEVELS][at / LINES % LEVELS][at % LINES] =
			class_of(at / LINES / LEVELS, at / LINES % LEVELS, at % LINES);
	wmk_tracing_thread_end();
	return NULL;
}

static void test_threads_share_class_encodings(void **state)
{
	static struct worker workers[THREADS];

	(void)state;
	for (unsigned i = 0; i < THREADS; i++) {
		workers[i].seed = i;
		assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
	}
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(workers[i].thread, NULL);
	for (unsigned c = 0; c < CLASSES; c++)
		for (unsigned l = 0; l < LEVELS; l++) {
			struct class *class = class_of(c, l, 0);

			assert_non_null(class);
			assert_int_equal(class->event->level, 6 + l);
			assert_ptr_not_equal(class, class_of(c, 1 - l, 0));
			assert_int_equal(class->kin, class_of(c, 1 - l, 0)->kin);
			for (unsigned i = 0; i < THREADS; i++)
				for (unsigned line = 0; line < LINES; line++)
					if (workers[i].found[c][l][line])        /* an order may omit some */
						assert_ptr_equal(workers[i].found[c][l][line], class);
		}
	assert_ptr_not_equal(class_of(0, 0, 0), class_of(1, 0, 0));
}

/* An invalid encoding is rejected each time, and a prefix of a known encoding is not taken for it. */
static void invalid_class_encodings_are_refused_each_time(void **state)
{
	struct class *class, *known = class_of(5, 0, 0);
	uint8_t lie[ENCODED + 1];

	(void)state;
	assert_non_null(known);
	for (unsigned turn = 0; turn < 2; turn++) {
		for (size_t len = 0; len < lens[5][0][0]; len++) {
			assert_true(wmk_class_lookup(tracing, bytes[5][0][0], len, 0, &class) < 0);
			assert_null(class);
			wmk_error_clear();
		}
		memcpy(lie, bytes[5][0][0], lens[5][0][0]);
		lie[lens[5][0][0]] = 0;
		assert_true(wmk_class_lookup(tracing, lie, lens[5][0][0] + 1, 0, &class) < 0);
		wmk_error_clear();
	}
	assert_int_equal(wmk_class_lookup(tracing, lie, lens[5][0][0], 0, &class), 0);
	assert_ptr_equal(class, known);
}

/* Look up without the class table: only a cached encoding gives a class. */
static struct class *remembered(const uint8_t *encoded, size_t len)
{
	struct cds_lfht *classes = tracing->classes;
	const uint32_t n = tracing->n_classes;
	struct class *class;

	tracing->classes = cds_lfht_new_flavor(1, 1, 1, 0, &urcu_memb_flavor, NULL);
	assert_non_null(tracing->classes);
	tracing->n_classes = CLASSES_MAX;                /* no class can be added */
	int err = wmk_class_lookup(tracing, encoded, len, 0, &class);

	wmk_error_clear();
	cds_lfht_destroy(tracing->classes, NULL);
	tracing->classes = classes;
	tracing->n_classes = n;
	return err == 0 ? class : NULL;
}

static void known_class_encodings_are_found_without_decoding(void **state)
{
	struct wmk_event_class event = { .provider = "shop", .name = "many", .file = "a.c", .kind = 1, .level = 6 };
	struct class *class = NULL;
	unsigned found = 0;
	uint8_t one[ENCODED];

	(void)state;
	for (unsigned turn = 0; turn < 2; turn++)
		for (event.line = 1; event.line < 100; event.line++) {
			long len = wmk_event_encode(&event, one, sizeof(one), NULL);
			struct class *is;

			assert_true(len > 0);
			if (turn == 0)
				assert_int_equal(wmk_class_lookup(tracing, one, (size_t)len, 0, &is), 0);
			else if ((is = remembered(one, (size_t)len)) != NULL)
				found++;
			class = class ? class : is;
			if (is)
				assert_ptr_equal(is, class);
		}
	assert_int_equal(found, 8);
	assert_ptr_equal(remembered(bytes[7][0][0], lens[7][0][0]), class_of(7, 0, 0));
}

/* Above the limit, encodings are not cached; each is decoded to the same class. */
static void class_encodings_beyond_the_limit_are_decoded_each_time(void **state)
{
	const uint64_t before = tracing->encoding_bytes;
	struct wmk_event_class event = { .provider = "shop", .name = "late", .kind = 1, .level = 6 };
	struct class *class, *again;
	uint8_t late[ENCODED];
	long len = wmk_event_encode(&event, late, sizeof(late), NULL);

	(void)state;
	assert_true(len > 0);
	assert_true(before > 0);
	tracing->encoding_bytes = 1u << 30;
	assert_int_equal(wmk_class_lookup(tracing, late, (size_t)len, 0, &class), 0);
	assert_int_equal(wmk_class_lookup(tracing, late, (size_t)len, 0, &again), 0);
	assert_ptr_equal(class, again);
	assert_true(tracing->encoding_bytes == 1u << 30);
	tracing->encoding_bytes = before;
	assert_int_equal(wmk_class_lookup(tracing, late, (size_t)len, 0, &again), 0);
	assert_ptr_equal(class, again);
	assert_true(tracing->encoding_bytes > before);
}

static int brings(uid_t uid, unsigned first, unsigned n)
{
	struct wmk_event_class event = { .provider = "much", .kind = 1, .level = 6 };
	struct class *class;
	char name[32];
	uint8_t one[ENCODED];
	int err = 0;

	for (unsigned i = first; i < first + n && err == 0; i++) {
		snprintf(name, sizeof(name), "%u", i);
		event.name = name;
		long len = wmk_event_encode(&event, one, sizeof(one), NULL);

		assert_true(len > 0);
		err = wmk_class_lookup(tracing, one, (size_t)len, uid, &class);
		wmk_error_clear();
	}
	return err;
}

/* Classes are never freed, so each user has a quota of them. Known classes are not charged. */
static void new_classes_above_quota_of_a_user_are_refused(void **state)
{
	(void)state;
	assert_int_equal(brings(12345, 0, 65536), 0);
	assert_int_equal(brings(12345, 65536, 1), -EDQUOT);
	assert_int_equal(brings(12345, 0, 100), 0);
	assert_int_equal(brings(12346, 0, 65536), 0);
	assert_int_equal(brings(12346, 65536, 1), 0);
	assert_int_equal(brings(12345, 65536, 1), 0);
	assert_int_equal(brings(0, 65537, 1000), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_threads_share_class_encodings),
					    cmocka_unit_test(invalid_class_encodings_are_refused_each_time),
					    cmocka_unit_test(known_class_encodings_are_found_without_decoding),
					    cmocka_unit_test(class_encodings_beyond_the_limit_are_decoded_each_time),
					    cmocka_unit_test(new_classes_above_quota_of_a_user_are_refused) };

	return cmocka_run_group_tests(tests, begin, end);
}
