/* SPDX-License-Identifier: MIT */
/* reattach.h - rings of an earlier daemon that applications or files still hold. */
#ifndef WMK_SESSION_REATTACH_H
#define WMK_SESSION_REATTACH_H

#include "session/model/session_model.h"

/* Reattach the rings from their file. -ENOENT: there is no file. Locked. */
int wmk_rings_reattach_file(struct rings *rings);
/*
 * Map the set of `fd` and start draining it. If draining cannot start, the rings stay in session->awaited, and the set
 * stays mapped. Locked.
 */
int wmk_rings_reattach(struct rings *rings, int fd);

#endif
