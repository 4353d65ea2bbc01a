/* SPDX-License-Identifier: MIT */
/*
 * stream.c - a stream's file and its index: append whole packets; find and continue the stream after a crash.
 *
 * The index can be rebuilt from the stream file, and is rewritten whenever a stream is opened. A reader trusts an
 * existing index, and scans the stream file only if it has no index. If an index cannot be kept complete, the index is
 * therefore removed.
 */
#include "store/store_state.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

uint64_t wmk_store_stream_bytes(const struct wmk_store_stream *stream)
{
	return stream->len + stream->others;
}

int wmk_store_stream_check(const struct wmk_store_stream *stream)
{
	char name[WMK_STORE_NAME];
	struct stat st, named;

	if (fstat(stream->fd, &st) < 0 || st.st_nlink != 0)
		return 0;
	/* Some file systems do not report the number of links, so compare the inode of the name. */
	wmk_store_file_name(stream, stream->number, name);
	if (fstatat(stream->store->dir, name, &named, AT_SYMLINK_NOFOLLOW) == 0 && named.st_ino == st.st_ino)
		return 0;
	return wmk_errorx(-ENOENT, "%s", stream->store->path);
}

/* Close the index, and stop counting its bytes. */
static void index_close(struct wmk_store_stream *stream)
{
	if (stream->index >= 0)
		close(stream->index);
	stream->index = -1;
	stream->index_len = 0;
}

static void index_remove(struct wmk_store_stream *stream)
{
	char name[WMK_STORE_NAME];
	int entered = wmk_file_identity_enter(stream->store->identity);

	wmk_store_index_name(stream, stream->number, name);
	wmk_store_budget_lock(stream->store);
	if (entered >= 0)
		unlinkat(stream->store->index_dir, name, 0);
	wmk_store_add_bytes(stream->store, -(int64_t)stream->index_len);
	wmk_store_budget_unlock(stream->store);
	wmk_file_identity_leave(entered);
	index_close(stream);
}

static int index_write(struct wmk_store_stream *stream, const void *bytes, size_t len)
{
	const struct iovec iov = { .iov_base = (void *)(uintptr_t)bytes, .iov_len = len };
	int err = wmk_store_write_whole(stream->index, &iov, 1, stream->index_len);

	if (err < 0)
		return err;
	stream->index_len += len;
	wmk_store_add_bytes(stream->store, (int64_t)len);
	return 0;
}

static int open_named(struct wmk_store_stream *stream, const char *name, int flags)
{
	stream->fd = openat(stream->store->dir, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC | flags, 0600);
	if (stream->fd < 0)
		return -errno;
	wmk_direct_open(&stream->direct, &stream->store->rates, stream->store->dir, name, stream->fd);
	return 0;
}

static int open_data(struct wmk_store_stream *stream, int flags)
{
	char name[WMK_STORE_NAME];

	wmk_store_file_name(stream, stream->number, name);
	return open_named(stream, name, flags);
}

/* An existing index is rewritten from the packet headers. Rewriting is fast, because a stream file has few packets. */
static int open_index(struct wmk_store_stream *stream, int flags)
{
	char name[WMK_STORE_NAME];
	uint8_t head[WMK_CTF_INDEX_HEAD];
	struct stat st;
	int err;

	wmk_store_index_name(stream, stream->number, name);
	wmk_store_budget_lock(stream->store);
	stream->index = openat(stream->store->index_dir, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_CREAT | flags, 0600);
	err = stream->index < 0 || fstat(stream->index, &st) < 0 || ftruncate(stream->index, 0) < 0 ? -errno : 0;
	if (err == 0)
		wmk_store_budget_add(stream->store, -st.st_size);
	wmk_store_budget_unlock(stream->store);
	if (err < 0)
		return err;
	wmk_ctf_index_head(head);
	return index_write(stream, head, sizeof(head));
}

/*
 * Continue the stream without an index, because readers do not require an index. An outdated index would mislead
 * readers, so remove the index file.
 */
static void index_without(struct wmk_store_stream *stream)
{
	char name[WMK_STORE_NAME];

	index_close(stream);
	wmk_store_index_name(stream, stream->number, name);
	wmk_store_remove_uncounted(stream->store, stream->store->index_dir, name);
}

static int stream_new(struct wmk_store *store, const char *name, const struct wmk_store_limits *limits,
		      struct wmk_store_stream **result)
{
	struct wmk_store_stream *stream;

	if (!name[0] || strchr(name, '/') || name[0] == '.' || strlen(name) > WMK_STORE_STREAM_NAME_MAX ||
	    strcmp(name, "metadata") == 0 || strcmp(name, "index") == 0)
		return wmk_error(-EINVAL, "'%.240s' is not a valid stream name", name);
	stream = calloc(1, sizeof(*stream));
	if (!stream)
		return wmk_error(-ENOMEM, "no memory for stream %.240s", name);
	stream->store = store;
	stream->fd = stream->index = stream->direct.fd = -1;
	strcpy(stream->name, name);
	if (limits && limits->size)
		stream->limits = *limits;
	*result = stream;
	return 0;
}

static void close_files(struct wmk_store_stream *stream)
{
	if (stream->fd >= 0)
		close(stream->fd);
	if (stream->index >= 0)
		close(stream->index);
	wmk_direct_close(&stream->direct);
}

static void stream_free(struct wmk_store_stream *stream)
{
	close_files(stream);
	free(stream);
}

/* Remove the files that this call has created, so that a later call can use the same name. */
static void remove_files(struct wmk_store_stream *stream)
{
	char name[WMK_STORE_NAME];

	if (stream->index >= 0)
		index_remove(stream);
	wmk_store_file_name(stream, stream->number, name);
	if (stream->fd >= 0)
		unlinkat(stream->store->dir, name, 0);
}

static int make(struct wmk_store_stream *stream)
{
	int err = open_data(stream, O_CREAT | O_EXCL);

	if (err >= 0)
		err = open_index(stream, 0);     /* an existing index without its stream is obsolete */
	if (err < 0)
		remove_files(stream);
	return err;
}

static int stream_create(struct wmk_store *store, const char *name, const struct wmk_store_limits *limits,
			 struct wmk_store_stream **result)
{
	struct wmk_store_stream *stream;
	int err = stream_new(store, name, limits, &stream);

	if (err < 0)
		return err;
	err = make(stream);
	if (err < 0) {
		stream_free(stream);
		return wmk_error(err, "cannot create stream %.60s in %.60s: %s", name, store->path, strerror(-err));
	}
	*result = stream;
	return 0;
}

int wmk_store_stream_create(struct wmk_store *store, const char *name, const struct wmk_store_limits *limits,
			    struct wmk_store_stream **stream)
{
	int entered = wmk_file_identity_enter(store->identity);
	int err = entered < 0 ? entered : stream_create(store, name, limits, stream);

	wmk_file_identity_leave(entered);
	return err;
}

static int next_file_error(const struct wmk_store_stream *stream, int err)
{
	return wmk_error(err, "cannot create another file of stream %.60s in %.60s: %s", stream->name,
			 stream->store->path, strerror(-err));
}

/*
 * Start the next file of the stream. If the stream already has limits.count files, the next file replaces the oldest
 * file. The current file is closed only after the new file exists.
 */
static int next_file(struct wmk_store_stream *stream)
{
	struct wmk_store_stream fresh = *stream;
	int err;

	fresh.number = stream->number + 1;
	fresh.others = stream->others + stream->len;
	if (stream->limits.count && fresh.number >= stream->limits.count)
		fresh.number = 0;
	fresh.others -= wmk_store_file_remove(stream, fresh.number);
	fresh.fd = fresh.index = fresh.direct.fd = -1;
	fresh.len = fresh.index_len = fresh.last = 0;
	err = make(&fresh);
	if (err < 0) {
		close_files(&fresh);
		stream->others = fresh.others - stream->len;
		return next_file_error(stream, err);
	}
	if (stream->synced && wmk_store_file_sync(stream) < 0)
		fresh.sync_err = -EIO;
	close_files(stream);
	*stream = fresh;
	return 0;
}

static int begin_next_file(struct wmk_store_stream *stream)
{
	int entered = wmk_file_identity_enter(stream->store->identity);
	int err = entered < 0 ? entered : next_file(stream);

	wmk_file_identity_leave(entered);
	return err;
}

static int index_packet(struct wmk_store_stream *stream, const struct wmk_ctf_packet *packet)
{
	uint8_t entry[WMK_CTF_INDEX_ENTRY];

	if (stream->index < 0)
		return 0;
	wmk_ctf_index_packet(entry, stream->len, packet);
	return index_write(stream, entry, sizeof(entry));
}

void wmk_store_stream_pressure(struct wmk_store_stream *stream, uint32_t percent)
{
	atomic_store_explicit(&stream->store->rates.pressure, percent, memory_order_relaxed);
}

static uint32_t padding(const struct wmk_store_stream *stream, const struct wmk_ctf_packet *packet, uint64_t at)
{
	const uint64_t end = at + wmk_ctf_packet_size(packet);

	return stream->direct.fd >= 0 && end - at >= WMK_STORE_DIRECT_MIN ? (uint32_t)(-end & (WMK_DIRECT_BLOCK - 1))
									  : 0;
}

static bool is_full(const struct wmk_store_stream *stream, const struct wmk_ctf_packet *packet)
{
	/* A packet without records does not replace the only file: it would remove all records of the stream. */
	const bool can_exceed = stream->limits.count == 1 && !packet->content;

	/*
	 * No current file exists if the only file was removed for lack of space and the next file could not be created.
	 */
	return stream->fd < 0 || (stream->limits.size && stream->len && !can_exceed &&
				  stream->len + wmk_ctf_packet_size(packet) > stream->limits.size);
}

void wmk_store_stream_prepare(struct wmk_store_stream *stream, struct wmk_ctf_packet *packet)
{
	packet->pad = 0;
	packet->pad = padding(stream, packet, stream->len);
	stream->full = is_full(stream, packet);
	if (!stream->full)
		return;
	packet->pad = 0;
	packet->pad = padding(stream, packet, 0);
}

void wmk_store_packet_written(struct wmk_store_stream *stream, const struct wmk_ctf_packet *packet)
{
	const uint64_t size = wmk_ctf_packet_size(packet);

	if (index_packet(stream, packet) < 0)
		index_remove(stream);
	stream->last = stream->len;
	stream->len += size;
	wmk_store_add_bytes(stream->store, (int64_t)size);
}

static int write_packet(struct wmk_store_stream *stream, const struct iovec *iov, int n,
			const struct wmk_ctf_packet *packet)
{
	int err = wmk_direct_write(&stream->direct, stream->fd, iov, n, stream->len);

	if (err < 0)
		return wmk_error(err, "cannot write stream %.60s in %.60s: %s", stream->name, stream->store->path,
				 strerror(-err));
	wmk_store_packet_written(stream, packet);
	return 0;
}

/*
 * Rename the new file, which contains the packet, to the name of the old file, and remove the old index. If the process
 * crashes before the new index exists, readers scan the stream file.
 */
static int replace_old(struct wmk_store_stream *stream, struct wmk_store_stream *fresh,
		      const struct wmk_ctf_packet *packet)
{
	int err = wmk_store_file_replace(stream);

	if (err < 0)
		return err;
	if (stream->index >= 0)
		index_remove(stream);
	if (open_index(fresh, O_EXCL) < 0)
		index_without(fresh);
	if (index_packet(fresh, packet) < 0)
		index_remove(fresh);
	fresh->len = wmk_ctf_packet_size(packet);
	wmk_store_add_bytes(stream->store, (int64_t)fresh->len);
	return 0;
}

/*
 * Replace the only file of a stream by a new file that begins with this packet. The new file has another name until the
 * packet is complete. A crash therefore leaves either the old file or the new file.
 */
static int replace_file(struct wmk_store_stream *stream, const struct iovec *iov, int n,
			const struct wmk_ctf_packet *packet)
{
	struct wmk_store_stream fresh = *stream;
	char next[WMK_STORE_NAME];
	int err;

	wmk_store_next_remove(stream);
	wmk_store_next_name(stream, next);
	fresh.fd = fresh.index = fresh.direct.fd = -1;
	fresh.len = fresh.index_len = fresh.last = 0;
	err = open_named(&fresh, next, O_CREAT | O_EXCL);
	if (err >= 0)
		err = wmk_direct_write(&fresh.direct, fresh.fd, iov, n, 0);
	if (err >= 0)
		err = replace_old(stream, &fresh, packet);
	if (err < 0) {
		if (fresh.fd >= 0)
			unlinkat(stream->store->dir, next, 0);
		close_files(&fresh);
		return next_file_error(stream, err);
	}
	close_files(stream);
	*stream = fresh;
	return 0;
}

/*
 * If there is no space for both files, the old file is removed first. The old file is also closed, because the kernel
 * frees the blocks of a removed file only after it is closed.
 */
static int write_only_file(struct wmk_store_stream *stream, const struct iovec *iov, int n,
		      const struct wmk_ctf_packet *packet)
{
	int entered = wmk_file_identity_enter(stream->store->identity);
	int err = entered < 0 ? entered : replace_file(stream, iov, n, packet);

	if ((err == -ENOSPC || err == -EDQUOT) && stream->fd >= 0) {
		wmk_error_clear();
		wmk_store_file_remove(stream, stream->number);
		close_files(stream);
		stream->fd = stream->index = -1;
		stream->len = stream->index_len = stream->last = 0;
		err = replace_file(stream, iov, n, packet);
	}
	wmk_file_identity_leave(entered);
	return err;
}

int wmk_store_stream_append(struct wmk_store_stream *stream, const struct iovec *iov, int n,
			    const struct wmk_ctf_packet *packet)
{
	const bool full = stream->full || is_full(stream, packet), only_file = full && stream->limits.count == 1;
	const uint64_t size = wmk_ctf_packet_size(packet);
	const uint64_t need = size + WMK_CTF_INDEX_ENTRY;
	uint64_t given = 0;
	int i, err;

	for (i = 0; i < n; i++)
		given += iov[i].iov_len;
	if (given != size)
		return wmk_error(-EINVAL, "a packet has %llu bytes, but its header declares %llu",
				 (unsigned long long)given, (unsigned long long)size);
	err = full && !only_file ? begin_next_file(stream) : 0;
	if (err < 0)
		return err;
	stream->full = false;
	/*
	 * Check the free space after the start of the next file, which may have removed the oldest file. A stream with
	 * a single file releases the space of the old file only after the write.
	 */
	err = packet->content ? wmk_store_check_free(stream->store, need) : 0;
	if (err < 0)
		return err;
	err = packet->content ? wmk_store_budget_reserve(stream->store, need,
					       only_file ? wmk_store_stream_bytes(stream) + stream->index_len : 0)
			      : 0;
	if (err < 0)
		return err;
	err = only_file ? write_only_file(stream, iov, n, packet) : write_packet(stream, iov, n, packet);
	if (packet->content)
		wmk_store_budget_release(stream->store, need);
	return err;
}

int wmk_store_stream_amend(struct wmk_store_stream *stream, uint64_t lost)
{
	uint64_t big = htobe64(lost);

	if (!stream->len)
		return wmk_error(-ENOENT, "stream %.60s has no packet", stream->name);
	if (pwrite(stream->fd, &lost, sizeof(lost),
		   (off_t)(stream->last + WMK_CTF_PACKET_LOST_AT)) != (ssize_t)sizeof(lost))
		return wmk_error(-EIO, "cannot write a lost count into stream %.60s", stream->name);
	if (stream->index >= 0 && pwrite(stream->index, &big, sizeof(big),
					 (off_t)(stream->index_len - WMK_CTF_INDEX_ENTRY +
					 WMK_CTF_INDEX_LOST_AT)) != (ssize_t)sizeof(big))
		index_remove(stream);
	return 0;
}

/* Read the trailer of the packet that begins at the current end of the stream. False: the packet has none. */
static bool trailer_read(const struct wmk_store_stream *stream, struct wmk_ctf_packet *packet)
{
	const uint64_t at = stream->len + wmk_ctf_packet_size(packet) - WMK_CTF_TRAILER;
	uint8_t trailer[WMK_CTF_TRAILER];

	return pread(stream->fd, trailer, sizeof(trailer), (off_t)at) == (ssize_t)sizeof(trailer) &&
	       wmk_ctf_trailer_decode(trailer, packet);
}

/*
 * Index the complete packets of the file, and stop at the first incomplete packet. Returns 1 if the file has a complete
 * packet, else 0.
 */
static int scan(struct wmk_store_stream *stream, const uint8_t uuid[16], uint64_t file_len, struct wmk_ctf_packet *last)
{
	uint8_t room[WMK_CTF_PACKET_ROOM];
	struct wmk_ctf_packet packet;
	int found = 0;

	while (file_len - stream->len >= sizeof(room) &&
	       pread(stream->fd, room, sizeof(room), (off_t)stream->len) == (ssize_t)sizeof(room)) {
		if (wmk_ctf_packet_decode(room, uuid, &packet) < 0) {
			wmk_error_clear();
			break;
		}
		if (wmk_ctf_packet_size(&packet) > file_len - stream->len || !trailer_read(stream, &packet))
			break;
		if (index_packet(stream, &packet) < 0)
			index_remove(stream);
		stream->last = stream->len;
		stream->len += wmk_ctf_packet_size(&packet);
		*last = packet;
		found = 1;
	}
	return found;
}

/*
 * Return 0 if the file may be truncated, because it is shorter than a packet header or begins with a packet of this
 * trace.
 */
static int check_ours(struct wmk_store_stream *stream, const uint8_t uuid[16], uint64_t *file_len)
{
	uint8_t room[WMK_CTF_PACKET_ROOM];
	struct wmk_ctf_packet packet;
	struct stat st;

	if (fstat(stream->fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	*file_len = (uint64_t)st.st_size;
	if (*file_len < sizeof(room))
		return 0;
	if (pread(stream->fd, room, sizeof(room), 0) != (ssize_t)sizeof(room))
		return -EIO;
	return wmk_ctf_packet_decode(room, uuid, &packet);
}

/* Open one file to append packets. Returns 1 or 0 like scan(), or -errno. */
static int open_file(struct wmk_store_stream *stream, const uint8_t uuid[16], struct wmk_ctf_packet *last)
{
	uint64_t file_len;
	int err = open_data(stream, 0), found;

	if (err >= 0)
		err = check_ours(stream, uuid, &file_len);
	if (err < 0)
		return err;
	if (open_index(stream, 0) < 0)
		index_without(stream);
	found = scan(stream, uuid, file_len, last);
	wmk_store_budget_lock(stream->store);
	err = ftruncate(stream->fd, (off_t)stream->len) < 0 ? -errno : 0;
	if (err == 0)
		wmk_store_budget_add(stream->store, (int64_t)(stream->len - file_len));
	wmk_store_budget_unlock(stream->store);
	return err < 0 ? err : found;
}

static int stream_open(struct wmk_store *store, const char *name, const struct wmk_store_limits *limits,
		       const uint8_t uuid[16], struct wmk_store_stream **result, struct wmk_ctf_packet *last)
{
	struct wmk_store_stream *stream;
	int err = stream_new(store, name, limits, &stream), found = 0;

	if (err < 0)
		return err;
	memset(last, 0, sizeof(*last));
	if (stream->limits.size) {
		wmk_store_next_remove(stream);
		err = wmk_store_find_newest(stream, uuid);
	}
	if (err >= 0)
		err = found = open_file(stream, uuid, last);
	if (err < 0) {
		stream_free(stream);
		return wmk_error(err, "cannot continue stream %.60s in %.60s: %s", name, store->path, strerror(-err));
	}
	/* The budget has already counted the files of an existing stream. */
	atomic_fetch_add_explicit(&store->bytes, stream->len + stream->others + stream->others_index,
				  memory_order_relaxed);
	*result = stream;
	return found;
}

int wmk_store_stream_open(struct wmk_store *store, const char *name, const struct wmk_store_limits *limits,
			  const uint8_t uuid[16], struct wmk_store_stream **stream, struct wmk_ctf_packet *last)
{
	int entered = wmk_file_identity_enter(store->identity);
	int found = entered < 0 ? entered : stream_open(store, name, limits, uuid, stream, last);

	wmk_file_identity_leave(entered);
	return found;
}

int wmk_store_stream_remove(struct wmk_store *store, const char *name, const struct wmk_store_limits *limits)
{
	struct wmk_store_stream *stream;
	int err = stream_new(store, name, limits, &stream), entered;

	if (err < 0)
		return err;
	entered = wmk_file_identity_enter(store->identity);
	err = entered < 0 ? entered : wmk_store_files_remove(stream);
	wmk_file_identity_leave(entered);
	stream_free(stream);
	return err < 0 ? wmk_error(err, "cannot remove stream %.60s in %.60s: %s", name, store->path, strerror(-err))
		       : 0;
}

int wmk_store_stream_close(struct wmk_store_stream *stream)
{
	stream_free(stream);
	return 0;
}
