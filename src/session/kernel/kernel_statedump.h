/* SPDX-License-Identifier: MIT */
/* kernel_statedump.h - the state dump of the kernel. */
#ifndef WMK_SESSION_KERNEL_STATEDUMP_H
#define WMK_SESSION_KERNEL_STATEDUMP_H

#include "kernel/event/catalog.h"
#include "session/model/session_model.h"

/* Request a state dump (again); the request is sent if the session is active. */
void wmk_session_kernel_statedump(struct wmk_session *session);
/*
 * Send a requested state dump to the consumer daemon, as part of this channel. If the dump is impossible, the session
 * reports the reason.
 */
void wmk_kernel_statedump_send(struct rings *rings);

#endif
