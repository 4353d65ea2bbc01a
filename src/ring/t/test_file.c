/* SPDX-License-Identifier: MIT */
/*
 * test_file.c - ring sets in named files: they outlive all processes, only processes of their user map them, and a
 * reader survives the truncation of a file.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ring/file.h"
#include "ring_test.h"

static char path[] = "/tmp/waymark-ring-XXXXXX";

static int file_make(void)
{
	strcpy(path + sizeof(path) - 7, "XXXXXX");
	int fd = mkostemp(path, O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static int file_remove(void **state)
{
	(void)state;
	unlink(path);
	return 0;
}

static const struct waymark_ring_options shape = {
	.size = sizeof(shape), .subbuf_size = 4096, .n_subbufs = 4, .header_room = 96, .prefault = 1 << 20
};

/* Make a pair of mappings as of sealed memory, but of a file. */
static void file_pair(struct pair *p)
{
	assert_int_equal(wmk_ring_set_create_in(&shape, file_make(), &p->reader), 0);
	assert_int_equal(wmk_ring_set_open_any(waymark_ring_set_fd(p->reader), &p->writer), 0);
	p->n_rings = waymark_ring_set_rings(p->reader);
	for (uint32_t i = 0; i < p->n_rings; i++)
		assert_int_equal(waymark_ring_reader_open(p->reader, i, &p->readers[i]), 0);
}

static uint64_t take_all(struct pair *p, uint64_t *next, int *err)
{
	struct waymark_ring_packet packet;
	uint64_t n = 0;

	*err = 0;
	for (uint32_t i = 0; i < p->n_rings; i++) {
		int rc;

		while ((rc = waymark_ring_reader_next(p->readers[i], WAYMARK_RING_FLUSH, &packet)) == 1) {
			n += check_u64(&packet, next);
			assert_int_equal(waymark_ring_reader_release(p->readers[i], &packet), 0);
		}
		if (rc < 0)
			*err = rc;
	}
	return n;
}

/*
 * The writer, the reader and the creator have ended. A new reader continues where the earlier one stopped.
 */
static void new_reader_of_a_ring_file_continues_after_the_last_reader(void **state)
{
	struct waymark_ring_packet packet, last = { 0 };
	struct pair p;
	uint64_t next = 0, records = 0;
	uint32_t ring = 0;
	int fd, err;

	(void)state;
	pin();
	file_pair(&p);
	for (uint64_t v = 0; v < 100; v++)
		assert_int_equal(record_u64(p.writer, v), 0);
	while (ring < p.n_rings && waymark_ring_reader_next(p.readers[ring], WAYMARK_RING_FLUSH, &last) != 1)
		ring++;
	assert_int_equal(check_u64(&last, &next), 100);
	assert_int_equal(waymark_ring_reader_release(p.readers[ring], &last), 0);
	for (uint64_t v = 100; v < 250; v++)
		assert_int_equal(record_u64(p.writer, v), 0);
	pair_close(&p);

	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_int_equal(wmk_ring_set_open_reader_any(fd, &p.reader), 0);
	close(fd);
	p.n_rings = waymark_ring_set_rings(p.reader);
	for (uint32_t i = 0; i < p.n_rings; i++)
		assert_int_equal(waymark_ring_reader_open(p.reader, i, &p.readers[i]), 0);
	assert_int_equal(
		waymark_ring_reader_resume(p.readers[ring], last.begin_pos + last.len, 1, last.end_ts, &records), 0);
	assert_int_equal(records, 100);
	assert_int_equal(waymark_ring_reader_next(p.readers[ring], WAYMARK_RING_FLUSH, &packet), 1);
	assert_int_equal(check_u64(&packet, &next), 150);
	assert_int_equal(waymark_ring_reader_release(p.readers[ring], &packet), 0);
	assert_int_equal(take_all(&p, NULL, &err), 0);
	assert_int_equal(err, 0);
	p.writer = NULL;
	pair_close(&p);
	unpin();
}

static void test_unsafe_ring_memory_is_refused(void **state)
{
	struct waymark_ring_set *set, *other;
	int fd = memfd_create("bare", MFD_CLOEXEC);

	(void)state;
	/* memory without seals, and a file that other users can open, are refused */
	assert_int_equal(ftruncate(fd, 1 << 20), 0);
	assert_int_equal(wmk_ring_set_open_any(fd, &other), -EPERM);
	assert_int_equal(wmk_ring_set_open_reader_any(fd, &other), -EPERM);
	close(fd);
	assert_int_equal(wmk_ring_set_create_in(&shape, file_make(), &set), 0);
	fd = waymark_ring_set_fd(set);
	/* files are refused by the functions for sealed memory */
	assert_int_equal(waymark_ring_set_open(fd, &other), -EPERM);
	assert_int_equal(waymark_ring_set_open_reader(fd, &other), -EPERM);
	assert_int_equal(fchmod(fd, 0620), 0);
	assert_int_equal(wmk_ring_set_open_any(fd, &other), -EPERM);
	assert_int_equal(fchmod(fd, 0600), 0);
	if (geteuid() == 0) {
		assert_int_equal(fchown(fd, 1, 1), 0);
		assert_int_equal(wmk_ring_set_open_any(fd, &other), -EPERM);
		assert_int_equal(fchown(fd, 0, 0), 0);
	}
	assert_int_equal(wmk_ring_set_open_any(fd, &other), 0);
	waymark_ring_set_close(other);
	/* the file is used as before after its name is removed */
	assert_int_equal(unlink(path), 0);
	assert_int_equal(wmk_ring_set_open_any(fd, &other), 0);
	waymark_ring_set_close(other);
	waymark_ring_set_close(set);
	/* files that are no ring sets */
	fd = file_make();
	assert_int_equal(wmk_ring_set_open_any(fd, &other), -EIO);
	assert_int_equal(ftruncate(fd, 1 << 20), 0);
	assert_int_equal(wmk_ring_set_open_any(fd, &other), -EINVAL);
	close(fd);
}

/*
 * Truncate a file to 0, or within the data: the reader reports it and survives. With `look`, the file is truncated
 * before the reader loads anything.
 */
static void cut(off_t to, bool look)
{
	const unsigned lines = 300;
	struct pair p;
	uint64_t next = 0;
	int err;

	pin();
	file_pair(&p);
	for (uint64_t v = 0; v < 50; v++)
		assert_int_equal(record_u64(p.writer, v), 0);
	assert_int_equal(take_all(&p, &next, &err), 50);
	for (uint64_t v = 50; v < lines; v++)
		assert_int_equal(record_u64(p.writer, v), 0);
	assert_int_equal(ftruncate(waymark_ring_set_fd(p.reader), to), 0);
	if (look)
		assert_int_equal(waymark_ring_set_back(p.reader), -EIO);
	assert_int_equal(take_all(&p, &next, &err), 0);
	assert_int_equal(err, -EIO);
	assert_int_equal(take_all(&p, &next, &err), 0);
	pair_close(&p);
	unpin();
	file_remove(NULL);
}

static void test_cut_ring_file_is_an_error(void **state)
{
	(void)state;
	cut(0, false);
	cut(0, true);
	cut(4096, false);
	cut(4096, true);
}

/* The beginning of the data exists, but the recorded data after it does not. */
static void ring_file_truncated_after_the_check_reads_as_zeros(void **state)
{
	struct waymark_ring_packet packet;
	struct pair p;
	uint64_t sum = 0;
	uint32_t ring = 0;

	(void)state;
	pin();
	file_pair(&p);
	for (uint64_t v = 0; v < 400; v++)
		assert_int_equal(record_u64(p.writer, v), 0);
	while (ring < p.n_rings && waymark_ring_reader_next(p.readers[ring], WAYMARK_RING_FLUSH, &packet) != 1)
		ring++;
	/* truncated between the check and the copy: zeros are read, and the process survives */
	assert_int_equal(ftruncate(waymark_ring_set_fd(p.reader), (const unsigned char *)p.reader->ring[0].data -
									  (const unsigned char *)p.reader->header),
			 0);
	for (size_t i = 0; i < packet.len; i++)
		sum += ((const volatile unsigned char *)packet.data)[i];
	assert_int_equal(sum, 0);
	assert_true(waymark_ring_reader_release(p.readers[ring], &packet) <= 0);
	assert_true(waymark_ring_reader_next(p.readers[ring], WAYMARK_RING_FLUSH, &packet) <= 0);
	pair_close(&p);
	unpin();
}

/* SIGBUS of other memory: the process is killed as usual, or the previous handler is called. */
static void on_bus(int number)
{
	_exit(number == SIGBUS ? 42 : 1);
}

static int touch_cut(bool handler)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		struct waymark_ring_set *set;
		int fd = memfd_create("other", MFD_CLOEXEC);

		signal(SIGBUS, handler ? on_bus : SIG_DFL);
		if (fd < 0 || ftruncate(fd, 4096) != 0 || wmk_ring_set_create_in(&shape, file_make(), &set) != 0)
			_exit(1);
		unlink(path);
		volatile char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (page == MAP_FAILED || ftruncate(fd, 0) != 0)
			_exit(2);
		page[0] = 1;
		_exit(3);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

static void only_guarded_accesses_survive_a_truncated_ring_file(void **state)
{
	(void)state;
	assert_int_equal(touch_cut(true), 42);
	assert_int_equal(touch_cut(false), -SIGBUS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(new_reader_of_a_ring_file_continues_after_the_last_reader, file_remove),
		cmocka_unit_test_teardown(test_unsafe_ring_memory_is_refused, file_remove),
		cmocka_unit_test_teardown(test_cut_ring_file_is_an_error, file_remove),
		cmocka_unit_test_teardown(ring_file_truncated_after_the_check_reads_as_zeros, file_remove),
		cmocka_unit_test_teardown(only_guarded_accesses_survive_a_truncated_ring_file, file_remove),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
