/* SPDX-License-Identifier: MIT */
/*
 * import.h - logs of other programs as a trace: each line becomes a record, at the time that it tells.
 *
 *     FILE * ──lines──► parser of the format ──► record ──► window: sorted by time ──► streams, by packets ──► src/store
 *                                                  ▲            up to 65,536 records or 64 MiB
 *     a line that is not understood ──as it is─────┘
 *
 * `waymark convert --from` calls it. The trace is Common Trace Format 1.8 as docs/trace-format.md describes it; its
 * clock counts nanoseconds since 1970, or since what the user said, or did not, that the log's times count from.
 *
 * Records are in the order of time within a stream. What comes later than the window reaches goes into another stream,
 * of which there are up to WMK_IMPORT_STREAMS; where all of them are past that time, it gets the time at which the one
 * that is least so stands, and is counted (late). A record that has something to say about a thread is in a stream with
 * contexts (vpid, vtid, procname, cpu_id), one that has not, in one without.
 *
 * Memory is bounded, whatever the files: a line has 1 MiB (the rest of a longer one is a line that is not understood).
 * Nothing in a file is believed: a line can be any bytes. Errors are -errno with a cause chain (base/error.h). One
 * thread for each import.
 */
#ifndef WMK_IMPORT_IMPORT_H
#define WMK_IMPORT_IMPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define WMK_IMPORT_LINE_MAX ((size_t)1 << 20)
#define WMK_IMPORT_STREAMS 64u

/* What was assumed about times, because neither the log nor the user says it. */
#define WMK_IMPORT_ASSUMED_YEAR 1u     /* the last in which a line is not later than its file's last change */
#define WMK_IMPORT_ASSUMED_DAY 2u      /* that of the file's last change */
#define WMK_IMPORT_ASSUMED_ORIGIN 4u   /* times count from 1970 */
#define WMK_IMPORT_ASSUMED_ORDER 8u    /* lines without a time are at that of the line before */

struct wmk_import_options {
	int year;                /* of the first line, for dates without; 0: not known */
	bool has_origin;
	/* from what times without a date count (the machine's start), nanoseconds since 1970; not negative */
	int64_t origin_ns;
	/*
	 * A line that is not understood: of the file `name`, number from 1, without its newline. It is in the trace all
	 * the
	 *  same. May be NULL.
	 */
	void (*unknown)(void *data, const char *name, uint64_t number, const char *line, size_t len);
	/* How far it is, now and then: bytes of all files so far, and records. May be NULL. */
	void (*progress)(void *data, uint64_t bytes, uint64_t records);
	void *data;
};

/* What came of it. */
struct wmk_import_done {
	uint64_t records;        /* in the trace, lines that were not understood among them */
	uint64_t unknown;
	uint64_t late;           /* records that have another time than their line says, for the sake of order */
	unsigned assumed;        /* WMK_IMPORT_ASSUMED_... */
};

struct wmk_import;

/*
 * Make the trace in the directory `path`, which is absent or empty. -EINVAL: no such format; errors of
 * wmk_store_create(). *import is the caller's: wmk_import_end().
 */
int wmk_import_begin(const char *path, const char *format, const struct wmk_import_options *options,
		     struct wmk_import **import);
/*
 * All lines of a file, from where it stands to its end. `name`: for people. `near_ns`: its last change, nanoseconds
 * since 1970. -EIO and others:
 * it could not be read, or the trace not be written; what came before is in the trace.
 */
int wmk_import_file(struct wmk_import *import, FILE *in, const char *name, int64_t near_ns);
/* The rest is written, and everything freed, also when it fails. `done` may be NULL. */
int wmk_import_end(struct wmk_import *import, struct wmk_import_done *done);

/*
 * A date as logs write it, with its zone ("2026-11-22T08:05:42+01:00"; without one, the local time), as nanoseconds
 * since 1970. False: it is none.
 */
bool wmk_import_date(const char *text, int64_t *ns);

#endif
