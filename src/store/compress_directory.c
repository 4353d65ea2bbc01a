/* SPDX-License-Identifier: MIT */
/*
 * compress_directory.c - compress the stream files of a directory (see compress_directory.h).
 */
#include <dirent.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "ctf/frame_table.h"
#include "ctf/frame_writer.h"
#include "ctf/writer.h"
#include "store/compress_directory.h"
#include "store/directory_removal.h"
#include "store/path.h"

#define DEPTH_MAX 16u
#define COPY_SIZE (256u << 10)
#define INDEX_MAGIC 0xC1F1DCC1u

/* One directory of the tree: the original directory, and its copy. */
struct level {
	int from, to;
	bool is_trace;             /* the directory has metadata, so its other files are streams */
	struct wmk_compress_result *result;
};

/* ── one stream file ─────────────────────────────────────────────────────────────────────────────────── */

/* The end positions of the packets, read from the index. */
struct packets {
	int fd;                    /* of the index; -1: none */
	uint32_t entry;            /* size of an entry, in bytes */
	uint64_t n;                /* number of the next entry */
	uint64_t at;               /* end of the previous packet */
};

static void packets_open(struct packets *packets, int dir, const char *file)
{
	char path[NAME_MAX + 16];
	uint32_t head[4];

	snprintf(path, sizeof(path), "index/%.*s.idx", NAME_MAX, file);
	*packets = (struct packets){ .fd = openat(dir, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK) };
	if (packets->fd < 0)
		return;
	if (pread(packets->fd, head, sizeof(head), 0) == (ssize_t)sizeof(head) && be32toh(head[0]) == INDEX_MAGIC &&
	    be32toh(head[1]) == 1 && be32toh(head[3]) >= 2 * sizeof(uint64_t)) {
		packets->entry = be32toh(head[3]);
		return;
	}
	close(packets->fd);
	packets->fd = -1;
}

/*
 * Find the end of the next packet in the file. If the index has no valid entry for the packet, the result is `size`,
 * the end of the file.
 */
static uint64_t packets_next(struct packets *packets, uint64_t size)
{
	uint64_t entry[2], bytes;

	if (packets->fd >= 0 && pread(packets->fd, entry, sizeof(entry), (off_t)(WMK_CTF_INDEX_HEAD + packets->n *
					packets->entry)) == (ssize_t)sizeof(entry)) {
		bytes = be64toh(entry[1]) / 8;
		if (be64toh(entry[0]) == packets->at && bytes && be64toh(entry[1]) % 8 == 0 &&
		    bytes <= size - packets->at) {
			packets->n++;
			return packets->at += bytes;
		}
	}
	return packets->at = size;
}

static int read_all(int fd, uint8_t *to, size_t len, uint64_t at, const char *name)
{
	for (size_t done = 0; done < len;) {
		const ssize_t n = pread(fd, to + done, len - done, (off_t)(at + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return wmk_error(n < 0 ? -errno : -EIO, "cannot read '%.240s' at byte %llu", name,
					 (unsigned long long)(at + done));
		done += (size_t)n;
	}
	return 0;
}

/* Add one frame that contains the packets from `begin` to `end`, which are positions in the file. */
static int add_frame(struct wmk_ctf_frame_writer *writer, int from, const char *name, uint64_t begin, uint64_t end,
		     uint8_t **buffer, size_t *cap)
{
	const uint64_t len = end - begin;
	int err;

	if (len > WMK_CTF_FRAME_MAX)
		return wmk_errorx(-ENOTSUP,
				  "'%.120s': the index has no packet boundary in %llu bytes from byte %llu: the "
				  "maximum is %u (rewrite the trace with `waymark convert --to ctf`)",
				  name, (unsigned long long)len, (unsigned long long)begin, WMK_CTF_FRAME_MAX);
	if (len > *cap) {
		free(*buffer);
		*buffer = malloc(len);
		*cap = *buffer ? len : 0;
		if (!*buffer)
			return wmk_error(-ENOMEM, "no memory to compress %llu bytes", (unsigned long long)len);
	}
	err = read_all(from, *buffer, len, begin, name);
	return err < 0 ? err : wmk_ctf_frame_writer_add(writer, *buffer, len);
}

static int compress_file(const struct level *level, int from, int to, const char *name, uint64_t size)
{
	struct wmk_ctf_frame_writer *writer;
	struct packets packets;
	uint64_t begin = 0, compressed = 0;
	uint8_t *buffer = NULL;
	size_t cap = 0;
	int err = wmk_ctf_frame_writer_open(to, &writer);

	if (err < 0)
		return err;
	packets_open(&packets, level->from, name);
	while (err >= 0 && begin < size) {
		const uint64_t end = packets_next(&packets, size);

		if (end - begin < WMK_CTF_FRAME_MIN && end < size)
			continue;
		err = add_frame(writer, from, name, begin, end, &buffer, &cap);
		begin = end;
	}
	if (err >= 0)
		err = wmk_ctf_frame_writer_end(writer, &compressed);
	if (err >= 0) {
		level->result->streams++;
		level->result->plain += size;
		level->result->compressed += compressed;
	}
	if (packets.fd >= 0)
		close(packets.fd);
	free(buffer);
	wmk_ctf_frame_writer_free(writer);
	return err;
}

static int copy_file(int from, int to, const char *name, uint64_t size)
{
	uint8_t *buffer = malloc(COPY_SIZE);
	int err = buffer ? 0 : wmk_error(-ENOMEM, "no memory to copy a file");

	for (uint64_t at = 0; at < size && err >= 0;) {
		const size_t len = size - at < COPY_SIZE ? (size_t)(size - at) : COPY_SIZE;

		err = read_all(from, buffer, len, at, name);
		if (err >= 0 && pwrite(to, buffer, len, (off_t)at) != (ssize_t)len)
			err = wmk_error(errno ? -errno : -EIO, "cannot write a copy of '%.240s'", name);
		at += len;
	}
	free(buffer);
	return err;
}

/* ── the tree ────────────────────────────────────────────────────────────────────────────────────────── */

/* Set the owner, the mode and the times of the copy to those of the original. */
static int same_owner(int to, const struct stat *st, const char *name)
{
	const struct timespec times[] = { st->st_atim, st->st_mtim };

	if ((fchown(to, st->st_uid, st->st_gid) < 0 && errno != EPERM) || fchmod(to, st->st_mode & 07777) < 0 ||
	    futimens(to, times) < 0 || fsync(to) < 0)
		return wmk_error(-errno, "cannot complete the copy of '%.240s'", name);
	return 0;
}

static bool is_plain_stream(const struct level *level, const char *name, const struct stat *st)
{
	return level->is_trace && name[0] != '.' && strcmp(name, "metadata") != 0 && !wmk_ctf_frame_is_name(name) &&
	       st->st_size > 0;
}

static int take_file(const struct level *level, const char *name)
{
	char made[NAME_MAX + 8];
	int from = openat(level->from, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), to = -1, err;
	struct stat st;
	bool is_stream;

	if (from < 0 || fstat(from, &st) < 0) {
		err = wmk_error(-errno, "cannot open '%.240s'", name);
	} else if (!S_ISREG(st.st_mode)) {
		err = wmk_errorx(-ENOTSUP, "'%.240s' is not a regular file: it is not part of a trace", name);
	} else {
		is_stream = is_plain_stream(level, name, &st);
		snprintf(made, sizeof(made), "%.*s%s", NAME_MAX, name, is_stream ? WMK_CTF_FRAME_SUFFIX : "");
		to = openat(level->to, made, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		err = to < 0      ? wmk_error(-errno, "cannot create '%.240s'", made)
		      : is_stream ? compress_file(level, from, to, name, (uint64_t)st.st_size)
				  : copy_file(from, to, name, (uint64_t)st.st_size);
		if (err >= 0)
			err = same_owner(to, &st, name);
	}
	if (to >= 0)
		close(to);
	if (from >= 0)
		close(from);
	return err;
}

static int take_tree(const struct level *level, unsigned depth);

static int take_directory(const struct level *level, const char *name, unsigned depth)
{
	struct level below = { .from = openat(level->from, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC),
			       .to = -1,
			       .result = level->result };
	struct stat st;
	int err;

	if (depth >= DEPTH_MAX)
		err = wmk_error(-ELOOP, "'%.240s' is more than %u directories deep", name, DEPTH_MAX);
	else if (below.from < 0 || fstat(below.from, &st) < 0)
		err = wmk_error(-errno, "cannot open the directory '%.240s'", name);
	else if (mkdirat(level->to, name, 0700) < 0 ||
		 (below.to = openat(level->to, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) < 0)
		err = wmk_error(-errno, "cannot create the directory '%.240s'", name);
	else if ((err = take_tree(&below, depth + 1)) >= 0)
		err = same_owner(below.to, &st, name);
	if (below.to >= 0)
		close(below.to);
	if (below.from >= 0)
		close(below.from);
	return err < 0 ? wmk_error_add(err, "in '%.240s'", name) : err;
}

static DIR *list(int dir)
{
	const int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *made = fd < 0 ? NULL : fdopendir(fd);

	if (fd >= 0 && !made)
		close(fd);
	return made;
}

static bool is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/*
 * Copy all files of the original directory to the new directory. The metadata is copied last, so that a reader does not
 * read an incomplete copy as a trace.
 */
static int take_tree(const struct level *level, unsigned depth)
{
	struct level here = *level;
	DIR *dir = list(level->from);
	struct dirent *entry;
	struct stat st;
	int err = dir ? 0 : wmk_error(-errno, "cannot list a directory");

	here.is_trace = faccessat(level->from, "metadata", F_OK, AT_SYMLINK_NOFOLLOW) == 0;
	while (err >= 0 && (entry = readdir(dir))) {
		if (is_dots(entry->d_name) || strcmp(entry->d_name, "metadata") == 0)
			continue;
		if (fstatat(level->from, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode))
			err = take_directory(&here, entry->d_name, depth);
		else
			err = take_file(&here, entry->d_name);
	}
	if (dir)
		closedir(dir);
	return err >= 0 && here.is_trace ? take_file(&here, "metadata") : err;
}

/* True if the tree contains a file that must be compressed. */
static bool has_plain_stream(int dir, unsigned depth)
{
	struct level level = { .from = dir, .to = -1,
			       .is_trace = faccessat(dir, "metadata", F_OK, AT_SYMLINK_NOFOLLOW) == 0 };
	DIR *entries = depth < DEPTH_MAX ? list(dir) : NULL;
	struct dirent *entry;
	bool found = false;
	struct stat st;
	int below;

	while (entries && !found && (entry = readdir(entries))) {
		if (is_dots(entry->d_name) || fstatat(dir, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		found = S_ISREG(st.st_mode) && is_plain_stream(&level, entry->d_name, &st);
		below = -1;
		if (S_ISDIR(st.st_mode))
			below = openat(dir, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (below >= 0) {
			found = has_plain_stream(below, depth + 1);
			close(below);
		}
	}
	if (entries)
		closedir(entries);
	return found;
}

/* ── the exchange ────────────────────────────────────────────────────────────────────────────────────── */

/*
 * Create the hidden directory and lock it; if a crash has left a hidden directory, use that directory. Before the lock
 * was taken, another process may have exchanged the directories. If another process has exchanged the directories, the
 * function returns -EBUSY, because the name no longer refers to the locked directory.
 */
static int open_hidden(int parent, const char *hidden)
{
	struct stat ours, now;
	int fd;

	if (mkdirat(parent, hidden, 0700) < 0 && errno != EEXIST)
		return wmk_error(-errno, "cannot create the directory '%.240s'", hidden);
	fd = openat(parent, hidden, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return wmk_error(-errno, "cannot open the directory '%.240s'", hidden);
	if (flock(fd, LOCK_EX | LOCK_NB) < 0 || fstat(fd, &ours) < 0 ||
	    fstatat(parent, hidden, &now, AT_SYMLINK_NOFOLLOW) < 0 || ours.st_ino != now.st_ino ||
	    ours.st_dev != now.st_dev) {
		close(fd);
		return wmk_errorx(-EBUSY, "another process compresses this directory");
	}
	return fd;
}

static int exchange(int parent, const char *name, const char *hidden)
{
	if (syscall(SYS_renameat2, parent, hidden, parent, name, RENAME_EXCHANGE) < 0)
		return errno == EINVAL
			       ? wmk_errorx(-ENOTSUP, "this file system cannot exchange two directories")
			       : wmk_error(-errno, "cannot exchange '%.110s' and '%.110s'", name, hidden);
	return fsync(parent) < 0 ? wmk_error(-errno, "cannot synchronize the directory of '%.240s'", name) : 0;
}

/*
 * Remove the hidden directory, which contains the uncompressed traces after the exchange, and otherwise the copy. The
 * cause chain of `err` is kept.
 */
static int remove_hidden(int parent, const char *hidden, int err)
{
	struct wmk_error_chain *chain = wmk_error_take();
	const int removed = wmk_directory_remove(parent, hidden);

	if (err >= 0 && removed < 0) {
		wmk_error_drop(chain);
		return removed;
	}
	wmk_error_give(chain);
	return err;
}

int wmk_compress_directory(int parent, const char *name, struct wmk_compress_result *result)
{
	struct level top = { .from = -1, .to = -1, .result = result };
	char hidden[NAME_MAX + 16];
	struct stat st;
	int err;

	*result = (struct wmk_compress_result){ 0, 0, 0 };
	if ((size_t)snprintf(hidden, sizeof(hidden), ".%.255s.compress", name) > NAME_MAX)
		return wmk_error(-ENAMETOOLONG, "cannot compress '%.240s': its name is too long", name);
	top.from = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (top.from < 0 || fstat(top.from, &st) < 0)
		err = wmk_error(-errno, "cannot open the directory '%.240s'", name);
	else if (!has_plain_stream(top.from, 0) && faccessat(parent, hidden, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		err = 0;
	else
		err = top.to = open_hidden(parent, hidden);
	if (top.to >= 0) {
		err = wmk_directory_empty(top.to);
		if (err >= 0)
			err = take_tree(&top, 0);
		if (err >= 0 && result->streams)
			err = same_owner(top.to, &st, name);
		if (err >= 0 && result->streams && flock(top.from, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
			err = wmk_errorx(-EBUSY, "a reader has locked this directory");
		if (err >= 0 && result->streams)
			err = exchange(parent, name, hidden);
		err = remove_hidden(parent, hidden, err);
		close(top.to);
	}
	if (top.from >= 0)
		close(top.from);
	return err < 0 ? wmk_error_add(err, "cannot compress '%.240s'", name) : 0;
}

int wmk_compress_chunks(const char *path)
{
	const int session = wmk_path_open(path);
	const int archives = session < 0 ? -1
					 : openat(session, "archives", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *entries = archives < 0 ? NULL : list(archives);
	int err = entries ? 0 : session < 0 ? session : -errno, one;
	struct wmk_compress_result result;
	struct dirent *entry;

	if (err < 0)
		wmk_error(err, "cannot list the chunks in '%.240s'", path);
	while (entries && (entry = readdir(entries))) {
		if (entry->d_name[0] == '.')
			continue;
		one = wmk_compress_directory(archives, entry->d_name, &result);
		/*
		 * If a reader has locked a chunk (-EBUSY), the chunk is compressed after a later rotation. Another
		 * process can remove a chunk at any time.
		 */
		if (one == -EBUSY || (one < 0 && faccessat(archives, entry->d_name, F_OK, AT_SYMLINK_NOFOLLOW) < 0))
			wmk_error_clear();
		else
			err = one < 0 ? one : err;
	}
	if (entries)
		closedir(entries);
	if (archives >= 0)
		close(archives);
	if (session >= 0)
		close(session);
	return err;
}
