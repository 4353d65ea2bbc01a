/* SPDX-License-Identifier: MIT */
/*
 * command_inside.h - private to command*.c: one request on its way, and what several commands do.
 */
#ifndef WMK_SESSION_COMMAND_INSIDE_H
#define WMK_SESSION_COMMAND_INSIDE_H

#include "session/command.h"
#include "wire/ctl.h"

struct call {
	const struct wmk_commands *commands;
	const struct wmk_peer *peer;
	const void *request;             /* decoded, of the command's type */
	void *reply;                     /* zeroed, of the command's type */
	struct wmk_arena arena;          /* of both */
	unsigned unsaid;                 /* warnings for which the reply has no room */
};

/* ── command.c ── */
/* A session that the client may use: a reference, not locked; -ENOENT with the nearest names. */
int wmk_call_session(struct call *call, const char *name, struct wmk_session **session);
/* The same, locked. wmk_call_leave() unlocks and gives the reference back. */
int wmk_call_enter(struct call *call, const char *name, struct wmk_session **session);
void wmk_call_leave(struct wmk_session *session);
/*
 * All that the client may use, references: malloc'd array, their number or -errno. `own`: only those that belong to
 * him.
 */
int wmk_call_sessions(struct call *call, bool own, struct wmk_session ***sessions);
/* Locked: written down, a warning when that fails. */
void wmk_call_changed(struct call *call, struct wmk_session *session);
/*
 * Not locked, reference held: bring the applications in line; then the session as it is now goes into the reply (struct
 * wmk_ctl_outcome). -ENOENT of the session's end meanwhile is no error.
 */
int wmk_call_update(struct call *call, struct wmk_session *session);
/* Locked: the session as it is now into the reply, and what is wrong with it as warnings. */
int wmk_call_describe(struct call *call, struct wmk_session *session);
/* A sentence for people into the reply. */
void wmk_call_warn(struct call *call, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The thread's cause chain as a warning, and cleared. */
void wmk_call_warn_cause(struct call *call, const char *what);
/* Rings of daemons before this one that nobody has handed back: what may be lost with them. Locked. */
void wmk_call_warn_awaited(struct call *call, struct wmk_session *session);

static inline const char *wmk_list_text(const struct wmk_list *list, uint32_t i)
{
	return ((const char *const *)list->items)[i];
}

/* ── command_session.c, command_channel.c, kernel_list.c: one for each request ── */
int wmk_command_version(struct call *call);
int wmk_command_create(struct call *call);
int wmk_command_destroy(struct call *call);
int wmk_command_start(struct call *call);
int wmk_command_stop(struct call *call);
int wmk_command_clear(struct call *call);
int wmk_command_regenerate(struct call *call);
int wmk_command_list_sessions(struct call *call);
int wmk_command_list_apps(struct call *call);
int wmk_command_shutdown(struct call *call);
int wmk_command_list_kernel(struct call *call);
int wmk_command_enable_channel(struct call *call);
int wmk_command_disable_channel(struct call *call);
int wmk_command_enable_event(struct call *call);
int wmk_command_disable_event(struct call *call);
int wmk_command_add_context(struct call *call);
int wmk_command_track(struct call *call);
int wmk_command_untrack(struct call *call);

#endif
