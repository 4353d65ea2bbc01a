/* SPDX-License-Identifier: MIT */
/*
 * test_budget_page.c - a budget that two processes share: exact while both write, after a crash of one of them, and
 * with any content of the page.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "store/store_state.h"
#include "store/store.h"
#include "testdir.h"

static const uint8_t uuid[16] = "0123456789abcdef";
static const char *const side_subs[WMK_STORE_SIDES] = { "ust/uid/1/64-bit", WMK_STORE_SIDE_1 };

/* One process of a session: its side of the page, and a stream. */
struct side {
	struct wmk_store_budget budget;
	struct wmk_store *store;
	struct wmk_store_stream *stream;
	unsigned refused;
};

static void side_refused(void *data)
{
	((struct side *)data)->refused++;
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

static void side_open(struct side *side, int fd, unsigned number, const char *trace, uint64_t max)
{
	struct wmk_ctf_packet last;

	memset(side, 0, sizeof(*side));
	side->budget = (struct wmk_store_budget){ .max = max, .side = number, .full = side_refused, .data = side };
	pthread_mutex_init(&side->budget.lock, NULL);
	assert_int_equal(wmk_store_budget_page_map(fd, &side->budget.page), 0);
	if (wmk_store_open(trace, side_subs[number], &side->store) < 0)
		assert_int_equal((number ? wmk_store_add : wmk_store_create)(trace, side_subs[number], &side->store),
				 0);
	assert_int_equal(wmk_store_measure(&side->budget, trace), 0);
	wmk_store_set_budget(side->store, &side->budget, true);
	if (wmk_store_stream_open(side->store, "app_0", NULL, uuid, &side->stream, &last) == -ENOENT)
		assert_int_equal(wmk_store_stream_create(side->store, "app_0", NULL, &side->stream), 0);
}

static void side_close(struct side *side)
{
	wmk_store_stream_close(side->stream);
	wmk_store_close(side->store);
	wmk_store_budget_page_unmap(side->budget.page);
	pthread_mutex_destroy(&side->budget.lock);
}

/* Two processes that write in turn share one budget, exact to the byte. */
static void two_processes_share_one_size_budget(void **state)
{
	const uint64_t packet = wmk_ctf_packet_size(&(struct wmk_ctf_packet){ .content = 1000 }) + WMK_CTF_INDEX_ENTRY,
		       max = 2 * WMK_CTF_INDEX_HEAD + 10 * packet;
	struct side sides[WMK_STORE_SIDES];
	char dir[256], trace[300];
	uint64_t there;

	(void)state;
	testdir_make(dir);
	snprintf(trace, sizeof(trace), "%s/t", dir);
	int fd = wmk_store_budget_page_make();
	assert_true(fd >= 0);
	for (unsigned i = 0; i < WMK_STORE_SIDES; i++)
		side_open(&sides[i], fd, i, trace, max);
	for (unsigned n = 0; n < 10; n++)
		assert_int_equal(append(sides[n % 3 == 0].stream, n, 1000), 0);
	for (unsigned i = 0; i < WMK_STORE_SIDES; i++) {
		assert_int_equal(append(sides[i].stream, 10, 1), -EDQUOT);
		assert_int_equal(sides[i].refused, 1);
	}
	assert_int_equal(wmk_store_usage(trace, &there), 0);
	assert_int_equal(there, max);
	/* after one side is cleared, the other can use its bytes */
	wmk_store_stream_close(sides[1].stream);
	assert_int_equal(wmk_store_stream_remove(sides[1].store, "app_0", NULL), 0);
	for (unsigned n = 0; n < 4; n++)
		assert_int_equal(append(sides[0].stream, 10 + n, 1000), 0);
	assert_int_equal(append(sides[0].stream, 14, 1000), -EDQUOT);
	assert_int_equal(wmk_store_stream_create(sides[1].store, "app_0", NULL, &sides[1].stream), 0);
	assert_int_equal(wmk_store_usage(trace, &there), 0);
	assert_int_equal(there, max);
	for (unsigned i = 0; i < WMK_STORE_SIDES; i++)
		side_close(&sides[i]);
	close(fd);
	testdir_remove(dir);
}

/*
 * After a crash, the reservations of a process stay until the next process of its side measures. On a new page, the
 * first process measures both sides.
 */
static void restarted_process_frees_budget_reserved_before_its_crash(void **state)
{
	const uint64_t max = 20000;
	struct side sides[WMK_STORE_SIDES];
	char dir[256], trace[300];
	uint64_t there;

	(void)state;
	testdir_make(dir);
	snprintf(trace, sizeof(trace), "%s/t", dir);
	for (unsigned page = 0; page < 2; page++) {
		int fd = wmk_store_budget_page_make();

		assert_true(fd >= 0);
		side_open(&sides[0], fd, 0, trace, max);
		if (page) {
			assert_int_equal(wmk_store_usage(trace, &there), 0);
			assert_int_equal(append(sides[0].stream, 4, max - there), -EDQUOT);
		}
		side_open(&sides[1], fd, 1, trace, max);
		for (unsigned i = 0; i < WMK_STORE_SIDES; i++)
			assert_int_equal(append(sides[i].stream, page, 3000), 0);
		assert_int_equal(wmk_store_usage(trace, &there), 0);
		assert_int_equal(wmk_store_budget_reserve(sides[1].store, max - there, 0), 0);
		assert_int_equal(append(sides[0].stream, page + 1, 1), -EDQUOT);
		side_close(&sides[1]);           /* with the reservation */
		assert_int_equal(append(sides[0].stream, page + 1, 1), -EDQUOT);
		side_open(&sides[1], fd, 1, trace, max);
		assert_int_equal(append(sides[0].stream, page + 1, 1), 0);
		for (unsigned i = 0; i < WMK_STORE_SIDES; i++)
			side_close(&sides[i]);
		close(fd);
	}
	testdir_remove(dir);
}

/*
 * Whatever the other process writes to the page: nothing overflows, and one side never exceeds the whole budget.
 */
static void corrupt_count_in_the_shared_budget_causes_no_overflow(void **state)
{
	static const uint64_t counts[] = { 0, 1, 2, 20000, 20001, 20002, 1ull << 63, UINT64_MAX - 1, UINT64_MAX };
	const uint64_t max = 20000;
	char dir[256], trace[300];
	struct side side;
	uint64_t there, sequence = 0;

	(void)state;
	testdir_make(dir);
	snprintf(trace, sizeof(trace), "%s/t", dir);
	int fd = wmk_store_budget_page_make();
	assert_true(fd >= 0);
	side_open(&side, fd, 0, trace, max);
	for (unsigned i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		const uint64_t other = counts[i] ? counts[i] - 1 : 0;

		atomic_store(&side.budget.page->counts[1], counts[i]);
		/* the other process can overwrite this side's count as well */
		atomic_store(&side.budget.page->counts[0], counts[i]);
		assert_int_equal(wmk_store_usage(trace, &there), 0);
		const bool has_room = other < max && there + 1000 <= max - other;

		assert_int_equal(append(side.stream, sequence, 500), has_room ? 0 : -EDQUOT);
		sequence += has_room;
	}
	atomic_store(&side.budget.page->counts[1], 0);
	while (append(side.stream, sequence, 500) == 0)
		sequence++;
	assert_int_equal(wmk_store_usage(trace, &there), 0);
	assert_true(there <= max && there > max - 1000);
	side_close(&side);
	close(fd);
	testdir_remove(dir);
}

static void *write_side(void *arg)
{
	struct side *side = arg;

	for (unsigned n = 0; n < 20000 && append(side->stream, n, 700) == 0; n++)
		;
	return NULL;
}

static void concurrent_processes_stay_within_a_shared_size_budget(void **state)
{
	const uint64_t max = 200000;
	struct side sides[WMK_STORE_SIDES];
	pthread_t threads[WMK_STORE_SIDES];
	char dir[256], trace[300];
	uint64_t there;

	(void)state;
	for (unsigned turn = 0; turn < 20; turn++) {
		testdir_make(dir);
		snprintf(trace, sizeof(trace), "%s/t", dir);
		int fd = wmk_store_budget_page_make();

		assert_true(fd >= 0);
		for (unsigned i = 0; i < WMK_STORE_SIDES; i++)
			side_open(&sides[i], fd, i, trace, max);
		for (unsigned i = 0; i < WMK_STORE_SIDES; i++)
			assert_int_equal(pthread_create(&threads[i], NULL, write_side, &sides[i]), 0);
		for (unsigned i = 0; i < WMK_STORE_SIDES; i++)
			pthread_join(threads[i], NULL);
		assert_int_equal(wmk_store_usage(trace, &there), 0);
		/* (each of them may be refused the last packet because of the other one's reservation) */
		assert_true(there <= max && there > max - 4 * 1000);
		for (unsigned i = 0; i < WMK_STORE_SIDES; i++)
			side_close(&sides[i]);
		close(fd);
		testdir_remove(dir);
	}
}

/* A descriptor of unknown origin is no budget page unless it is a sealed memfd of its size. */
static void invalid_descriptor_of_a_shared_budget_is_refused(void **state)
{
	struct wmk_store_budget_page *page = NULL;
	int pipes[2], plain = memfd_create("plain", MFD_CLOEXEC | MFD_ALLOW_SEALING),
		      small = memfd_create("small", MFD_CLOEXEC | MFD_ALLOW_SEALING),
		      null = open("/dev/null", O_RDWR | O_CLOEXEC);

	(void)state;
	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	assert_int_equal(ftruncate(plain, 4096), 0);
	assert_int_equal(fcntl(small, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW), 0);
	const int fds[] = { -1, pipes[0], plain, small, null };

	for (unsigned i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
		assert_int_equal(wmk_store_budget_page_map(fds[i], &page), -EINVAL);
		assert_null(page);
	}
	for (unsigned i = 1; i < sizeof(fds) / sizeof(fds[0]); i++)
		close(fds[i]);
	close(pipes[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_processes_share_one_size_budget),
		cmocka_unit_test(restarted_process_frees_budget_reserved_before_its_crash),
		cmocka_unit_test(corrupt_count_in_the_shared_budget_causes_no_overflow),
		cmocka_unit_test(concurrent_processes_stay_within_a_shared_size_budget),
		cmocka_unit_test(invalid_descriptor_of_a_shared_budget_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
