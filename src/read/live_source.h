/* SPDX-License-Identifier: MIT */
/*
 * live_source.h - what following is made of (live.h): sources, the directories with a trace; versions, a source as its
 * metadata was at some time; leaves, its stream files. Internal to live.c and live_files.c.
 */
#ifndef WMK_READ_LIVE_SOURCE_H
#define WMK_READ_LIVE_SOURCE_H

#include <sys/types.h>

#include "read/live.h"

struct version {
	struct wmk_read_trace *trace;
	uint32_t n_leaves;
};

struct live_trace {
	struct live_trace *next;
	char *path;
	const char *given;
	struct version *version;   /* the newest; NULL: it could not be opened yet */
	uint32_t n_leaves;
	uint64_t written;          /* when it was last found locked by a writer; 0: never */
	unsigned n_failed;         /* times that it could not be opened, and nobody writes it */
	bool is_there;             /* it was found by this scan */
};

struct live_stream {
	struct live_trace *source;
	struct version *version;   /* of the stream */
	struct wmk_read_stream *stream; /* NULL: it has ended */
	char *file;
	dev_t device;
	ino_t number;
	uint64_t serial;           /* of equal times the first comes first */
	int got;                   /* what wmk_read_stream_next() said; WMK_READ_LATER: it is not in the heap */
	int64_t ns;                /* of what it has in the heap */
	int64_t seen;              /* behind WMK_READ_LATER: nothing that comes is earlier */
	/* monotonic: when the file was written last, as far as that is known; and its bytes then */
	uint64_t since, size;
	bool is_gone;              /* the file has no name any more, and all of it was read */
	bool is_last;              /* it was looked at for the last time */
};

struct wmk_read_live {
	const char *const *paths;
	unsigned n_paths;
	const struct wmk_read_follow *follow;
	struct wmk_read_live_ops ops;
	struct live_trace *sources;
	struct live_stream **leaves;
	uint32_t n, cap;
	/* those that have something, the first of all in heap[0]; as much room as `leaves` */
	struct live_stream **heap;
	uint32_t n_heap;
	uint64_t serial;
	int64_t from, to;
	int64_t barrier;           /* what is later may not be given yet */
	uint64_t deadline;         /* monotonic: then the barrier goes up by itself */
	bool has_begun, is_given;  /* heap[0] has been given, and moves on first */
	bool is_last;              /* what is there is given, and no more */
	bool is_blind;             /* there is a directory that is not watched */
	int notes;                 /* of inotify; -1: there are none */
	uint64_t looked, scanned, asked; /* monotonic: when that was done last */
};

/* live_files.c */

/* Look for traces and for files. Only the first time is it an error when there are none. */
int wmk_live_scan(struct wmk_read_live *live);
/*
 * Is there something new in the file? 1; 0: no; negative: following ends. What is damaged has been told; the leaf may
 * have ended.
 */
int wmk_live_poll(struct wmk_read_live *live, struct live_stream *leaf);
/* The stream has ended. */
void wmk_live_end(struct wmk_read_live *live, struct live_stream *leaf);
/* Forget the leaves whose files have gone. */
void wmk_live_remove_ended(struct wmk_read_live *live);
/* Is one of the traces locked by its writer, or was it until it crashed, a moment ago? */
bool wmk_live_is_written(struct wmk_read_live *live);
void wmk_live_close(struct wmk_read_live *live);

#endif
