/* SPDX-License-Identifier: MIT */
/*
 * rotation_schedule.h - the thread that rotates sessions by their schedules (docs/rotation.md).
 *
 *     a schedule changed, a session started, an open chunk is large enough ─► wake ─► thread: rotates each session with
 *                                                             the next interval ends ─►         a rotation that is due
 *
 * While no active session has a rotation interval, the thread waits until it is woken. If a disk does not respond, the
 * rotations of all sessions are delayed by at most 60 s.
 */
#ifndef WMK_SESSIOND_ROTATION_SCHEDULE_H
#define WMK_SESSIOND_ROTATION_SCHEDULE_H

#include "session/tracing.h"
#include "sessiond/shards.h"

struct wmk_rotation_schedule;

/* `log` receives errors of rotations. The caller owns *schedule. 0 or -ENOMEM. */
int wmk_rotation_schedule_open(void (*log)(void *data, const char *words), void *data,
			       struct wmk_rotation_schedule **schedule);
/* Start the thread. The first pass of the thread checks all sessions of `tracing`. */
int wmk_rotation_schedule_start(struct wmk_rotation_schedule *schedule, struct wmk_tracing *tracing);
/* Check all sessions soon. Any thread may call this function, even with locks of sessions held. */
void wmk_rotation_schedule_wake(struct wmk_rotation_schedule *schedule);
/* End the thread after the current rotation. Later wakes have no effect. NULL does nothing. */
void wmk_rotation_schedule_end(struct wmk_rotation_schedule *schedule);
void wmk_rotation_schedule_close(struct wmk_rotation_schedule *schedule);
/*
 * Finish the rotations that an earlier session daemon has started. The reaper thread finishes the rotations, because a
 * slow disk may delay a rotation.
 */
void wmk_rotation_schedule_unfinished(struct wmk_tracing *tracing, struct wmk_reaper *reaper);

#endif
