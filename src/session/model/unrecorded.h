/* SPDX-License-Identifier: MIT */
/*
 * unrecorded.h - which applications a session does not record, or in part only, and why (wire/unrecorded.def). It
 * keeps the first WMK_CTL_UNRECORDED_MAX of them and counts the others; `list`, `stop` and `destroy` report them.
 *
 *     application ──UNRECORDED, ERROR──► wmk_unrecorded_app() ──┐
 *     refused, dropped, no rings ─────────────────────────────►├──► session
 *     rings: why a writer lost records (ring/set.h) ──────────►┘
 */
#ifndef WMK_SESSION_UNRECORDED_H
#define WMK_SESSION_UNRECORDED_H

#include "session/model/session_model.h"
#include "wire/unrecorded.h"

/* ── unrecorded.c: of one session ── */

/* `err`: a positive errno, or 0; `words`: more than the reason's sentence, or NULL. Locked. */
void wmk_unrecorded_in(struct wmk_session *session, const struct app_key *app, enum wmk_unrecorded reason, int err,
		       const char *words);
/* What was noted of the process as another user holds no longer: false if there was nothing. Locked. */
bool wmk_unrecorded_forget_user(struct wmk_session *session, pid_t pid);
/* Is there such a note in any session? A hint. */
bool wmk_unrecorded_any_user(void);
/* Has it recorded while no session daemon ran? Locked. NULL: has any session? A hint. */
bool wmk_unrecorded_is_restored(const struct wmk_session *session);
/* An earlier daemon's session that records. Locked. */
void wmk_unrecorded_restored(struct wmk_session *session);
/* What writers have left in rings that are open. Locked. */
void wmk_unrecorded_look(struct wmk_session *session);
void wmk_unrecorded_free(struct wmk_session *session);

/* ── app_registry.c: of all sessions that would record an application ── */

/*
 * In every session that would record it. `err`: a positive errno, or 0; `words`: beside the reason's sentence, or NULL.
 * No session is locked.
 */
void wmk_unrecorded_app(struct app *app, enum wmk_unrecorded reason, int err, const char *words);
/* What the application reports (UNRECORDED). 0 or -errno. */
int wmk_unrecorded_take(struct app *app, const struct wmk_unrecorded_msg *msg);
/* It is admitted: its slot gets its name, and what was reported of it as another user is withdrawn. */
void wmk_unrecorded_admitted(struct app *app);
/* Its events have come, before they are enabled: did it start while no session daemon ran? */
void wmk_unrecorded_complete(struct app *app);

#endif
