/* SPDX-License-Identifier: MIT */
/* spool_left.h - spools that no session writes any more. */
#ifndef WMK_SENDER_SPOOL_LEFT_H
#define WMK_SENDER_SPOOL_LEFT_H

#include <sys/types.h>

/*
 * Call `one` with the path and the URL of each spool in `directory` that is left: its session has ended, or the machine
 * was restarted. A sender may still send such a spool. The calls run in this thread, with the rights of uid and gid.
 */
void wmk_spool_each_left(const char *directory, uid_t uid, gid_t gid,
			  void (*one)(void *data, const char *path, const char *url), void *data);

#endif
