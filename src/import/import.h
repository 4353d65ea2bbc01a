/* SPDX-License-Identifier: MIT */
/*
 * import.h - convert logs of other programs to a trace: each line becomes an event record with the time of the line.
 *
 *     FILE * ──lines──► parser of the format ──► record ──► window, sorted by time ──► streams, packets ──► src/store
 *                                                  ▲            up to 65,536 records or 64 MiB
 *     unparsed line, unchanged ────────────────────┘
 *
 * `waymark convert --from` uses it. The trace has the format Common Trace Format 1.8, as described in
 * docs/trace-format.md. Its clock counts nanoseconds since 1970. If the log has only relative times and the user
 * specifies no origin, the clock counts from an unknown origin.
 *
 * The records of a stream are ordered by time. If a record is too late for the window, the import adds it to another
 * stream that has no later records. If every stream has a later record, the import creates a new stream.
 * WMK_IMPORT_STREAMS limits the number of streams. If the import cannot create a further stream, it appends the record
 * to the stream with the earliest last record. An appended record gets the time of the stream's last record, and the
 * import counts it as late.
 *
 * Records with thread information are in streams with those of the context fields vpid, vtid, procname and cpu_id that
 * the log contains. Records without thread information are in streams without context fields.
 *
 * The import uses a limited amount of memory for any input. A line has at most 1 MiB; the import treats the rest of a
 * longer line as an unparsed line. Lines may contain any bytes. Errors are -errno with a cause chain (base/error.h).
 * Only one thread may use an import.
 */
#ifndef WMK_IMPORT_IMPORT_H
#define WMK_IMPORT_IMPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define WMK_IMPORT_LINE_MAX ((size_t)1 << 20)
#define WMK_IMPORT_STREAMS 64u

/* Assumptions about a part of a time that neither the log nor the user's options contain. */
/* the year was assumed: the last year in which the line is at most a day later than the file's last change */
#define WMK_IMPORT_ASSUMED_YEAR 1u
/* the day was assumed: the first line is at most 24 hours older than the file's last change */
#define WMK_IMPORT_ASSUMED_DAY 2u
#define WMK_IMPORT_ASSUMED_ORIGIN 4u   /* the origin was assumed: relative times count from 1970 */
#define WMK_IMPORT_ASSUMED_ORDER 8u    /* a line without a time got the time of the previous line */

struct wmk_import_options {
	int year;                /* year of the first line, for dates without a year; 0: unknown */
	bool has_origin;
	/* origin of times without a date, for example the boot of the machine: nanoseconds since 1970, not negative */
	int64_t origin_ns;
	/*
	 * Called for each unparsed line. `number` is the number of the line, from 1, in the file `name`. The text does
	 * not include the newline. The trace also contains each unparsed line. May be NULL.
	 */
	void (*unknown)(void *data, const char *name, uint64_t number, const char *line, size_t len);
	/*
	 * The import calls progress() when it has read 64 KiB or more since the previous call. `bytes` and `records`
	 * are the totals of all files so far. May be NULL.
	 */
	void (*progress)(void *data, uint64_t bytes, uint64_t records);
	void *data;
};

/* Results of an import. */
struct wmk_import_done {
	uint64_t records;        /* written to the trace, unparsed lines included */
	uint64_t unknown;        /* unparsed lines */
	uint64_t late;           /* records with a changed time, to keep their stream in order */
	unsigned assumed;        /* WMK_IMPORT_ASSUMED_... */
};

struct wmk_import;

/*
 * Create the trace in the directory `path`, which is absent or empty. -EINVAL: unknown format; errors of
 * wmk_store_create(). The caller releases *import with wmk_import_end().
 */
int wmk_import_begin(const char *path, const char *format, const struct wmk_import_options *options,
		     struct wmk_import **import);
/*
 * Convert all lines of a file, from the current file position to the end of the file. `name` is used in messages.
 * `near_ns` is the modification time of the file, in nanoseconds since 1970. After a read or write error (-EIO and
 * others), the trace contains the records that precede the error.
 */
int wmk_import_file(struct wmk_import *import, FILE *in, const char *name, int64_t near_ns);
/* Write the remaining records and free everything, even after an error. `done` may be NULL. */
int wmk_import_end(struct wmk_import *import, struct wmk_import_done *done);

/*
 * Convert a date, in a form that is usual in logs, to nanoseconds since 1970. The date may include a zone:
 * "2026-11-22T08:05:42+01:00". A date without a zone is in local time. Returns false if the text is not such a date.
 */
bool wmk_import_date(const char *text, int64_t *ns);

#endif
