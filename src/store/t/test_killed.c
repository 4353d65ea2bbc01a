/* SPDX-License-Identifier: MIT */
/*
 * test_killed.c - obstacles where files are created or replaced, and what a crash leaves: a later process continues,
 * and takes nothing that is not ours.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
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
#include "store/archive.h"

/* ── streams ─────────────────────────────────────────────────────────────────────────────────────────── */

/* A trace that ends before the ring of a stream is handed back: the torn packet is cut off, and the index complete. */
static void test_streams_are_repaired_without_their_rings(void **state)
{
	static const char *const names[] = { "whole", "torn", "empty" };
	struct wmk_ctf_packet packet;
	struct wmk_store *store = create();
	struct wmk_store_stream *stream;
	FILE *other;

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		packet = (struct wmk_ctf_packet){ .content = 1000 };
		assert_int_equal(wmk_store_stream_create(store, names[i], NULL, &stream), 0);
		for (; packet.sequence < 2; packet.sequence++)
			assert_int_equal(append(stream, &packet), 0);
		wmk_store_stream_close(stream);
	}
	wmk_store_repair(store, uuid);           /* no effect: this process has created the trace */
	wmk_store_close(store);
	const off_t two = size_of(IN_SUB("whole")), index = size_of(IN_SUB("index/whole.idx"));
	assert_int_equal(truncate(in_dir(IN_SUB("index/whole.idx")), index - 1), 0);
	assert_int_equal(truncate(in_dir(IN_SUB("torn")), two - 1), 0);
	assert_int_equal(truncate(in_dir(IN_SUB("empty")), 50), 0);
	other = fopen(in_dir(IN_SUB("other")), "w");
	assert_non_null(other);
	fputs("not a stream", other);
	fclose(other);
	assert_int_equal(wmk_store_open(in_dir("t"), SUB, &store), 0);
	wmk_store_repair(store, uuid);
	wmk_store_close(store);
	assert_int_equal(size_of(IN_SUB("whole")), two);
	assert_int_equal(size_of(IN_SUB("index/whole.idx")), index);
	assert_int_equal(size_of(IN_SUB("torn")), two / 2);
	assert_true(size_of(IN_SUB("index/torn.idx")) < index);
	assert_int_equal(size_of(IN_SUB("empty")), -1);
	assert_int_equal(size_of(IN_SUB("index/empty.idx")), -1);
	assert_int_equal(size_of(IN_SUB("other")), strlen("not a stream"));
}

/* An obstacle in place of an index does not end the stream: it continues without an index. */
static void stream_continues_if_its_index_cannot_be_created(void **state)
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
		/* A link is removed and not followed; a directory stays. */
		assert_int_equal(turn ? mkdir(in_dir(index), 0700) : symlink("/etc/passwd", in_dir(index)), 0);
		assert_int_equal(wmk_store_stream_open(store, "app_0", NULL, uuid, &stream, &last), 1);
		assert_int_equal(last.sequence, packet.sequence - 1);
		assert_int_equal(access(in_dir(index), F_OK), turn ? 0 : -1);
		wmk_store_stream_close(stream);
		if (turn)
			assert_int_equal(rmdir(in_dir(index)), 0);
		/* The index is created again when nothing is in its place. */
		assert_int_equal(wmk_store_stream_open(store, "app_0", NULL, uuid, &stream, &last), 1);
		assert_int_equal(mode_of(index), S_IFREG | 0600);
	}
	wmk_store_stream_close(stream);
	wmk_store_close(store);
}

/* Append in a child process that is killed when a file exceeds `bytes`. */
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

/*
 * The only file of a stream is replaced: after a crash before the first byte of the new file, or within its first
 * packet, the old file is there.
 */
static void killed_replacement_of_a_stream_file_keeps_the_old_file(void **state)
{
	static const char only[] = IN_SUB("c_0"), index[] = IN_SUB("index/c_0.idx"), next[] = IN_SUB(".c.next");
	const struct wmk_store_limits one = { 520, 1 };
	struct wmk_ctf_packet packet = { .content = 64 }, last;
	struct wmk_store_stream *stream;
	struct wmk_store *store = create();

	(void)state;
	assert_int_equal(wmk_store_stream_create(store, "c", &one, &stream), 0);
	for (unsigned turn = 0; turn < 4; turn++) {
		/* Three packets fit; after the crash, the file has the same three. */
		for (; packet.sequence < 3; packet.sequence++)
			assert_int_equal(append(stream, &packet), 0);
		if (turn < 2) {
			append_and_die(stream, &packet, turn ? 100 : 8);
			assert_true(size_of(next) >= 0);
		} else {
			/* After an error, the writer itself removes the new file. */
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
		assert_int_equal(size_of(only), 504);
		assert_int_equal(size_of(index), 16 + 3 * 72);
	}
	for (unsigned i = 0; i < 2; i++, packet.sequence++)
		assert_int_equal(append(stream, &packet), 0);
	assert_int_equal(size_of(only), 336);
	assert_int_equal(size_of(index), 16 + 2 * 72);
	assert_int_equal(wmk_store_stream_bytes(stream), 336);
	assert_int_equal(wmk_store_bytes(store), 336 + 16 + 2 * 72);
	wmk_store_stream_close(stream);
	assert_int_equal(wmk_store_stream_remove(store, "c", &one), 0);
	assert_int_equal(wmk_store_bytes(store), 0);
	wmk_store_close(store);
}

/* A packet without a trailer ends the stream, even if all its bytes are in the file. */
static void test_packet_without_trailer_is_torn(void **state)
{
	struct wmk_ctf_packet packet = { .content = 1000, .ring_position = 77, .cut = 5 }, last;
	struct wmk_store *store = create();
	struct wmk_store_stream *stream;
	int fd;

	(void)state;
	assert_int_equal(wmk_store_stream_create(store, "app_0", NULL, &stream), 0);
	assert_int_equal(append(stream, &packet), 0);
	packet.sequence = 1;
	assert_int_equal(append(stream, &packet), 0);
	wmk_store_stream_close(stream);
	fd = open(in_dir(IN_SUB("app_0")), O_WRONLY | O_CLOEXEC);
	assert_int_equal(pwrite(fd, "\0\0\0\0", 4, 2 * 1104 - 4), 4);
	close(fd);
	assert_int_equal(wmk_store_stream_open(store, "app_0", NULL, uuid, &stream, &last), 1);
	assert_int_equal(last.sequence, 0);
	assert_int_equal(last.ring_position, 77);
	assert_int_equal(last.cut, 5);
	assert_int_equal(wmk_store_stream_bytes(stream), 1104);
	wmk_store_stream_close(stream);
	wmk_store_close(store);
}

/* A file that begins with a packet of an earlier version, without a trailer, is refused and not changed. */
static void stream_file_of_an_earlier_version_is_refused_unchanged(void **state)
{
	struct wmk_ctf_packet packet = { .content = 1000 }, last;
	struct wmk_store *store = create();
	struct wmk_store_stream *stream;
	static uint8_t bytes[1096];
	const uint64_t bits = sizeof(bytes) * 8;
	int fd;

	(void)state;
	wmk_ctf_packet_encode(bytes, uuid, &packet);
	memcpy(bytes + 48, &bits, 8);
	memcpy(bytes + 56, &bits, 8);
	fd = open(in_dir(IN_SUB("app_0")), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(write(fd, bytes, sizeof(bytes)), sizeof(bytes));
	close(fd);
	assert_int_equal(wmk_store_stream_open(store, "app_0", NULL, uuid, &stream, &last), -EPROTO);
	assert_int_equal(size_of(IN_SUB("app_0")), sizeof(bytes));
	wmk_store_close(store);
}

/* Without space for both files, the old one is removed before the new one is written. */
static void test_single_file_is_replaced_on_full_disk(void **state)
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
		print_message("SKIPPED: cannot mount a small file system: %s\n", strerror(errno));
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

/* ── directories ─────────────────────────────────────────────────────────────────────────────────────── */

static bool is_empty(const char *name)
{
	DIR *entries = opendir(in_dir(name));
	const struct dirent *entry;
	bool empty = true;

	while (entries && (entry = readdir(entries)) != NULL)
		empty &= entry->d_name[0] == '.';
	if (entries)
		closedir(entries);
	return empty;
}

/*
 * Create with more and more descriptors until there are enough: a failure leaves nothing, and the next try can succeed.
 */
static void failed_creation_of_a_trace_leaves_no_files(void **state)
{
	struct wmk_store *store = NULL;
	struct rlimit before, few;
	int err = -EMFILE;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	few = before;
	const int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);      /* the lowest free descriptor */

	close(fd);
	for (unsigned n = 0; err < 0; n++) {
		assert_true(n < 40);
		few.rlim_cur = (rlim_t)fd + n / 2;
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
		err = n % 2 ? wmk_store_add(in_dir("t"), SUB, &store) : wmk_store_create(in_dir("t"), SUB, &store);
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
		if (err == 0)
			break;
		/* (adding requires an existing trace) */
		assert_true(err == -EMFILE || (n % 2 && err == -ENOENT));
		assert_true(is_empty("t"));
	}
	assert_int_equal(mode_of(IN_SUB("metadata")), S_IFREG | 0600);
	/* Nothing was declared: a discard removes all of it, but not the directory of another user. */
	assert_int_equal(mkdir(in_dir("t/ust/uid/2"), 0700), 0);
	wmk_store_discard(store);
	assert_int_equal(access(in_dir("t/ust/uid/1"), F_OK), -1);
	assert_int_equal(access(in_dir("t/ust/uid/2"), F_OK), 0);
}

/* A discard removes nothing if there is a declaration or a stream, or if the store existed before. */
static void discard_keeps_a_trace_that_was_used(void **state)
{
	struct wmk_store_stream *stream;
	struct wmk_store *store = create();

	(void)state;
	assert_int_equal(wmk_store_stream_create(store, "app_0", NULL, &stream), 0);
	wmk_store_stream_close(stream);
	wmk_store_discard(store);
	assert_int_equal(size_of(IN_SUB("metadata")), 0);
	assert_int_equal(unlink(in_dir(IN_SUB("app_0"))), 0);
	assert_int_equal(unlink(in_dir(IN_SUB("index/app_0.idx"))), 0);
	assert_int_equal(wmk_store_open(in_dir("t"), SUB, &store), 0);
	wmk_store_discard(store);
	assert_int_equal(size_of(IN_SUB("metadata")), 0);
	assert_int_equal(wmk_store_take_over(in_dir("t"), SUB, &store), 0);
	assert_int_equal(wmk_store_metadata(store, "x", 1), 0);
	wmk_store_discard(store);
	assert_int_equal(size_of(IN_SUB("metadata")), 1);
}

/* Create the trace in a child process that is killed after it has written `text` to the metadata. */
static void make_and_die(const char *text)
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0) {
		struct wmk_store *store = create();

		if (wmk_store_metadata(store, text, strlen(text)) == 0)
			kill(getpid(), SIGKILL);
		_exit(1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static int take_over(void)
{
	struct wmk_store *store, *other;
	int err = wmk_store_take_over(in_dir("t"), SUB, &store);

	if (err < 0)
		return err;
	assert_int_equal(wmk_store_bytes(store), 0);
	assert_int_equal(wmk_store_metadata(store, "new;", 4), 0);
	assert_int_equal(size_of(IN_SUB("metadata")), 4);
	/* The writer is alive. */
	assert_int_equal(wmk_store_take_over(in_dir("t"), SUB, &other), -EEXIST);
	wmk_store_close(store);
	return 0;
}

static void test_metadata_of_crashed_writer_is_taken_over(void **state)
{
	struct wmk_store *store;
	int fd;

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		make_and_die(i ? "half a decl" : "");
		assert_int_equal(wmk_store_add(in_dir("t"), SUB, &store), -EEXIST);
		/* And a crash while the metadata was replaced. */
		fd = i ? open(in_dir(IN_SUB(".metadata.new")), O_WRONLY | O_CREAT | O_CLOEXEC, 0600) : -1;
		assert_int_equal(take_over(), 0);
		if (fd >= 0)
			close(fd);
		testdir_remove(in_dir("t"));
	}
	/* Without metadata there is nothing to take over. */
	assert_int_equal(mkdir(in_dir("t"), 0700), 0);
	assert_int_equal(wmk_store_take_over(in_dir("t"), SUB, &store), -ENOENT);
	assert_true(is_empty("t"));
}

/* What belongs to another user, or is in use, stays as it is. */
static void test_metadata_in_use_is_not_taken_over(void **state)
{
	struct wmk_store *store = create();
	struct wmk_store_stream *stream;

	(void)state;
	assert_int_equal(wmk_store_metadata(store, "old;", 4), 0);
	assert_int_equal(take_over(), -EEXIST);
	/* The writer replaces it: the new file is locked too. */
	assert_int_equal(wmk_store_metadata_replace(store, "again;", 6), 0);
	assert_int_equal(take_over(), -EEXIST);
	assert_int_equal(wmk_store_stream_create(store, "app_0", NULL, &stream), 0);
	wmk_store_stream_close(stream);
	wmk_store_close(store);
	assert_int_equal(take_over(), -EEXIST);
	assert_int_equal(unlink(in_dir(IN_SUB("app_0"))), 0);
	assert_int_equal(take_over(), -EEXIST);
	assert_int_equal(unlink(in_dir(IN_SUB("index/app_0.idx"))), 0);
	/* A file with a second name, which may be anywhere; and a link to a file. */
	assert_int_equal(link(in_dir(IN_SUB("metadata")), in_dir("other")), 0);
	assert_int_equal(take_over(), -EEXIST);
	assert_int_equal(unlink(in_dir(IN_SUB("metadata"))), 0);
	assert_int_equal(symlink("../../../../../other", in_dir(IN_SUB("metadata"))), 0);
	assert_int_equal(size_of("other"), 6);
	assert_true(take_over() < 0);
	assert_int_equal(size_of("other"), 6);
	assert_int_equal(unlink(in_dir(IN_SUB("metadata"))), 0);
	assert_int_equal(rename(in_dir("other"), in_dir(IN_SUB("metadata"))), 0);
	if (geteuid() == 0) {
		assert_int_equal(chown(in_dir(IN_SUB("metadata")), 61234, 61234), 0);
		assert_int_equal(take_over(), -EEXIST);
		assert_int_equal(chown(in_dir(IN_SUB("metadata")), 0, 0), 0);
		assert_int_equal(chown(in_dir("t/" SUB), 61234, 61234), 0);
		assert_int_equal(take_over(), -EEXIST);
		assert_int_equal(chown(in_dir("t/" SUB), 0, 0), 0);
	}
	assert_int_equal(size_of(IN_SUB("metadata")), 6);
	assert_int_equal(take_over(), 0);
}

/* The next process may repeat each part: offset, text, result, and the content of the file after it. */
static void repeated_metadata_parts_are_appended_only_once(void **state)
{
	static const struct {
		uint64_t offset;
		const char *text;
		int err;
		const char *file;
	} turns[] = {
		{ 0, "one;", 0, "one;" }, { 0, "one;", 0, "one;" },
		{ 4, "two;", 0, "one;two;" }, { 0, "one;", 0, "one;two;" }, { 9, "late;", -ESTALE, "one;two;" },
		{ 6, "cut;", 0, "one;twcut;" }, { UINT64_MAX, "x", -ESTALE, "one;twcut;" },
	};
	struct wmk_store *store;
	size_t len;

	(void)state;
	assert_int_equal(wmk_store_create(in_dir("t"), SUB, &store), 0);
	for (size_t i = 0; i < sizeof(turns) / sizeof(turns[0]); i++) {
		const char *part = turns[i].text;

		assert_int_equal(wmk_store_metadata_at(store, turns[i].offset, part, strlen(part)), turns[i].err);
		char *text = testdir_slurp(in_dir("t/" SUB "/metadata"), &len);
		assert_string_equal(text, turns[i].file);
		free(text);
		assert_int_equal(wmk_store_bytes(store), strlen(turns[i].file));
		wmk_store_close(store);
		assert_int_equal(access(in_dir("t/" SUB "/.live"), F_OK), -1);
		assert_int_equal(wmk_store_open(in_dir("t"), SUB, &store), 0);
		assert_int_equal(access(in_dir("t/" SUB "/.live"), F_OK), 0);
	}
	wmk_store_close(store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_packet_without_trailer_is_torn, setup, teardown),
		cmocka_unit_test_setup_teardown(stream_file_of_an_earlier_version_is_refused_unchanged, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_streams_are_repaired_without_their_rings, setup, teardown),
		cmocka_unit_test_setup_teardown(stream_continues_if_its_index_cannot_be_created, setup, teardown),
		cmocka_unit_test_setup_teardown(killed_replacement_of_a_stream_file_keeps_the_old_file, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_single_file_is_replaced_on_full_disk, setup, teardown),
		cmocka_unit_test_setup_teardown(failed_creation_of_a_trace_leaves_no_files, setup, teardown),
		cmocka_unit_test_setup_teardown(discard_keeps_a_trace_that_was_used, setup, teardown),
		cmocka_unit_test_setup_teardown(repeated_metadata_parts_are_appended_only_once, setup, teardown),
		cmocka_unit_test_setup_teardown(test_metadata_of_crashed_writer_is_taken_over, setup, teardown),
		cmocka_unit_test_setup_teardown(test_metadata_in_use_is_not_taken_over, setup, teardown),
	};

	signal(SIGXFSZ, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
