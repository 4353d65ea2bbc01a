/* SPDX-License-Identifier: MIT */
/* reattach.h - rings that applications hand back. */
#ifndef WMK_SESSION_REATTACH_H
#define WMK_SESSION_REATTACH_H

#include "session/model/session_model.h"

/* They are in a file that is there: regained from it. -ENOENT: not in a file. Locked. */
int wmk_rings_reattach_file(struct rings *rings);
/* Rings of a set that an application holds are drained again, or wait on with the set mapped. Locked. */
int wmk_rings_reattach(struct rings *rings, int fd);

#endif
