/* SPDX-License-Identifier: MIT */
/*
 * tracks.h - state of forms that draw one track per thread or per CPU: the tracks that already have a name, and the
 * open spans (spans.h).
 */
#ifndef WMK_READ_TRACKS_H
#define WMK_READ_TRACKS_H

#include "read/exporter.h"
#include "read/spans.h"

/* Add a number to a set. 1: added; 0: it was in the set; -ENOMEM. */
int wmk_read_seen_add(struct wmk_read_table *seen, uint64_t number);

/* The state of the form. */
struct wmk_read_tracks {
	struct wmk_read_table seen; /* tracks that have been named */
	struct wmk_read_spans spans;
	int64_t first, last;       /* ns: times of the first and the latest record with a time; valid if has_time */
	bool has_first, has_time;  /* has_first: something was written */
	bool has_no_thread;        /* a record was drawn on the track of its CPU */
	bool is_shifted;           /* the form cannot express times before 1970: times count from the first record */
	char sysname[65], release[65]; /* of the kernel of the first trace that has them; "": unknown */
	char remark[320];
};

/* The state of an exporter for one stream. */
struct wmk_read_track {
	struct wmk_read_tracks *whole;
	struct wmk_read_thread_id who;
	struct wmk_print_text packet;  /* the packet's context in this form */
	struct wmk_print_text message; /* of the latest record with a message */
	bool has_lost;             /* records were lost before the next scheduler record (perfetto_ftrace.h) */
	int64_t runs;              /* the thread that runs on the stream's CPU by its last sched_switch; 0: unknown */
};

/* Functions for the members of struct wmk_read_exporter: create, free, remark, stream and stream_free. */
int wmk_read_tracks_create(const char *directory, void **whole);
void wmk_read_tracks_free(void *whole);
const char *wmk_read_tracks_remark(void *whole);
int wmk_read_track_open(void *whole, const struct wmk_read_stream *stream, void **state);
void wmk_read_track_close(void *state);
/*
 * Return the time at which the exporter draws a record. For a record without a time, the function returns the time of
 * the previous record.
 */
int64_t wmk_read_track_ns(struct wmk_read_track *line, const struct wmk_read_stream *stream);
/*
 * Find the record's thread, and determine how to draw the record; the caller calls this function after WMK_READ_RECORD.
 * Errors: see spans.h.
 */
int wmk_read_track_record(struct wmk_read_track *line, struct wmk_read_stream *stream,
			  struct wmk_read_drawing *drawing);

#endif
