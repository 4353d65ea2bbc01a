/* SPDX-License-Identifier: MIT */
/*
 * snapshot.h - snapshots of a session: copies of the records in its rings in overwrite mode, each a separate trace.
 *
 *     lock ─ begin ─ unlock ─ regenerate the state dump, update ─ end
 *              │                                                   └ copies the channel of the state dump; complete
 *              └ copies the channels
 *
 * The consumer daemon copies rings as an observer (wire/consumerd.h). Writers and the rest of the session continue.
 */
#ifndef WMK_SESSION_SNAPSHOT_H
#define WMK_SESSION_SNAPSHOT_H

#include "session/tracing.h"

struct wmk_snapshot;

struct wmk_snapshot_options {
	/* NULL or "": the name of the session's output; 0 or "" in path and max_size likewise */
	const char *name;
	const char *path;                /* absolute */
	uint64_t max_size;
	/*
	 * The reason for the snapshot, and the process that requested the snapshot: entries in the environment of the
	 * traces. NULL: none.
	 */
	const char *reason, *program;
	pid_t pid;
};

/*
 * The lock is held on entry and on return, and released while the function waits. Create the directory of a snapshot,
 * and copy all rings except the rings of the state dump. The caller owns *snapshot, and frees it with
 * wmk_snapshot_end(). -EPERM: no user channel is in overwrite mode; -ENODATA: nothing was recorded; -EINVAL: no
 * directory is known, or max_size is too small.
 */
int wmk_snapshot_begin(struct wmk_session *session, const struct wmk_snapshot_options *options,
		       struct wmk_snapshot **snapshot);
/*
 * True if the session has a state dump that can be copied; the caller then regenerates the state dump before
 * wmk_snapshot_end().
 */
bool wmk_snapshot_has_dump(const struct wmk_snapshot *snapshot);
/* True if the snapshot has the kernel channels of the session. */
bool wmk_snapshot_has_kernel(const struct wmk_snapshot *snapshot);
/*
 * Not locked. Copy the state dump, write everything, free the snapshot. Adds the result to *reply, in the arena. 0 or
 * -errno.
 */
int wmk_snapshot_end(struct wmk_snapshot *snapshot, struct wmk_ctl_snapshot_reply *reply, struct wmk_arena *arena);

/* A snapshot that an application requests (waymark_snapshot()). */
struct wmk_snapshot_request {
	char name[WMK_CTL_REASON_MAX + 1];       /* beginning of its name; "": the name of the session's output */
	char reason[WMK_CTL_REASON_MAX + 1];     /* valid UTF-8, without control characters */
	char program[16];                        /* "": unknown */
	pid_t pid;
};
/*
 * Locked. Remove the requests of applications from the rings of the session. 1: record a snapshot for *request. 0: no
 * new request, the session is not active, or its last requested snapshot began less than 10 s ago. Such requests are
 * counted (snapshots_omitted). Requests in the rings of other users than the owner of the session are ignored.
 */
int wmk_session_snapshot_requested(struct wmk_session *session, struct wmk_snapshot_request *request);
/* Locked. Count a requested snapshot that could not be recorded. */
void wmk_session_snapshot_omitted(struct wmk_session *session);
/*
 * Locked. Set the snapshot output; an empty `path` removes the output. -EEXIST: the session has an output. -ENOENT: the
 * session has no output, or no output of this name.
 */
int wmk_session_snapshot_output(struct wmk_session *session, const struct wmk_ctl_snapshot_output *output);

#endif
