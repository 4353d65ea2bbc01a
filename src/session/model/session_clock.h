/* SPDX-License-Identifier: MIT */
/*
 * session_clock.h - the clock of a session: of the records of all its domains, for as long as the session exists.
 *
 * A client chooses it (enum wmk_ctl_clock). By default it is the counter of the processor where applications and the
 * kernel domain have it, else CLOCK_MONOTONIC. A session daemon with a clock plug-in has no other clock.
 * Private to src/session.
 */
#ifndef WMK_SESSION_SESSION_CLOCK_H
#define WMK_SESSION_SESSION_CLOCK_H

#include "session/model/session_model.h"

/* The clock of a session that chooses none. Looks at tracefs where that is mounted; mounts nothing. Any thread. */
enum wmk_clock_kind wmk_clock_default(struct wmk_tracing *tracing);
/* The clock that `chosen` (enum wmk_ctl_clock) names. -ENOTSUP with a cause chain: this daemon does not have it. */
int wmk_clock_of_choice(struct wmk_tracing *tracing, uint32_t chosen, enum wmk_clock_kind *kind);
/* The reverse, never DEFAULT. */
uint32_t wmk_clock_as_choice(enum wmk_clock_kind kind);
const struct wmk_clock *wmk_session_clock(const struct wmk_session *session);
/* Its value now. */
uint64_t wmk_session_now(const struct wmk_session *session);

#endif
