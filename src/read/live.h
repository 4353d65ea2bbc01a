/* SPDX-License-Identifier: MIT */
/*
 * live.h - traces that are being written, followed: the records of all that is below some paths, as they come, in the
 * order of their times as far as that can be.
 *
 *     wmk_read_live_next()   ─► record, record, ... ─► WMK_READ_LATER: nothing more now
 *           ▲                                                  │
 *           └──────────────── wmk_read_live_wait() ◄───────────┘   sleeps until files grow, or come
 *
 * Order. A record is given when no other stream can have an earlier one to come: each has one here that is later, or
 * has been read up to a later time, or is quiet: its file has not been written for `patience_ns`. What a quiet stream
 * then has after all comes behind what was given. As a stream's packets come when they are full, a long patience gives
 * the order of time, and a short one gives records soon.
 *
 * A trace whose metadata has grown is opened again, and its streams go on with that between two packets: what is
 * declared stands in the metadata before the first record of it is in a file. The old one is closed when the last
 * stream has left it. Memory is a window for each stream, as in merge.h; files that have gone (a session that is
 * cleared, or has files of limited number) are read to their end and let go.
 *
 * One thread. Errors are -errno with a cause chain; damage is told and gone on behind, as in merge.h.
 */
#ifndef WMK_READ_LIVE_H
#define WMK_READ_LIVE_H

#include "read/merge.h"

struct wmk_read_live;

/* What becomes of it. */
enum wmk_read_still {
	WMK_READ_GO_ON,            /* more may come, also where nothing is yet */
	WMK_READ_WHILE_WRITTEN,    /* as long as somebody has one of the traces locked to write it */
	WMK_READ_OVER,             /* what is there is given, and no more */
};

/* How to follow. The caller's. */
struct wmk_read_follow {
	uint64_t patience_ns;
	/* Asked several times a second. NULL: WMK_READ_WHILE_WRITTEN. */
	enum wmk_read_still (*still)(void *data);
	int wake;                  /* a descriptor: waiting ends when it can be read. -1: none */
	void *data;
};

/* Whoever reads is told what comes and goes. */
struct wmk_read_live_ops {
	wmk_read_damage damage;    /* `stream` is NULL where it is a trace that cannot be opened */
	/* Before its first stream is read. Negative: following ends with that. */
	int (*opened)(void *data, struct wmk_read_trace *trace);
	/* Its `user` is not needed any more. */
	void (*leaving)(void *data, struct wmk_read_stream *stream);
	/* Behind its last stream. */
	void (*closing)(void *data, const struct wmk_read_trace *trace);
	void *data;
};

/*
 * `paths` and `follow` must live longer. -ENOENT: there is no such path, or, where only a trace can tell how long, no
 * trace.
 */
int wmk_read_live_create(const char *const *paths, unsigned n_paths, const struct wmk_read_follow *follow,
			 const struct wmk_read_live_ops *ops, struct wmk_read_live **live);
void wmk_read_live_free(struct wmk_read_live *live);
/* As wmk_read_merge_trim(): before the first wmk_read_live_next(). It ends when the clock has passed `to`, too. */
void wmk_read_live_trim(struct wmk_read_live *live, int64_t from, int64_t to);
/* As wmk_read_merge_first(). */
int wmk_read_live_first(const struct wmk_read_live *live, int64_t *ns);
/* As wmk_read_merge_next(); WMK_READ_LATER: *stream is not set. */
int wmk_read_live_next(struct wmk_read_live *live, struct wmk_read_stream **stream);
/* Behind WMK_READ_LATER: until there may be something. */
int wmk_read_live_wait(struct wmk_read_live *live);

#endif
