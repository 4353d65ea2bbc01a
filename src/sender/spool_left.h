/* SPDX-License-Identifier: MIT */
/* spool_left.h - spools that no session writes any more. */
#ifndef WMK_SENDER_SPOOL_LEFT_H
#define WMK_SENDER_SPOOL_LEFT_H

#include <sys/types.h>

/*
 * Call `one` with the path and the URL of each spool in `directory` that remains after its session has ended, or after
 * a restart of the machine. Another sender may still be sending a spool that `one` receives. `one` is called in the
 * calling thread, with the rights of uid and gid.
 */
void wmk_spool_each_left(const char *directory, uid_t uid, gid_t gid,
			  void (*one)(void *data, const char *path, const char *url), void *data);

#endif
