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
 * WMK_CLOSER_THREADS may hang at a time, a part of them for one user; what comes behind them stays open meanwhile, and costs a number each. Whose user has WMK_CLOSER_FULL that
 * are not closed yet is heard no more: from then on there are only those in messages that nobody has read, of which the kernel lets nobody have
 * more than the descriptors that his processes may have (RLIMIT_NOFILE), and a connection that holds such a message costs a number, too. Users above the 63rd
 * of whom something is left are counted together: all of them are full when they have WMK_CLOSER_FULL_OTHERS. The list is the process's, as its descriptors are. Any thread; nothing
 * here waits.
 */
#ifndef WMK_SESSION_CLOSER_H
#define WMK_SESSION_CLOSER_H

#include <stdbool.h>

#define WMK_CLOSER_THREADS 256u
#define WMK_CLOSER_THREADS_OF_ONE 32u
#define WMK_CLOSER_FULL 1024u
#define WMK_CLOSER_FULL_OTHERS (8 * WMK_CLOSER_FULL)

/* A connection that was just accepted: urgent bytes stay in line, as else the kernel drops their message, with its descriptors, when we read on. */
void wmk_closer_expect(int socket);
/* A descriptor that came in a message of that user's. */
void wmk_closer_file(int fd, unsigned uid);
/* A connection: its peer hears of the end now, and reads what we have sent before. Closed at once, where no descriptor is unread in it. */
void wmk_closer_socket(int fd, unsigned uid);
/* Nothing more is to be read from that user. */
bool wmk_closer_is_full(unsigned uid);

#endif
