/* SPDX-License-Identifier: MIT */
/*
 * live.h - follow traces that are being written: return the records of all traces at and below some paths as they are
 * written, ordered by time as far as possible.
 *
 *     wmk_read_live_next()   ─► record, record, ... ─► WMK_READ_LATER: no more data now
 *           ▲                                                  │
 *           └──────────────── wmk_read_live_wait() ◄───────────┘   sleeps until files grow or appear
 *
 * Order. The reader returns a record only if it expects no earlier record from another stream. The reader expects no
 * earlier record from a stream that has a later record, has been read up to a later time, or is quiet. A stream is
 * quiet if no writer has written to its file for `patience_ns`. If a quiet stream gets further records, these records
 * may be out of order. Writers write a packet when it is full. A long `patience_ns` therefore keeps records in the
 * order of time. With a short `patience_ns`, the reader returns records earlier.
 *
 * The reader opens a trace again when the metadata of the trace has grown. Each stream of the trace changes to the new
 * version between two packets. A writer declares an event in the metadata before it writes the first record of the
 * event. The reader closes the old version after all streams have changed to the new version. Each stream needs memory
 * for a window (trace.h). A writer removes a file when its session is cleared, or when its session limits the number of
 * files. The reader reads a removed file to its end and then closes the file.
 *
 * One thread. Errors are -errno with a cause chain; the reader continues after damage, as in merge.h.
 */
#ifndef WMK_READ_LIVE_H
#define WMK_READ_LIVE_H

#include "read/merge.h"

struct wmk_read_live;

/* The result of still(), which determines whether the reader continues to follow the traces. */
enum wmk_read_still {
	WMK_READ_GO_ON,            /* more data may follow, even if no trace exists yet */
	WMK_READ_WHILE_WRITTEN,    /* continue while a writer has locked one of the traces */
	WMK_READ_OVER,             /* return the present data, and end */
};

/* How to follow. Owned by the caller. */
struct wmk_read_follow {
	uint64_t patience_ns;
	/* Called several times a second. NULL: WMK_READ_WHILE_WRITTEN. */
	enum wmk_read_still (*still)(void *data);
	int wake;                  /* descriptor that ends a wait when it becomes readable; -1: none */
	void *data;
};

/* Callbacks to the user. */
struct wmk_read_live_ops {
	wmk_read_damage damage;    /* `stream` is NULL for damage of a trace as a whole */
	/*
	 * The reader calls this function before it reads the first stream of the trace. After a negative result, the
	 * reader stops with this error.
	 */
	int (*opened)(void *data, struct wmk_read_trace *trace);
	/* The reader calls this function when it no longer needs the stream's `user`. */
	void (*leaving)(void *data, struct wmk_read_stream *stream);
	/* The reader calls this function after it has closed the last stream of the trace. */
	void (*closing)(void *data, const struct wmk_read_trace *trace);
	void *data;
};

/*
 * `paths` and `follow` must live longer than *live. -ENOENT: no such path. -ENOENT also if no trace exists, unless
 * `still` returns WMK_READ_GO_ON.
 */
int wmk_read_live_create(const char *const *paths, unsigned n_paths, const struct wmk_read_follow *follow,
			 const struct wmk_read_live_ops *ops, struct wmk_read_live **live);
void wmk_read_live_free(struct wmk_read_live *live);
/*
 * Like wmk_read_merge_trim(). The function may only be called before the first wmk_read_live_next(). Following also
 * ends when the time `to` has passed.
 */
void wmk_read_live_trim(struct wmk_read_live *live, int64_t from, int64_t to);
/* Like wmk_read_merge_first(). */
int wmk_read_live_first(const struct wmk_read_live *live, int64_t *ns);
/* Like wmk_read_merge_next(). WMK_READ_LATER: *stream is not set. */
int wmk_read_live_next(struct wmk_read_live *live, struct wmk_read_stream **stream);
/* Wait until there may be more data; the caller calls this function after WMK_READ_LATER. */
int wmk_read_live_wait(struct wmk_read_live *live);

#endif
