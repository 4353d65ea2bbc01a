/* SPDX-License-Identifier: MIT */
/*
 * restart_steps.h - the counter of a session's clock has gone back: the channels continue in new rings, and the next
 * chunk begins.
 */
#ifndef WMK_SESSIOND_RESTART_STEPS_H
#define WMK_SESSIOND_RESTART_STEPS_H

#include <stdbool.h>
#include <stddef.h>

#include "session/tracing.h"

/*
 * Move the applications to new rings and rotate the session, without a request of a client. The session is not locked.
 * Returns false if the restart was already handled, and the function did nothing. True: `words` describes the result.
 */
bool wmk_restart_run(struct wmk_tracing *tracing, struct wmk_session *session, char *words, size_t size);

#endif
