/* SPDX-License-Identifier: MIT */
/* test_request.c - requests for snapshots in the header of a ring set. */
#include <errno.h>
#include <pthread.h>

#include "ring/request.h"
#include "ring_test.h"

static const struct waymark_ring_options overwrite = { .mode = WAYMARK_RING_OVERWRITE, .subbuf_size = 4096,
						       .n_subbufs = 4 };

static void snapshot_request_is_taken_once_and_later_ones_are_counted(void **state)
{
	struct wmk_ring_request request;
	uint64_t refused;
	struct pair p;

	(void)state;
	pair_open(&p, overwrite);
	waymark_ring_set_identity(p.writer, 3, 7);
	assert_int_equal(wmk_ring_request_take(p.reader, &request, &refused), 0);
	assert_true(refused == 0);
	assert_int_equal(wmk_ring_request(p.writer, 11, "slow"), 0);
	assert_int_equal(wmk_ring_request(p.writer, 12, "late"), -EAGAIN);
	assert_true(wmk_ring_requested(p.reader) == 11);
	assert_int_equal(wmk_ring_request_take(p.reader, &request, &refused), 1);
	assert_true(request.id == 11 && request.slot == 3 && request.generation == 7 && refused == 1);
	assert_string_equal(request.reason, "slow");
	assert_int_equal(wmk_ring_request_take(p.reader, &request, &refused), 0);
	assert_true(refused == 0 && wmk_ring_requested(p.reader) == 0);
	pair_close(&p);
}

static void long_or_corrupt_snapshot_reason_is_truncated(void **state)
{
	struct wmk_ring_request request;
	char text[300] = "";
	uint64_t refused;
	struct pair p;

	(void)state;
	pair_open(&p, overwrite);
	memset(text, 'x', sizeof(text) - 1);
	assert_int_equal(wmk_ring_request(p.writer, 1, text), 0);
	assert_int_equal(wmk_ring_request_take(p.reader, &request, &refused), 1);
	assert_true(strlen(request.reason) == WMK_RING_REASON_MAX && request.slot == 0 && request.generation == 0);
	assert_int_equal(wmk_ring_request(p.writer, 2, NULL), 0);
	assert_int_equal(wmk_ring_request_take(p.reader, &request, &refused), 1);
	assert_string_equal(request.reason, "");
	memset(&p.reader->header->request, 0xff, sizeof(p.reader->header->request));
	assert_int_equal(wmk_ring_request_take(p.reader, &request, &refused), 1);
	assert_true(strlen(request.reason) == WMK_RING_REASON_MAX);
	assert_int_equal(wmk_ring_request(p.writer, 3, "again"), 0);
	pair_close(&p);
}

static void incomplete_snapshot_request_of_an_ended_writer_is_dropped(void **state)
{
	const uint64_t *owner;
	struct pair p;

	(void)state;
	pair_open(&p, overwrite);
	owner = &p.reader->header->request.owner;
	p.reader->header->request.owner = wmk_ring_identity(3, 7);
	wmk_ring_request_abandon(p.reader, 3, 8);                /* another writer */
	assert_int_equal(wmk_ring_request(p.writer, 1, "x"), -EAGAIN);
	wmk_ring_request_abandon(p.reader, 3, 7);
	assert_true(*owner == 0);
	p.reader->header->request.owner = WMK_CLAIM_ANONYMOUS;
	wmk_ring_request_abandon(p.reader, 3, 7);
	assert_true(*owner == 0);
	waymark_ring_set_identity(p.writer, 3, 7);
	assert_int_equal(wmk_ring_request(p.writer, 1, "x"), 0);
	wmk_ring_request_abandon(p.reader, 3, 7);                /* the request is complete */
	assert_true(wmk_ring_requested(p.reader) == 1);
	pair_close(&p);
}

static void *request_later(void *set)
{
	struct waymark_ring_set *writer = set;

	while (!__atomic_load_n(&writer->header->waiting, __ATOMIC_RELAXED))
		sched_yield();
	assert_int_equal(wmk_ring_request(writer, 5, "x"), 0);
	return NULL;
}

static void snapshot_request_wakes_a_sleeping_reader(void **state)
{
	pthread_t thread;
	struct pair p;

	(void)state;
	pair_open(&p, overwrite);
	waymark_ring_set_wait(p.reader, 0);
	assert_int_equal(pthread_create(&thread, NULL, request_later, p.writer), 0);
	assert_int_equal(waymark_ring_set_wait(p.reader, 100000000), 1);
	pthread_join(thread, NULL);
	assert_int_equal(waymark_ring_set_wait(p.reader, 0), 0); /* once */
	/* a writer that was killed between the request and the wake */
	__atomic_store_n(&p.reader->header->waiting, 1, __ATOMIC_RELAXED);
	wmk_ring_set_wake_for(p.reader);
	assert_int_equal(p.reader->header->waiting, 0);
	pair_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(snapshot_request_is_taken_once_and_later_ones_are_counted),
		cmocka_unit_test(long_or_corrupt_snapshot_reason_is_truncated),
		cmocka_unit_test(incomplete_snapshot_request_of_an_ended_writer_is_dropped),
		cmocka_unit_test(snapshot_request_wakes_a_sleeping_reader),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
