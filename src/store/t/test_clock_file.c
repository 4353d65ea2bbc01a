/* SPDX-License-Identifier: MIT */
/* test_clock_file.c - sync points in the file .clock are whole, in order, and of one clock, also after a crash. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "store/store.h"
#include "testdir.h"

#define UUID "01234567-89ab-cdef-0123-456789abcdef"
#define FILE_NAME "t/s/.clock"

static char dir[256];

static int setup(void **state)
{
	(void)state;
	testdir_make(dir);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	testdir_remove(dir);
	return 0;
}

static const char *in_dir(const char *name)
{
	static char path[300];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static struct wmk_clock_point at(uint64_t value)
{
	return (struct wmk_clock_point){ value, value + 1, value + 2, 3, WMK_CLOCK_POINT_STEP };
}

static int put(struct wmk_store *store, const char *uuid, uint64_t value)
{
	const struct wmk_clock_point point = at(value);
	struct wmk_clock_head head = { .kind = 2 };

	snprintf(head.uuid, sizeof(head.uuid), "%s", uuid);
	return wmk_store_clock_point(store, &head, &point);
}

/* Check that the file has exactly these points. */
static void check_points(const uint64_t *values, unsigned n)
{
	uint8_t bytes[WMK_CLOCK_FILE_HEAD + 8 * WMK_CLOCK_POINT_BYTES];
	struct wmk_clock_head head;
	int fd = open(in_dir(FILE_NAME), O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(read(fd, bytes, sizeof(bytes)), WMK_CLOCK_FILE_HEAD + n * WMK_CLOCK_POINT_BYTES);
	close(fd);
	assert_int_equal(wmk_clock_head_decode(bytes, WMK_CLOCK_FILE_HEAD, &head), 0);
	assert_string_equal(head.uuid, UUID);
	assert_int_equal(head.kind, 2);
	for (unsigned i = 0; i < n; i++) {
		const struct wmk_clock_point wanted = at(values[i]);
		struct wmk_clock_point point;

		wmk_clock_point_decode(bytes + WMK_CLOCK_FILE_HEAD + i * WMK_CLOCK_POINT_BYTES, &point);
		assert_memory_equal(&point, &wanted, sizeof(point));
	}
}

static void clock_points_are_appended_in_order(void **state)
{
	struct wmk_store *store;
	struct stat st;

	(void)state;
	assert_int_equal(wmk_store_create(in_dir("t"), "s", &store), 0);
	assert_int_equal(access(in_dir(FILE_NAME), F_OK), -1);
	for (uint64_t value = 10; value <= 30; value += 10)
		assert_int_equal(put(store, UUID, value), 0);
	assert_int_equal(put(store, UUID, 30), 0);
	assert_int_equal(put(store, UUID, 5), 0);
	check_points((const uint64_t[]){ 10, 20, 30 }, 3);
	assert_int_equal(wmk_store_bytes(store), WMK_CLOCK_FILE_HEAD + 3 * WMK_CLOCK_POINT_BYTES);
	assert_int_equal(stat(in_dir(FILE_NAME), &st), 0);
	assert_int_equal(st.st_mode, S_IFREG | 0600);
	wmk_store_close(store);
}

static void next_writer_appends_after_the_last_complete_clock_point(void **state)
{
	struct wmk_store *store;
	int fd;

	(void)state;
	assert_int_equal(wmk_store_create(in_dir("t"), "s", &store), 0);
	assert_int_equal(put(store, UUID, 10), 0);
	assert_int_equal(put(store, UUID, 20), 0);
	wmk_store_close(store);
	fd = open(in_dir(FILE_NAME), O_WRONLY | O_APPEND | O_CLOEXEC);
	assert_int_equal(write(fd, "torn", 4), 4);
	close(fd);
	assert_int_equal(wmk_store_open(in_dir("t"), "s", &store), 0);
	assert_int_equal(put(store, UUID, 20), 0);
	assert_int_equal(put(store, UUID, 40), 0);
	wmk_store_close(store);
	check_points((const uint64_t[]){ 10, 20, 40 }, 3);
}

static void clock_file_without_a_complete_point_is_started_again(void **state)
{
	struct wmk_store *store;

	(void)state;
	assert_int_equal(wmk_store_create(in_dir("t"), "s", &store), 0);
	assert_int_equal(put(store, UUID, 10), 0);
	wmk_store_close(store);
	assert_int_equal(truncate(in_dir(FILE_NAME), WMK_CLOCK_FILE_HEAD + 7), 0);
	assert_int_equal(wmk_store_open(in_dir("t"), "s", &store), 0);
	assert_int_equal(put(store, UUID, 40), 0);
	wmk_store_close(store);
	check_points((const uint64_t[]){ 40 }, 1);
}

static void point_of_another_clock_is_refused_in_a_clock_file(void **state)
{
	struct wmk_store *store;

	(void)state;
	assert_int_equal(wmk_store_create(in_dir("t"), "s", &store), 0);
	assert_int_equal(put(store, UUID, 10), 0);
	wmk_store_close(store);
	assert_int_equal(wmk_store_open(in_dir("t"), "s", &store), 0);
	assert_int_equal(put(store, "another", 40), -ESTALE);
	wmk_error_clear();
	wmk_store_close(store);
	check_points((const uint64_t[]){ 10 }, 1);
}

static int put_relay(struct wmk_store *store, const char *relay, uint64_t value)
{
	const struct wmk_clock_point point = at(value);
	struct wmk_clock_head head = { .uuid = UUID, .host = "web1" };

	snprintf(head.relay, sizeof(head.relay), "%s", relay);
	return wmk_store_clock_point(store, &head, &point);
}

static long relay_file_size(void)
{
	struct stat st;

	return stat(in_dir("t/s/.clock.relay"), &st) == 0 ? (long)st.st_size : -1;
}

static void clock_points_of_a_relay_are_stored_in_their_own_file(void **state)
{
	const long head_bytes = WMK_CLOCK_RELAY_HEAD, one = WMK_CLOCK_POINT_BYTES;
	uint8_t bytes[WMK_CLOCK_RELAY_HEAD];
	struct wmk_clock_head head;
	struct wmk_store *store;
	int fd;

	(void)state;
	assert_int_equal(wmk_store_create(in_dir("t"), "s", &store), 0);
	assert_int_equal(put(store, UUID, 30), 0);
	assert_int_equal(put_relay(store, "boot-1", 10), 0);
	assert_int_equal(put_relay(store, "boot-1", 20), 0);
	assert_int_equal(put_relay(store, "boot-1", 15), 0);
	wmk_store_close(store);
	check_points((const uint64_t[]){ 30 }, 1);
	assert_int_equal(relay_file_size(), head_bytes + 2 * one);
	assert_int_equal(wmk_store_open(in_dir("t"), "s", &store), 0);
	assert_int_equal(put_relay(store, "boot-1", 20), 0);
	assert_int_equal(put_relay(store, "boot-1", 40), 0);
	wmk_store_close(store);
	assert_int_equal(relay_file_size(), head_bytes + 3 * one);
	/* The relay's machine was restarted. */
	assert_int_equal(wmk_store_open(in_dir("t"), "s", &store), 0);
	assert_int_equal(put_relay(store, "boot-2", 5), 0);
	wmk_store_close(store);
	assert_int_equal(relay_file_size(), head_bytes + one);
	fd = open(in_dir("t/s/.clock.relay"), O_RDONLY | O_CLOEXEC);
	assert_int_equal(read(fd, bytes, sizeof(bytes)), sizeof(bytes));
	close(fd);
	assert_int_equal(wmk_clock_head_decode(bytes, sizeof(bytes), &head), 0);
	assert_string_equal(head.uuid, UUID);
	assert_string_equal(head.relay, "boot-2");
	assert_string_equal(head.host, "web1");
	assert_int_equal(wmk_clock_head_decode(bytes, WMK_CLOCK_FILE_HEAD, &head), -EPROTO);
}

static void discard_of_an_unused_trace_removes_its_clock_points(void **state)
{
	struct wmk_store *store;

	(void)state;
	assert_int_equal(wmk_store_create(in_dir("t"), "s", &store), 0);
	assert_int_equal(put(store, UUID, 10), 0);
	assert_int_equal(put_relay(store, "boot-1", 10), 0);
	wmk_store_discard(store);
	assert_int_equal(access(in_dir("t/s"), F_OK), -1);
}

static void clock_point_lies_between_readings_before_and_after_it(void **state)
{
	struct wmk_clocks clocks;
	struct wmk_clock_point point;

	(void)state;
	assert_int_equal(wmk_clocks_prepare(&clocks), 0);
	for (int i = 0; i < 1000; i++) {
		const uint64_t before = wmk_clock_monotonic() - (uint64_t)clocks.ahead;

		wmk_clock_point_take(&clocks, WMK_CLOCK_MONOTONIC, &point);
		const uint64_t after = wmk_clock_monotonic() - (uint64_t)clocks.ahead;

		assert_in_range(point.value, before, after);
		assert_in_range(point.monotonic_ns + point.uncertainty_ns, point.value,
				point.value + 2ull * point.uncertainty_ns);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(clock_points_are_appended_in_order, setup, teardown),
		cmocka_unit_test_setup_teardown(next_writer_appends_after_the_last_complete_clock_point, setup,
						teardown),
		cmocka_unit_test_setup_teardown(clock_file_without_a_complete_point_is_started_again, setup, teardown),
		cmocka_unit_test_setup_teardown(point_of_another_clock_is_refused_in_a_clock_file, setup, teardown),
		cmocka_unit_test_setup_teardown(clock_points_of_a_relay_are_stored_in_their_own_file, setup, teardown),
		cmocka_unit_test_setup_teardown(discard_of_an_unused_trace_removes_its_clock_points, setup, teardown),
		cmocka_unit_test(clock_point_lies_between_readings_before_and_after_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
