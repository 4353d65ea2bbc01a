/* SPDX-License-Identifier: MIT */
/*
 * live_files.c - the followed files: traces, which appear and have growing metadata, and their stream files, which
 * appear, grow and disappear (see live_source.h).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/hash.h"
#include "ctf/frame_table.h"
#include "read/live_source.h"
#include "store/followed.h"

#define WATCHED (IN_CREATE | IN_MOVED_TO | IN_MODIFY)
/* maximum time between the crash of a writer and the next writer opening the trace */
#define NEXT_WRITER_NS 5000000000u
/* number of failures to open a trace before a report: the trace may just be created */
#define FAILURES_UNTIL_REPORT 2u
/* maximum scans for a moved directory: a rotation moves a directory twice; one scan more */
#define MOVES 3u

static void tell(struct wmk_read_live *live, const struct wmk_read_stream *stream, int err)
{
	live->ops.damage(live->ops.data, stream, err);
	wmk_error_clear();
}

/* ── versions of a trace ─────────────────────────────────────────────────────────────────────────────── */

static void version_close(struct wmk_read_live *live, struct version *version)
{
	live->ops.closing(live->ops.data, version->trace);
	wmk_read_trace_close(version->trace);
	free(version);
}

/*
 * One leaf stops using the version. If the version has no other leaf and is not the current version of the trace, it is
 * closed.
 */
static void version_leave(struct wmk_read_live *live, const struct live_trace *source, struct version *version)
{
	if (--version->n_leaves == 0 && version != source->version)
		version_close(live, version);
}

/* Open the trace again. *is_fatal: the error ends following, because the trace is not its cause. */
static int version_open(struct wmk_read_live *live, struct live_trace *source, bool *is_fatal)
{
	struct version *version = calloc(1, sizeof(*version)), *old = source->version;
	int err = version ? wmk_read_trace_open(source->path, source->given, &version->trace)
			  : wmk_error(-ENOMEM, "no memory to follow a trace");

	*is_fatal = err == -ENOMEM;
	if (err < 0) {
		free(version);
		return err;
	}
	err = live->ops.opened(live->ops.data, version->trace);
	if (err < 0) {
		*is_fatal = true;
		version_close(live, version);
		return err;
	}
	source->version = version;
	if (old && !old->n_leaves)
		version_close(live, old);
	return 0;
}

/* If the directory of the source is no longer at its path, find it again. */
static int follow_moves(struct wmk_read_live *live, const struct live_trace *source)
{
	struct stat st;
	int err = 0;

	for (unsigned i = 0; i < MOVES && err >= 0; i++) {
		if (stat(source->path, &st) == 0 && st.st_ino == source->number && st.st_dev == source->device)
			break;
		err = wmk_live_scan(live);
	}
	return err;
}

/*
 * The metadata has grown: open the new version. After an error, the reader opens the metadata again when the metadata
 * changes again, so each error is reported once.
 */
static int version_renew(struct wmk_read_live *live, struct live_trace *source)
{
	struct wmk_read_trace *trace = source->version->trace;
	struct stat st;
	bool is_fatal;
	int err;

	if (fstatat(trace->dir, "metadata", &st, 0) < 0)
		return 0;
	err = follow_moves(live, source);
	if (err < 0)
		return err;
	err = version_open(live, source, &is_fatal);
	if (err >= 0 || is_fatal)
		return err;
	wmk_error_add(err, "the trace '%.120s' continues with metadata that cannot be read", source->path);
	tell(live, NULL, err);
	trace->metadata_size = (uint64_t)st.st_size;
	trace->metadata_number = st.st_ino;
	return 0;
}

/* ── traces ──────────────────────────────────────────────────────────────────────────────────────────── */

/*
 * If a writer crashes, the file `.live` remains, and another writer continues soon. A trace with a file `.live`
 * therefore counts as written for NEXT_WRITER_NS after the crash.
 */
static bool is_written(struct live_trace *source)
{
	const uint64_t now = wmk_clock_monotonic();
	int dir = open(source->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool is = dir >= 0 && wmk_read_is_written(dir);

	if (is)
		source->written = now;
	else if (dir >= 0 && source->written && now - source->written < NEXT_WRITER_NS)
		is = faccessat(dir, WMK_STORE_LIVE, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
	/*
	 * A rotation has moved the directory of the trace, and is about to create the next directory at the same path.
	 */
	else if (dir < 0 && errno == ENOENT && source->written && !source->is_moved)
		is = now - source->written < NEXT_WRITER_NS;
	if (dir >= 0)
		close(dir);
	return is;
}

bool wmk_live_is_written(struct wmk_read_live *live)
{
	bool is = false;

	/*
	 * Call is_written() for each source, even if an earlier source is being written. is_written() stores when a
	 * writer was last seen, which the reader needs after a rotation.
	 */
	for (struct live_trace *source = live->sources; source; source = source->next)
		is |= is_written(source);
	return is;
}

/* The scan has found the directory of this source again. */
static int source_found(struct live_trace *source, const char *path)
{
	char *moved = strcmp(source->path, path) != 0 ? strdup(path) : NULL;

	source->is_there = true;
	if (strcmp(source->path, path) == 0)
		return 0;
	if (!moved)
		return wmk_error(-ENOMEM, "no memory to follow a trace");
	free(source->path);
	source->path = moved;
	source->is_moved = true;
	return 0;
}

static int source_add(struct wmk_read_live *live, const char *path, const char *given)
{
	struct live_trace **at = &live->sources, *source;
	struct stat st;

	/* The directory was moved or removed after the scan listed it. The next scan finds a moved directory. */
	if (stat(path, &st) < 0)
		return 0;
	for (; *at; at = &(*at)->next)
		if ((*at)->number == st.st_ino && (*at)->device == st.st_dev)
			return source_found(*at, path);
	source = calloc(1, sizeof(*source));
	if (!source || !(source->path = strdup(path))) {
		free(source);
		return wmk_error(-ENOMEM, "no memory to follow a trace");
	}
	source->device = st.st_dev;
	source->number = st.st_ino;
	source->given = given;
	source->live = -1;
	source->is_there = true;
	*at = source;
	return 0;
}

static void source_free(struct wmk_read_live *live, struct live_trace *source)
{
	if (source->version)
		version_close(live, source->version);
	if (source->live >= 0)
		close(source->live);
	free(source->path);
	free(source);
}

/* Free sources with a removed directory, after all of their files have been read. */
static void drop_sources(struct wmk_read_live *live)
{
	for (struct live_trace **at = &live->sources; *at;) {
		struct live_trace *source = *at;

		if (source->is_there || source->n_leaves) {
			at = &source->next;
			continue;
		}
		*at = source->next;
		source_free(live, source);
	}
}

/* A trace that is just being created cannot be read yet: a later scan retries. */
static int source_open(struct wmk_read_live *live, struct live_trace *source)
{
	bool is_fatal;
	int err;

	/* Watch the directory before the trace is opened, so that every later change wakes the reader. */
	if (live->notes < 0 || inotify_add_watch(live->notes, source->path, WATCHED | IN_ONLYDIR) < 0)
		live->is_blind = true;
	err = version_open(live, source, &is_fatal);
	if (err >= 0 || is_fatal)
		return err;
	if (!is_written(source) && ++source->n_failed == FAILURES_UNTIL_REPORT) {
		wmk_error_add(err, "cannot read the trace '%.120s'", source->path);
		tell(live, NULL, err);
	}
	wmk_error_clear();
	return 0;
}

/*
 * Lock the writer's file `.live` while the trace is followed: the writer then writes sooner, and publishes the
 * low-water time. The reader cannot open a file `.live` of another user. A closed trace has no file `.live`.
 */
static void live_lock(struct live_trace *source)
{
	int dir = source->live >= 0 ? -1 : open(source->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (dir < 0)
		return;
	source->live = wmk_store_follow(dir);
	close(dir);
}

void wmk_live_water(struct wmk_read_live *live)
{
	for (struct live_trace *source = live->sources; source; source = source->next)
		if (wmk_store_followed_to(source->live, &source->water))
			source->has_water = true;
}

/* ── files ───────────────────────────────────────────────────────────────────────────────────────────── */

static int leaf_room(struct wmk_read_live *live)
{
	uint32_t cap = live->cap ? 2 * live->cap : 16;
	struct live_stream **leaves, **heap;

	if (live->n < live->cap)
		return 0;
	leaves = realloc(live->leaves, cap * sizeof(*leaves));
	live->leaves = leaves ? leaves : live->leaves;
	heap = leaves ? realloc(live->heap, cap * sizeof(*heap)) : NULL;
	live->heap = heap ? heap : live->heap;
	if (!heap)
		return wmk_error(-ENOMEM, "no memory to follow %u files", cap);
	live->cap = cap;
	return 0;
}

static bool is_known(const struct wmk_read_live *live, const struct live_trace *source, const struct stat *st)
{
	for (uint32_t i = 0; i < live->n; i++)
		if (live->leaves[i]->number == st->st_ino && live->leaves[i]->device == st->st_dev &&
		    live->leaves[i]->source == source)
			return true;
	return false;
}

/* The identity of a stream: the UUID of its trace, and its name without the suffix of compressed files. */
static uint64_t identity_of(const struct wmk_read_trace *trace, const char *file)
{
	uint64_t hash = WMK_HASH_BEGIN;

	if (trace->class->has_uuid)
		hash = wmk_hash_bytes(hash, trace->class->uuid, sizeof(trace->class->uuid));
	return wmk_hash_bytes(hash, file, wmk_ctf_frame_plain_len(file));
}

/*
 * The file is the compressed form of a file that was followed, so the records of the compressed file were already read.
 */
static bool was_followed(const struct wmk_read_live *live, const struct wmk_read_trace *trace, const char *file)
{
	const uint64_t identity = identity_of(trace, file);

	for (uint32_t i = 0; i < live->n_followed && trace->class->has_uuid && wmk_ctf_frame_is_name(file); i++)
		if (live->followed[i] == identity)
			return true;
	return false;
}

static int remember(struct wmk_read_live *live, const struct wmk_read_trace *trace, const char *file)
{
	uint64_t *followed = wmk_array_room(live->followed, live->n_followed, &live->cap_followed, sizeof(*followed));

	if (!followed)
		return wmk_error(-ENOMEM, "no memory to follow '%.240s'", file);
	live->followed = followed;
	followed[live->n_followed++] = identity_of(trace, file);
	return 0;
}

static void leaf_free(struct live_stream *leaf)
{
	free(leaf->file);
	free(leaf);
}

/* Add a leaf, unless the file has been removed meanwhile. */
static int leaf_add(struct wmk_read_live *live, struct live_trace *source, const char *file)
{
	struct live_stream *leaf = calloc(1, sizeof(*leaf));
	int err = leaf && (leaf->file = strdup(file)) ? leaf_room(live)
						      : wmk_error(-ENOMEM, "no memory to follow '%.240s'", file);
	struct stat st;

	if (err >= 0)
		err = remember(live, source->version->trace, file);
	if (err >= 0)
		err = wmk_read_stream_open(source->version->trace, leaf->file, &leaf->stream);
	if (err < 0) {
		if (leaf)
			leaf_free(leaf);
		if (err != -ENOENT)
			return err;
		wmk_error_clear();
		return 0;
	}
	if (fstat(leaf->stream->fd, &st) == 0) {
		leaf->device = st.st_dev;
		leaf->number = st.st_ino;
	}
	leaf->stream->growth = WMK_READ_LIVE;
	leaf->stream->limit = 0;
	leaf->stream->from = live->from;
	leaf->stream->to = live->to;
	leaf->source = source;
	leaf->version = source->version;
	leaf->serial = live->serial++;
	leaf->got = WMK_READ_LATER;
	leaf->seen = INT64_MIN;
	leaf->size = UINT64_MAX;
	source->n_leaves++;
	leaf->version->n_leaves++;
	live->leaves[live->n++] = leaf;
	return 0;
}

static int scan_files(struct wmk_read_live *live, struct live_trace *source)
{
	struct wmk_read_paths files = { NULL, 0, 0 };
	int err = wmk_read_trace_files(source->version->trace, true, &files);
	struct stat st;

	if (err < 0 && err != -ENOMEM) {
		wmk_error_clear();
		err = 0;
	}
	for (uint32_t i = 0; i < files.n && err >= 0; i++)
		if (fstatat(source->version->trace->dir, files.paths[i], &st, 0) == 0 &&
		    !is_known(live, source, &st) && !was_followed(live, source->version->trace, files.paths[i]))
			err = leaf_add(live, source, files.paths[i]);
	wmk_read_paths_free(&files);
	return err;
}

static int scan_path(struct wmk_read_live *live, const char *path, bool must)
{
	struct wmk_read_paths found = { NULL, 0, 0 };
	int err = wmk_read_traces_find(path, &found);

	if (err < 0 && err != -ENOMEM && !must) {
		wmk_error_clear();
		err = 0;
	}
	for (uint32_t i = 0; i < found.n && err >= 0; i++)
		err = source_add(live, found.paths[i], path);
	wmk_read_paths_free(&found);
	return err;
}

int wmk_live_scan(struct wmk_read_live *live)
{
	const struct wmk_read_follow *follow = live->follow;
	bool must = !live->scanned && (!follow->still || follow->still(follow->data) != WMK_READ_GO_ON);
	int err = 0;

	live->scanned = wmk_clock_monotonic();
	for (struct live_trace *source = live->sources; source; source = source->next)
		source->is_there = false;
	for (unsigned i = 0; i < live->n_paths && err >= 0; i++)
		err = scan_path(live, live->paths[i], must);
	drop_sources(live);
	for (struct live_trace *source = live->sources; source && err >= 0; source = source->next) {
		if (source->is_complete) {
			if (source->version && !source->n_leaves)
				version_close(live, source->version);
			source->version = source->n_leaves ? source->version : NULL;
			continue;
		}
		source->is_complete = source->is_moved && source->version;
		if (!source->version)
			err = source_open(live, source);
		if (err >= 0 && source->version) {
			live_lock(source);
			err = scan_files(live, source);
		}
	}
	return err;
}

/* ── one file ────────────────────────────────────────────────────────────────────────────────────────── */

void wmk_live_end(struct wmk_read_live *live, struct live_stream *leaf)
{
	live->ops.leaving(live->ops.data, leaf->stream);
	wmk_read_stream_close(leaf->stream);
	leaf->stream = NULL;
	leaf->got = WMK_READ_END;
	version_leave(live, leaf->source, leaf->version);
	leaf->version = NULL;
}

void wmk_live_remove_ended(struct wmk_read_live *live)
{
	uint32_t left = 0;

	for (uint32_t i = 0; i < live->n; i++) {
		struct live_stream *leaf = live->leaves[i];

		if (!leaf->is_gone) {
			live->leaves[left++] = leaf;
			continue;
		}
		if (leaf->stream)
			wmk_live_end(live, leaf);
		leaf->source->n_leaves--;
		leaf_free(leaf);
	}
	live->n = left;
}

/*
 * Keep the time when the file was last written: its modification time, or the current time if the modification time is
 * in the future.
 */
static void note_size(struct live_stream *leaf, const struct stat *st)
{
	struct timespec now;
	int64_t age;

	if ((uint64_t)st->st_size == leaf->size)
		return;
	clock_gettime(CLOCK_REALTIME, &now);
	age = (int64_t)(now.tv_sec - st->st_mtim.tv_sec) * 1000000000 + now.tv_nsec - st->st_mtim.tv_nsec;
	leaf->size = (uint64_t)st->st_size;
	leaf->since = wmk_clock_monotonic();
	leaf->since -= age <= 0 ? 0 : (uint64_t)age < leaf->since ? (uint64_t)age : leaf->since;
}

/*
 * Change to the newest metadata. The metadata must be read after the limit of the stream was set: the metadata then
 * declares all events up to the limit.
 */
static int renew(struct wmk_read_live *live, struct live_stream *leaf)
{
	struct live_trace *source = leaf->source;
	struct version *old = leaf->version;
	int err = 0;

	if (wmk_read_trace_has_grown(source->version->trace))
		err = version_renew(live, source);
	if (err < 0 || old == source->version)
		return err;
	live->ops.leaving(live->ops.data, leaf->stream);
	err = wmk_read_stream_move(leaf->stream, source->version->trace, leaf->file);
	leaf->stream->user = NULL;
	if (err < 0) {
		tell(live, leaf->stream, err);
		return 0;
	}
	leaf->version = source->version;
	leaf->version->n_leaves++;
	version_leave(live, source, old);
	return 0;
}

/* Add the sync points that were written since the last call. */
static int renew_points(struct wmk_read_live *live, const struct live_stream *leaf)
{
	struct wmk_read_trace *trace = leaf->version->trace;
	int err = trace->points ? wmk_read_clock_points_renew(trace->points) : 0;

	if (err >= 0 || err == -ENOMEM)
		return err;
	wmk_error_add(err, "the sync points of the clock of '%.120s' are damaged", trace->path);
	tell(live, NULL, err);
	return 0;
}

int wmk_live_poll(struct wmk_read_live *live, struct live_stream *leaf)
{
	int err, got = wmk_read_stream_poll(leaf->stream);
	struct stat st;

	if (got < 0) {
		tell(live, leaf->stream, got);
		wmk_live_end(live, leaf);
		return 0;
	}
	if (fstat(leaf->stream->fd, &st) == 0) {
		note_size(leaf, &st);
		leaf->is_gone = !got && (!st.st_nlink || leaf->source->is_complete);
	}
	err = got ? renew(live, leaf) : 0;
	if (err >= 0 && got)
		err = renew_points(live, leaf);
	return err < 0 ? err : got;
}

void wmk_live_close(struct wmk_read_live *live)
{
	for (uint32_t i = 0; i < live->n; i++)
		live->leaves[i]->is_gone = true;
	wmk_live_remove_ended(live);
	while (live->sources) {
		struct live_trace *source = live->sources;

		live->sources = source->next;
		source_free(live, source);
	}
	free(live->followed);
}
