/* SPDX-License-Identifier: MIT */
/*
 * place.h - where a controller may be: a runtime directory with its notify FIFO, and the connection if there is one.
 * Used by helper.c only.
 *
 *     nobody there ──► FIFO, opened before connect(): poll() for POLLHUP, whether another place is connected or not
 *                      no FIFO: look again after 10, 20, 40, 60, 60 ... s
 *     connection ends ──► a daemon has started since it was made: try at once; else the same again
 *     turned away before it was welcome ──► likewise, and after 10, 20, 40, 60, 60 ... s, as the controller may have room then
 */
#ifndef WMK_TRACER_PLACE_H
#define WMK_TRACER_PLACE_H

#include "tracer/conn.h"

struct wmk_place {
	unsigned index;
	char dir[WMK_PLACE_BYTES];      /* of the runtime directory; "": cannot be */
	bool is_fresh;                  /* dir was worked out just now, and has not been tried yet */
	uid_t owner;                    /* of its files; root may own them, too */
	int64_t again;                  /* when to look again; INT64_MAX: when the FIFO reports a daemon */
	uint32_t backoff;               /* ms; its queue was full */
	/* until the latest look without a FIFO, or after it turned the program away; 0: none */
	int32_t look_ms;
	int notify;                     /* the FIFO; -1: not open */
	bool is_news;                   /* a daemon has started since the connection was made, or just before */
	struct wmk_conn conn;
};

/* The index-th possible place: false past the last. WAYMARK_RUNDIR leaves one; a set-id program has root's only. */
bool wmk_place_find(unsigned index, struct wmk_place *place);
/* Does a controller's socket exist there? Says nothing of whether somebody listens. */
bool wmk_place_has_socket(const struct wmk_place *place);
/* Is it time to look whether a controller is there? */
bool wmk_place_is_due(const struct wmk_place *place, int64_t now);
/* Look: open the FIFO, connect. True: connected. Lock held. */
bool wmk_place_try(struct wmk_place *place, int64_t now);
/* Its connection is of no use any more: close it, and be ready for the next. Lock held. */
void wmk_place_lost(struct wmk_place *place, int64_t now);
/* The FIFO has reported a daemon. Lock held. */
void wmk_place_notified(struct wmk_place *place);
/*
 * The controller has not answered yet: can it? Sets conn.silent; looks every 100 ms until `until_ms` after the
 * beginning.
 */
void wmk_place_judge(struct wmk_place *place, int64_t now, int64_t until_ms);
/* Does the controller want to know what is loaded in an application that starts? A hint; true where it gives none. */
bool wmk_place_wants_dump(const struct wmk_place *place);
/* No helper thread can connect to the possible places: report that there. */
void wmk_place_report(enum wmk_unrecorded reason, int err);
/* Close the FIFO. */
void wmk_place_close(struct wmk_place *place);

#endif
