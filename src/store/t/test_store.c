/* SPDX-License-Identifier: MIT */
/*
 * test_store.c - the directories of a trace; metadata that is truncated when a write fails; streams that continue after
 * a crash.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "one_trace.h"

static void new_trace_has_private_directories_and_files(void **state)
{
	struct wmk_store *store;
	struct wmk_store_stream *stream;
	mode_t before = umask(0);

	(void)state;
	assert_int_equal(wmk_store_create(in_dir("a/b/t"), "ust/uid/1/64-bit", &store), 0);
	assert_string_equal(wmk_store_path(store), in_dir("a/b/t"));
	assert_int_equal(wmk_store_stream_create(store, "app_0", NULL, &stream), 0);
	assert_int_equal(wmk_store_stream_close(stream), 0);
	wmk_store_close(store);
	umask(before);
	assert_int_equal(mode_of("a/b"), S_IFDIR | 0700);
	assert_int_equal(mode_of("a/b/t/ust/uid/1/64-bit"), S_IFDIR | 0700);
	assert_int_equal(mode_of("a/b/t/ust/uid/1/64-bit/index"), S_IFDIR | 0700);
	assert_int_equal(mode_of("a/b/t/ust/uid/1/64-bit/metadata"), S_IFREG | 0600);
	assert_int_equal(mode_of("a/b/t/ust/uid/1/64-bit/app_0"), S_IFREG | 0600);
	assert_int_equal(mode_of("a/b/t/ust/uid/1/64-bit/index/app_0.idx"), S_IFREG | 0600);
}

static void test_used_directories_are_refused(void **state)
{
	struct wmk_store *store;
	int fd;

	(void)state;
	assert_int_equal(mkdir(in_dir("full"), 0700), 0);
	fd = open(in_dir("full/x"), O_CREAT | O_WRONLY, 0600);
	close(fd);
	assert_int_equal(wmk_store_create(in_dir("full"), "ust", &store), -ENOTEMPTY);
	assert_non_null(strstr(wmk_error_get(0), "not empty"));
	assert_int_equal(wmk_store_create(in_dir("full/x"), "ust", &store), -ENOTDIR);
	assert_int_equal(wmk_store_create(in_dir("full/x/y"), "ust", &store), -ENOTDIR);
	assert_int_equal(symlink("full", in_dir("link")), 0);
	assert_true(wmk_store_create(in_dir("link"), "ust", &store) < 0);
	assert_int_equal(symlink("nowhere", in_dir("dangling")), 0);
	assert_true(wmk_store_create(in_dir("dangling"), "ust", &store) < 0);
	assert_int_equal(access(in_dir("nowhere"), F_OK), -1);
	assert_int_equal(wmk_store_create("", "ust", &store), -ENOENT);
	/* An empty directory may be used, also below a link. */
	assert_int_equal(mkdir(in_dir("empty"), 0700), 0);
	assert_int_equal(wmk_store_create(in_dir("empty"), "ust", &store), 0);
	wmk_store_close(store);
	assert_int_equal(wmk_store_create(in_dir("link/below"), "ust", &store), 0);
	wmk_store_close(store);
	if (geteuid() == 0) {
		print_message("not tested: a directory without write permission (this test runs as root)\n");
		return;
	}
	assert_int_equal(mkdir(in_dir("closed"), 0500), 0);
	assert_int_equal(wmk_store_create(in_dir("closed/t"), "ust", &store), -EACCES);
}

/* Create link `name` in the directory of the test, owned by `owner`. */
static void put_link(const char *target, const char *name, uid_t owner)
{
	assert_int_equal(symlink(target, in_dir(name)), 0);
	assert_int_equal(lchown(in_dir(name), owner, (gid_t)-1), 0);
}

static int create_at(const char *name)
{
	struct wmk_store *store;
	int err = wmk_store_create(in_dir(name), "ust", &store);

	if (err == 0)
		wmk_store_close(store);
	return err;
}

/*
 * Links on the way are followed if root or the user of the new files owns them.
 */
static void test_links_of_other_users_are_refused(void **state)
{
	struct wmk_store *store;
	const uid_t other = 12345;

	(void)state;
	assert_int_equal(mkdir(in_dir("there"), 0700), 0);
	assert_int_equal(mkdir(in_dir("there/deep"), 0700), 0);
	put_link("there", "own", geteuid());
	put_link("own/../own/./deep/", "chain", geteuid());
	put_link(in_dir("chain"), "there/whole", geteuid());
	put_link("round", "round", geteuid());
	put_link("own/nowhere/deep", "dangling", geteuid());
	assert_int_equal(create_at("there/whole/a/b"), 0);
	assert_int_equal(mode_of("there/deep/a/b/ust"), S_IFDIR | 0700);
	assert_int_equal(wmk_store_add(in_dir("chain/a/b"), "ust2", &store), 0);
	wmk_store_close(store);
	assert_int_equal(create_at("round/a"), -ELOOP);
	/* the target of a link is not created */
	assert_int_equal(create_at("dangling/a"), -ENOENT);
	assert_int_equal(access(in_dir("there/nowhere"), F_OK), -1);
	if (geteuid() != 0) {
		print_message("not tested: links of other users (this test does not run as root)\n");
		return;
	}
	put_link("there", "other", other);
	put_link("other/deep", "over", 0);
	assert_int_equal(create_at("other/new"), -EACCES);
	assert_non_null(strstr(wmk_error_get(0), "has a link that another user owns"));
	assert_int_equal(create_at("over/new"), -EACCES);
	assert_int_equal(wmk_store_make_directory(in_dir("over/new")), -EACCES);
	assert_int_equal(wmk_store_add(in_dir("over/a/b"), "ust3", &store), -EACCES);
	assert_int_equal(access(in_dir("there/new"), F_OK) + access(in_dir("there/deep/new"), F_OK) +
				 access(in_dir("there/deep/a/b/ust3"), F_OK),
			 -3);
	/* the user's own link, with the rights of that user */
	assert_int_equal(chmod(in_dir("."), 0711) + chown(in_dir("there"), other, (gid_t)-1), 0);
	assert_int_equal(wmk_store_identity_begin(other, other), 0);
	assert_int_equal(create_at("other/new"), 0);
	assert_int_equal(create_at("own/newer"), 0);
	wmk_store_identity_end();
}

static void test_invalid_stream_names_are_refused(void **state)
{
	static const char *const names[] = { "", ".", "..", "a/b", "/etc/x", "metadata", "index", ".hidden" };
	struct wmk_store *store = create();
	struct wmk_store_stream *stream, *other;

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_int_equal(wmk_store_stream_create(store, names[i], NULL, &stream), -EINVAL);
	assert_int_equal(wmk_store_stream_create(store, "app_0", NULL, &stream), 0);
	assert_int_equal(wmk_store_stream_create(store, "app_0", NULL, &other), -EEXIST);
	wmk_store_stream_close(stream);
	wmk_store_close(store);
}

static void test_default_path_has_session_and_date(void **state)
{
	char path[128];

	(void)state;
	setenv("TZ", "UTC", 1);
	tzset();
	assert_int_equal(wmk_store_default_path(NULL, "/home/x", "prog", 1700000000, path, sizeof(path)), 0);
	assert_string_equal(path, "/home/x/waymark-traces/prog-20231114-221320");
	assert_int_equal(wmk_store_default_path("/t", NULL, "prog", 0, path, sizeof(path)), 0);
	assert_string_equal(path, "/t/prog-19700101-000000");
	assert_int_equal(wmk_store_default_path("/t", NULL, "..", 0, path, sizeof(path)), -EINVAL);
	assert_int_equal(wmk_store_default_path("/t", NULL, "a/b", 0, path, sizeof(path)), -EINVAL);
	assert_int_equal(wmk_store_default_path(NULL, NULL, "a", 0, path, sizeof(path)), -ENOENT);
	assert_int_equal(wmk_store_default_path("/t", NULL, "a", 0, path, 10), -ENAMETOOLONG);
}

/* A replacement is complete or has no effect; later declarations are appended to the new file. */
static void test_metadata_is_replaced_completely_or_not(void **state)
{
	struct wmk_store *store = create();
	char *text;
	size_t len;

	(void)state;
	assert_int_equal(wmk_store_metadata(store, "damaged;", 8), 0);
	assert_int_equal(wmk_store_metadata_replace(store, "new;", 4), 0);
	assert_int_equal(wmk_store_metadata(store, "two;", 4), 0);
	assert_int_equal(wmk_store_bytes(store), 8);
	signal(SIGXFSZ, SIG_IGN);
	limit_files(6);
	assert_int_equal(wmk_store_metadata_replace(store, "too long;", 9), -EFBIG);
	limit_files(RLIM_INFINITY);
	text = testdir_slurp(in_dir("t/ust/uid/1/64-bit/metadata"), &len);
	assert_string_equal(text, "new;two;");
	free(text);
	assert_int_equal(mode_of("t/ust/uid/1/64-bit/metadata"), S_IFREG | 0600);
	assert_int_equal(access(in_dir("t/ust/uid/1/64-bit/.metadata.new"), F_OK), -1);
	wmk_store_close(store);
}

/* Readers refuse a trace with half a declaration, so a declaration that does not fit is truncated. */
static void test_failed_metadata_write_is_truncated(void **state)
{
	struct wmk_store *store = create();
	char *text;
	size_t len;

	(void)state;
	assert_int_equal(wmk_store_metadata(store, "one;", 4), 0);
	signal(SIGXFSZ, SIG_IGN);
	limit_files(6);
	assert_int_equal(wmk_store_metadata(store, "two;", 4), -EFBIG);
	limit_files(RLIM_INFINITY);
	text = testdir_slurp(in_dir("t/ust/uid/1/64-bit/metadata"), &len);
	assert_string_equal(text, "one;");
	free(text);
	assert_int_equal(wmk_store_metadata(store, "three;", 6), 0);
	text = testdir_slurp(in_dir("t/ust/uid/1/64-bit/metadata"), &len);
	assert_string_equal(text, "one;three;");
	free(text);
	assert_int_equal(wmk_store_bytes(store), 10);
	wmk_store_close(store);
}

/* A packet that does not fit leaves the packets before it intact, and can be written again. */
static void test_failed_packet_write_is_truncated(void **state)
{
	struct wmk_ctf_packet packet = { .content = 1000 };
	struct wmk_store *store = create();
	struct wmk_store_stream *stream;
	struct stat st;

	(void)state;
	assert_int_equal(wmk_store_stream_create(store, "app_0", NULL, &stream), 0);
	assert_int_equal(append(stream, &packet), 0);
	packet.sequence = 1;
	limit_files(1500);
	assert_int_equal(append(stream, &packet), -EFBIG);
	assert_int_equal(stat(in_dir("t/ust/uid/1/64-bit/app_0"), &st), 0);
	assert_int_equal(st.st_size, 1104);
	limit_files(RLIM_INFINITY);
	assert_int_equal(append(stream, &packet), 0);
	assert_int_equal(wmk_store_stream_bytes(stream), 2208);
	assert_int_equal(wmk_store_bytes(store), 2208 + WMK_CTF_INDEX_HEAD + 2 * WMK_CTF_INDEX_ENTRY);
	wmk_store_stream_close(stream);
	/* A packet must have the size in its header. */
	packet.content = 8;
	assert_int_equal(wmk_store_stream_create(store, "app_1", NULL, &stream), 0);
	assert_int_equal(wmk_store_stream_append(stream, &(struct iovec){ &packet, 8 }, 1, &packet), -EINVAL);
	wmk_store_stream_close(stream);
	wmk_store_close(store);
}

/* After a crash at any byte of the third packet: two packets, an index of two, and the stream continues. */
static void test_stream_continues_after_torn_packet(void **state)
{
	static const off_t cuts[] = { 2209, 2208 + 87, 2208 + 88, 2208 + 1103, 2208 };
	struct wmk_ctf_packet packet, last;
	char *before, *after;
	size_t before_len, after_len;

	(void)state;
	for (size_t i = 0; i < sizeof(cuts) / sizeof(cuts[0]); i++) {
		struct wmk_store *store = create();
		struct wmk_store_stream *stream;

		packet = (struct wmk_ctf_packet){ .content = 1000 };
		assert_int_equal(wmk_store_stream_create(store, "app_0", NULL, &stream), 0);
		for (; packet.sequence < 3; packet.sequence++) {
			packet.ring_position = packet.sequence * 1000;
			assert_int_equal(append(stream, &packet), 0);
		}
		wmk_store_stream_close(stream);
		before = testdir_slurp(in_dir("t/ust/uid/1/64-bit/index/app_0.idx"), &before_len);
		wmk_store_close(store);
		assert_int_equal(truncate(in_dir("t/ust/uid/1/64-bit/app_0"), cuts[i]), 0);
		assert_int_equal(wmk_store_open(in_dir("t"), "ust/uid/1/64-bit", &store), 0);
		assert_int_equal(wmk_store_stream_open(store, "app_0", NULL, uuid, &stream, &last), 1);
		assert_int_equal(last.sequence, 1);
		assert_int_equal(last.ring_position, 1000);
		assert_int_equal(wmk_store_stream_bytes(stream), 2208);
		packet.sequence = 2;
		assert_int_equal(append(stream, &packet), 0);
		wmk_store_stream_close(stream);
		wmk_store_close(store);
		after = testdir_slurp(in_dir("t/ust/uid/1/64-bit/index/app_0.idx"), &after_len);
		assert_int_equal(before_len, after_len);
		assert_memory_equal(before, after, before_len);
		free(before);
		free(after);
		testdir_remove(in_dir("t"));
	}
}

/*
 * Large packets, some from aligned memory (which use direct I/O where possible), and small ones between them: the file
 * has their exact content, and large ones end at whole blocks.
 */
static void test_direct_io_writes_exact_content(void **state)
{
	const size_t sizes[] = { 300000, 400000, 10, 262144, 1000000, 299999, 262144, 0, 777777, 500000 };
	uint8_t *memory = aligned_alloc(4096, 2 << 20), *bytes = memory;
	struct wmk_store *store = create();
	struct wmk_store_stream *stream;
	struct wmk_ctf_packet packet = { 0 }, back;
	size_t len, at = 0, i, j;
	char *file;

	(void)state;
	assert_int_equal(wmk_store_stream_create(store, "app_0", NULL, &stream), 0);
	for (i = 0; i < 40; i++) {
		packet.content = sizes[i % 10];
		packet.sequence = i;
		bytes = memory + (i % 4 == 3 ? 64 : 512);
		wmk_store_stream_prepare(stream, &packet);
		for (j = 0; j < packet.content; j++)
			bytes[WMK_CTF_PACKET_ROOM + j] = (uint8_t)(i * 31 + j * 7 + j / 256);
		wmk_ctf_packet_encode(bytes, uuid, &packet);
		len = WMK_CTF_PACKET_ROOM + packet.content;
		assert_int_equal(wmk_store_stream_append(stream, (struct iovec[]){ { bytes, len },
				 { bytes + len, wmk_ctf_packet_end(bytes + len, &packet) } }, 2, &packet), 0);
		if (packet.pad)
			assert_int_equal(wmk_store_stream_bytes(stream) % 4096, 0);
		if (packet.content < 1000)
			assert_int_equal(packet.pad, 0);
	}
	assert_int_equal(wmk_store_stream_close(stream), 0);
	file = testdir_slurp(in_dir("t/ust/uid/1/64-bit/app_0"), &len);
	for (i = 0; i < 40; i++) {
		assert_true(at + WMK_CTF_PACKET_ROOM <= len);
		assert_int_equal(wmk_ctf_packet_decode((uint8_t *)file + at, uuid, &back), 0);
		assert_int_equal(back.sequence, i);
		assert_int_equal(back.content, sizes[i % 10]);
		for (j = 0; j < back.content; j++)
			if ((uint8_t)file[at + WMK_CTF_PACKET_ROOM + j] != (uint8_t)(i * 31 + j * 7 + j / 256))
				fail_msg("packet %zu differs at byte %zu", i, j);
		at += wmk_ctf_packet_size(&back);
	}
	assert_int_equal(at, len);
	assert_int_equal(wmk_store_stream_open(store, "app_0", NULL, uuid, &stream, &back), 1);
	assert_int_equal(back.sequence, 39);
	wmk_store_stream_close(stream);
	free(file);
	free(memory);
	wmk_store_close(store);
}

/* A FIFO in place of a file does not block the open. */
static void test_fifos_do_not_block_the_open(void **state)
{
	static const char metadata[] = "t/ust/uid/1/64-bit/metadata", first[] = "t/ust/uid/1/64-bit/app_0_0";
	const struct wmk_store_limits rotating = { .size = 4096, .count = 2 };
	struct wmk_store_stream *stream;
	struct wmk_ctf_packet last;
	struct wmk_store *store = create();

	(void)state;
	assert_int_equal(wmk_store_stream_create(store, "app_0", &rotating, &stream), 0);
	wmk_store_stream_close(stream);
	alarm(20);
	for (int with_reader = 0; with_reader < 2; with_reader++) {
		assert_int_equal(unlink(in_dir(first)), 0);
		assert_int_equal(mkfifo(in_dir(first), 0600), 0);
		int reader = with_reader ? open(in_dir(first), O_RDWR | O_CLOEXEC) : -1;

		assert_true(wmk_store_stream_open(store, "app_0", &rotating, uuid, &stream, &last) < 0);
		wmk_error_clear();
		close(reader);
	}
	wmk_store_close(store);
	assert_int_equal(unlink(in_dir(metadata)), 0);
	assert_int_equal(mkfifo(in_dir(metadata), 0600), 0);
	for (int with_reader = 0; with_reader < 2; with_reader++) {
		int reader = with_reader ? open(in_dir(metadata), O_RDWR | O_CLOEXEC) : -1;

		assert_true(wmk_store_open(in_dir("t"), "ust/uid/1/64-bit", &store) < 0);
		wmk_error_clear();
		close(reader);
	}
	alarm(0);
}

/* Packets of another trace are not continued. */
static void test_streams_of_other_traces_are_refused(void **state)
{
	struct wmk_ctf_packet packet = { .content = 10 }, last;
	struct wmk_store *store = create();
	struct wmk_store_stream *stream;

	(void)state;
	assert_int_equal(wmk_store_stream_open(store, "app_0", NULL, uuid, &stream, &last), -ENOENT);
	assert_int_equal(wmk_store_stream_create(store, "app_0", NULL, &stream), 0);
	assert_int_equal(append(stream, &packet), 0);
	wmk_store_stream_close(stream);
	assert_int_equal(wmk_store_stream_open(store, "app_0", NULL, (const uint8_t *)"another trace's", &stream,
					       &last),
			 -EPROTO);
	assert_int_equal(wmk_store_stream_open(store, "app_0", NULL, uuid, &stream, &last), 1);
	wmk_store_stream_close(stream);
	/* A file with nothing but a torn packet can be opened, too. */
	assert_int_equal(truncate(in_dir("t/ust/uid/1/64-bit/app_0"), 100), 0);
	assert_int_equal(wmk_store_stream_open(store, "app_0", NULL, uuid, &stream, &last), 0);
	assert_int_equal(wmk_store_stream_bytes(stream), 0);
	wmk_store_stream_close(stream);
	wmk_store_close(store);
}

/*
 * Root's daemon creates files with the rights of a user: the user owns them, and the thread has root's identity again
 * after each step.
 */
static void files_written_for_a_user_belong_to_that_user(void **state)
{
	const uid_t user = 61234;
	const gid_t group = 61235;
	struct wmk_ctf_packet packet = { .content = 10 }, last;
	struct wmk_store *store, *streams;
	struct wmk_store_stream *stream;
	struct stat st;
	gid_t groups[64];
	int n = getgroups(64, groups);

	(void)state;
	if (geteuid() != 0) {
		assert_int_equal(wmk_store_identity_begin(geteuid(), getegid()), 0);
		wmk_store_identity_end();
		assert_int_equal(wmk_store_identity_begin(geteuid() + 1, getegid()), -EPERM);
		return;
	}
	/* Where the user may not write, root does not write for the user. */
	assert_int_equal(chmod(dir, 0711), 0);
	assert_int_equal(wmk_store_identity_begin(user, group), 0);
	assert_int_equal(wmk_store_identity_begin(user, group), -EBUSY);
	assert_int_equal(wmk_store_create(in_dir("t"), "ust", &store), -EACCES);
	wmk_store_identity_end();
	assert_int_equal(mkdir(in_dir("owned"), 0700), 0);
	assert_int_equal(chown(in_dir("owned"), user, group), 0);
	assert_int_equal(wmk_store_identity_begin(user, group), 0);
	assert_int_equal(wmk_store_create(in_dir("owned/t"), "ust", &store), 0);
	assert_int_equal(wmk_store_add(in_dir("owned/t"), "ust", &streams), -EEXIST);
	assert_int_equal(wmk_store_open(in_dir("owned/t"), "ust", &streams), 0);
	wmk_store_identity_end();
	wmk_store_identity_end();
	assert_int_equal(geteuid(), 0);
	assert_int_equal(getgroups(64, groups + 0), n);
	assert_int_equal(wmk_store_metadata(store, "x", 1), 0);
	/* The store keeps the identity. */
	assert_int_equal(wmk_store_stream_create(streams, "app_0", NULL, &stream), 0);
	assert_int_equal(append(stream, &packet), 0);
	wmk_store_stream_close(stream);
	assert_int_equal(wmk_store_stream_open(streams, "app_0", NULL, uuid, &stream, &last), 1);
	wmk_store_stream_close(stream);
	for (unsigned i = 0; i < 4; i++) {
		static const char *const names[] = { "owned/t/ust", "owned/t/ust/app_0", "owned/t/ust/index/app_0.idx",
						     "owned/t/ust/metadata" };

		assert_int_equal(lstat(in_dir(names[i]), &st), 0);
		assert_int_equal(st.st_uid, user);
		assert_int_equal(st.st_gid, group);
		assert_int_equal(st.st_mode & 0777, i ? 0600 : 0700);
	}
	/* The user removes the write permission: then root does not write there either. */
	assert_int_equal(chmod(in_dir("owned/t/ust"), 0500), 0);
	assert_int_equal(wmk_store_stream_create(streams, "app_1", NULL, &stream), -EACCES);
	/* Links are not followed, though root could. */
	assert_int_equal(symlink("/etc", in_dir("owned/link")), 0);
	assert_int_equal(wmk_store_identity_begin(user, group), 0);
	assert_true(wmk_store_open(in_dir("owned/link"), "ust", &streams) < 0);
	wmk_store_identity_end();
	wmk_store_close(streams);
	wmk_store_close(store);
	chmod(in_dir("owned/t/ust"), 0700);
}

/* A trace of two users: the second one is added to the existing directory. */
static void test_second_user_is_added_to_trace(void **state)
{
	struct wmk_store *one = create(), *two;

	(void)state;
	assert_int_equal(wmk_store_create(in_dir("t"), "ust/uid/2/64-bit", &two), -ENOTEMPTY);
	assert_int_equal(wmk_store_add(in_dir("t"), "ust/uid/2/64-bit", &two), 0);
	assert_int_equal(wmk_store_metadata(two, "y", 1), 0);
	wmk_store_close(two);
	assert_int_equal(wmk_store_add(in_dir("t"), "ust/uid/1/64-bit", &two), -EEXIST);
	assert_int_equal(wmk_store_add(in_dir("none"), "ust/uid/1/64-bit", &two), -ENOENT);
	wmk_store_close(one);
}

/*
 * Whole packets in files of a limited size; the oldest is replaced; a store that is opened again continues the newest.
 */
static void rotation_of_stream_files_replaces_the_oldest_file(void **state)
{
	const struct wmk_store_limits three = { 520, 3 }, endless = { 520, 0 }, one = { 520, 1 };
	struct wmk_ctf_packet packet = { .content = 64 }, last;
	const uint64_t size = wmk_ctf_packet_size(&packet);      /* three fit into a file */
	struct wmk_store_stream *stream;
	struct wmk_store *store = create();

	(void)state;
	assert_int_equal(size, 168);
	assert_int_equal(wmk_store_stream_create(store, "a_0", &three, &stream), 0);
	for (packet.sequence = 0; packet.sequence < 11; packet.sequence++)
		assert_int_equal(append(stream, &packet), 0);
	/* Packets 0-2 were replaced by 9 and 10; then 3-5 and 6-8. */
	assert_int_equal(size_of("t/ust/uid/1/64-bit/a_0_0"), 2 * size);
	assert_int_equal(size_of("t/ust/uid/1/64-bit/a_0_1"), 3 * size);
	assert_int_equal(size_of("t/ust/uid/1/64-bit/a_0_2"), 3 * size);
	assert_int_equal(size_of("t/ust/uid/1/64-bit/a_0_3"), -1);
	assert_int_equal(size_of("t/ust/uid/1/64-bit/a_0"), -1);
	assert_int_equal(size_of("t/ust/uid/1/64-bit/index/a_0_0.idx"), 16 + 2 * 72);
	assert_int_equal(wmk_store_stream_bytes(stream), 8 * size);
	assert_int_equal(wmk_store_bytes(store), 8 * size + 3 * 16 + 8 * 72);
	wmk_store_stream_close(stream);
	/* First a torn end of the newest file; then the newest file has nothing else. */
	for (unsigned turn = 0; turn < 2; turn++) {
		wmk_store_close(store);
		assert_int_equal(truncate(in_dir("t/ust/uid/1/64-bit/a_0_0"), (off_t)(turn ? 100 : 2 * size - 1)), 0);
		assert_int_equal(wmk_store_open(in_dir("t"), "ust/uid/1/64-bit", &store), 0);
		assert_int_equal(wmk_store_stream_open(store, "a_0", &three, uuid, &stream, &last), 1);
		assert_int_equal(last.sequence, turn ? 8 : 9);
		assert_int_equal(wmk_store_stream_bytes(stream), (turn ? 6 : 7) * size);
		assert_int_equal(wmk_store_bytes(store), (turn ? 6 : 7) * (size + 72) + (turn ? 2 : 3) * 16);
		wmk_store_stream_close(stream);
	}
	assert_int_equal(wmk_store_stream_open(store, "a_0", &three, uuid, &stream, &last), 1);
	packet.sequence = 9;
	assert_int_equal(append(stream, &packet), 0);
	assert_int_equal(size_of("t/ust/uid/1/64-bit/a_0_0"), size);
	wmk_store_stream_close(stream);
	assert_int_equal(wmk_store_stream_remove(store, "a_0", &three), 0);
	assert_int_equal(wmk_store_stream_remove(store, "a_0", &three), 0);
	assert_int_equal(wmk_store_stream_open(store, "a_0", &three, uuid, &stream, &last), -ENOENT);
	assert_int_equal(size_of("t/ust/uid/1/64-bit/index/a_0_1.idx"), -1);
	/* Without a limit of files; and with a single one. A packet above the limit has its own file. */
	assert_int_equal(wmk_store_stream_create(store, "b", &endless, &stream), 0);
	for (unsigned i = 0; i < 7; i++, packet.sequence++, packet.content = i == 3 ? 1000 : 64)
		assert_int_equal(append(stream, &packet), 0);
	assert_int_equal(size_of("t/ust/uid/1/64-bit/b_0"), 3 * size);
	assert_int_equal(size_of("t/ust/uid/1/64-bit/b_1"),
			 wmk_ctf_packet_size(&(struct wmk_ctf_packet){ .content = 1000 }));
	assert_int_equal(size_of("t/ust/uid/1/64-bit/b_2"), 3 * size);
	wmk_store_stream_close(stream);
	assert_int_equal(wmk_store_stream_open(store, "b", &endless, uuid, &stream, &last), 1);
	assert_int_equal(last.sequence, packet.sequence - 1);
	wmk_store_stream_close(stream);
	assert_int_equal(wmk_store_stream_create(store, "c", &one, &stream), 0);
	for (unsigned i = 0; i < 7; i++)
		assert_int_equal(append(stream, &packet), 0);
	assert_int_equal(size_of("t/ust/uid/1/64-bit/c_0"), size);
	assert_int_equal(wmk_store_stream_bytes(stream), size);
	/* A packet without records does not replace the only file, although the file is full. */
	for (unsigned i = 0; i < 3; i++, packet.content = i == 2 ? 0 : 64)
		assert_int_equal(append(stream, &packet), 0);
	assert_int_equal(size_of("t/ust/uid/1/64-bit/c_0"), 3 * size + 104);
	wmk_store_stream_close(stream);
	wmk_store_close(store);
}

/* Only the first of several processes creates the directory; its parent may be a link. */
static void directory_of_a_trace_is_created_by_only_one_process(void **state)
{
	char path[300], over[300];
	struct stat st;

	(void)state;
	snprintf(path, sizeof(path), "%s/a/b/trace", dir);
	assert_int_equal(wmk_store_make_directory(path), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_int_equal(wmk_store_make_directory(path), -EEXIST);
	snprintf(path, sizeof(path), "%s/a", dir);
	snprintf(over, sizeof(over), "%s/link", dir);
	assert_int_equal(symlink(path, over), 0);
	assert_int_equal(wmk_store_make_directory(over), -EEXIST);
	snprintf(path, sizeof(path), "%s/link/other", dir);
	assert_int_equal(wmk_store_make_directory(path), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(directory_of_a_trace_is_created_by_only_one_process, setup, teardown),
		cmocka_unit_test_setup_teardown(new_trace_has_private_directories_and_files, setup, teardown),
		cmocka_unit_test_setup_teardown(test_used_directories_are_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(test_links_of_other_users_are_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(test_invalid_stream_names_are_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(test_default_path_has_session_and_date, setup, teardown),
		cmocka_unit_test_setup_teardown(test_metadata_is_replaced_completely_or_not, setup, teardown),
		cmocka_unit_test_setup_teardown(test_failed_metadata_write_is_truncated, setup, teardown),
		cmocka_unit_test_setup_teardown(test_failed_packet_write_is_truncated, setup, teardown),
		cmocka_unit_test_setup_teardown(test_stream_continues_after_torn_packet, setup, teardown),
		cmocka_unit_test_setup_teardown(test_direct_io_writes_exact_content, setup, teardown),
		cmocka_unit_test_setup_teardown(test_streams_of_other_traces_are_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(test_fifos_do_not_block_the_open, setup, teardown),
		cmocka_unit_test_setup_teardown(rotation_of_stream_files_replaces_the_oldest_file, setup, teardown),
		cmocka_unit_test_setup_teardown(test_second_user_is_added_to_trace, setup, teardown),
		cmocka_unit_test_setup_teardown(files_written_for_a_user_belong_to_that_user, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
