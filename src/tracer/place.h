/* SPDX-License-Identifier: MIT */
/*
 * place.h - where a controller may be: a runtime directory with its wait page, and the connection if there is one. Used by helper.c only.
 *
 *     nobody there ──► page: sleep on the generation that was loaded before connect()
 *                      no page: look again every 10 s
 *                      in poll(), as the other place is connected: a bell (wire/bell.h) instead of the page; no bell: look again every 10 s
 *     connection ends ──► another generation: try at once, else the same again
 *     turned away, before it was welcome ──► likewise; or it comes again after 10, 20, 40, 60, 60 ... s, as the controller may have room then
 */
#ifndef WMK_TRACER_PLACE_H
#define WMK_TRACER_PLACE_H

#include "tracer/conn.h"
#include "wire/wait.h"

#define WMK_PLACE_LOOK_MS 10000
/* A bell is opened so long after the other place was connected: registering costs nothing more, and who ends before does without. */
#define WMK_PLACE_BELL_MS 1000

struct wmk_place {
	unsigned index;
	char dir[WMK_PLACE_BYTES];      /* of the runtime directory; "": cannot be */
	bool is_fresh;                  /* dir was worked out just now, and has not been tried yet */
	uid_t owner;                    /* who may have made its page; root may too */
	struct wmk_wait_for wait;       /* its page, and the generation that was tried; no page: NULL */
	int64_t again;                  /* when to look again; INT64_MAX: when the page says so */
	uint32_t backoff;               /* ms; its queue was full */
	int32_t away_ms;                /* so long was waited after it turned the program away; 0: it has not */
	int bell;                       /* -1: none is heard */
	struct wmk_conn conn;
};

/* The index-th possible place: false past the last. WAYMARK_RUNDIR leaves one; a set-id program has root's only. */
bool wmk_place_find(unsigned index, struct wmk_place *place);
/* Does a controller's socket exist there? Says nothing of whether somebody listens. */
bool wmk_place_has_socket(const struct wmk_place *place);
/* Is it time to look whether a controller is there? */
bool wmk_place_is_due(const struct wmk_place *place, int64_t now);
/* Look: load the page's generation, connect. `polls`: it sleeps in poll(), where a bell is heard and no page. True: connected. Lock held. */
bool wmk_place_try(struct wmk_place *place, int64_t now, bool polls);
/* Its connection is of no use any more: close it, and be ready for the next. `polls`: another place is connected. Lock held. */
void wmk_place_lost(struct wmk_place *place, int64_t now, bool polls);
/* The controller has not answered yet: can it? Sets conn.silent; looks every 100 ms until `until_ms` after the beginning. */
void wmk_place_judge(struct wmk_place *place, int64_t now, int64_t until_ms);
/* Another place is connected: from now on its bell is to be heard, if it is not connected itself. Lock held. */
void wmk_place_expect_bell(struct wmk_place *place, int64_t now);
/* Its bell is not heard any more, or has rung: if it had one, it is due. Lock held, descriptors are the helper's. */
void wmk_place_leave_bell(struct wmk_place *place);
/* No helper thread can connect to the possible places: report that there. */
void wmk_place_report(enum wmk_unrecorded reason, int err);
/* Unmap the page. */
void wmk_place_close(struct wmk_place *place);

#endif
