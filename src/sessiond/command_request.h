/* SPDX-License-Identifier: MIT */
/*
 * command_request.h - private to command*.c: the state of one request, and functions that several commands share.
 */
#ifndef WMK_SESSIOND_COMMAND_REQUEST_H
#define WMK_SESSIOND_COMMAND_REQUEST_H

#include "sessiond/command.h"
#include "wire/ctl.h"

struct command_request {
	const struct wmk_commands *commands;
	const struct wmk_peer *peer;
	const void *request;             /* decoded, of the command's type */
	void *reply;                     /* zeroed, of the command's type */
	struct wmk_arena arena;          /* memory of request and reply */
	unsigned omitted;                 /* number of warnings that the reply has no room for */
	bool no_wait;                    /* DESTROY, STOP: reply before the last records are written */
};

/* ── command.c ── */
/*
 * Find a session that the client may use, and return a reference without locking the session. -ENOENT: the chain has
 * similar names.
 */
int wmk_command_request_session(struct command_request *cmd, const char *name, struct wmk_session **session);
/*
 * Find and lock a session that the client may use. wmk_command_request_leave() unlocks the session and drops the
 * reference.
 */
int wmk_command_request_enter(struct command_request *cmd, const char *name, struct wmk_session **session);
void wmk_command_request_leave(struct wmk_session *session);
/*
 * Get references to all sessions that the client may use, in an array from malloc(). Returns the number of references
 * or -errno. `own` selects only sessions that belong to the client's user. `glob` selects only sessions with a matching
 * name; NULL selects all sessions.
 */
int wmk_command_request_sessions(struct command_request *cmd, bool own, const char *glob,
				 struct wmk_session ***sessions);
/* Locked. Save the session. If the session cannot be saved, add a warning to the reply. */
void wmk_command_request_changed(struct command_request *cmd, struct wmk_session *session);
/*
 * Not locked, with a reference. Reconcile the applications, and then describe the session in the reply (struct
 * wmk_ctl_outcome). The function also succeeds if another client has destroyed the session in the meantime.
 */
int wmk_command_request_update(struct command_request *cmd, struct wmk_session *session);
/*
 * Locked. Describe the session in the reply; errors are added to the reply as warnings. With no_wait, the counts are
 * those that the consumer daemon reported last.
 */
int wmk_command_request_describe(struct command_request *cmd, struct wmk_session *session);
/* Add a warning to the reply. */
void wmk_command_request_warn(struct command_request *cmd, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Add the cause chain of this thread as a warning, and clear the chain. */
void wmk_command_request_warn_cause(struct command_request *cmd, const char *what);
/* Locked. Warn about ring sets of earlier daemons that no application has reattached yet. */
void wmk_command_request_warn_awaited(struct command_request *cmd, struct wmk_session *session);

static inline const char *wmk_list_text(const struct wmk_list *list, uint32_t i)
{
	return ((const char *const *)list->items)[i];
}

static inline const struct wmk_ctl_rule *wmk_list_rule(const struct wmk_list *list, uint32_t i)
{
	return (const struct wmk_ctl_rule *)list->items + i;
}

/* ── command_session.c, command_channel.c, command_kernel.c: one for each request ── */
int wmk_command_version(struct command_request *cmd);
int wmk_command_create(struct command_request *cmd);
int wmk_command_destroy(struct command_request *cmd);
int wmk_command_start(struct command_request *cmd);
int wmk_command_stop(struct command_request *cmd);
int wmk_command_clear(struct command_request *cmd);
int wmk_command_rotate(struct command_request *cmd);
int wmk_command_rotation(struct command_request *cmd);
int wmk_command_regenerate(struct command_request *cmd);
int wmk_command_list_sessions(struct command_request *cmd);
int wmk_command_list_apps(struct command_request *cmd);
int wmk_command_shutdown(struct command_request *cmd);
int wmk_command_list_kernel(struct command_request *cmd);
int wmk_command_enable_channel(struct command_request *cmd);
int wmk_command_disable_channel(struct command_request *cmd);
int wmk_command_enable_event(struct command_request *cmd);
int wmk_command_disable_event(struct command_request *cmd);
int wmk_command_add_context(struct command_request *cmd);
int wmk_command_snapshot(struct command_request *cmd);
int wmk_command_snapshot_output(struct command_request *cmd);
int wmk_command_reclaim(struct command_request *cmd);
int wmk_command_track(struct command_request *cmd);
int wmk_command_untrack(struct command_request *cmd);

#endif
