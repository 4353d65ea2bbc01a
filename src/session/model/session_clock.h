/* SPDX-License-Identifier: MIT */
/*
 * session_clock.h - the clock of a session. All records of a session have timestamps of one clock, in all domains. The
 * clock of a session never changes.
 *
 * A client chooses the clock of a session (enum wmk_ctl_clock). The default is the processor's counter if applications
 * and the kernel domain can use it, else CLOCK_MONOTONIC. A session daemon with a clock plug-in has no other clock.
 * Private to src/session.
 */
#ifndef WMK_SESSION_SESSION_CLOCK_H
#define WMK_SESSION_SESSION_CLOCK_H

#include "session/model/session_model.h"

/*
 * Return the default clock of a session. The function checks tracefs if tracefs is mounted, but does not mount tracefs.
 * Any thread.
 */
enum wmk_clock_kind wmk_clock_default(struct wmk_tracing *tracing);
/*
 * Return the clock that `chosen` (enum wmk_ctl_clock) names. -ENOTSUP with a cause chain: not available in this daemon.
 */
int wmk_clock_of_choice(struct wmk_tracing *tracing, uint32_t chosen, enum wmk_clock_kind *kind);
/* The inverse function of wmk_clock_of_choice(); the result is never DEFAULT. */
uint32_t wmk_clock_as_choice(enum wmk_clock_kind kind);
/* Return the clock of the session, with the offset that was measured when this chunk began. */
struct wmk_clock wmk_session_chunk_clock(const struct wmk_session *session, const struct wmk_session_chunk *chunk);
/* Measure the offset of the clock again, for the chunk that begins now. */
void wmk_session_chunk_measure(struct wmk_session *session);
const struct wmk_clock *wmk_session_clock(const struct wmk_session *session);
/*
 * Return the clock of the session, with an offset to real time that is measured now. A plug-in clock keeps its offset.
 */
void wmk_session_clock_now(const struct wmk_session *session, struct wmk_clock *clock);
/* Return the current value of the session's clock. */
uint64_t wmk_session_now(const struct wmk_session *session);

#endif
