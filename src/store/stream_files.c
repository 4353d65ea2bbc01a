/* SPDX-License-Identifier: MIT */
/*
 * stream_files.c - the names of a stream's files: one file, or several of limited size, with the names that LTTng uses:
 *
 *     app_0_0  app_0_1  app_0_2 ...       numbered in the order of creation; with a limited count, numbers begin again
 *                                         at 0, and each new file replaces the oldest
 *
 *     .app_0.next                         for a stream of one file at most: the next file, until its first packet is
 *                                         complete
 *
 * If the number of files is limited, the file numbers of a stream have at most one gap. There is a gap if a file was
 * removed and the file that should replace it could not be created. If the number of files is unlimited, another
 * process may have removed the first files, for example a sender that has sent these files (sender/sender.h).
 */
#include "store/store_state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

void wmk_store_file_name(const struct wmk_store_stream *stream, uint64_t number, char *name)
{
	if (stream->limits.size)
		snprintf(name, WMK_STORE_NAME, "%s_%llu", stream->name, (unsigned long long)number);
	else
		strcpy(name, stream->name);
}

void wmk_store_next_name(const struct wmk_store_stream *stream, char *name)
{
	snprintf(name, WMK_STORE_NAME, ".%s.next", stream->name);
}

void wmk_store_index_name(const struct wmk_store_stream *stream, uint64_t number, char *name)
{
	wmk_store_file_name(stream, number, name);
	strcat(name, ".idx");
}

/* Return the size of a file in bytes, or -errno. */
static int64_t size_of(int dir, const char *name)
{
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	return S_ISREG(st.st_mode) ? st.st_size : -EINVAL;
}

/* Remove a file, and call `add` to subtract the size of the file from the counts. Returns the size or -errno. */
static int64_t remove_one(struct wmk_store *store, int dir, const char *name,
			  void (*add)(struct wmk_store *store, int64_t more))
{
	wmk_store_budget_lock(store);
	int64_t size = size_of(dir, name);
	int err = unlinkat(dir, name, 0) < 0 ? -errno : 0;

	if (err == 0 && size > 0)
		add(store, -size);
	wmk_store_budget_unlock(store);
	return err < 0 ? err : size;
}

static int64_t file_remove(struct wmk_store_stream *stream, uint64_t number)
{
	char name[WMK_STORE_NAME];
	int64_t err;

	wmk_store_index_name(stream, number, name);
	err = remove_one(stream->store, stream->store->index_dir, name, wmk_store_add_bytes);
	if (err < 0 && err != -ENOENT)
		return err;
	wmk_store_file_name(stream, number, name);
	return remove_one(stream->store, stream->store->dir, name, wmk_store_add_bytes);
}

uint64_t wmk_store_file_remove(struct wmk_store_stream *stream, uint64_t number)
{
	int64_t size = file_remove(stream, number);

	return size > 0 ? (uint64_t)size : 0;
}

int wmk_store_file_replace(struct wmk_store_stream *stream)
{
	const int dir = stream->store->dir;
	char name[WMK_STORE_NAME], next[WMK_STORE_NAME];

	wmk_store_file_name(stream, stream->number, name);
	wmk_store_next_name(stream, next);
	wmk_store_budget_lock(stream->store);
		/* The old file may already have been removed for lack of space. */
	const int64_t size = size_of(dir, name);
	const int err = renameat(dir, next, dir, name) < 0 ? -errno : 0;

	if (err == 0 && size > 0)
		wmk_store_add_bytes(stream->store, -size);
	wmk_store_budget_unlock(stream->store);
	return err;
}

static bool exists(const struct wmk_store_stream *stream, uint64_t number)
{
	char name[WMK_STORE_NAME];

	wmk_store_file_name(stream, number, name);
	return size_of(stream->store->dir, name) >= 0;
}

struct number_range {
	const char *name;
	uint64_t first, end;
};

static int range_add(void *data, int at, const char *name)
{
	struct number_range *range = data;
	const size_t len = strlen(range->name);
	char *end;

	(void)at;
	if (strncmp(name, range->name, len) != 0 || name[len] != '_' || name[len + 1] < '0' ||
	    name[len + 1] > '9')
		return 0;
	const uint64_t number = strtoull(name + len + 1, &end, 10);

	if (*end || number == UINT64_MAX)
		return 0;
	if (range->end == 0 || number < range->first)
		range->first = number;
	if (number >= range->end)
		range->end = number + 1;
	return 0;
}

uint64_t wmk_store_file_numbers(int dir, const char *stream, uint64_t *first)
{
	struct number_range range = { .name = stream };

	wmk_store_each_entry(openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), range_add, &range);
	*first = range.first;
	return range.end;
}

/* Return the upper bound (exclusive) of the file numbers of the stream, and store the lower bound in *first. */
static uint64_t end_of(const struct wmk_store_stream *stream, uint64_t *first)
{
	uint64_t end = 0;

	*first = 0;
	if (!stream->limits.size)
		return exists(stream, 0);
	if (!stream->limits.count)
		return wmk_store_file_numbers(stream->store->dir, stream->name, first);
	while (exists(stream, end) || exists(stream, end + 1))
		end++;
	return end;
}

int wmk_store_files_remove(struct wmk_store_stream *stream)
{
	uint64_t begin;
	const uint64_t end = end_of(stream, &begin);
	int64_t err, first = 0;

	wmk_store_next_remove(stream);
	/*
	 * The loop runs at least once, because the index of the only stream file may remain after another process has
	 * removed the file.
	 */
	for (uint64_t i = begin; i == begin || i < end; i++) {
		err = file_remove(stream, i);
		if (err < 0 && err != -ENOENT && first == 0)
			first = err;
	}
	return (int)first;
}

/* Store the header of the file's first packet in *first. Returns 1; 0 if the file has no complete packet; or -errno. */
static int first_packet(const struct wmk_store_stream *stream, uint64_t number, const uint8_t uuid[16],
			struct wmk_ctf_packet *first)
{
	uint8_t room[WMK_CTF_PACKET_ROOM];
	char name[WMK_STORE_NAME];
	ssize_t len;
	int fd;

	wmk_store_file_name(stream, number, name);
	fd = openat(stream->store->dir, name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	len = pread(fd, room, sizeof(room), 0);
	close(fd);
	if (len < (ssize_t)sizeof(room))
		return len < 0 ? -EIO : 0;
	len = wmk_ctf_packet_decode(room, uuid, first);
	if (len < 0)
		return (int)len;
	/* 0 if the packet is torn. */
	return size_of(stream->store->dir, name) >= (int64_t)wmk_ctf_packet_size(first);
}

void wmk_store_remove_uncounted(struct wmk_store *store, int dir, const char *name)
{
	remove_one(store, dir, name, wmk_store_budget_add);
}

void wmk_store_next_remove(const struct wmk_store_stream *stream)
{
	char name[WMK_STORE_NAME];

	wmk_store_next_name(stream, name);
	wmk_store_remove_uncounted(stream->store, stream->store->dir, name);
}

/* The bytes of the file were never added to the store's count. */
static void drop_torn(const struct wmk_store_stream *stream, uint64_t number)
{
	char name[WMK_STORE_NAME];

	wmk_store_index_name(stream, number, name);
	wmk_store_remove_uncounted(stream->store, stream->store->index_dir, name);
	wmk_store_file_name(stream, number, name);
	wmk_store_remove_uncounted(stream->store, stream->store->dir, name);
}

int wmk_store_find_newest(struct wmk_store_stream *stream, const uint8_t uuid[16])
{
	uint64_t begin;
	const uint64_t end = end_of(stream, &begin);
	struct wmk_ctf_packet first;
	uint64_t newest = UINT64_MAX, sequence = 0;
	char name[WMK_STORE_NAME];
	int64_t size;

	if (end == 0)
		return -ENOENT;
	for (uint64_t i = begin; i < end; i++) {
		int found = first_packet(stream, i, uuid, &first);

		if (found < 0 && found != -ENOENT)
			return found;
		if (found == 0 && end - begin > 1)
			drop_torn(stream, i);
		if (found > 0 && (newest == UINT64_MAX || first.sequence >= sequence)) {
			newest = i;
			sequence = first.sequence;
		}
	}
	stream->number = newest == UINT64_MAX ? begin : newest;
	for (uint64_t i = begin; i < end; i++) {
		if (i == stream->number)
			continue;
		wmk_store_file_name(stream, i, name);
		size = size_of(stream->store->dir, name);
		stream->others += size > 0 ? (uint64_t)size : 0;
		wmk_store_index_name(stream, i, name);
		size = size_of(stream->store->index_dir, name);
		stream->others_index += size > 0 ? (uint64_t)size : 0;
	}
	/* No file had a complete packet, so all files were removed. */
	return newest == UINT64_MAX && end - begin > 1 ? -ENOENT : 0;
}
