/* SPDX-License-Identifier: MIT */
/*
 * live_traces.c - the directories of followed traces: a rotation creates and moves them, and their metadata grows (see
 * live_source.h).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "read/live_source.h"
#include "store/followed.h"

#define WATCHED (IN_CREATE | IN_MOVED_TO | IN_MODIFY)
/* maximum time between the crash of a writer and the next writer opening the trace */
#define NEXT_WRITER_NS 5000000000u
/* number of failures to open a trace before a report: the trace may just be created */
#define FAILURES_UNTIL_REPORT 2u
/* maximum scans for a moved directory: a rotation moves a directory twice; one scan more */
#define MOVES 3u

void wmk_live_report(struct wmk_read_live *live, const struct wmk_read_stream *stream, int err)
{
	live->ops.damage(live->ops.data, stream, err);
	wmk_error_clear();
}

/* ── versions of a trace ─────────────────────────────────────────────────────────────────────────────── */

void wmk_live_close_version(struct wmk_read_live *live, struct version *version)
{
	live->ops.closing(live->ops.data, version->trace);
	wmk_read_trace_close(version->trace);
	free(version);
}

void wmk_live_leave_version(struct wmk_read_live *live, const struct live_trace *source, struct version *version)
{
	if (--version->n_leaves == 0 && version != source->version)
		wmk_live_close_version(live, version);
}

/* `path` is relative to `dir`; "" is `dir` itself. */
static bool directory_id(int dir, const char *path, struct directory_id *id)
{
	struct statx st;

	if (statx(dir, path, AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &st) < 0)
		return false;
	id->device = (uint64_t)st.stx_dev_major << 32 | st.stx_dev_minor;
	id->inode = st.stx_ino;
	id->born_s = 0;
	id->born_ns = 0;
	if (st.stx_mask & STATX_BTIME) {
		id->born_s = st.stx_btime.tv_sec;
		id->born_ns = st.stx_btime.tv_nsec;
	}
	return true;
}

static bool is_same(const struct directory_id *a, const struct directory_id *b)
{
	return a->device == b->device && a->inode == b->inode && a->born_s == b->born_s && a->born_ns == b->born_ns;
}

static bool is_directory_of(const struct live_trace *source, int dir, const char *path)
{
	struct directory_id id;

	return directory_id(dir, path, &id) && is_same(&id, &source->id);
}

/*
 * Open the trace again. 1: opened; 0: a rotation has just moved the directory of the source, so another directory is at
 * its path. *is_fatal: the error ends following, because the trace is not its cause.
 */
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
	if (!is_directory_of(source, version->trace->dir, "")) {
		wmk_read_trace_close(version->trace);
		free(version);
		return 0;
	}
	err = live->ops.opened(live->ops.data, version->trace);
	if (err < 0) {
		*is_fatal = true;
		wmk_live_close_version(live, version);
		return err;
	}
	source->version = version;
	if (old && !old->n_leaves)
		wmk_live_close_version(live, old);
	return 1;
}

/* If the directory of the source has moved to another path, find the directory again. */
static int follow_moves(struct wmk_read_live *live, const struct live_trace *source)
{
	int err = 0;

	for (unsigned i = 0; i < MOVES && err >= 0 && !is_directory_of(source, AT_FDCWD, source->path); i++)
		err = wmk_live_scan(live);
	return err;
}

int wmk_live_renew_version(struct wmk_read_live *live, struct live_trace *source)
{
	struct wmk_read_trace *trace = source->version->trace;
	bool is_fatal = true;
	struct stat st;
	int err = 0;

	if (fstatat(trace->dir, "metadata", &st, 0) < 0)
		return 0;
	for (unsigned i = 0; i < MOVES && err == 0; i++) {
		err = follow_moves(live, source);
		if (err >= 0)
			err = version_open(live, source, &is_fatal);
	}
	if (err >= 0 || is_fatal)
		return err;
	wmk_error_add(err, "the trace '%.120s' continues with metadata that cannot be read", source->path);
	wmk_live_report(live, NULL, err);
	trace->metadata_size = (uint64_t)st.st_size;
	trace->metadata_number = st.st_ino;
	return 0;
}

/* ── traces ──────────────────────────────────────────────────────────────────────────────────────────── */

/*
 * If a writer crashes, the file `.live` remains, and a new writer continues the trace soon. A trace with a file `.live`
 * therefore counts as being written for NEXT_WRITER_NS after a crash of its writer.
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
	 * At this point, a rotation has moved the directory of the trace, and is about to create the next directory at
	 * the same path.
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

/* Update a source after the scan has found its directory again. */
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
	struct directory_id id;

	/*
	 * If stat() fails, the directory was moved or removed after the scan had listed it. The next scan finds the
	 * moved directory.
	 */
	if (!directory_id(AT_FDCWD, path, &id)) {
		live->has_moves = true;
		return 0;
	}
	for (; *at; at = &(*at)->next)
		if (is_same(&(*at)->id, &id))
			return source_found(*at, path);
	source = calloc(1, sizeof(*source));
	if (!source || !(source->path = strdup(path))) {
		free(source);
		return wmk_error(-ENOMEM, "no memory to follow a trace");
	}
	source->id = id;
	source->given = given;
	source->live = -1;
	source->is_there = true;
	/* The directory may be the next chunk. The scan may then have missed the directory of the previous chunk. */
	live->has_moves = true;
	*at = source;
	return 0;
}

void wmk_live_free_source(struct wmk_read_live *live, struct live_trace *source)
{
	if (source->version)
		wmk_live_close_version(live, source->version);
	if (source->live >= 0)
		close(source->live);
	free(source->path);
	free(source);
}

void wmk_live_drop_sources(struct wmk_read_live *live)
{
	for (struct live_trace **at = &live->sources; *at;) {
		struct live_trace *source = *at;

		if (source->is_there || source->n_leaves) {
			at = &source->next;
			continue;
		}
		*at = source->next;
		wmk_live_free_source(live, source);
	}
}

int wmk_live_open_source(struct wmk_read_live *live, struct live_trace *source)
{
	bool is_fatal;
	int err;

	/*
	 * Watch the directory before the trace is opened, so that every later change in the directory wakes the reader.
	 */
	if (live->notes < 0 || inotify_add_watch(live->notes, source->path, WATCHED | IN_ONLYDIR) < 0)
		live->is_blind = true;
	err = version_open(live, source, &is_fatal);
	live->has_moves |= err == 0;
	if (err >= 0 || is_fatal)
		return err;
	if (!is_written(source) && ++source->n_failed == FAILURES_UNTIL_REPORT) {
		wmk_error_add(err, "cannot read the trace '%.120s'", source->path);
		wmk_live_report(live, NULL, err);
	}
	wmk_error_clear();
	return 0;
}

void wmk_live_lock_source(struct live_trace *source)
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

static int scan_path(struct wmk_read_live *live, const char *path, bool must)
{
	struct wmk_read_paths found = { NULL, 0, 0 };
	int err = wmk_read_traces_find_closing(path, &found);

	if (err < 0 && err != -ENOMEM && !must) {
		wmk_error_clear();
		err = 0;
	}
	for (uint32_t i = 0; i < found.n && err >= 0; i++)
		err = source_add(live, found.paths[i], path);
	wmk_read_paths_free(&found);
	return err;
}

int wmk_live_find_sources(struct wmk_read_live *live, bool must)
{
	int err = 0;

	live->has_moves = false;
	for (struct live_trace *source = live->sources; source; source = source->next)
		source->is_there = false;
	for (unsigned i = 0; i < live->n_paths && err >= 0; i++)
		err = scan_path(live, live->paths[i], must);
	return err;
}
