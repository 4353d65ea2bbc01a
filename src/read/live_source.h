/* SPDX-License-Identifier: MIT */
/*
 * live_source.h - data structures of following (live.h): sources are directories with a trace; versions are the states
 * of a source's metadata; leaves are its stream files. Internal to live.c, live_traces.c and live_files.c.
 */
#ifndef WMK_READ_LIVE_SOURCE_H
#define WMK_READ_LIVE_SOURCE_H

#include <sys/types.h>

#include "read/live.h"

struct version {
	struct wmk_read_trace *trace;
	uint32_t n_leaves;
};

/* A directory. A file system may give the inode number of a removed directory to a new one, which is younger. */
struct directory_id {
	uint64_t device, inode;
	int64_t born_s;            /* the time of its creation; 0 if the file system does not store it */
	uint32_t born_ns;
};

struct live_trace {
	struct live_trace *next;
	char *path;
	/*
	 * The directory of the source. A rotation moves this directory to another path. The new directory at the old
	 * path becomes another source. A directory that a rotation has moved gets no new records.
	 */
	struct directory_id id;
	bool is_moved, is_complete;        /* is_complete, and all of its files are known */
	const char *given;
	struct version *version;   /* the newest; NULL: not opened yet */
	uint32_t n_leaves;
	uint64_t written;          /* monotonic: when the reader last saw a writer's lock on the trace; 0: never */
	unsigned n_failed;         /* failed attempts to open a trace without a writer */
	bool is_there;             /* the present scan has found the directory */
	int live;                  /* the file `.live` of its writer, locked; -1: none */
	bool has_water;
	uint64_t water;            /* the low-water time: all earlier records are in the files (store/followed.h) */
};

struct live_stream {
	struct live_trace *source;
	struct version *version;   /* of the stream */
	struct wmk_read_stream *stream; /* NULL: the stream has ended */
	char *file;
	dev_t device;
	ino_t number;
	uint64_t serial;           /* orders leaves that are otherwise equal */
	int got;                   /* the result of wmk_read_stream_next(); WMK_READ_LATER: not in the heap */
	int64_t ns;                /* the time of its packet or record in the heap */
	int64_t seen;              /* after WMK_READ_LATER: the next records have this or a later time */
	/*
	 * `since`, monotonic: when the file was last written, as far as known; `size`: the size of the file at that
	 * time
	 */
	uint64_t since, size;
	uint64_t water;            /* the low-water time of the source before the last poll */
	bool has_water;
	bool is_gone;              /* the file was removed, and all of it was read */
	bool is_last;              /* no further poll of the file follows */
};

struct wmk_read_live {
	const char *const *paths;
	unsigned n_paths;
	const struct wmk_read_follow *follow;
	struct wmk_read_live_ops ops;
	struct live_trace *sources;
	struct live_stream **leaves;
	uint32_t n, cap;
	/* leaves with a packet or record, the earliest in heap[0]; as much room as `leaves` */
	struct live_stream **heap;
	uint32_t n_heap;
	uint64_t serial;
	uint64_t *followed;        /* identities of all streams: a rotation may compress a chunk */
	uint32_t n_followed, cap_followed;
	int64_t from, to;
	int64_t barrier;           /* records with a later time must not be returned yet */
	uint64_t deadline;         /* monotonic: when the next leaf becomes quiet, so that the barrier can rise */
	bool has_begun, is_given;  /* is_given: heap[0] was returned; the next call advances it first */
	bool is_last;              /* return the present data, and end */
	bool is_blind;             /* a directory is not watched by inotify */
	bool has_moves;            /* a rotation may have moved directories during this scan */
	int notes;                 /* the descriptor of inotify; -1: none */
	/* monotonic: when the reader last polled files, scanned directories, and called `still` */
	uint64_t looked, scanned, asked;
};

/* live_traces.c */

/* Report damage of a stream, or of no stream (NULL), and clear the cause chain. */
void wmk_live_report(struct wmk_read_live *live, const struct wmk_read_stream *stream, int err);
void wmk_live_close_version(struct wmk_read_live *live, struct version *version);
/*
 * Record that one leaf no longer uses this version of the metadata. The function closes the version if no other leaf
 * uses it and it is not the current version of the trace.
 */
void wmk_live_leave_version(struct wmk_read_live *live, const struct live_trace *source, struct version *version);
/*
 * Open the new version of the metadata after the metadata has grown. After an error, the reader waits for a further
 * change of the metadata before it opens the metadata again, so it reports each error once.
 */
int wmk_live_renew_version(struct wmk_read_live *live, struct live_trace *source);
/* Find the directories of all sources. `must`: without any trace, this call fails. Sets has_moves. */
int wmk_live_find_sources(struct wmk_read_live *live, bool must);
/* Open a new source. A trace that is just being created cannot be read yet: a later scan retries. Sets has_moves. */
int wmk_live_open_source(struct wmk_read_live *live, struct live_trace *source);
/*
 * Lock the file `.live` of the writer while the reader follows the trace; while the file is locked, the writer writes
 * earlier and publishes the low-water time. The reader cannot open a file `.live` of another user. A closed trace has
 * no file `.live`, so the reader has no file to lock.
 */
void wmk_live_lock_source(struct live_trace *source);
/* Free the sources with a removed directory, after all of their files have been read. */
void wmk_live_drop_sources(struct wmk_read_live *live);
void wmk_live_free_source(struct wmk_read_live *live, struct live_trace *source);
/* Read the low-water times of all traces. The next wmk_live_poll() finds all records before these times. */
void wmk_live_water(struct wmk_read_live *live);
/* Return whether a writer has locked one of the traces, or has crashed a moment ago. */
bool wmk_live_is_written(struct wmk_read_live *live);

/* live_files.c */

/*
 * Find new traces and files. If no trace exists, only the first call fails, and only if the result of `still` is not
 * WMK_READ_GO_ON.
 */
int wmk_live_scan(struct wmk_read_live *live);
/*
 * 1: the file has new data; 0: it has none; negative: following ends. If the file has damage, the function reports the
 * damage, and the leaf may end.
 */
int wmk_live_poll(struct wmk_read_live *live, struct live_stream *leaf);
/* The stream has ended. */
void wmk_live_end(struct wmk_read_live *live, struct live_stream *leaf);
/* Free the leaves for which the file was removed. */
void wmk_live_remove_ended(struct wmk_read_live *live);
void wmk_live_close(struct wmk_read_live *live);

#endif
