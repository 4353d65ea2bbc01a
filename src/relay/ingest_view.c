/* SPDX-License-Identifier: MIT */
/* ingest_view.c - lists and parts of the files of a session, for viewers (see ingest_view.h). */
#include "relay/ingest_view.h"

#include <dirent.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "ctf/writer.h"
#include "read/trace.h"
#include "relay/ingest_answer.h"
#include "store/followed.h"

#define DEPTH_MAX 16u                /* levels of directories; a session has about 8 */

static bool may_view(const struct wmk_ingest *ingest, const char *host)
{
	return !ingest->peer || wmk_relay_conf_may_view(ingest->relay->hosts->conf, ingest->peer, ingest->role, host);
}

static int check_access(const struct wmk_ingest *ingest, const char *host)
{
	if (may_view(ingest, host))
		return 0;
	return wmk_error(-EACCES, "\"%.64s\" is not permitted to view host \"%.64s\" (%s)", ingest->peer, host,
			 strcmp(ingest->role, "viewer") == 0 ? "view in relay.conf" :
			 "the certificate of a sender is for its own host only");
}

/* ── lists ───────────────────────────────────────────────────────────────────────────────────────────── */

/*
 * Return the identity of a file: the inode number and the creation time. The inode number alone is not sufficient,
 * because a new file may reuse the inode of a removed file.
 */
static uint64_t number_of(int dir, const char *name)
{
	struct statx st;

	if (statx(dir, name, AT_SYMLINK_NOFOLLOW | (name[0] ? 0 : AT_EMPTY_PATH), STATX_INO | STATX_BTIME, &st) < 0)
		return 0;
	if (!(st.stx_mask & STATX_BTIME))
		return st.stx_ino;
	return st.stx_ino ^ ((uint64_t)st.stx_btime.tv_sec * 1000000000 + st.stx_btime.tv_nsec) << 16;
}

struct view_walk {
	struct wmk_ingest *ingest;
	struct wmk_arena *arena;
	struct wmk_list files;
	bool follow;
	bool has_all_hosts;              /* the root is listed, with the hosts that the peer may view */
	char path[WMK_RELAY_VIEW_PATH_MAX + 1];
};

static struct wmk_relay_view_file *add(struct view_walk *walk, const struct stat *st, uint64_t number)
{
	struct wmk_relay_view_file *file;
	const char *path = wmk_arena_text(walk->arena, walk->path);

	if (walk->files.n == WMK_RELAY_VIEW_FILES_MAX) {
		wmk_error(-E2BIG, "the viewed directory has more than %u files (view fewer sessions)",
			  WMK_RELAY_VIEW_FILES_MAX);
		return NULL;
	}
	file = path ? wmk_arena_append(walk->arena, &walk->files, sizeof(*file)) : NULL;
	if (file)
		*file = (struct wmk_relay_view_file){ .path = path, .number = number,
						      .is_directory = S_ISDIR(st->st_mode),
						      .size = S_ISDIR(st->st_mode) ? 0 : (uint64_t)st->st_size };
	return file;
}

/* Lock `.live` until the connection ends, so that the sender of the trace flushes early. Takes over the descriptor. */
static void lock_live(struct wmk_ingest *ingest, int live)
{
	struct flock whole = { .l_type = F_RDLCK, .l_whence = SEEK_SET };
	struct stat st, other;
	int *locked;

	for (uint32_t i = 0; i < ingest->n_locked; i++) {
		if (fstat(ingest->locked[i], &other) < 0 || !other.st_nlink) {
			/* The file `.live` was removed, because its trace has ended. */
			close(ingest->locked[i]);
			ingest->locked[i--] = ingest->locked[--ingest->n_locked];
		} else if (fstat(live, &st) == 0 && other.st_ino == st.st_ino && other.st_dev == st.st_dev) {
			close(live);
			return;
		}
	}
	locked = wmk_array_room(ingest->locked, ingest->n_locked, &ingest->cap_locked, sizeof(*locked));
	ingest->locked = locked ? locked : ingest->locked;
	if (!locked || fcntl(live, F_OFD_SETLK, &whole) < 0)
		close(live);
	else
		locked[ingest->n_locked++] = live;
}

/* Read the state of a trace before the files of the trace are listed. */
static void list_state(struct view_walk *walk, int dir, struct wmk_relay_view_file *file)
{
	struct wmk_store_low_water water;
	int live;

	file->is_written = wmk_read_is_written(dir);
	live = openat(dir, WMK_STORE_LIVE, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (live < 0)
		return;
	if (pread(live, &water, sizeof(water), 0) == sizeof(water)) {
		file->water = water.ts;
		file->water_inverted = water.inverted;
	}
	if (walk->follow)
		lock_live(walk->ingest, live);
	else
		close(live);
}

/*
 * Return the end of the last packet in the index of a stream. In the stream file, a packet after the last indexed
 * packet may be incomplete.
 */
static uint64_t whole_packets(int dir, const char *name, uint64_t size)
{
	char index[sizeof("index/.idx") + NAME_MAX];
	uint64_t entry[WMK_CTF_INDEX_ENTRY / 8], end = size;
	struct stat st;
	int fd;

	snprintf(index, sizeof(index), "index/%s.idx", name);
	fd = openat(dir, index, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return size;
	if (fstat(fd, &st) == 0 && st.st_size >= WMK_CTF_INDEX_HEAD) {
		const uint64_t n = ((uint64_t)st.st_size - WMK_CTF_INDEX_HEAD) / WMK_CTF_INDEX_ENTRY;

		end = 0;
		if (n && pread(fd, entry, sizeof(entry), (off_t)(WMK_CTF_INDEX_HEAD + (n - 1) * WMK_CTF_INDEX_ENTRY)) ==
				 sizeof(entry))
			end = be64toh(entry[0]) + be64toh(entry[1]) / 8;
	}
	close(fd);
	return end < size ? end : size;
}

static int list_directory(struct view_walk *walk, int dir, unsigned depth);

/* List one entry of a directory. walk->path ends with its name. */
static int list_one(struct view_walk *walk, int dir, bool is_written, const char *name, unsigned depth)
{
	struct wmk_relay_view_file *file;
	struct stat st;
	int fd, err;

	/* (an entry that was removed meanwhile is not listed) */
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode)) ||
	    strcmp(name, WMK_STORE_LIVE) == 0)
		return 0;
	if (walk->has_all_hosts && depth == 0 &&
	    (!S_ISDIR(st.st_mode) || !wmk_peer_name_is_valid(name) || !may_view(walk->ingest, name)))
		return 0;
	if (!S_ISDIR(st.st_mode)) {
		file = add(walk, &st, number_of(dir, name));
		if (file && is_written && strcmp(name, "metadata") != 0 && name[0] != '.')
			file->size = whole_packets(dir, name, file->size);
		return file ? 0 : wmk_error_number();
	}
	/*
	 * While a trace is written, its index may describe packets that are beyond the listed size of the stream.
	 * Therefore list the indexes only when the trace has ended.
	 */
	if (depth == DEPTH_MAX || (is_written && strcmp(name, "index") == 0))
		return 0;
	fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return 0;
	file = fstat(fd, &st) == 0 ? add(walk, &st, number_of(fd, "")) : NULL;
	if (!file) {
		close(fd);
		return wmk_error_number();
	}
	list_state(walk, fd, file);
	err = list_directory(walk, fd, depth + 1);
	close(fd);
	return err;
}

static int list_directory(struct view_walk *walk, int dir, unsigned depth)
{
	const size_t len = strlen(walk->path);
	const bool is_written = wmk_read_is_written(dir);
	const int copy = fcntl(dir, F_DUPFD_CLOEXEC, 0);
	DIR *names = copy < 0 ? NULL : fdopendir(copy);
	const struct dirent *entry;
	int err = 0;

	if (!names) {
		err = wmk_error(-errno, "cannot list \"%.240s\"", walk->path);
		if (copy >= 0)
			close(copy);
		return err;
	}
	while (err == 0 && (entry = readdir(names))) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
		    len + 1 + strlen(entry->d_name) > WMK_RELAY_VIEW_PATH_MAX)
			continue;
		sprintf(walk->path + len, "%s%s", len ? "/" : "", entry->d_name);
		err = list_one(walk, dir, is_written, entry->d_name, depth);
		walk->path[len] = '\0';
	}
	closedir(names);
	return err;
}

static int list_session(struct view_walk *walk, int dir)
{
	struct wmk_relay_view_file *file;
	struct stat st;

	if (fstat(dir, &st) < 0 || !S_ISDIR(st.st_mode))
		return wmk_error(-ENOTDIR, "the session is not a directory");
	file = add(walk, &st, number_of(dir, ""));
	if (!file)
		return wmk_error_number();
	list_state(walk, dir, file);
	return list_directory(walk, dir, 0);
}

int wmk_ingest_view_list(struct wmk_ingest *ingest, const struct wmk_relay_frame *frame, const void *request,
			 struct wmk_arena *arena)
{
	const struct wmk_relay_view *is = request;
	struct view_walk *walk;
	int err = is->host[0] ? check_access(ingest, is->host) : 0, dir = -1;

	if (err == 0 && !is->host[0] && is->session[0])
		err = wmk_error(-EINVAL, "a session needs the name of its host");
	walk = err == 0 ? calloc(1, sizeof(*walk)) : NULL;
	if (err == 0 && !walk)
		err = wmk_error(-ENOMEM, "no memory for a list of files");
	if (err == 0)
		err = dir = wmk_relay_hosts_open_file(ingest->relay->hosts, is->host, is->session, "");
	if (err < 0) {
		free(walk);
		return err;
	}
	walk->ingest = ingest;
	walk->arena = arena;
	walk->follow = is->follow;
	walk->has_all_hosts = !is->host[0];
	err = list_session(walk, dir);
	close(dir);
	if (err == 0)
		err = wmk_ingest_answer(ingest, WMK_RELAY_REPLY, frame->number, &wmk_relay_view_files_object,
					&(const struct wmk_relay_view_files){ .files = walk->files });
	free(walk);
	return err;
}

/* ── parts ───────────────────────────────────────────────────────────────────────────────────────────── */

static int read_part(int fd, const struct wmk_relay_view_part *is, struct wmk_arena *arena,
		     struct wmk_relay_view_bytes *bytes)
{
	struct stat st;
	ssize_t n;
	int err;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || number_of(fd, "") != is->number)
		return wmk_error(-ESTALE, "\"%.240s\" is another file now", is->path);
	if (is->length > WMK_RELAY_VIEW_BYTES_MAX || is->offset > INT64_MAX)
		return wmk_error(-EINVAL, "a part of a file has at most %u bytes", WMK_RELAY_VIEW_BYTES_MAX);
	err = wmk_arena_list(arena, &bytes->words, (uint32_t)((is->length + 7) / 8), sizeof(uint64_t));
	if (err < 0)
		return err;
	n = is->length ? pread(fd, bytes->words.items, is->length, (off_t)is->offset) : 0;
	if (n < 0)
		return wmk_error(-errno, "cannot read \"%.240s\"", is->path);
	bytes->length = (uint64_t)n;
	bytes->words.n = (uint32_t)((n + 7) / 8);
	if (n % 8)
		memset((char *)bytes->words.items + n, 0, (size_t)(8 - n % 8));
	return 0;
}

int wmk_ingest_view_read(struct wmk_ingest *ingest, const struct wmk_relay_frame *frame, const void *request,
			 struct wmk_arena *arena)
{
	const struct wmk_relay_view_part *is = request;
	struct wmk_relay_view_bytes bytes = { 0 };
	char first[WMK_RELAY_HOST_MAX + 1];
	const char *host = is->host, *path = is->path;
	int err, fd;

	/* In a list of the root directory, each path begins with the name of the host. */
	if (!host[0]) {
		snprintf(first, sizeof(first), "%.*s", (int)strcspn(path, "/"), path);
		host = first;
		path += strcspn(path, "/");
		path += path[0] == '/';
	}
	err = check_access(ingest, host);
	if (err < 0)
		return err;
	fd = host[0] && path[0] ? wmk_relay_hosts_open_file(ingest->relay->hosts, host, is->session, path)
				: wmk_error(-EINVAL, "a part of a file needs its host and its path");
	if (fd < 0)
		return fd == -ENOENT ? wmk_error_add(-ESTALE, "the file was moved or removed") : fd;
	err = read_part(fd, is, arena, &bytes);
	close(fd);
	return err < 0 ? err
		       : wmk_ingest_answer(ingest, WMK_RELAY_REPLY, frame->number, &wmk_relay_view_bytes_object,
					   &bytes);
}

void wmk_ingest_view_end(struct wmk_ingest *ingest)
{
	for (uint32_t i = 0; i < ingest->n_locked; i++)
		close(ingest->locked[i]);
	free(ingest->locked);
	ingest->locked = NULL;
	ingest->n_locked = ingest->cap_locked = 0;
}
