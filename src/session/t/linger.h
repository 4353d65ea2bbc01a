/* SPDX-License-Identifier: MIT */
/* linger.h - for tests: descriptors that block in close(), and messages with descriptors. */
#ifndef WMK_SESSION_T_LINGER_H
#define WMK_SESSION_T_LINGER_H

#include <stdbool.h>

#define LINGER_MANY 253              /* most descriptors of one message */

/*
 * Make a socket: close() of its last descriptor *fd blocks until *peer is closed. Returns false without a loopback
 * device.
 */
bool lingering(int *fd, int *peer);
/* Wait, with a limit, until the user is not full any more (deferred_close.h). */
void wait_not_full(unsigned uid);
/* Send one byte with `n` descriptors. */
void send_fds(int to, char byte, const int *fds, unsigned n, int flags);

#endif
