/* SPDX-License-Identifier: MIT */
/*
 * test_budget.c - the budget that all stores below one directory share: it counts exactly the bytes of the files,
 * whatever happens to them, and refuses exactly what exceeds it.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "store/store_state.h"
#include "store/store.h"
#include "testdir.h"

#define STREAMS 5u
#define SUBS 2u
#define STEPS 1500u

static const uint8_t uuid[16] = "0123456789abcdef";
static const char *const subs[SUBS] = { "ust/uid/1/64-bit", "ust/uid/2/64-bit" };

struct stage {
	char dir[256], trace[300];
	struct wmk_store_budget budget;
	struct wmk_store *stores[SUBS];
	struct wmk_store_stream *streams[SUBS][STREAMS];
	uint64_t sequences[SUBS][STREAMS];
	unsigned refused;
	uint32_t seed;
};

static void refused(void *data)
{
	__atomic_fetch_add(&((struct stage *)data)->refused, 1, __ATOMIC_RELAXED);
}

static void stage_open(struct stage *s, uint64_t max)
{
	memset(s, 0, sizeof(*s));
	testdir_make(s->dir);
	snprintf(s->trace, sizeof(s->trace), "%s/t", s->dir);
	s->budget = (struct wmk_store_budget){ .max = max, .full = refused, .data = s };
	pthread_mutex_init(&s->budget.lock, NULL);
	for (unsigned i = 0; i < SUBS; i++) {
		assert_int_equal((i ? wmk_store_add : wmk_store_create)(s->trace, subs[i], &s->stores[i]), 0);
		wmk_store_set_budget(s->stores[i], &s->budget, true);
	}
}

static void stage_close(struct stage *s)
{
	for (unsigned i = 0; i < SUBS; i++) {
		for (unsigned j = 0; j < STREAMS; j++)
			if (s->streams[i][j])
				wmk_store_stream_close(s->streams[i][j]);
		wmk_store_close(s->stores[i]);
	}
	testdir_remove(s->dir);
}

static void check_used(const struct stage *s, const char *after)
{
	uint64_t there;

	assert_int_equal(wmk_store_usage(s->trace, &there), 0);
	if (atomic_load(&s->budget.used) != there)
		fail_msg("after %s, %llu bytes are counted, but the files have %llu", after,
			 (unsigned long long)atomic_load(&s->budget.used), (unsigned long long)there);
}

static int append(struct wmk_store_stream *stream, uint64_t sequence, uint64_t content)
{
	static _Thread_local uint8_t bytes[65536];
	struct wmk_ctf_packet packet = { .content = content, .sequence = sequence };
	struct iovec iov;

	wmk_store_stream_prepare(stream, &packet);
	wmk_ctf_packet_encode(bytes, uuid, &packet);
	wmk_ctf_packet_end(bytes + WMK_CTF_PACKET_ROOM + content, &packet);
	iov = (struct iovec){ bytes, wmk_ctf_packet_size(&packet) };
	return wmk_store_stream_append(stream, &iov, 1, &packet);
}

/*
 * Exact to the byte: the last packet that fits is written, the next one is refused and changes no file, and a packet
 * that only reports counts is written anyway.
 */
static void packet_beyond_the_size_budget_is_refused(void **state)
{
	const uint64_t packet = wmk_ctf_packet_size(&(struct wmk_ctf_packet){ .content = 1000 }) + WMK_CTF_INDEX_ENTRY;
	struct wmk_store_stream *stream;
	struct stage s;
	char words[300];

	(void)state;
	stage_open(&s, WMK_CTF_INDEX_HEAD + 3 * packet);
	assert_int_equal(wmk_store_stream_create(s.stores[0], "app_0", NULL, &stream), 0);
	s.streams[0][0] = stream;
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(append(stream, i, 1000), 0);
	assert_int_equal(s.refused, 0);
	assert_int_equal(s.budget.used, s.budget.max);
	for (unsigned i = 1; i <= 3; i++) {
		assert_int_equal(append(stream, 3, 8), -EDQUOT);
		assert_int_equal(s.refused, i);
	}
	assert_non_null(strstr(wmk_error_text(words, sizeof(words)), "no space for"));
	check_used(&s, "a refusal");
	assert_int_equal(append(stream, 3, 0), 0);
	check_used(&s, "a packet of counts");
	/* The other store shares the budget, until it has another budget or none. */
	assert_int_equal(wmk_store_stream_create(s.stores[1], "app_0", NULL, &s.streams[1][0]), 0);
	assert_int_equal(append(s.streams[1][0], 0, 8), -EDQUOT);
	wmk_store_set_budget(s.stores[1], NULL, true);
	assert_int_equal(append(s.streams[1][0], 0, 8), 0);
	stage_close(&s);
}

/*
 * Removing the oldest file makes space for the next one: a budget for all files of a stream is never exceeded, and no
 * packet is refused.
 */
static void stream_file_rotation_stays_within_the_size_budget(void **state)
{
	const struct wmk_store_limits limits = { 5000, 3 };
	struct stage s;

	(void)state;
	stage_open(&s, 3 * 5000 + 3 * 16 + 15 * WMK_CTF_INDEX_ENTRY);
	assert_int_equal(wmk_store_stream_create(s.stores[0], "app_0", &limits, &s.streams[0][0]), 0);
	for (unsigned i = 0; i < 100; i++) {
		assert_int_equal(append(s.streams[0][0], i, 900), 0);
		assert_true(s.budget.used <= s.budget.max);
		check_used(&s, "a packet in rotation");
	}
	assert_int_equal(s.refused, 0);
	/*
	 * A budget below the size of all files: repeated refusals remove only the oldest file.
	 */
	s.budget.max = 9000;
	int err = 0;
	for (unsigned i = 100; i < 110 && err == 0; i++)
		err = append(s.streams[0][0], i, 900);
	assert_int_equal(err, -EDQUOT);
	const uint64_t left = s.budget.used;
	for (unsigned i = 0; i < 10; i++)
		assert_int_equal(append(s.streams[0][0], 110, 900), -EDQUOT);
	assert_int_equal(s.budget.used, left);
	check_used(&s, "refusals in rotation");
	stage_close(&s);
}

/* With a single file, its own bytes are space for its successor, and a refusal removes nothing. */
static void refused_packet_keeps_the_only_file_of_a_stream(void **state)
{
	const struct wmk_store_limits limits = { 5000, 1 };
	struct stage s;

	(void)state;
	stage_open(&s, 5000 + 16 + 5 * WMK_CTF_INDEX_ENTRY);
	assert_int_equal(wmk_store_stream_create(s.stores[0], "app_0", &limits, &s.streams[0][0]), 0);
	for (unsigned i = 0; i < 100; i++) {
		assert_int_equal(append(s.streams[0][0], i, 900), 0);
		assert_true(s.budget.used <= s.budget.max);
		check_used(&s, "a packet in rotation");
	}
	assert_int_equal(s.refused, 0);
	const uint64_t left = s.budget.used;
	s.budget.max = 900;
	assert_int_equal(append(s.streams[0][0], 100, 4500), -EDQUOT);
	assert_int_equal(s.budget.used, left);
	check_used(&s, "a refusal in rotation");
	stage_close(&s);
}

/* ── random order ────────────────────────────────────────────────────────────────────────────────────── */

static uint32_t any(struct stage *s, uint32_t below)
{
	s->seed = s->seed * 1664525u + 1013904223u;
	return (s->seed >> 8) % below;
}

/* Three of the five streams have files of limited size. */
static const struct wmk_store_limits *limits_of(unsigned j)
{
	static const struct wmk_store_limits limits[] = { { 3000, 3 }, { 2000, 0 }, { 2500, 1 } };

	return j < 2 ? NULL : &limits[j - 2];
}

/* Truncate a file of the stream anywhere, as a crash can. */
static void tear(struct stage *s, unsigned i, unsigned j)
{
	char path[600];
	struct stat st;

	if (limits_of(j))
		snprintf(path, sizeof(path), "%s/%s/app_%u_%u", s->trace, subs[i], j, any(s, 3));
	else
		snprintf(path, sizeof(path), "%s/%s/app_%u", s->trace, subs[i], j);
	if (stat(path, &st) < 0 || st.st_size == 0)
		return;
	const off_t len = (off_t)any(s, (uint32_t)st.st_size + 1);

	assert_int_equal(truncate(path, len), 0);
	atomic_fetch_sub(&s->budget.used, (uint64_t)(st.st_size - len));
}

static const char *step(struct stage *s, unsigned i, unsigned j)
{
	struct wmk_store_stream **stream = &s->streams[i][j];
	struct wmk_ctf_packet last;
	char name[20];
	int err;

	snprintf(name, sizeof(name), "app_%u", j);
	switch (*stream ? any(s, 12) : 12 + any(s, 5)) {
	case 0:
		wmk_store_stream_close(*stream);
		*stream = NULL;
		return "a close";
	case 1:
		assert_int_equal(wmk_store_metadata(s->stores[i], "/* more */\n", 11), 0);
		return "a declaration";
	case 2:
		err = wmk_store_metadata_replace(s->stores[i], "/* anew */\n", 11);
		assert_int_equal(err, 0);
		return "a replacement of metadata";
	case 12:
		assert_int_equal(wmk_store_stream_remove(s->stores[i], name, limits_of(j)), 0);
		return "a removal";
	case 13:
		tear(s, i, j);
		return "a tear";
	default:
		if (*stream)
			break;
		err = wmk_store_stream_open(s->stores[i], name, limits_of(j), uuid, stream, &last);
		if (err == -ENOENT)
			err = wmk_store_stream_create(s->stores[i], name, limits_of(j), stream);
		/* (Of several files, one that is torn in its middle looks like another stream's.) */
		assert_true(err >= 0);
		s->sequences[i][j]++;
		return "an opening";
	}
	err = append(*stream, s->sequences[i][j]++, any(s, 20) ? any(s, 1500) : any(s, 60000));
	assert_true(err == 0 || err == -EDQUOT);
	return err ? "a refusal" : "a packet";
}

static void budget_count_equals_file_sizes_after_random_operations(void **state)
{
	const char *seed = getenv("WMK_SEED");
	const uint32_t begin = seed ? (uint32_t)strtoul(seed, NULL, 10) : (uint32_t)getpid();
	struct stage s;

	(void)state;
	print_message("seed %u\n", begin);
	stage_open(&s, 150000);
	s.seed = begin;
	for (unsigned n = 0; n < STEPS; n++) {
		const unsigned i = any(&s, SUBS), j = any(&s, STREAMS);

		check_used(&s, step(&s, i, j));
		/* packets of counts and index heads may exceed the budget */
		assert_true(s.budget.used <= s.budget.max + STEPS * 200);
	}
	assert_true(s.refused > 0);
	stage_close(&s);
}

/* ── concurrent writers ──────────────────────────────────────────────────────────────────────────────── */

struct writer {
	struct stage *s;
	unsigned i;
	atomic_uint *left;               /* writers that still run */
};

/* Write until the budget is spent, with a packet for the rotating stream after every fourth one. */
static void *write_on(void *arg)
{
	struct writer *writer = arg;
	struct wmk_store_stream **stream = writer->s->streams[writer->i];

	for (unsigned n = 0; n < 20000 && append(stream[0], n, 700) == 0; n++)
		if (n % 4 == 0)
			append(stream[2], n, 700);
	atomic_fetch_sub(writer->left, 1);
	return NULL;
}

/*
 * Concurrent writers with rotation and measurements: the files never exceed the budget, and the count is never below
 * their size.
 */
static void test_concurrent_writers_stay_below_the_budget(void **state)
{
	const struct wmk_store_limits *rotating = limits_of(2);
	struct writer writers[SUBS];
	pthread_t threads[SUBS];
	struct stage s;
	uint64_t there;

	(void)state;
	for (unsigned turn = 0; turn < 20; turn++) {
		stage_open(&s, 0);
		for (unsigned i = 0; i < SUBS; i++) {
			assert_int_equal(wmk_store_stream_create(s.stores[i], "app_0", NULL, &s.streams[i][0]), 0);
			assert_int_equal(wmk_store_stream_create(s.stores[i], "app_2", rotating, &s.streams[i][2]), 0);
		}
		s.budget.max = s.budget.used + 300000;
		atomic_uint left = SUBS;
		/* index heads of the rotating files are not limited */
		const uint64_t heads = SUBS * 3 * WMK_CTF_INDEX_HEAD;

		for (unsigned i = 0; i < SUBS; i++) {
			writers[i] = (struct writer){ .s = &s, .i = i, .left = &left };
			assert_int_equal(pthread_create(&threads[i], NULL, write_on, &writers[i]), 0);
		}
		do
			assert_int_equal(wmk_store_measure(&s.budget, s.trace), 0);
		while (atomic_load(&left));
		for (unsigned i = 0; i < SUBS; i++)
			pthread_join(threads[i], NULL);
		assert_true(s.refused > 0);
		assert_int_equal(wmk_store_usage(s.trace, &there), 0);
		assert_true(there <= s.budget.max + heads);
		assert_true(there <= s.budget.used);
		assert_int_equal(wmk_store_measure(&s.budget, s.trace), 0);
		check_used(&s, "a measurement while nothing writes");
		stage_close(&s);
	}
}

/* Links are not followed, and the error names the directory that is missing. */
static void measuring_the_trace_size_does_not_follow_links(void **state)
{
	char path[600], words[300];
	struct stage s;
	uint64_t bytes;

	(void)state;
	stage_open(&s, 1000);
	snprintf(path, sizeof(path), "%s/to-root", s.trace);
	assert_int_equal(symlink("/", path), 0);
	check_used(&s, "a link");
	assert_int_equal(wmk_store_usage(path, &bytes), -ENOTDIR);
	snprintf(path, sizeof(path), "%s/nothing", s.trace);
	assert_int_equal(wmk_store_usage(path, &bytes), -ENOENT);
	assert_non_null(strstr(wmk_error_text(words, sizeof(words)), "nothing"));
	stage_close(&s);
}

/* Metadata and streams both count, and metadata is never refused. */
static void metadata_counts_in_the_size_budget_and_is_never_refused(void **state)
{
	char dir[256], trace[300], text[1000];
	struct wmk_store_budget budget = { .max = 4000 };
	struct wmk_store *store;
	uint64_t there;

	(void)state;
	testdir_make(dir);
	snprintf(trace, sizeof(trace), "%s/t", dir);
	pthread_mutex_init(&budget.lock, NULL);
	memset(text, ' ', sizeof(text));
	assert_int_equal(wmk_store_create(trace, subs[0], &store), 0);
	assert_int_equal(wmk_store_metadata(store, text, sizeof(text)), 0);
	assert_int_equal(wmk_store_measure(&budget, trace), 0);
	wmk_store_set_budget(store, &budget, true);
	for (unsigned i = 1; i <= 5; i++) {
		const int expected = i * sizeof(text) + 500 <= budget.max ? 0 : -EDQUOT;

		assert_int_equal(wmk_store_budget_reserve(store, 500, 0), expected);
		if (expected == 0)
			wmk_store_budget_release(store, 500);
		assert_int_equal(wmk_store_usage(trace, &there), 0);
		assert_int_equal(atomic_load(&budget.used), there);
		assert_int_equal(wmk_store_metadata(store, text, sizeof(text)), 0);
	}
	wmk_store_close(store);
	pthread_mutex_destroy(&budget.lock);
	testdir_remove(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packet_beyond_the_size_budget_is_refused),
		cmocka_unit_test(stream_file_rotation_stays_within_the_size_budget),
		cmocka_unit_test(refused_packet_keeps_the_only_file_of_a_stream),
		cmocka_unit_test(budget_count_equals_file_sizes_after_random_operations),
		cmocka_unit_test(test_concurrent_writers_stay_below_the_budget),
		cmocka_unit_test(measuring_the_trace_size_does_not_follow_links),
		cmocka_unit_test(metadata_counts_in_the_size_budget_and_is_never_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
