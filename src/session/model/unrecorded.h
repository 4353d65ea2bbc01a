/* SPDX-License-Identifier: MIT */
/*
 * unrecorded.h - applications that a session does not record, or only in part, and why (wire/unrecorded.def). A session
 * stores the first WMK_CTL_UNRECORDED_MAX applications that it does not record, and only counts further applications.
 * `list`, `stop` and `destroy` report the applications that are not recorded.
 *
 *     application ──UNRECORDED, ERROR──► wmk_unrecorded_app() ──┐
 *     rejected, dropped, no rings ────────────────────────────►├──► session
 *     rings: why a writer lost records (ring/set.h) ──────────►┘
 */
#ifndef WMK_SESSION_UNRECORDED_H
#define WMK_SESSION_UNRECORDED_H

#include "session/model/session_model.h"
#include "wire/unrecorded.h"

/* ── unrecorded.c: one session ── */

/* `err`: a positive errno, or 0; `words`: appended to the message of the reason, or NULL. Locked. */
void wmk_unrecorded_in(struct wmk_session *session, const struct app_key *app, enum wmk_unrecorded reason, int err,
		       const char *words);
/*
 * Remove the note that the process has another user. Returns false if the session has no note about another user of the
 * process. Locked.
 */
bool wmk_unrecorded_forget_user(struct wmk_session *session, pid_t pid);
/* True if any session has a note that a process has another user. A hint. */
bool wmk_unrecorded_any_user(void);
/*
 * True if the session recorded while no session daemon ran. Locked. If `session` is NULL, the result is true if any
 * session recorded while no session daemon ran; this result is only a hint.
 */
bool wmk_unrecorded_is_restored(const struct wmk_session *session);
/* Note that an active restored session may lack applications. Locked. */
void wmk_unrecorded_restored(struct wmk_session *session);
/* Note the reasons that writers have left in open rings. Locked. */
void wmk_unrecorded_collect(struct wmk_session *session);
void wmk_unrecorded_free(struct wmk_session *session);

/* ── app_unrecorded.c: all sessions that would record an application ── */

/*
 * Note the reason in every session that would record the application. `err`: a positive errno, or 0; `words`: appended
 * to the message of the reason, or NULL. No session is locked.
 */
void wmk_unrecorded_app(struct app *app, enum wmk_unrecorded reason, int err, const char *words);
/* Handle a report of the application (UNRECORDED). 0 or -errno. */
int wmk_unrecorded_take(struct app *app, const struct wmk_unrecorded_msg *msg);
/*
 * Called when the application is admitted: store its pid, user and name in its slot, and remove notes that the process
 * has another user.
 */
void wmk_unrecorded_admitted(struct app *app);
/*
 * Called when the application's events are registered but not enabled yet: check whether the application started while
 * no session daemon ran.
 */
void wmk_unrecorded_complete(struct app *app);

#endif
