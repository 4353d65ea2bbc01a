/* SPDX-License-Identifier: MIT */
/*
 * import.h - convert logs of other programs to a trace: each line becomes an event record with the time of the line.
 *
 *     FILE * ──lines──► parser of the format ──► record ──► window, sorted by time ──► streams, packets ──► src/store
 *                                                  ▲            up to 65,536 records or 64 MiB
 *     unparsed line, unchanged ────────────────────┘
 *
 * `waymark convert --from` uses it. The trace is Common Trace Format 1.8 as docs/trace-format.md describes it. Its
 * clock counts nanoseconds since 1970. If the log has only relative times and the user gives no origin, the clock
 * counts from an unknown origin.
 *
 * The records of a stream are in order of time. A record that is too late for the window goes to another stream with no
 * later record in it. If each stream has a later record, the import creates a stream. WMK_IMPORT_STREAMS limits the
 * number of streams. If the import cannot create a further stream, it appends the record to the stream with the
 * earliest last record. An appended record gets the time of the stream's last record and is counted as late.
 *
 * Records with thread information are in streams with the context fields vpid, vtid, procname and cpu_id, as far as the
 * log has them. Records without thread information are in streams without contexts.
 *
 * Memory is bounded for any input. A line has at most 1 MiB; the rest of a longer line is treated as an unparsed line.
 * Lines may contain any bytes. Errors are -errno with a cause chain (base/error.h). An import is used by one thread.
 */
#ifndef WMK_IMPORT_IMPORT_H
#define WMK_IMPORT_IMPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define WMK_IMPORT_LINE_MAX ((size_t)1 << 20)
#define WMK_IMPORT_STREAMS 64u

/* Assumptions about times, where neither the log nor the user gives a time. */
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
 * Convert all lines of a file, from its current position to its end. `name` is used in messages. `near_ns` is the time
 * of the file's last change, in nanoseconds since 1970. After a read or write error (-EIO and others), the trace
 * contains the records before the error.
 */
int wmk_import_file(struct wmk_import *import, FILE *in, const char *name, int64_t near_ns);
/* Write the rest and free everything, also on an error. `done` may be NULL. */
int wmk_import_end(struct wmk_import *import, struct wmk_import_done *done);

/*
 * Convert a date as logs write it to nanoseconds since 1970. The date may include a zone: "2026-11-22T08:05:42+01:00".
 * Without a zone, the date is local time. False: the text is not such a date.
 */
bool wmk_import_date(const char *text, int64_t *ns);

#endif
