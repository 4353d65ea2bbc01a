/* SPDX-License-Identifier: MIT */
/*
 * sender.h - sends the spool of a session to a relay (docs/relay.md). A thread of its own for each session:
 *
 *     consumer ──packets──► spool: a trace directory ──► sender's thread ──► waymark-relayd
 *                             files of limited size  ◄── removed when the relay has them on its disk
 *
 * The consumer daemon never waits for the relay. While the relay is unreachable, the spool grows up to its limit. The
 * spool remains after this process has ended, and a later sender of the same directory continues to send it.
 * docs/consumer.md describes the spool.
 */
#ifndef WMK_SENDER_SENDER_H
#define WMK_SENDER_SENDER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct wmk_sender;

struct wmk_sender_options {
	const char *path;          /* of the spool, absolute; copied. Its last component is the session at the relay */
	const char *url;           /* of the relay (wire/relay_url.h); copied */
	uid_t uid;                 /* owner of the spool; its files are read and removed with the rights of the owner */
	gid_t gid;
	bool kernel;               /* true: send only `path`/kernel; false: everything else (store/store.h) */
	/* Optional. Called in the sender's thread when the sender has ended and the relay has all traces. */
	void (*done)(void *data);
	/* Optional. Called in the sender's thread with each error that differs from the previous error. */
	void (*log)(void *data, const char *words);
	void *data;
};

/* Start the thread. The spool need not exist before its first trace is created. 0 or -errno with a cause chain. */
int wmk_sender_open(const struct wmk_sender_options *options, struct wmk_sender **sender);
/* Call this after a file of the spool was written. Any thread; does not wait. */
void wmk_sender_wake(struct wmk_sender *sender);
/* Call this after a directory of the spool was added, moved or removed. Any thread; does not wait. */
void wmk_sender_rescan(struct wmk_sender *sender);
/*
 * Set a function that is called in the sender's thread, as removed(data), after files of the spool were removed. NULL:
 * stop these calls. After wmk_sender_on_removed() has returned, no call of the previous function is in progress.
 */
void wmk_sender_on_removed(struct wmk_sender *sender, void (*removed)(void *data), void *data);
/*
 * Call this when all traces are complete: the thread sends the remaining data, removes the spool and calls done(). Does
 * not wait.
 */
void wmk_sender_end(struct wmk_sender *sender);
/* Cancel wmk_sender_end(), because a trace is added to the spool. Returns false if the sender has already ended. */
bool wmk_sender_continue(struct wmk_sender *sender);
/* Call wmk_sender_end(), and wait up to `ms` milliseconds until the spool is removed. */
void wmk_sender_wait(struct wmk_sender *sender, int ms);
/* Stop the thread. The spool is kept if the relay does not have all data. NULL does nothing. */
void wmk_sender_close(struct wmk_sender *sender);

struct wmk_sender_state {
	bool connected, ending;
	uint64_t behind;           /* bytes in the spool that the relay has not acknowledged */
	uint64_t spooled;          /* bytes of all files of the spool */
	char error[240];           /* the latest error; "": none since the latest acknowledgement */
};
/* Any thread. */
void wmk_sender_state(struct wmk_sender *sender, struct wmk_sender_state *state);

#endif
