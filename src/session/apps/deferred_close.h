/* SPDX-License-Identifier: MIT */
/*
 * deferred_close.h - close descriptors that other processes sent.
 *
 * close() may block for as long as another process wants: a TCP socket that lingers until its peer has read everything,
 * a file on FUSE with a server that does not answer, very large memory. The sender of a descriptor could therefore
 * block the daemon. Closing a connection with an unread message may block, too, because the kernel closes the
 * descriptors of the message (unix(7)). Separate threads close such descriptors. They start on demand and end when no
 * descriptor is left:
 *
 *     leave ──► descriptors ──► thread: close()     one more thread if all existing ones may be blocked
 *
 * At most WMK_DEFERRED_CLOSE_THREADS threads block at a time, and at most WMK_DEFERRED_CLOSE_THREADS_OF_ONE of these
 * threads for one user. Other descriptors stay open meanwhile. The daemon stops reading from a user with
 * WMK_DEFERRED_CLOSE_FULL open descriptors in the list. Once a user has WMK_DEFERRED_CLOSE_FULL descriptors in the
 * list, only descriptors in unread messages can be added. The kernel limits the descriptors in unread messages to
 * RLIMIT_NOFILE of the sending processes. Each connection with an unread message also costs its sender one descriptor.
 * The process has one list, because descriptors belong to the process. Any thread may call the functions; no function
 * of this file blocks.
 */
#ifndef WMK_SESSION_DEFERRED_CLOSE_H
#define WMK_SESSION_DEFERRED_CLOSE_H

#include <stdbool.h>

#define WMK_DEFERRED_CLOSE_THREADS 64u
#define WMK_DEFERRED_CLOSE_THREADS_OF_ONE 4u
#define WMK_DEFERRED_CLOSE_FULL 256u

/*
 * Prepare a connection that was just accepted: keep urgent bytes in line. Without SO_OOBINLINE, the kernel drops an
 * urgent byte and the descriptors that came with it when the daemon reads the next data.
 */
void wmk_deferred_close_expect(int socket);
/* Close a descriptor that arrived in a message of this user. */
void wmk_deferred_close_file(int fd, unsigned uid);
/*
 * Close a connection. The peer of the connection reads all data that was sent before, and then the end of file, without
 * a delay. The socket is closed immediately if no unread message contains a descriptor.
 */
void wmk_deferred_close_socket(int fd, unsigned uid);
/* True if the daemon must not read more data from this user. */
bool wmk_deferred_close_is_full(unsigned uid);

#endif
