/* SPDX-License-Identifier: MIT */
/*
 * deferred_close.h - giving up descriptors that came from others.
 *
 * close() may take as long as somebody else likes: of a TCP socket that lingers until its peer has read all, of a file
 * whose FUSE server does not answer, of memory that is very large. Whoever can send a descriptor could so make us wait,
 * also by a connection that is closed with such a message unread: descriptors that nobody takes are closed by whoever
 * drops the message (unix(7)). These are closed by threads of their own, which are made when they are needed and end
 * when there is nothing left:
 *
 *     leave ──► descriptors ──► thread: close()     a new thread, when all that there are may hang
 *
 * WMK_CLOSER_THREADS may hang at a time, WMK_CLOSER_THREADS_OF_ONE for one user; descriptors behind them stay open
 * meanwhile. The daemon stops reading from a user with WMK_CLOSER_FULL descriptors that are not closed yet. From then
 * on only those arrive that are in unread messages. The kernel bounds their number by RLIMIT_NOFILE of the processes
 * that sent them, and each connection that holds such a message costs a descriptor, too. The list belongs to the
 * process, as its descriptors do. Any thread; no function here waits.
 */
#ifndef WMK_SESSION_DEFERRED_CLOSE_H
#define WMK_SESSION_DEFERRED_CLOSE_H

#include <stdbool.h>

#define WMK_CLOSER_THREADS 64u
#define WMK_CLOSER_THREADS_OF_ONE 4u
#define WMK_CLOSER_FULL 256u

/*
 * A connection that was just accepted: urgent bytes stay in line, as else the kernel drops their message, with its
 * descriptors, when we read on.
 */
void wmk_deferred_close_expect(int socket);
/* A descriptor that came in a message of that user's. */
void wmk_deferred_close_file(int fd, unsigned uid);
/*
 * A connection: its peer hears of the end now, and reads what we have sent before. Closed at once, where no descriptor
 * is unread in it.
 */
void wmk_deferred_close_socket(int fd, unsigned uid);
/* Nothing more is to be read from that user. */
bool wmk_deferred_close_is_full(unsigned uid);

#endif
