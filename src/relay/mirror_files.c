/* SPDX-License-Identifier: MIT */
/* mirror_files.c - the copied files of a session (see mirror_files.h). */
#include "relay/mirror_files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "store/followed.h"

#define MISSES_MAX 5u                /* lists without a directory before it is removed: moves have two steps */
/* lists without a writer before a followed trace has ended: during a rotation, a trace has no writer for a moment */
#define UNWRITTEN_MAX 100u
#define METADATA_MAX (256u << 20)
#define NEW_METADATA ".metadata-new"
#define NEW_DIRECTORY ".directory-new"
#define NONE UINT32_MAX

/* A file or a directory of the copy. */
struct wmk_mirror_file {
	char *path;
	uint64_t number;                     /* identity at the relay: inode and time of birth */
	bool is_directory, is_seen;          /* is_seen: in the current list */
	unsigned unwritten;
	uint64_t size;                       /* copied bytes */
	int lock;                            /* of a directory: locks its metadata as a writer does; -1: none */
};

/* ── the table ───────────────────────────────────────────────────────────────────────────────────────── */

/*
 * The relay lists the files in nearly the same order each time. A search therefore starts after the file that the
 * previous search found.
 */
static uint32_t find_number(struct wmk_mirror_files *files, uint64_t number)
{
	for (uint32_t i = 0; i < files->n; i++) {
		const uint32_t at = (files->hint + i) % files->n;

		if (files->files[at].number == number) {
			files->hint = at + 1;
			return at;
		}
	}
	return NONE;
}

static uint32_t find_path(const struct wmk_mirror_files *files, const char *path, size_t len)
{
	for (uint32_t i = 0; i < files->n; i++)
		if (strncmp(files->files[i].path, path, len) == 0 && !files->files[i].path[len])
			return i;
	return NONE;
}

static struct wmk_mirror_file *parent_of(struct wmk_mirror_files *files, const char *path)
{
	const char *slash = strrchr(path, '/');
	const uint32_t at = find_path(files, path, slash ? (size_t)(slash - path) : 0);

	return at == NONE ? NULL : &files->files[at];
}

static const char *name_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool is_metadata(const char *path)
{
	return strcmp(name_of(path), "metadata") == 0;
}

static struct wmk_mirror_file *add(struct wmk_mirror_files *files, const struct wmk_relay_view_file *is)
{
	struct wmk_mirror_file *grown = wmk_array_room(files->files, files->n, &files->cap, sizeof(*grown));
	char *path = grown ? strdup(is->path) : NULL;

	files->files = grown ? grown : files->files;
	if (!path) {
		wmk_error(-ENOMEM, "no memory for the copy of a file");
		return NULL;
	}
	grown += files->n++;
	*grown = (struct wmk_mirror_file){ .path = path, .number = is->number, .is_directory = is->is_directory,
					   .is_seen = true, .lock = -1 };
	return grown;
}

static void unlock(struct wmk_mirror_files *files, struct wmk_mirror_file *directory)
{
	char live[PATH_MAX];

	snprintf(live, sizeof(live), "%s%s%s", directory->path, directory->path[0] ? "/" : "", WMK_STORE_LIVE);
	unlinkat(files->dir, live, 0);
	if (directory->lock >= 0)
		close(directory->lock);
	directory->lock = -1;
}

/*
 * Remove a file of the copy from the disk and from the list. The order of the other files in the list does not change.
 */
static void drop(struct wmk_mirror_files *files, uint32_t at)
{
	struct wmk_mirror_file *file = &files->files[at];

	if (file->is_directory)
		unlock(files, file);
	if (file->path[0])
		unlinkat(files->dir, file->path, file->is_directory ? AT_REMOVEDIR : 0);
	free(file->path);
	memmove(file, file + 1, (--files->n - at) * sizeof(*file));
}

/* Move a file, or a directory with all files below it. */
static int move(struct wmk_mirror_files *files, uint32_t at, const char *path)
{
	struct wmk_mirror_file *moved = &files->files[at];
	char *before = moved->path, *now;
	const size_t len = strlen(before);

	if (renameat(files->dir, before, files->dir, path) < 0)
		return wmk_error(-errno, "cannot move the copy of \"%.240s\" to \"%.240s\"", before, path);
	moved->path = strdup(path);
	for (uint32_t i = 0; i < files->n && moved->path; i++) {
		struct wmk_mirror_file *file = &files->files[i];

		if (i == at || strncmp(file->path, before, len) != 0 || file->path[len] != '/')
			continue;
		if (asprintf(&now, "%s%s", path, file->path + len) < 0)
			break;
		free(file->path);
		file->path = now;
	}
	if (!moved->path) {
		moved->path = before;
		return wmk_error(-ENOMEM, "no memory for the copy of a directory");
	}
	free(before);
	return 0;
}

/* Make the path unused: remove a file at this path, or move a directory at this path to another name. */
static int vacate(struct wmk_mirror_files *files, const char *path)
{
	const uint32_t at = find_path(files, path, strlen(path));
	char aside[32];

	if (at == NONE)
		return 0;
	if (!files->files[at].is_directory) {
		drop(files, at);
		return 0;
	}
	snprintf(aside, sizeof(aside), ".aside-%u", files->aside++);
	return move(files, at, aside);
}

/* ── copy bytes ──────────────────────────────────────────────────────────────────────────────────────── */

/*
 * Read a part of a file at the relay into the buffer. Returns the number of bytes; -ESTALE if the file was moved at the
 * relay; or -errno.
 */
static long read_part(struct wmk_mirror_files *files, struct wmk_relay_call *call,
		      const struct wmk_relay_view_file *is, uint64_t offset, uint64_t length)
{
	const struct wmk_relay_view_part part = {
		.host = files->host, .session = files->session, .path = is->path, .number = is->number,
		.offset = offset,
		.length = length < WMK_RELAY_VIEW_BYTES_MAX ? length : WMK_RELAY_VIEW_BYTES_MAX };
	struct wmk_relay_view_bytes bytes;
	struct wmk_arena arena = { 0 };
	long n = wmk_relay_call(call, WMK_RELAY_VIEW_READ, &part, &bytes, &arena);

	if (n == 0 && (bytes.length > part.length || bytes.words.n != (bytes.length + 7) / 8))
		n = wmk_error(-EPROTO, "invalid reply of the relay: %llu bytes in %u words of 8 bytes",
			      (unsigned long long)bytes.length, bytes.words.n);
	if (n == 0 && bytes.length)
		memcpy(files->buffer, bytes.words.items, bytes.length);
	n = n < 0 ? n : (long)bytes.length;
	wmk_arena_free(&arena);
	return n;
}

static int write_all(int fd, const char *bytes, size_t n, uint64_t at)
{
	while (n) {
		const ssize_t done = pwrite(fd, bytes, n, (off_t)at);

		if (done < 0)
			return wmk_error(-errno, "cannot write the copy of a trace: %s", strerror(errno));
		bytes += done;
		at += (uint64_t)done;
		n -= (size_t)done;
	}
	return 0;
}

/* Copy more bytes of `file`, or truncate `file`, so that its size is `is->size`. */
static int copy_stream(struct wmk_mirror_files *files, struct wmk_relay_call *call,
		       const struct wmk_relay_view_file *is, struct wmk_mirror_file *file)
{
	long n = 1;
	int fd;

	if (is->size == file->size)
		return 0;
	fd = openat(files->dir, file->path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return wmk_error(-errno, "cannot open the copy of \"%.240s\"", file->path);
	if (is->size < file->size && ftruncate(fd, (off_t)is->size) == 0)
		file->size = is->size;
	while (n > 0 && file->size < is->size) {
		n = read_part(files, call, is, file->size, is->size - file->size);
		if (n > 0) {
			const int err = write_all(fd, files->buffer, (size_t)n, file->size);

			file->size += err < 0 ? 0 : (uint64_t)n;
			n = err < 0 ? err : n;
		}
	}
	close(fd);
	return n < 0 ? (int)n : 0;
}

/*
 * Copy the metadata up to the current end of the file. Collect the new metadata and write it with one system call, so
 * that readers see only complete declarations.
 */
static int copy_metadata(struct wmk_mirror_files *files, struct wmk_relay_call *call,
			 const struct wmk_relay_view_file *is, struct wmk_mirror_file *file, int fd)
{
	char *text = NULL, *grown;
	size_t len = 0;
	long n;
	int err = 0;

	do {
		n = read_part(files, call, is, file->size + len, WMK_RELAY_VIEW_BYTES_MAX);
		grown = n > 0 && len < METADATA_MAX ? realloc(text, len + (size_t)n) : NULL;
		if (n > 0 && !grown)
			n = wmk_error(-ENOMEM, "no memory for the metadata of a trace");
		if (n <= 0)
			break;
		text = grown;
		memcpy(text + len, files->buffer, (size_t)n);
		len += (size_t)n;
	} while (n == (long)WMK_RELAY_VIEW_BYTES_MAX);
	err = n < 0 ? (int)n : write_all(fd, text, len, file->size);
	if (err == 0)
		file->size += len;
	free(text);
	return err;
}

static int grow_metadata(struct wmk_mirror_files *files, struct wmk_relay_call *call,
			 const struct wmk_relay_view_file *is, struct wmk_mirror_file *file)
{
	int fd, err;

	fd = openat(files->dir, file->path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return wmk_error(-errno, "cannot open the copy of \"%.240s\"", file->path);
	err = copy_metadata(files, call, is, file, fd);
	close(fd);
	return err;
}

/*
 * Create a metadata file. The final name is set by a rename, so that readers see the file only when it is complete and
 * locked.
 */
static int new_metadata(struct wmk_mirror_files *files, struct wmk_relay_call *call,
			const struct wmk_relay_view_file *is)
{
	struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	struct wmk_mirror_file *file, *directory;
	const int fd = openat(files->dir, NEW_METADATA, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	uint32_t before;
	int err;

	if (fd < 0 || fcntl(fd, F_OFD_SETLK, &whole) < 0) {
		err = wmk_error(-errno, "cannot create the copy of \"%.240s\"", is->path);
		if (fd >= 0)
			close(fd);
		return err;
	}
	/* (the rename replaces an old metadata file) */
	before = find_path(files, is->path, strlen(is->path));
	if (before != NONE) {
		free(files->files[before].path);
		memmove(&files->files[before], &files->files[before + 1],
			(--files->n - before) * sizeof(files->files[0]));
	}
	file = add(files, is);
	err = file ? copy_metadata(files, call, is, file, fd) : wmk_error_number();
	if (err == 0 && renameat(files->dir, NEW_METADATA, files->dir, is->path) < 0)
		err = wmk_error(-errno, "cannot create the copy of \"%.240s\"", is->path);
	directory = parent_of(files, is->path);
	if (err < 0 || !directory) {
		if (file)
			free(files->files[--files->n].path);
		close(fd);
		return err < 0 ? err : wmk_error(-EPROTO, "the relay lists \"%.240s\" before its directory", is->path);
	}
	if (directory->lock >= 0)
		close(directory->lock);
	directory->lock = fd;
	return 0;
}

/*
 * Create a directory. If a live reader finds `.live` in the new directory of a trace during a rotation, the reader
 * waits for the writer. unlock() removes `.live` if the trace has no writer.
 */
static int new_directory(const struct wmk_mirror_files *files, const char *path)
{
	int fd = -1;

	if (mkdirat(files->dir, NEW_DIRECTORY, 0700) < 0)
		return wmk_error(-errno, "cannot create the copy of \"%.240s\"", path);
	if (files->follow)
		fd = openat(files->dir, NEW_DIRECTORY "/" WMK_STORE_LIVE, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd >= 0)
		close(fd);
	return renameat(files->dir, NEW_DIRECTORY, files->dir, path) < 0
		       ? wmk_error(-errno, "cannot create the copy of \"%.240s\"", path)
		       : 0;
}

static int new_file(struct wmk_mirror_files *files, struct wmk_relay_call *call, const struct wmk_relay_view_file *is)
{
	struct wmk_mirror_file *file;
	int fd, err = vacate(files, is->path);

	if (err < 0)
		return err;
	if (is->is_directory) {
		err = is->path[0] ? new_directory(files, is->path) : 0;
		return err < 0 ? err : add(files, is) ? 0 : wmk_error_number();
	}
	fd = openat(files->dir, is->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return wmk_error(-errno, "cannot create the copy of \"%.240s\"", is->path);
	close(fd);
	file = add(files, is);
	return file ? copy_stream(files, call, is, file) : wmk_error_number();
}

/* ── a list ──────────────────────────────────────────────────────────────────────────────────────────── */

/* Check that the first entry is the session directory, and that no path leads out of this directory. */
static int check_list(const struct wmk_list *list)
{
	const struct wmk_relay_view_file *is = list->items;

	if (!list->n || is[0].path[0] || !is[0].is_directory)
		return wmk_error(-EPROTO, "the relay sent a list without the session");
	for (uint32_t i = 1; i < list->n; i++)
		for (const char *at = is[i].path, *end; at; at = *end ? end + 1 : NULL) {
			end = at + strcspn(at, "/");
			if (end == at || (end == at + 1 && at[0] == '.') || (end == at + 2 && !memcmp(at, "..", 2)))
				return wmk_error(-EPROTO, "invalid path in the list of the relay: \"%.240s\"",
						 is[i].path);
		}
	return 0;
}

/*
 * Mark the files of the copy that the relay's list contains. Returns true if a known directory is missing in the list,
 * because the relay may be moving the directory.
 */
static bool mark(struct wmk_mirror_files *files, const struct wmk_list *list)
{
	const struct wmk_relay_view_file *is = list->items;
	bool missing = false;
	uint32_t at;

	for (uint32_t i = 0; i < files->n; i++)
		files->files[i].is_seen = false;
	files->hint = 0;
	for (uint32_t i = 0; i < list->n; i++)
		if ((at = find_number(files, is[i].number)) != NONE)
			files->files[at].is_seen = true;
	for (uint32_t i = 0; i < files->n; i++)
		missing |= files->files[i].is_directory && !files->files[i].is_seen;
	return missing;
}

static int grow_known(struct wmk_mirror_files *files, struct wmk_relay_call *call, const struct wmk_list *list,
		      bool metadata)
{
	const struct wmk_relay_view_file *is = list->items;
	int err = 0;

	for (uint32_t i = 0; i < list->n && err == 0; i++) {
		const uint32_t at = is[i].is_directory || is_metadata(is[i].path) != metadata
					    ? NONE
					    : find_number(files, is[i].number);

		if (at == NONE)
			continue;
		/*
		 * The metadata may have grown since the relay made the list. While a trace is written, read its
		 * metadata in each pass, because new streams may need new declarations.
		 */
		if (!metadata)
			err = copy_stream(files, call, &is[i], &files->files[at]);
		else if (is[i].size != files->files[at].size || (parent_of(files, is[i].path) &&
								 parent_of(files, is[i].path)->lock >= 0))
			err = grow_metadata(files, call, &is[i], &files->files[at]);
	}
	return err;
}

static int move_known(struct wmk_mirror_files *files, const struct wmk_list *list)
{
	const struct wmk_relay_view_file *is = list->items;
	int err = 0;

	for (uint32_t i = 0; i < list->n && err == 0; i++) {
		uint32_t at = find_number(files, is[i].number);

		if (at == NONE) {
			/* Create new directories first, because known files may move into these directories. */
			if (is[i].is_directory)
				err = new_file(files, NULL, &is[i]);
			continue;
		}
		if (strcmp(files->files[at].path, is[i].path) == 0)
			continue;
		err = vacate(files, is[i].path);
		at = find_number(files, is[i].number);
		if (err == 0 && at != NONE)
			err = move(files, at, is[i].path);
	}
	return err;
}

static int copy_new(struct wmk_mirror_files *files, struct wmk_relay_call *call, const struct wmk_list *list,
		    bool metadata)
{
	const struct wmk_relay_view_file *is = list->items;
	int err = 0;

	for (uint32_t i = 0; i < list->n && err == 0; i++)
		if (!is[i].is_directory && is_metadata(is[i].path) == metadata &&
		    find_number(files, is[i].number) == NONE)
			err = metadata ? new_metadata(files, call, &is[i]) : new_file(files, call, &is[i]);
	return err;
}

static void remove_missed(struct wmk_mirror_files *files)
{
	for (uint32_t i = files->n; i-- > 0;)
		if (!files->files[i].is_seen)
			drop(files, i);
}

static void write_water(struct wmk_mirror_files *files, const struct wmk_relay_view_file *is)
{
	const struct wmk_store_low_water water = { is->water, is->water_inverted };
	char live[WMK_RELAY_VIEW_PATH_MAX + sizeof(WMK_STORE_LIVE) + 1];
	int fd;

	snprintf(live, sizeof(live), "%s%s%s", is->path, is->path[0] ? "/" : "", WMK_STORE_LIVE);
	fd = openat(files->dir, live, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	/* If the low-water time cannot be written, a reader only waits longer. */
	if (fd >= 0 && water.ts == ~water.inverted && pwrite(fd, &water, sizeof(water), 0) < 0)
		wmk_error_clear();
	if (fd >= 0)
		close(fd);
}

/* Update low-water times and locks. Call this after all files have been copied. */
static void renew_states(struct wmk_mirror_files *files, const struct wmk_list *list)
{
	struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	const struct wmk_relay_view_file *is = list->items;
	char path[WMK_RELAY_VIEW_PATH_MAX + sizeof("/metadata")];

	for (uint32_t i = 0; i < list->n; i++) {
		const uint32_t at = is[i].is_directory ? find_number(files, is[i].number) : NONE;
		struct wmk_mirror_file *directory = at == NONE ? NULL : &files->files[at];

		if (directory && !is[i].is_written) {
			if (!files->follow || ++directory->unwritten > UNWRITTEN_MAX)
				unlock(files, directory);
		} else if (directory) {
			directory->unwritten = 0;
			write_water(files, &is[i]);
			snprintf(path, sizeof(path), "%s%smetadata", is[i].path, is[i].path[0] ? "/" : "");
			if (directory->lock < 0)
				directory->lock = openat(files->dir, path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
			if (directory->lock >= 0 && fcntl(directory->lock, F_OFD_SETLK, &whole) < 0)
				unlock(files, directory);
		}
	}
}

static int renew(struct wmk_mirror_files *files, struct wmk_relay_call *call, const struct wmk_list *list)
{
	int err = check_list(list);

	if (err == 0 && mark(files, list) && files->missed++ < MISSES_MAX)
		return 0;
	files->missed = 0;
	if (err == 0)
		err = grow_known(files, call, list, true);
	if (err == 0)
		err = grow_known(files, call, list, false);
	if (err == 0)
		err = move_known(files, list);
	if (err == 0)
		err = copy_new(files, call, list, true);
	if (err == 0)
		err = copy_new(files, call, list, false);
	if (err == -ESTALE) {
		wmk_error_clear();
		return 0;
	}
	if (err < 0)
		return err;
	remove_missed(files);
	renew_states(files, list);
	return 1;
}

int wmk_mirror_files_renew(struct wmk_mirror_files *files, struct wmk_relay_call *call)
{
	const struct wmk_relay_view view = { .host = files->host, .session = files->session, .follow = files->follow };
	struct wmk_relay_view_files list;
	struct wmk_arena arena = { 0 };
	int err;

	if (!files->buffer)
		files->buffer = malloc(WMK_RELAY_VIEW_BYTES_MAX);
	err = files->buffer ? wmk_relay_call(call, WMK_RELAY_VIEW_LIST, &view, &list, &arena)
			    : wmk_error(-ENOMEM, "no memory for the copy of a session");
	if (err == 0)
		err = renew(files, call, &list.files);
	wmk_arena_free(&arena);
	return err;
}

void wmk_mirror_files_release(struct wmk_mirror_files *files)
{
	for (uint32_t i = 0; i < files->n; i++)
		if (files->files[i].is_directory)
			unlock(files, &files->files[i]);
}

void wmk_mirror_files_free(struct wmk_mirror_files *files)
{
	wmk_mirror_files_release(files);
	for (uint32_t i = 0; i < files->n; i++)
		free(files->files[i].path);
	free(files->files);
	free(files->buffer);
	files->files = NULL;
	files->buffer = NULL;
	files->n = files->cap = 0;
}
