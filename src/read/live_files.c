/* SPDX-License-Identifier: MIT */
/*
 * live_files.c - the stream files of followed traces, which appear, grow and disappear (see live_source.h).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/hash.h"
#include "ctf/frame_table.h"
#include "read/live_source.h"

/* maximum number of scans one after another while a rotation moves directories */
#define SCANS 8u

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

/*
 * Return the identity of a stream: a hash of the UUID of its trace, and of its name without the suffix of compressed
 * files.
 */
static uint64_t identity_of(const struct wmk_read_trace *trace, const char *file)
{
	uint64_t hash = WMK_HASH_BEGIN;

	if (trace->class->has_uuid)
		hash = wmk_hash_bytes(hash, trace->class->uuid, sizeof(trace->class->uuid));
	return wmk_hash_bytes(hash, file, wmk_ctf_frame_plain_len(file));
}

/*
 * The file is the compressed form of a file that the reader has already read.
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

/* Add a leaf, unless the file has been removed after the scan. */
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

/* Open the new sources, and find their files. Sets has_moves. */
static int open_sources(struct wmk_read_live *live)
{
	int err = 0;

	live->has_moves = false;
	wmk_live_drop_sources(live);
	for (struct live_trace *source = live->sources; source && err >= 0; source = source->next) {
		if (source->is_complete) {
			if (source->version && !source->n_leaves)
				wmk_live_close_version(live, source->version);
			source->version = source->n_leaves ? source->version : NULL;
			continue;
		}
		source->is_complete = source->is_moved && source->version;
		if (!source->version)
			err = wmk_live_open_source(live, source);
		if (err >= 0 && source->version) {
			wmk_live_lock_source(source);
			err = scan_files(live, source);
		}
	}
	return err;
}

int wmk_live_scan(struct wmk_read_live *live)
{
	const struct wmk_read_follow *follow = live->follow;
	bool must = !live->scanned && (!follow->still || follow->still(follow->data) != WMK_READ_GO_ON);
	unsigned n = 0;
	int err;

	live->scanned = wmk_clock_monotonic();
	do {
		do {
			err = wmk_live_find_sources(live, must && n == 0);
		} while (err >= 0 && live->has_moves && ++n < SCANS);
		if (err >= 0)
			err = open_sources(live);
	} while (err >= 0 && live->has_moves && ++n < SCANS);
	return err;
}

/* ── one file ────────────────────────────────────────────────────────────────────────────────────────── */

void wmk_live_end(struct wmk_read_live *live, struct live_stream *leaf)
{
	live->ops.leaving(live->ops.data, leaf->stream);
	wmk_read_stream_close(leaf->stream);
	leaf->stream = NULL;
	leaf->got = WMK_READ_END;
	wmk_live_leave_version(live, leaf->source, leaf->version);
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
 * Store the time at which the file was last written: the modification time of the file, or the current time if the
 * modification time is in the future.
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
 * Change to the newest metadata. The reader must read the metadata after it has set the limit of the stream, so that
 * the metadata declares all events up to the limit.
 */
static int renew(struct wmk_read_live *live, struct live_stream *leaf)
{
	struct live_trace *source = leaf->source;
	struct version *old = leaf->version;
	int err = 0;

	if (wmk_read_trace_has_grown(source->version->trace))
		err = wmk_live_renew_version(live, source);
	if (err < 0 || old == source->version)
		return err;
	live->ops.leaving(live->ops.data, leaf->stream);
	err = wmk_read_stream_move(leaf->stream, source->version->trace, leaf->file);
	leaf->stream->user = NULL;
	if (err < 0) {
		wmk_live_report(live, leaf->stream, err);
		return 0;
	}
	leaf->version = source->version;
	leaf->version->n_leaves++;
	wmk_live_leave_version(live, source, old);
	return 0;
}

/* Add the sync points that writers have written since the last call. */
static int renew_points(struct wmk_read_live *live, const struct live_stream *leaf)
{
	struct wmk_read_trace *trace = leaf->version->trace;
	int err = trace->points ? wmk_read_clock_points_renew(trace->points) : 0;

	if (err >= 0 || err == -ENOMEM)
		return err;
	wmk_error_add(err, "the sync points of the clock of '%.120s' are damaged", trace->path);
	wmk_live_report(live, NULL, err);
	return 0;
}

int wmk_live_poll(struct wmk_read_live *live, struct live_stream *leaf)
{
	int err, got = wmk_read_stream_poll(leaf->stream);
	struct stat st;

	if (got < 0) {
		wmk_live_report(live, leaf->stream, got);
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
		wmk_live_free_source(live, source);
	}
	free(live->followed);
}
