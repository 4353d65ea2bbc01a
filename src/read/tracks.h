/* SPDX-License-Identifier: MIT */
/*
 * tracks.h - what forms that draw a line for each thread, or each CPU, keep: which of them have a name already, which
 * spans are open (spans.h).
 */
#ifndef WMK_READ_TRACKS_H
#define WMK_READ_TRACKS_H

#include "read/exporter.h"
#include "read/spans.h"

/* A set of numbers. 1: it is new, and is there now; 0: it was there; -ENOMEM. */
int wmk_read_seen_add(struct wmk_read_table *seen, uint64_t number);

/* The whole of such a form. */
struct wmk_read_tracks {
	struct wmk_read_table seen; /* lines that have been named */
	struct wmk_read_spans spans;
	int64_t first, last;       /* ns: of the first record that has a time, once has_time, and of the last one */
	bool has_first, has_time;  /* has_first: something was written */
	bool has_no_thread;        /* a record was drawn on the track of its CPU */
	bool is_shifted;           /* the form has no times before 1970: they count from the first record */
	char remark[320];
};

/* A stream of it. */
struct wmk_read_track {
	struct wmk_read_tracks *whole;
	struct wmk_read_thread_id who;
	struct wmk_print_text packet;  /* the packet's context, as the form writes it */
	struct wmk_print_text message; /* of the latest record that had one */
};

/* For struct wmk_read_exporter: create, free, remark, stream, stream_free. */
int wmk_read_tracks_create(const char *directory, void **whole);
void wmk_read_tracks_free(void *whole);
const char *wmk_read_tracks_remark(void *whole);
int wmk_read_track_open(void *whole, const struct wmk_read_stream *stream, void **state);
void wmk_read_track_close(void *state);
/* Where a record is drawn: at its time; one without, where the one before was. */
int64_t wmk_read_track_ns(struct wmk_read_track *line, const struct wmk_read_stream *stream);
/* Behind WMK_READ_RECORD: who made it, and what is drawn of it. Errors of spans.h. */
int wmk_read_track_record(struct wmk_read_track *line, struct wmk_read_stream *stream,
			  struct wmk_read_drawing *drawing);

#endif
