/* SPDX-License-Identifier: MIT */
/*
 * closer.h - giving up descriptors that came from others.
 *
 * close() may take as long as somebody else likes: of a TCP socket that lingers until its peer has read all, of a file whose FUSE server
 * does not answer, of memory that is very large. Whoever can send a descriptor could so make us wait, also by a connection that is closed with
 * such a message unread: descriptors that nobody takes are closed by whoever drops the message (unix(7)). These are closed by threads of their
 * own, which are made when they are needed and end when there is nothing left:
 *
 *     leave ──► descriptors ──► thread: close()     a new thread, when all that there are may hang
 *
 * WMK_CLOSER_THREADS may hang at a time; what comes behind them stays open meanwhile, and costs a number each. The list is the process's, as its
 * descriptors are. Any thread; nothing here waits.
 */
#ifndef WMK_SESSION_CLOSER_H
#define WMK_SESSION_CLOSER_H

#define WMK_CLOSER_THREADS 256u

/* A connection that was just accepted: urgent bytes stay in line, as else the kernel drops their message, with its descriptors, when we read on. */
void wmk_closer_expect(int socket);
/* A descriptor that came in a message. */
void wmk_closer_file(int fd);
/* A connection: its peer hears of the end now, and reads what we have sent before. Closed at once, where nothing is unread. */
void wmk_closer_socket(int fd);

#endif
