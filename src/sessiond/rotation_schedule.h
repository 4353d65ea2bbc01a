/* SPDX-License-Identifier: MIT */
/*
 * rotation_schedule.h - the thread that rotates sessions by their schedules (docs/rotation.md).
 *
 *     a schedule changed, a session started, an open chunk is large enough ─► wake ─► thread: rotates all sessions with
 *                                                             the next interval ends ─►         a rotation that is due
 *
 * The thread sleeps without a limit while no active session has an interval. If a disk hangs, the rotations of all
 * sessions wait for it, for 60 s at most.
 */
#ifndef WMK_SESSIOND_ROTATION_SCHEDULE_H
#define WMK_SESSIOND_ROTATION_SCHEDULE_H

#include "session/tracing.h"
#include "sessiond/shards.h"

struct wmk_rotation_schedule;

/* `log` gets errors of rotations. The caller owns *schedule. -ENOMEM. */
int wmk_rotation_schedule_open(void (*log)(void *data, const char *words), void *data,
			       struct wmk_rotation_schedule **schedule);
/* Start the thread, which begins with all sessions of `tracing`. */
int wmk_rotation_schedule_start(struct wmk_rotation_schedule *schedule, struct wmk_tracing *tracing);
/* Any thread; sessions may be locked. */
void wmk_rotation_schedule_wake(struct wmk_rotation_schedule *schedule);
/* End the thread after its current rotation. Later calls of wake() are ignored. NULL is allowed. */
void wmk_rotation_schedule_end(struct wmk_rotation_schedule *schedule);
void wmk_rotation_schedule_close(struct wmk_rotation_schedule *schedule);
/* Finish rotations of an earlier daemon, in the thread of the reaper, because a disk may delay this work. */
void wmk_rotation_schedule_unfinished(struct wmk_tracing *tracing, struct wmk_reaper *reaper);

#endif
