/* SPDX-License-Identifier: MIT */
/*
 * import.h - convert logs of other programs to a trace: each line becomes an event record with the time of the line.
 *
 *     FILE * ──lines──► parser of the format ──► record ──► window, sorted by time ──► streams, packets ──► src/store
 *                                                  ▲            up to 65,536 records or 64 MiB
 *     unparsed line, unchanged ────────────────────┘
 *
 * `waymark convert --from` uses it. The trace is Common Trace Format 1.8 as docs/trace-format.md describes it. Its
 * clock counts nanoseconds since 1970. If the log has only relative times and the user gives no origin, it counts from
 * an unknown moment.
 *
 * Records of a stream are in order of time. A record that arrives after the window has passed its time goes to another
 * stream; there are up to WMK_IMPORT_STREAMS. If the last record of every stream is later, the record is appended to
 * the stream with the earliest last record, gets the time of that record, and is counted as late. Records with thread
 * information are in streams with the context fields vpid, vtid, procname and cpu_id, as far as the log has them. Other
 * records are in streams without contexts.
 *
 * Memory is bounded for any input. A line has at most 1 MiB; the rest of a longer one is treated as an unparsed line.
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

/* What was assumed about times, because neither the log nor the user gives it. */
#define WMK_IMPORT_ASSUMED_YEAR 1u     /* the last year in which the line is not later than the file's last change */
#define WMK_IMPORT_ASSUMED_DAY 2u      /* the day of the file's last change */
#define WMK_IMPORT_ASSUMED_ORIGIN 4u   /* relative times count from 1970 */
#define WMK_IMPORT_ASSUMED_ORDER 8u    /* a line without a time has the time of the line before */

struct wmk_import_options {
	int year;                /* of the first line, for dates without a year; 0: unknown */
	bool has_origin;
	/* origin of times without a date (boot of the machine), nanoseconds since 1970; not negative */
	int64_t origin_ns;
	/*
	 * Called for each unparsed line: line `number`, from 1, of the file `name`, without its newline. The line is in
	 * the trace as well. May be NULL.
	 */
	void (*unknown)(void *data, const char *name, uint64_t number, const char *line, size_t len);
	/* Called after each 64 KiB or more of input: bytes of all files and records so far. May be NULL. */
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
 * of the file's last change, nanoseconds since 1970. On a read or write error (-EIO and others), the records before it
 * are in the trace.
 */
int wmk_import_file(struct wmk_import *import, FILE *in, const char *name, int64_t near_ns);
/* Write the rest and free everything, also on an error. `done` may be NULL. */
int wmk_import_end(struct wmk_import *import, struct wmk_import_done *done);

/*
 * Parse a date as logs write it, with or without a zone ("2026-11-22T08:05:42+01:00"; local time without one), to
 * nanoseconds since 1970. False: not such a date.
 */
bool wmk_import_date(const char *text, int64_t *ns);

#endif
