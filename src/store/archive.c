/* SPDX-License-Identifier: MIT */
/*
 * archive.c - chunks of a trace: the open one, and those that a rotation has closed (docs/rotation.md).
 *
 *     <trace>/ust/uid/<uid>/64-bit/               the open chunk: .chunk has its number, unless it is 0
 *             .rotation                           journal of a rotation that is not finished
 *             .begins                             journal of the rotation that began this chunk
 *     <trace>/archives/.NAME/ust/uid/...          closed by a rotation that is not finished
 *     <trace>/archives/NAME/ust/uid/...           closed
 *
 * The first rename moves a trace from the directory of the open chunk to archives/.NAME. A second rename moves all
 * traces of the chunk from archives/.NAME to archives/NAME. After a crash, each trace is therefore in the directory of
 * the open chunk, in archives/.NAME, or in archives/NAME.
 */
#include "ctf/frame_reader.h"
#include "ctf/frame_table.h"
#include "store/archive.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/testpoint.h"
#include "store/path.h"
#include "store/store_state.h"

#define CHUNK_NAME 200u            /* bytes of the name of a closed chunk, with the NUL */
#define CHUNK ".chunk"
#define EPOCH ".epoch"
#define JOURNAL ".rotation"
#define JOURNAL_NEW ".rotation.new"
#define BEGINS ".begins"
#define ARCHIVES "archives"
#define JOURNAL_MAX (64u << 20)

static int check_name(const char *name)
{
	return name[0] && name[0] != '.' && !strchr(name, '/') && strlen(name) < CHUNK_NAME
		       ? 0
		       : wmk_error(-EINVAL, "'%.240s' is not the name of a trace chunk", name);
}

/* ── files of the open chunk ─────────────────────────────────────────────────────────────────────────── */

/*
 * Replace a small file of the trace: write a second file, and rename it to the name of the first. When the function
 * returns 0, the new content is on the disk.
 */
static int write_file(const struct wmk_store *store, const char *name, const char *fresh, const char *text, size_t len)
{
	const struct iovec iov = { .iov_base = (void *)(uintptr_t)text, .iov_len = len };
	int fd, dir, err;

	unlinkat(store->dir, fresh, 0);          /* left by a crash */
	fd = openat(store->dir, fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	err = fd < 0 ? -errno : wmk_store_write_whole(fd, &iov, 1, 0);
	if (err == 0 && fsync(fd) < 0)
		err = -errno;
	if (fd >= 0)
		close(fd);
	if (err == 0 && renameat(store->dir, fresh, store->dir, name) < 0)
		err = -errno;
	if (err < 0 && fd >= 0)
		unlinkat(store->dir, fresh, 0);
	dir = err < 0 ? -1 : openat(store->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir >= 0 && fsync(dir) < 0)
		err = -errno;
	if (dir >= 0)
		close(dir);
	return err;
}

/* Read a file into NUL-terminated memory from malloc(). */
static int read_text(int dir, const char *name, char **text)
{
	int fd = openat(dir, name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC), err = fd < 0 ? -errno : 0;
	struct stat st;
	ssize_t n = 0;

	*text = NULL;
	if (err == 0 && fstat(fd, &st) < 0)
		err = -errno;
	if (err == 0 && (!S_ISREG(st.st_mode) || st.st_size > JOURNAL_MAX))
		err = -EINVAL;
	if (err == 0 && !(*text = malloc((size_t)st.st_size + 1)))
		err = -ENOMEM;
	if (err == 0 && (n = pread(fd, *text, (size_t)st.st_size, 0)) < 0)
		err = -errno;
	if (fd >= 0)
		close(fd);
	if (err < 0) {
		free(*text);
		*text = NULL;
		return err;
	}
	(*text)[n] = '\0';
	return 0;
}

int wmk_store_chunk(struct wmk_store *store, uint64_t open, uint64_t *number)
{
	int entered = wmk_file_identity_enter(store->identity), err = entered < 0 ? entered : 0;
	char *text = NULL, own[32];

	*number = 0;
	if (err == 0)
		err = read_text(store->dir, CHUNK, &text);
	if (err == 0)
		*number = strtoull(text, NULL, 10);
	free(text);
	if (err == -ENOENT)
		err = 0;
	/* If the directory has no metadata yet, the directory belongs to the open chunk. */
	if (err == 0 && *number == 0 && open && store->metadata_len == 0) {
		snprintf(own, sizeof(own), "%llu\n", (unsigned long long)open);
		err = write_file(store, CHUNK, CHUNK ".new", own, strlen(own));
		*number = err < 0 ? 0 : open;
	}
	wmk_file_identity_leave(entered);
	return err < 0 ? wmk_error(err, "cannot read or write the number of the trace chunk in %.80s: %s", store->path,
				   strerror(-err))
		       : 0;
}

int wmk_store_epoch(struct wmk_store *store, uint32_t *epoch)
{
	int entered = wmk_file_identity_enter(store->identity), err = entered < 0 ? entered : 0;
	char *text = NULL;

	*epoch = 0;
	if (err == 0)
		err = read_text(store->dir, EPOCH, &text);
	if (err == 0)
		*epoch = (uint32_t)strtoul(text, NULL, 10);
	free(text);
	wmk_file_identity_leave(entered);
	return err == 0 || err == -ENOENT
		       ? 0
		       : wmk_error(err, "cannot read the epoch of the trace in %.80s: %s", store->path, strerror(-err));
}

int wmk_store_set_epoch(struct wmk_store *store, uint32_t epoch)
{
	int entered = wmk_file_identity_enter(store->identity), err = entered < 0 ? entered : 0;
	char text[16];

	snprintf(text, sizeof(text), "%u\n", epoch);
	if (err == 0)
		err = write_file(store, EPOCH, EPOCH ".new", text, strlen(text));
	wmk_file_identity_leave(entered);
	return err < 0 ? wmk_error(err, "cannot write the epoch of the trace in %.80s: %s", store->path, strerror(-err))
		       : 0;
}

int wmk_store_journal_write(struct wmk_store *store, const char *text, size_t len)
{
	int entered = wmk_file_identity_enter(store->identity);
	int err = entered < 0 ? entered : write_file(store, JOURNAL, JOURNAL_NEW, text, len);

	wmk_file_identity_leave(entered);
	return err < 0 ? wmk_error(err, "cannot write the journal of a rotation in %.80s: %s", store->path,
				   strerror(-err))
		       : 0;
}

int wmk_store_journal_read(struct wmk_store *store, char **text)
{
	int entered = wmk_file_identity_enter(store->identity);
	int err = entered < 0 ? entered : read_text(store->dir, JOURNAL, text);

	wmk_file_identity_leave(entered);
	return err;
}

int wmk_store_begins_read(struct wmk_store *store, char **text)
{
	int entered = wmk_file_identity_enter(store->identity);
	int err = entered < 0 ? entered : read_text(store->dir, BEGINS, text);

	wmk_file_identity_leave(entered);
	return err;
}

void wmk_store_begins_remove(struct wmk_store *store)
{
	int entered = wmk_file_identity_enter(store->identity);

	if (entered >= 0)
		unlinkat(store->dir, BEGINS, 0);
	wmk_file_identity_leave(entered);
}

/* ── streams that were not continued ───────────────────────────────────────────────────────────────────── */

struct repair {
	struct wmk_store *store;
	const uint8_t *uuid;
};

/*
 * Open a stream file with wmk_store_stream_open(), which repairs the file, and then close the file. If the file has no
 * complete packet, the file is removed. If a file has no index, it is not a stream file.
 */
static int repair_one(void *data, int at, const char *name)
{
	const struct repair *repair = data;
	struct wmk_store_stream *stream;
	struct wmk_ctf_packet last;
	char index[NAME_MAX + sizeof(".idx")];
	int found = -ENOENT;

	(void)at;
	snprintf(index, sizeof(index), "%s.idx", name);
	if (faccessat(repair->store->index_dir, index, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		found = wmk_store_stream_open(repair->store, name, NULL, repair->uuid, &stream, &last);
	if (found >= 0)
		wmk_store_stream_close(stream);
	if (found == 0)
		wmk_store_stream_remove(repair->store, name, NULL);
	wmk_error_clear();
	return 0;
}

void wmk_store_repair(struct wmk_store *store, const uint8_t uuid[16])
{
	struct repair repair = { store, uuid };
	int entered;

	if (store->sub)
		return;
	entered = wmk_file_identity_enter(store->identity);
	if (entered >= 0)
		wmk_store_each_entry(openat(store->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), repair_one, &repair);
	wmk_file_identity_leave(entered);
}

/* ── archives ────────────────────────────────────────────────────────────────────────────────────────── */

/* Open a directory below the trace directory `path`. Returns a descriptor or -errno. */
static int open_below(const char *path, const char *sub, unsigned how)
{
	int top = wmk_path_open(path);

	return top < 0 ? top : wmk_path_walk(top, sub, how);
}

/*
 * Open the parent directory of `prefix`/`sub`, which is a path below `path`. Sets *name to the last component of `sub`.
 * Returns a descriptor or -errno.
 */
static int open_above(const char *path, const char *prefix, const char *sub, unsigned how, const char **name)
{
	const char *slash = strrchr(sub, '/');
	char *above;
	int fd;

	*name = slash ? slash + 1 : sub;
	if (asprintf(&above, "%s./%.*s", prefix, (int)(*name - sub), sub) < 0)
		return -ENOMEM;
	fd = open_below(path, above, how);
	free(above);
	return fd;
}

int wmk_store_archive(const char *path, const char *sub, const char *chunk)
{
	char prefix[CHUNK_NAME + sizeof(ARCHIVES) + 4];
	const char *name;
	int err = check_name(chunk), from, to;

	if (err < 0)
		return err;
	snprintf(prefix, sizeof(prefix), ARCHIVES "/.%s/", chunk);
	from = open_above(path, "", sub, 0, &name);
	to = from < 0 ? -1 : open_above(path, prefix, sub, WMK_PATH_MAKE, &name);
	err = from < 0 ? from : to < 0 ? to : renameat(from, name, to, name) < 0 ? -errno : 0;
	if (from >= 0)
		close(from);
	if (from >= 0 && to >= 0)
		close(to);
	return err == -ENOENT ? 0
	       : err < 0      ? wmk_error(err, "cannot move %.60s of %.80s to " ARCHIVES "/%.60s: %s", sub, path, chunk,
					  strerror(-err))
			      : 0;
}

int wmk_store_archive_end(const char *path, const char *chunk)
{
	char hidden[CHUNK_NAME + 2];
	int err = check_name(chunk), dir;

	if (err < 0)
		return err;
	snprintf(hidden, sizeof(hidden), ".%s", chunk);
	dir = open_below(path, ARCHIVES, 0);
	WMK_TESTPOINT(archive_before_rename);
	err = dir < 0 ? dir : renameat(dir, hidden, dir, chunk) < 0 ? -errno : 0;
	if (dir >= 0)
		close(dir);
	/* Either an earlier call has already renamed the directory of the chunk, or the chunk has no traces. */
	if (err == -ENOENT)
		return 0;
	return err < 0 ? wmk_error(err, "cannot move " ARCHIVES "/%.60s of %.80s to " ARCHIVES "/%.60s: %s", hidden,
				   path, chunk, strerror(-err))
		       : 0;
}

/* Open the directory of a trace in a closed chunk. Returns a descriptor or -errno. */
static int open_closed(const struct wmk_store *store, const char *sub, const char *chunk)
{
	char below[sizeof(ARCHIVES) + 600];
	int dir = -ENOENT;

	for (int hidden = 1; hidden >= 0 && dir == -ENOENT; hidden--) {
		snprintf(below, sizeof(below), ARCHIVES "/%s%.255s/%.255s", hidden ? "." : "", chunk, sub);
		dir = open_below(store->path, below, 0);
	}
	return dir;
}

void wmk_store_begins_take(struct wmk_store *store, const char *sub, const char *chunk)
{
	int entered = wmk_file_identity_enter(store->identity), dir = -ENOENT;

	if (entered >= 0 && check_name(chunk) == 0)
		dir = open_closed(store, sub, chunk);
	if (dir >= 0) {
		renameat(dir, JOURNAL, store->dir, BEGINS);
		close(dir);
	}
	wmk_file_identity_leave(entered);
}

/* A stream file of a closed chunk; the file may already be compressed. */
struct closed_file {
	int fd;
	struct wmk_ctf_frames *frames;     /* NULL: plain */
};

static int closed_file_open(struct closed_file *file, int dir, const char *name)
{
	char packed[WMK_STORE_NAME + sizeof(WMK_CTF_FRAME_SUFFIX)];
	int err = 0;

	file->frames = NULL;
	file->fd = openat(dir, name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	if (file->fd >= 0 || errno != ENOENT)
		return file->fd < 0 ? -errno : 0;
	snprintf(packed, sizeof(packed), "%s" WMK_CTF_FRAME_SUFFIX, name);
	file->fd = openat(dir, packed, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	if (file->fd < 0)
		return -errno;
	err = wmk_ctf_frames_open(file->fd, &file->frames);
	if (err < 0)
		close(file->fd);
	return err;
}

static bool closed_file_read(const struct closed_file *file, void *to, size_t len, uint64_t at)
{
	return (file->frames ? wmk_ctf_frames_read(file->frames, to, len, at) : pread(file->fd, to, len, (off_t)at)) ==
	       (ssize_t)len;
}

/* Read the last complete packet of one file. 1: found; 0: the file has none; -errno. */
static int last_packet(int dir, const char *name, const uint8_t uuid[16], struct wmk_ctf_packet *last)
{
	uint8_t room[WMK_CTF_PACKET_ROOM], trailer[WMK_CTF_TRAILER];
	struct wmk_ctf_packet packet;
	struct closed_file file;
	uint64_t at;
	int found = 0, err = closed_file_open(&file, dir, name);

	if (err < 0)
		return err;
	at = file.frames ? wmk_ctf_frames_last(file.frames) : 0;
	while (closed_file_read(&file, room, sizeof(room), at)) {
		if (wmk_ctf_packet_decode(room, uuid, &packet) < 0) {
			wmk_error_clear();
			break;
		}
		const uint64_t end = at + wmk_ctf_packet_size(&packet);

		if (!closed_file_read(&file, trailer, sizeof(trailer), end - sizeof(trailer)) ||
		    !wmk_ctf_trailer_decode(trailer, &packet))
			break;
		*last = packet;
		found = 1;
		at = end;
	}
	wmk_ctf_frames_close(file.frames);
	close(file.fd);
	wmk_error_clear();
	return found;
}

int wmk_store_archive_last(const struct wmk_store *store, const char *sub, const char *chunk, const char *stream,
			   const struct wmk_store_limits *limits, const uint8_t uuid[16], struct wmk_ctf_packet *last)
{
	int entered = wmk_file_identity_enter(store->identity), found = 0;
	int dir = entered < 0 ? entered : open_closed(store, sub, chunk);
	char name[WMK_STORE_NAME];
	struct wmk_ctf_packet one;
	uint64_t number = 0;

	/* A sender may have removed the first files of the stream. */
	if (dir >= 0 && limits && limits->size)
		wmk_store_file_numbers(dir, stream, &number);
	for (uint64_t i = number; dir >= 0; i++) {
		if (limits && limits->size)
			snprintf(name, sizeof(name), "%.220s_%llu", stream, (unsigned long long)i);
		else
			snprintf(name, sizeof(name), "%.220s", stream);
		const int got = last_packet(dir, name, uuid, &one);

		if (got == 1 && (!found || one.sequence > last->sequence)) {
			*last = one;
			found = 1;
		}
		if (got < 0 || !limits || !limits->size)
			break;
	}
	if (dir >= 0)
		close(dir);
	wmk_file_identity_leave(entered);
	return found;
}
