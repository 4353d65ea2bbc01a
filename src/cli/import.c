/* SPDX-License-Identifier: MIT */
/* import.c - `waymark convert --from` (see import.h for the option). */
#include "cli/import.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "cli/command.h"
#include "cli/path.h"
#include "cli/progress.h"
#include "import/import.h"
#include "read/parse_time.h"

#define SECOND 1000000000

/* The first log line that has an unknown format. */
struct first {
	uint64_t number;
	char file[200], text[100];
};

/* The state of one import: the progress, and the first log line with an unknown format, which the report quotes. */
struct import_view {
	struct first first;
	struct wmk_progress progress;
	uint64_t total;          /* bytes of all files; 0: unknown */
};

int wmk_cli_store_import_year(const struct wmk_cli_option *option, void *at, const char *value)
{
	struct wmk_cli_import *import = at;
	uint64_t year;
	int err = wmk_cli_number(value, 2261, &year);

	(void)option;
	if (err == 0 && year < 1970)
		err = wmk_error(-ERANGE, "%" PRIu64 " is out of range 1970 to 2261", year);
	if (err < 0)
		return err;
	import->year = (int)year;
	import->is_told = true;
	return 0;
}

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * SECOND + now.tv_nsec;
}

int wmk_cli_store_import_origin(const struct wmk_cli_option *option, void *at, const char *value)
{
	struct wmk_cli_import *import = at;
	bool is_day;
	int err = 0;

	(void)option;
	/* (a time with a zone, as in logs, or a time as --begin accepts it) */
	if (!wmk_import_date(value, &import->origin_ns))
		err = wmk_read_parse_time(value, false, now_ns(), &import->origin_ns, &is_day);
	if (err == 0 && import->origin_ns < 0)
		err = wmk_error(-ERANGE, "\"%.40s\" is before 1970", value);
	if (err < 0)
		return err;
	import->has_origin = import->is_told = true;
	return 0;
}

static void note_first(void *data, const char *name, uint64_t number, const char *line, size_t len)
{
	struct first *first = &((struct import_view *)data)->first;

	if (first->number)
		return;
	first->number = number;
	snprintf(first->file, sizeof(first->file), "%s", name);
	snprintf(first->text, sizeof(first->text), "%.*s",
		 (int)(len < sizeof(first->text) ? len : sizeof(first->text) - 1), line);
}

static void note_progress(void *data, uint64_t bytes, uint64_t records)
{
	struct import_view *import_view = data;

	wmk_progress_tell(&import_view->progress, bytes, import_view->total, records);
}

/* The total size of all files; 0 if one of the files is not a regular file. */
static uint64_t size_of(const char *const *files, unsigned n)
{
	uint64_t total = 0;
	struct stat st;

	for (unsigned i = 0; i < n; i++) {
		if ((strcmp(files[i], "-") == 0 ? fstat(0, &st) : stat(files[i], &st)) != 0 || !S_ISREG(st.st_mode))
			return 0;
		total += (uint64_t)st.st_size;
	}
	return total;
}

static int convert_file(struct wmk_import *import, const char *name)
{
	const bool is_stdin = strcmp(name, "-") == 0;
	FILE *in = is_stdin ? stdin : fopen(name, "re");
	int64_t near_ns = now_ns();
	struct stat st;
	int err;

	if (!in)
		return wmk_error(-errno, "cannot read \"%.120s\"", name);
	if (fstat(fileno(in), &st) == 0 && S_ISREG(st.st_mode) && st.st_mtim.tv_sec >= 0 &&
	    st.st_mtim.tv_sec < INT64_MAX / SECOND)
		near_ns = (int64_t)st.st_mtim.tv_sec * SECOND + st.st_mtim.tv_nsec;
	err = wmk_import_file(import, in, is_stdin ? "standard input" : name, near_ns);
	if (!is_stdin)
		fclose(in);
	return err;
}

/* If `directory` is NULL, the trace is temporary. */
static void print_result(const struct wmk_cli_import *import, const char *directory, const struct wmk_import_done *done,
			 const struct first *first)
{
	if (done->assumed & WMK_IMPORT_ASSUMED_YEAR)
		wmk_cli_note(
			"dates without a year: assumed the latest year that fits the file's modification time (--year "
			"sets it)");
	if (done->assumed & WMK_IMPORT_ASSUMED_DAY)
		wmk_cli_note("times without a date: assumed that the first line is at most 24 hours older than the "
			     "file's modification time (--boot-time sets its day)");
	if (done->assumed & WMK_IMPORT_ASSUMED_ORIGIN)
		wmk_cli_note("times since an unknown origin: assumed the beginning of 1970 (--boot-time sets it)");
	if (done->assumed & WMK_IMPORT_ASSUMED_ORDER)
		wmk_cli_note("lines without a time: assumed the time of the previous line");
	if (done->late)
		wmk_cli_warn("%" PRIu64 " record%s out of order: times changed to those of the previous records",
			     done->late, wmk_cli_plural(done->late));
	if (done->unknown)
		wmk_cli_warn("%" PRIu64 " line%s not understood, kept as %s:line; the first is line %" PRIu64
			     " of %s: %s",
			     done->unknown, done->unknown == 1 ? " was" : "s were", import->format, first->number,
			     wmk_cli_clean(first->file), wmk_cli_clean(first->text));
	if (directory)
		wmk_cli_note("%" PRIu64 " record%s in %s", done->records, wmk_cli_plural(done->records),
			     wmk_cli_clean(directory));
	else
		wmk_cli_note("%" PRIu64 " record%s in the log", done->records, wmk_cli_plural(done->records));
}

static int make(const struct wmk_cli_import *import, const char *directory, bool is_all, const char *const *files,
		unsigned n)
{
	struct import_view import_view = { .total = size_of(files, n) };
	const struct wmk_import_options options = { .year = import->year,
						    .has_origin = import->has_origin,
						    .origin_ns = import->origin_ns,
						    .unknown = note_first,
						    .progress = note_progress,
						    .data = &import_view };
	struct wmk_import_done done;
	struct wmk_import *work;
	int err, ended;

	/* Check the input files before any file is created. */
	for (unsigned i = 0; i < n; i++)
		if (strcmp(files[i], "-") != 0 && access(files[i], R_OK) < 0) {
			wmk_error(-errno, "cannot read \"%.120s\"", files[i]);
			return wmk_cli_failed();
		}
	err = wmk_import_begin(directory, import->format, &options, &work);
	if (err < 0)
		return wmk_cli_failed();
	wmk_progress_begin(&import_view.progress, wmk_clock_monotonic(), false);
	for (unsigned i = 0; i < n && err == 0; i++)
		err = convert_file(work, files[i]);
	wmk_progress_end(&import_view.progress);
	if (err < 0)
		wmk_cli_failed();
	ended = wmk_import_end(work, &done);
	if (ended < 0 && err == 0)
		wmk_cli_failed();
	print_result(import, is_all ? directory : NULL, &done, &import_view.first);
	return err < 0 || ended < 0 ? WMK_CLI_FAILED : 0;
}

int wmk_cli_import(const struct wmk_cli_import *import, const char *directory, const char *const *files, unsigned n)
{
	return make(import, directory, true, files, n);
}

/* ── selected records ────────────────────────────────────────────────────────────────────────────────── */

/* Create a directory with a unique name, for example "out.Ab3dEf" for "out" and for "out/". */
static int make_beside(const char *directory, char *path, size_t size)
{
	size_t len = strlen(directory);

	while (len > 1 && directory[len - 1] == '/')
		len--;
	if ((size_t)snprintf(path, size, "%.*s.XXXXXX", (int)len, directory) >= size)
		return wmk_error(-ENAMETOOLONG, "cannot create a directory beside \"%.240s\"", directory);
	return mkdtemp(path) ? 0 : wmk_error(-errno, "cannot create a directory beside \"%.240s\"", directory);
}

int wmk_cli_import_part(const struct wmk_cli_import *import, const char *directory, const char *const *files,
			unsigned n, int (*then)(void *data, const char *made), void *data)
{
	char path[PATH_MAX];
	int status;

	if (make_beside(directory, path, sizeof(path)) < 0)
		return wmk_cli_failed();
	status = make(import, path, false, files, n);
	if (status == 0)
		status = then(data, path);
	if (wmk_cli_remove_tree(path) < 0)
		wmk_cli_warn("cannot remove the temporary directory %s", wmk_cli_clean(path));
	return status;
}
