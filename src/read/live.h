/* SPDX-License-Identifier: MIT */
/*
 * live.h - follow traces that are being written: return the records of all traces at and below some paths as they are
 * written, ordered by time as far as possible.
 *
 *     wmk_read_live_next()   ─► record, record, ... ─► WMK_READ_LATER: no more data now
 *           ▲                                                  │
 *           └──────────────── wmk_read_live_wait() ◄───────────┘   sleeps until files grow or appear
 *
 * Order. The reader returns a record when no earlier record is expected from another stream. Each other stream then has
 * a later record, or has been read up to a later time, or is quiet. A stream is quiet if its file has not been written
 * for `patience_ns`. Later records of a quiet stream may be out of order. Packets are written when they are full. With
 * a long `patience_ns`, records are therefore in the order of time. With a short `patience_ns`, the reader returns
 * records sooner.
 *
 * A trace is opened again when its metadata has grown. The streams of the trace change to the new version between two
 * packets. The metadata declares an event before a file has the first record of this event. The old version is closed
 * when the last stream has left it. Each stream needs memory for a window (trace.h). A file is removed when its session
 * is cleared, or when its session limits the number of files. The reader reads a removed file to the end and closes it.
 *
 * One thread. Errors are -errno with a cause chain; after damage the reading continues, as in merge.h.
 */
#ifndef WMK_READ_LIVE_H
#define WMK_READ_LIVE_H

#include "read/merge.h"

struct wmk_read_live;

/* Whether the reader continues to follow. */
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
	/* Called before the first stream of the trace is read. Negative: following ends with this error. */
	int (*opened)(void *data, struct wmk_read_trace *trace);
	/* Called when the stream's `user` is no longer needed. */
	void (*leaving)(void *data, struct wmk_read_stream *stream);
	/* Called after the last stream of the trace. */
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
 * Like wmk_read_merge_trim(). Valid only before the first wmk_read_live_next(). Following also ends when the time `to`
 * has passed.
 */
void wmk_read_live_trim(struct wmk_read_live *live, int64_t from, int64_t to);
/* Like wmk_read_merge_first(). */
int wmk_read_live_first(const struct wmk_read_live *live, int64_t *ns);
/* Like wmk_read_merge_next(). WMK_READ_LATER: *stream is not set. */
int wmk_read_live_next(struct wmk_read_live *live, struct wmk_read_stream **stream);
/* After WMK_READ_LATER: wait until there may be more data. */
int wmk_read_live_wait(struct wmk_read_live *live);

#endif
