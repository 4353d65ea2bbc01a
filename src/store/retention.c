/* SPDX-License-Identifier: MIT */
/* retention.c - delete the oldest closed chunks of a session (see retention.h). */
#include "store/retention.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "base/testpoint.h"
#include "store/chunk_lock.h"
#include "store/directory_removal.h"
#include "store/path.h"
#include "store/store_state.h"

#define DELETED ".deleted"
#define LOCKED ".locked"
#define COMPRESS ".compress"       /* see compress_directory.h */
#define HIDDEN_NAME (WMK_CHUNK_NAME_MAX + 16u)
#define DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

static bool ends_with(const char *name, const char *suffix)
{
	const size_t len = strlen(name), n = strlen(suffix);

	return len > n && strcmp(name + len - n, suffix) == 0;
}

/* ── the list of chunks ──────────────────────────────────────────────────────────────────────────────── */

struct chunk {
	char name[WMK_CHUNK_NAME_MAX];
	uint64_t number, bytes;
	time_t end;
};

struct chunks {
	struct chunk *chunks;
	uint32_t n, cap;
	const char *path;                /* of the directory archives */
	void (*log)(const char *words);
	int err;                         /* the last error of a single chunk */
};

static int by_number(const void *a, const void *b)
{
	const struct chunk *left = a, *right = b;

	return left->number < right->number ? -1 : left->number > right->number;
}

/* Remove what a crash has left: a partly deleted directory, or the mark or the compressed copy of a deleted chunk. */
static int remove_left(int at, const char *name)
{
	char chunk[HIDDEN_NAME];
	time_t end;
	uint64_t number;

	snprintf(chunk, sizeof(chunk), "%.*s", (int)(strrchr(name, '.') - name - 1), name + 1);
	if (!wmk_chunk_name_parse(chunk, &number, &end))
		return 0;
	if (ends_with(name, DELETED))
		return wmk_directory_remove(at, name);
	if (faccessat(at, chunk, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return 0;
	if (ends_with(name, LOCKED))
		unlinkat(at, name, 0);
	return ends_with(name, COMPRESS) ? wmk_directory_remove(at, name) : 0;
}

static int take_entry(void *data, int at, const char *name)
{
	struct chunks *all = data;
	struct chunk chunk, *moved;
	struct stat st;
	char path[PATH_MAX];

	if (name[0] == '.') {
		const int err = remove_left(at, name);

		all->err = err < 0 ? err : all->err;
		return 0;
	}
	if (!wmk_chunk_name_parse(name, &chunk.number, &chunk.end) || fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    !S_ISDIR(st.st_mode))
		return 0;
	snprintf(chunk.name, sizeof(chunk.name), "%s", name);
	if ((size_t)snprintf(path, sizeof(path), "%s/%s", all->path, name) >= sizeof(path))
		return 0;
	/* (the size is 0 if the user removes the chunk meanwhile) */
	if (wmk_store_usage(path, &chunk.bytes) < 0)
		wmk_error_clear();
	moved = wmk_array_room(all->chunks, all->n, &all->cap, sizeof(*moved));
	if (!moved)
		return wmk_error(-ENOMEM, "no memory for the list of chunks");
	all->chunks = moved;
	all->chunks[all->n++] = chunk;
	return 0;
}

/* ── deletion ────────────────────────────────────────────────────────────────────────────────────────── */

static void log_chunk(const struct chunks *all, const struct chunk *chunk, const char *what)
{
	char words[PATH_MAX + 200];

	snprintf(words, sizeof(words), "retention: %s/%s %s", all->path, chunk->name, what);
	if (all->log)
		all->log(words);
}

/*
 * True if readers have locked the chunk for at least WMK_RETENTION_LOCK_S, so that the chunk is deleted despite the
 * lock.
 */
static bool is_overdue(const struct chunks *all, int archives, const struct chunk *chunk, const char *mark)
{
	const time_t now = time(NULL);
	struct stat st;
	int fd;

	if (fstatat(archives, mark, &st, AT_SYMLINK_NOFOLLOW) == 0) {
		if (now - st.st_mtime < (time_t)WMK_RETENTION_LOCK_S)
			return false;
		log_chunk(all, chunk, "is deleted although a reader has locked it: the time limit of 10 minutes is "
				      "over");
		return true;
	}
	fd = openat(archives, mark, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd >= 0)
		close(fd);
	log_chunk(all, chunk, "is not deleted yet: a reader has locked it");
	return false;
}

/* 1: deleted; 0: it is locked. */
static int delete_chunk(const struct chunks *all, int archives, const struct chunk *chunk)
{
	char hidden[HIDDEN_NAME], mark[HIDDEN_NAME];
	const int dir = openat(archives, chunk->name, DIR_FLAGS);
	int err = dir < 0 ? -errno : 0;

	snprintf(hidden, sizeof(hidden), ".%s" DELETED, chunk->name);
	snprintf(mark, sizeof(mark), ".%s" LOCKED, chunk->name);
	if (err == 0 && flock(dir, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK &&
	    !is_overdue(all, archives, chunk, mark)) {
		close(dir);
		return 0;
	}
	if (err == 0 && renameat(archives, chunk->name, archives, hidden) < 0)
		err = -errno;
	WMK_TESTPOINT(retention_renamed);
	/* A missing chunk is not an error, because the user may have removed the chunk. */
	err = err == -ENOENT ? 0
	      : err < 0      ? wmk_error(err, "cannot delete the chunk %.120s: %s", chunk->name, strerror(-err))
			     : wmk_directory_remove(archives, hidden);
	if (dir >= 0)
		close(dir);
	unlinkat(archives, mark, 0);
	return err < 0 ? err : 1;
}

/*
 * Return the number of bytes that all closed chunks together may have. The open chunk grows until its rotation ends,
 * and a rotation takes longer under load. The open chunk is assumed to become as large as the largest closed chunk.
 */
static uint64_t closed_max(const struct chunks *all, uint64_t size)
{
	uint64_t largest = 0;

	for (uint32_t i = 0; i < all->n; i++)
		largest = all->chunks[i].bytes > largest ? all->chunks[i].bytes : largest;
	return size - (largest < size / 4 ? largest : size / 4);
}

static bool exceeds(const struct chunk *chunk, const struct wmk_retention *keep, uint64_t bytes, uint32_t left)
{
	const time_t now = time(NULL);

	return (keep->size && bytes > keep->size) || (keep->count && left > keep->count) ||
	       (keep->us && now > chunk->end && (uint64_t)(now - chunk->end) > keep->us / 1000000);
}

/* A locked chunk counts as already deleted, so that no newer chunk is deleted instead. */
static void delete_oldest(struct chunks *all, int archives, const struct wmk_retention *keep,
			  struct wmk_retained *retained)
{
	const struct wmk_retention closed = { closed_max(all, keep->size), keep->us, keep->count };
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < all->n; i++)
		bytes += all->chunks[i].bytes;
	retained->bytes = bytes;
	for (uint32_t i = 0; i < all->n && exceeds(&all->chunks[i], &closed, bytes, all->n - i); i++) {
		const int deleted = delete_chunk(all, archives, &all->chunks[i]);

		bytes -= all->chunks[i].bytes;
		retained->bytes -= deleted == 1 ? all->chunks[i].bytes : 0;
		retained->deleted += deleted == 1;
		all->err = deleted < 0 ? deleted : all->err;
	}
}

int wmk_retention_apply(const char *path, const struct wmk_retention *keep, void (*log)(const char *words),
			struct wmk_retained *retained)
{
	const int top = wmk_path_open(path),
		  archives = top < 0 ? top : openat(top, WMK_ARCHIVES, DIR_FLAGS);
	struct chunks all = { .log = log };
	char place[PATH_MAX];
	int err = top < 0 ? top : archives < 0 ? -errno : 0;

	*retained = (struct wmk_retained){ 0, 0 };
	if (err == 0 && (size_t)snprintf(place, sizeof(place), "%s/" WMK_ARCHIVES, path) >= sizeof(place))
		err = -ENAMETOOLONG;
	all.path = place;
	if (err == 0)
		err = wmk_store_each_entry(openat(archives, ".", DIR_FLAGS), take_entry, &all);
	if (all.n)
		qsort(all.chunks, all.n, sizeof(*all.chunks), by_number);
	if (err == 0)
		delete_oldest(&all, archives, keep, retained);
	if (archives >= 0)
		close(archives);
	if (top >= 0)
		close(top);
	free(all.chunks);
	err = err == -ENOENT ? 0 : err < 0 ? err : all.err;
	return err < 0 ? wmk_error_add(err, "cannot delete the oldest chunks of %.160s", path) : 0;
}
