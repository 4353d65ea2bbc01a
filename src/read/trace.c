/* SPDX-License-Identifier: MIT */
/*
 * trace.c - find directories with traces, and open a trace (see trace.h).
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "ctf/frame_table.h"
#include "read/relay_points.h"
#include "read/trace.h"
#include "store/chunk_lock.h"

#define FIND_DEPTH 16u
#define FIND_MAX 65536u

/* ── files ───────────────────────────────────────────────────────────────────────────────────────────── */

/* Read a complete file; *number becomes its inode number. */
static int read_file(int dir, const char *name, const char *path, char **bytes, size_t *len, uint64_t *number)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK), err = 0;
	size_t cap = 0;
	struct stat st;

	if (fd < 0)
		return wmk_error(-errno, "cannot open '%s' in '%.240s'", name, path);
	*len = 0;
	*bytes = NULL;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		err = wmk_error(-EINVAL, "'%s' in '%.240s' is not a regular file", name, path);
	*number = err < 0 ? 0 : st.st_ino;
	while (err >= 0) {
		if (*len == cap) {
			char *larger = realloc(*bytes, cap ? 2 * cap : 65536);

			if (!larger) {
				err = wmk_error(-ENOMEM, "no memory for '%s' in '%.240s'", name, path);
				break;
			}
			*bytes = larger;
			cap = cap ? 2 * cap : 65536;
		}
		ssize_t n = read(fd, *bytes + *len, cap - *len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			err = wmk_error(-errno, "cannot read '%s' in '%.240s'", name, path);
		if (n <= 0)
			break;
		*len += (size_t)n;
		if (*len > WMK_CTF_METADATA_MAX)
			err = wmk_error(-E2BIG, "'%s' in '%.240s' is too large: the maximum is %u bytes", name, path,
					WMK_CTF_METADATA_MAX);
	}
	close(fd);
	if (err < 0)
		free(*bytes);
	return err;
}

static int by_name(const void *left, const void *right)
{
	return strcmp(*(char *const *)left, *(char *const *)right);
}

static int add_name(char ***names, uint32_t *n, uint32_t *cap, const char *name)
{
	char **moved = wmk_array_room(*names, *n, cap, sizeof(**names));

	if (moved) {
		*names = moved;
		moved[*n] = strdup(name);
	}
	if (!moved || !moved[*n])
		return wmk_error(-ENOMEM, "no memory for the names of files");
	++*n;
	return 0;
}

static DIR *open_again(int dir)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *again = fd < 0 ? NULL : fdopendir(fd);

	if (fd >= 0 && !again)
		close(fd);
	return again;
}

/* ── one trace ───────────────────────────────────────────────────────────────────────────────────────── */

/*
 * Return the size of the content of a compressed file. If the frame table of the file is damaged, the function returns
 * `size`, because the caller needs the result only for progress reports.
 */
static uint64_t content_size(const struct wmk_read_trace *trace, const char *file, uint64_t size)
{
	const int fd = openat(trace->dir, file, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct wmk_ctf_frame_table table;

	if (fd >= 0 && wmk_ctf_frame_table_read(fd, &table) >= 0) {
		size = table.content;
		wmk_ctf_frame_table_free(&table);
	}
	wmk_error_clear();
	if (fd >= 0)
		close(fd);
	return size;
}

/* Get the sizes of the stream files. */
static int measure_streams(struct wmk_read_trace *trace)
{
	struct stat st;

	trace->sizes = calloc(trace->n_files ? trace->n_files : 1, sizeof(*trace->sizes));
	if (!trace->sizes)
		return wmk_error(-ENOMEM, "no memory for the names of files");
	for (uint32_t i = 0; i < trace->n_files; i++) {
		trace->sizes[i] = fstatat(trace->dir, trace->files[i], &st, 0) < 0 ? 0 : (uint64_t)st.st_size;
		if (wmk_ctf_frame_is_name(trace->files[i]))
			trace->sizes[i] = content_size(trace, trace->files[i], trace->sizes[i]);
	}
	return 0;
}

/* Stream files are the regular files of the directory, except hidden files and the metadata (CTF 1.8.3, section 3). */
int wmk_read_trace_files(const struct wmk_read_trace *trace, bool empty_too, struct wmk_read_paths *files)
{
	DIR *dir = open_again(trace->dir);
	int err = dir ? 0 : wmk_error(-errno, "cannot list '%.240s'", trace->path);
	struct dirent *entry;

	while (err >= 0 && (entry = readdir(dir))) {
		struct stat st;

		if (entry->d_name[0] == '.' || strcmp(entry->d_name, "metadata") == 0)
			continue;
		if (fstatat(trace->dir, entry->d_name, &st, 0) < 0 || !S_ISREG(st.st_mode) ||
		    (!st.st_size && !empty_too))
			continue;
		if (files->n == WMK_READ_STREAM_FILES_MAX)
			err = wmk_error(-E2BIG, "too many files in '%.240s': the maximum is %u", trace->path,
					WMK_READ_STREAM_FILES_MAX);
		else
			err = add_name(&files->paths, &files->n, &files->cap, entry->d_name);
	}
	if (dir)
		closedir(dir);
	if (files->n)
		qsort(files->paths, files->n, sizeof(*files->paths), by_name);
	return err;
}

static int list_streams(struct wmk_read_trace *trace)
{
	struct wmk_read_paths files = { NULL, 0, 0 };
	int err = wmk_read_trace_files(trace, false, &files);

	trace->files = files.paths;
	trace->n_files = files.n;
	return err < 0 ? err : measure_streams(trace);
}

static int read_metadata(struct wmk_read_trace *trace)
{
	char *bytes = NULL, *text, name[160];
	size_t size = 0, len;
	bool is_cut = false;
	int err = read_file(trace->dir, "metadata", trace->path, &bytes, &size, &trace->metadata_number);

	if (err < 0)
		return err;
	trace->metadata_size = size;
	snprintf(name, sizeof(name), "%.140s/metadata", trace->path);
	err = wmk_ctf_metadata_text(bytes, size, &text, &len, &is_cut);
	free(bytes);
	if (err < 0)
		return wmk_error_add(err, "cannot read '%.140s'", name);
	err = wmk_ctf_metadata_parse(text, len, name, true, &trace->class);
	free(text);
	if (err == 0 && is_cut)
		err = wmk_error(-ENODATA, "'%.140s': the last packet is incomplete", name) < 0;
	trace->cut = err > 0 ? wmk_error_take() : NULL;
	if (trace->cut && trace->is_written) {
		free(trace->cut);
		trace->cut = NULL;
	}
	return err < 0 ? err : wmk_ctf_compile(trace->class, name, &trace->decoder);
}

/* Damaged sync points do not prevent a reader from reading the trace. */
static int read_points(struct wmk_read_trace *trace)
{
	int err = wmk_read_clock_points_open(trace->dir, wmk_read_trace_clock(trace), &trace->points);

	if (err == -ENOMEM)
		return err;
	trace->points_damage = err < 0 ? wmk_error_take() : NULL;
	return 0;
}

/* Make the name of a trace that babeltrace2 would show. */
static int give_name(struct wmk_read_trace *trace, const char *given)
{
	const struct wmk_ctf_class *class = trace->class;
	const char *host = NULL, *host_name = NULL, *below = strrchr(trace->path, '/');
	struct wmk_clock_head head;
	size_t len = strlen(given);

	for (uint32_t i = 0; i < class->n_env; i++)
		if (strcmp(class->env[i].name, "hostname") == 0)
			host = class->env[i].text;
	below = below ? below + 1 : trace->path;
	trace->is_given = strncmp(trace->path, given, len) != 0 || !trace->path[len];
	if (!trace->is_given)
		below = trace->path + len + (trace->path[len] == '/');
	/*
	 * Two machines may have the same host name, so the function prefers HOST, the name of the machine at the relay.
	 */
	if (wmk_read_relay_head(trace->dir, &head))
		host_name = head.host;
	trace->host = host_name ? strdup(host_name) : host ? strdup(host) : NULL;
	if ((host_name || host) && !trace->host)
		return wmk_error(-ENOMEM, "no memory for the host of a trace");
	if (asprintf(&trace->name, "%s%s%s", wmk_or_empty(host), host ? "/" : "", below) < 0) {
		trace->name = NULL;
		return wmk_error(-ENOMEM, "no memory for a trace's name");
	}
	trace->below = trace->name + (host ? strlen(host) + 1 : 0);
	return 0;
}

int wmk_read_trace_open(const char *path, const char *given, struct wmk_read_trace **trace)
{
	struct wmk_read_trace *t = calloc(1, sizeof(*t));
	int err = 0;

	if (!t || !(t->path = strdup(path))) {
		free(t);
		return wmk_error(-ENOMEM, "no memory to open '%.240s'", path);
	}
	t->lock = -1;
	t->dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (t->dir < 0)
		err = wmk_error(-errno, "cannot open the directory '%.240s'", path);
	/*
	 * Measure the streams before reading the metadata, so that the metadata declares all events up to the measured
	 * sizes, even while a writer adds events.
	 */
	t->is_written = err >= 0 && wmk_read_is_written(t->dir);
	if (err >= 0)
		err = list_streams(t);
	if (err >= 0)
		err = read_metadata(t);
	if (err >= 0)
		err = read_points(t);
	if (err >= 0)
		err = give_name(t, given);
	if (err < 0) {
		wmk_read_trace_close(t);
		return err;
	}
	*trace = t;
	return 0;
}

int wmk_read_trace_open_locked(const char *path, const char *given, struct wmk_read_trace **trace)
{
	int lock, err = wmk_chunk_lock(path, &lock);

	if (err < 0)
		return err;
	err = wmk_read_trace_open(path, given, trace);
	if (err >= 0)
		(*trace)->lock = lock;
	else if (lock >= 0)
		close(lock);
	return err;
}

bool wmk_read_trace_take_damage(struct wmk_read_trace *trace)
{
	struct wmk_error_chain **chain = trace->cut ? &trace->cut : &trace->points_damage;
	const bool is_cut = trace->cut != NULL;

	if (!*chain)
		return false;
	wmk_error_give(*chain);
	*chain = NULL;
	if (is_cut)
		wmk_error_add(-EPROTO, "the metadata of '%.120s' ends too early", trace->path);
	else
		wmk_error_add(-EPROTO, "the sync points of the clock of '%.120s' are damaged", trace->path);
	return true;
}

int wmk_read_trace_copy_points(const struct wmk_read_trace *trace, int to)
{
	int err = wmk_read_clock_points_copy(trace->points, to);

	return err < 0 ? err : wmk_read_relay_points_copy(trace->dir, to);
}

void wmk_read_trace_share_points(struct wmk_read_trace *trace, struct wmk_read_clock_points *points,
				 const char *clock_id)
{
	wmk_read_trace_drop_points(trace);
	trace->points = points;
	trace->has_shared_points = true;
	trace->clock_id = clock_id;
}

void wmk_read_trace_drop_points(struct wmk_read_trace *trace)
{
	if (!trace->has_shared_points)
		wmk_read_clock_points_free(trace->points);
	trace->points = NULL;
}

void wmk_read_trace_close(struct wmk_read_trace *trace)
{
	if (!trace)
		return;
	free(trace->cut);
	free(trace->points_damage);
	wmk_read_trace_drop_points(trace);
	free(trace->host);
	wmk_ctf_decoder_free(trace->decoder);
	wmk_ctf_class_free(trace->class);
	for (uint32_t i = 0; i < trace->n_files; i++)
		free(trace->files[i]);
	free(trace->files);
	free(trace->sizes);
	if (trace->dir >= 0)
		close(trace->dir);
	if (trace->lock >= 0)
		close(trace->lock);
	free(trace->path);
	free(trace->name);
	free(trace);
}

/* ── find traces ─────────────────────────────────────────────────────────────────────────────────────── */

/*
 * `depth` is the number of directories from the user's path down to `dir`. A rotation begins a new trace with empty
 * metadata. Below the user's path, the reader ignores a trace with empty metadata.
 */
static bool has_metadata(int dir, unsigned depth)
{
	struct stat st;

	return fstatat(dir, "metadata", &st, 0) == 0 && (depth == 0 || st.st_size > 0);
}

/*
 * A hidden directory may be a copy that is being compressed. `.NAME` is a chunk with the name NAME, which a rotation
 * closes now.
 */
static bool is_listed(const char *name, bool closing)
{
	uint64_t number;
	time_t end;

	return name[0] != '.' || (closing && wmk_chunk_name_parse(name + 1, &number, &end));
}

/* List the names of the directories in `dir`, in sorted order. */
static int list_dirs(int dir, const char *path, bool closing, struct wmk_read_paths *names)
{
	DIR *again = open_again(dir);
	int err = again ? 0 : wmk_error(-errno, "cannot list '%.240s'", path);
	struct dirent *entry;

	while (err >= 0 && (entry = readdir(again))) {
		struct stat st;

		if (!is_listed(entry->d_name, closing))
			continue;
		if (fstatat(dir, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode))
			err = add_name(&names->paths, &names->n, &names->cap, entry->d_name);
	}
	if (again)
		closedir(again);
	if (names->n)
		qsort(names->paths, names->n, sizeof(*names->paths), by_name);
	return err;
}

static int find(int dir, const char *path, unsigned depth, bool closing, struct wmk_read_paths *found)
{
	struct wmk_read_paths names = { NULL, 0, 0 };
	int err = 0;

	if (has_metadata(dir, depth)) {
		if (found->n >= FIND_MAX)
			return wmk_error(-E2BIG, "too many traces: the maximum is %u", FIND_MAX);
		err = add_name(&found->paths, &found->n, &found->cap, path);
	} else if (depth < FIND_DEPTH)
		err = list_dirs(dir, path, closing, &names);
	for (uint32_t i = 0; i < names.n && err >= 0; i++) {
		int child = openat(dir, names.paths[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
		size_t len = strlen(path);
		char *below;

		/* Skip a directory that the reader cannot read or that was removed. */
		if (child < 0)
			continue;
		if (asprintf(&below, "%s%s%s", path, len && path[len - 1] == '/' ? "" : "/", names.paths[i]) < 0)
			err = wmk_error(-ENOMEM, "no memory for a path below '%.240s'", path);
		if (err >= 0) {
			err = find(child, below, depth + 1, closing, found);
			free(below);
		}
		close(child);
	}
	wmk_read_paths_free(&names);
	return err;
}

static int find_at(const char *path, bool closing, struct wmk_read_paths *found)
{
	const uint32_t before = found->n;
	/*
	 * The lock prevents retention from deleting a closed chunk; wmk_chunk_lock() fails if the chunk was already
	 * deleted.
	 */
	int lock, err = wmk_chunk_lock(path, &lock), dir;

	if (err < 0)
		return err;
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	err = dir < 0 ? -errno : find(dir, path, 0, closing, found);
	if (lock >= 0)
		close(lock);
	if (dir < 0 && (err == -ENOENT || err == -ENOTDIR))
		return wmk_errorx(err, "no such trace: '%.110s' %s", path,
				  access(path, F_OK) == 0 ? "is a file, but a trace is a directory"
					  : "does not exist");
	if (dir < 0)
		return wmk_error(err, "cannot look for traces in '%.120s'", path);
	close(dir);
	if (err >= 0 && found->n == before)
		err = wmk_errorx(-ENOENT,
				 "there is no trace in '%.240s': no directory at or below it has a file 'metadata'",
				 path);
	return err;
}

int wmk_read_traces_find(const char *path, struct wmk_read_paths *found)
{
	return find_at(path, false, found);
}

int wmk_read_traces_find_closing(const char *path, struct wmk_read_paths *found)
{
	return find_at(path, true, found);
}

void wmk_read_paths_free(struct wmk_read_paths *paths)
{
	for (uint32_t i = 0; i < paths->n; i++)
		free(paths->paths[i]);
	free(paths->paths);
	*paths = (struct wmk_read_paths){ NULL, 0, 0 };
}
