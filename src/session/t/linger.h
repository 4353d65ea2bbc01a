/* SPDX-License-Identifier: MIT */
/* linger.h - for tests: descriptors whose close() waits, and messages with descriptors. */
#ifndef WMK_SESSION_T_LINGER_H
#define WMK_SESSION_T_LINGER_H

#include <stdbool.h>

#define LINGER_MANY 253              /* descriptors of one message */

/*
 * close() of *fd, if it is the last there is of it, returns when *peer has been closed. False: there is no loopback
 * device here.
 */
bool lingering(int *fd, int *peer);
/* Until the user is not full any more (deferred_close.h); with a limit. */
void wait_not_full(unsigned uid);
/* One byte and so many descriptors. */
void send_fds(int to, char byte, const int *fds, unsigned n, int flags);

#endif
