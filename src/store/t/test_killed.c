/* SPDX-License-Identifier: MIT */
/*
 * test_killed.c - what was in the way when files were made or replaced, and what one who was killed meanwhile has left: a later one finds its
 * way, and takes nothing that is not ours.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "one_trace.h"

/* ── streams ─────────────────────────────────────────────────────────────────────────────────────────── */

/* What is in the way of an index is no reason to give a stream up: it goes on without. */
static void test_index_in_the_way(void **state)
{
	static const char index[] = IN_SUB("index/app_0.idx");
	struct wmk_ctf_packet packet = { .content = 1000 }, last;
	struct wmk_store *store = create();
	struct wmk_store_stream *stream;

	(void)state;
	assert_int_equal(wmk_store_stream_create(store, "app_0", NULL, &stream), 0);
	for (unsigned turn = 0; turn < 2; turn++) {
		for (unsigned i = 0; i < 2; i++, packet.sequence++)
			assert_int_equal(append(stream, &packet), 0);
		wmk_store_stream_close(stream);
		assert_int_equal(remove(in_dir(index)), 0);
		/* A link leads nowhere, and is gone; a directory stays where it is. */
		assert_int_equal(turn ? mkdir(in_dir(index), 0700) : symlink("/etc/passwd", in_dir(index)), 0);
		assert_int_equal(wmk_store_stream_open(store, "app_0", NULL, uuid, &stream, &last), 1);
		assert_int_equal(last.sequence, packet.sequence - 1);
		assert_int_equal(access(in_dir(index), F_OK), turn ? 0 : -1);
		wmk_store_stream_close(stream);
		if (turn)
			assert_int_equal(rmdir(in_dir(index)), 0);
		/* It is there again when nothing is in the way. */
		assert_int_equal(wmk_store_stream_open(store, "app_0", NULL, uuid, &stream, &last), 1);
		assert_int_equal(mode_of(index), S_IFREG | 0600);
	}
	wmk_store_stream_close(stream);
	wmk_store_close(store);
}

/* In another process, which is killed when a file would become longer than that. */
static void append_and_die(struct wmk_store_stream *stream, struct wmk_ctf_packet *packet, rlim_t bytes)
{
	const struct rlimit none = { 0, 0 };
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0) {
		setrlimit(RLIMIT_CORE, &none);
		signal(SIGXFSZ, SIG_DFL);
		limit_files(bytes);
		append(stream, packet);
		_exit(1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGXFSZ);
}

/* The only file of a stream is replaced: killed before the first byte of the next, or within its first packet, there is the old one. */
static void test_only_file(void **state)
{
	static const char only[] = IN_SUB("c_0"), index[] = IN_SUB("index/c_0.idx"), next[] = IN_SUB(".c.next");
	const struct wmk_store_limits one = { 500, 1 };
	struct wmk_ctf_packet packet = { .content = 64 }, last;
	struct wmk_store_stream *stream;
	struct wmk_store *store = create();

	(void)state;
	assert_int_equal(wmk_store_stream_create(store, "c", &one, &stream), 0);
	for (unsigned turn = 0; turn < 4; turn++) {
		/* Three fit; behind a death the file has those that it had. */
		for (; packet.sequence < 3; packet.sequence++)
			assert_int_equal(append(stream, &packet), 0);
		if (turn < 2) {
			append_and_die(stream, &packet, turn ? 100 : 8);
			assert_true(size_of(next) >= 0);
		} else {
			/* Who is refused and lives takes the new one away himself. */
			limit_files(turn == 2 ? 100 : 8);
			assert_int_equal(append(stream, &packet), -EFBIG);
			limit_files(RLIM_INFINITY);
			assert_int_equal(size_of(next), -1);
		}
		wmk_store_stream_close(stream);
		wmk_store_close(store);
		assert_int_equal(wmk_store_open(in_dir("t"), SUB, &store), 0);
		assert_int_equal(wmk_store_stream_open(store, "c", &one, uuid, &stream, &last), 1);
		assert_int_equal(last.sequence, 2);
		assert_int_equal(size_of(next), -1);
		assert_int_equal(size_of(only), 480);
		assert_int_equal(size_of(index), 16 + 3 * 72);
	}
	for (unsigned i = 0; i < 2; i++, packet.sequence++)
		assert_int_equal(append(stream, &packet), 0);
	assert_int_equal(size_of(only), 320);
	assert_int_equal(size_of(index), 16 + 2 * 72);
	assert_int_equal(wmk_store_stream_bytes(stream), 320);
	assert_int_equal(wmk_store_bytes(store), 320 + 16 + 2 * 72);
	wmk_store_stream_close(stream);
	assert_int_equal(wmk_store_stream_remove(store, "c", &one), 0);
	assert_int_equal(wmk_store_bytes(store), 0);
	wmk_store_close(store);
}

/* Without room for both the old file makes room for the new one. */
static void test_only_file_without_room(void **state)
{
	const struct wmk_store_limits one = { 30000, 1 };
	struct wmk_ctf_packet packet = { .content = 8000 };
	struct wmk_store_stream *stream;
	struct wmk_store *store;
	static const char block[4096];
	uint64_t there;
	int fd;

	(void)state;
	if (mount("waymark-test", dir, "tmpfs", MS_NOSUID | MS_NODEV, "size=64k") < 0) {
		print_message("SKIPPED: no small file system to fill, mount says: %s\n", strerror(errno));
		skip();
	}
	store = create();
	assert_int_equal(wmk_store_stream_create(store, "c", &one, &stream), 0);
	for (; packet.sequence < 3; packet.sequence++)
		assert_int_equal(append(stream, &packet), 0);
	fd = open(in_dir("ballast"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	while (write(fd, block, sizeof(block)) > 0)
		;
	assert_int_equal(errno, ENOSPC);
	for (unsigned i = 0; i < 5; i++, packet.sequence++) {
		assert_int_equal(append(stream, &packet), 0);
		assert_int_equal(wmk_store_usage(in_dir("t"), &there), 0);
		assert_int_equal(wmk_store_bytes(store), there);
		assert_int_equal(wmk_store_stream_bytes(stream), (i % 3 + 1) * wmk_ctf_packet_size(&packet));
	}
	close(fd);
	wmk_store_stream_close(stream);
	wmk_store_close(store);
	assert_int_equal(umount2(dir, MNT_DETACH), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_index_in_the_way, setup, teardown),
		cmocka_unit_test_setup_teardown(test_only_file, setup, teardown),
		cmocka_unit_test_setup_teardown(test_only_file_without_room, setup, teardown),
	};

	signal(SIGXFSZ, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
