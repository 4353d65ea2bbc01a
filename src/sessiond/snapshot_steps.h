/* SPDX-License-Identifier: MIT */
/* snapshot_steps.h - steps of the request SNAPSHOT, between begin and end (session/snapshot.h). */
#ifndef WMK_SESSIOND_SNAPSHOT_STEPS_H
#define WMK_SESSIOND_SNAPSHOT_STEPS_H

#include "session/tracing.h"

/* Locked. Add a warning for each channel that the snapshot lacks. */
void wmk_snapshot_warn_left_out(struct wmk_session *session, struct wmk_ctl_snapshot_reply *reply,
				struct wmk_arena *arena);
/*
 * Locked; unlocks the session. Record the state dump again, so that the snapshot contains the objects that are loaded
 * now.
 */
void wmk_snapshot_dump_again(struct wmk_tracing *tracing, struct wmk_session *session,
			     struct wmk_ctl_snapshot_reply *reply, struct wmk_arena *arena);

#endif
