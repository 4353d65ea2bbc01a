/* SPDX-License-Identifier: MIT */
/* snapshot_steps.h - the steps of a snapshot (session/snapshot.h), for the request SNAPSHOT and for programs. */
#ifndef WMK_SESSIOND_SNAPSHOT_STEPS_H
#define WMK_SESSIOND_SNAPSHOT_STEPS_H

#include "session/snapshot.h"
#include "session/tracing.h"

/*
 * Locked; unlocks the session. Record a snapshot with a new state dump. *reply, in the arena, describes it, with a
 * warning for each channel that it lacks. 0 or -errno.
 */
int wmk_snapshot_run(struct wmk_tracing *tracing, struct wmk_session *session,
		     const struct wmk_snapshot_options *options, struct wmk_ctl_snapshot_reply *reply,
		     struct wmk_arena *arena);
/*
 * Not locked. Record a snapshot if a program has requested one. *words: what was done, for the log. Returns false if no
 * program has requested a snapshot, or if the requests were omitted.
 */
bool wmk_snapshot_run_requested(struct wmk_tracing *tracing, struct wmk_session *session, char *words, size_t size);

#endif
