/* SPDX-License-Identifier: MIT */
/*
 * app_accept.h - where programs come in: all shards of a daemon accept from one socket, each what it finds when it has
 * time.
 *
 *                   ┌─accept4()─► shard 0: the process is new, or has come to this shard before: a program of its own
 *     app.sock ─────┤                │ else: take(shard), a queue of that one's
 *                   └─accept4()─► shard 1
 *
 * So a program is heard by the thread that the kernel wakes for it, and no other is woken in between. The kernel wakes
 * who has watched the socket longest:
 * a shard that has many more programs than another watches it anew, and is the last then. All connections of one
 * process, as long as there is one, are with the shard that had the first: who registers again after exec() or as
 * another user meets itself there.
 */
#ifndef WMK_SESSION_APP_ACCEPT_H
#define WMK_SESSION_APP_ACCEPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#define WMK_ACCEPT_SHARDS 64u          /* at most */
/* connections of one user for which the last quarter of the places is reserved */
#define WMK_ACCEPT_RESERVED 16u

struct wmk_accept;

/* Who has come: the kernel's word. */
struct wmk_app_conn {
	int socket;                      /* non-blocking */
	struct ucred cred;
	bool too_many;                   /* beyond its user's quota: to be refused in words */
};

struct wmk_accept_options {
	size_t size;                     /* sizeof(struct wmk_accept_options) */
	int listener;                    /* non-blocking; stays the caller's */
	uid_t only;                      /* programs of this user, the others are refused in words; (uid_t)-1: of all */
	unsigned n_shards;               /* 1 .. WMK_ACCEPT_SHARDS */
	/*
	 * Quotas, 0: none; root and the user that the daemon runs as have none. `max`: places for connections of all
	 * users together, fewer where descriptors do not suffice. While three quarters are taken, only a user with
	 * fewer than WMK_ACCEPT_RESERVED gets another one.
	 */
	unsigned max_of_uid, max;
	/*
	 * Another shard's: takes over the socket, whatever it returns. From the thread that accepts: it must not block.
	 * Not needed where there is one shard.
	 */
	int (*take)(void *data, unsigned shard, const struct wmk_app_conn *guest);
	void *data;
};

struct wmk_accept_stats {
	uint64_t accepted, refused;      /* refused: another user's */
	uint64_t turned_away;            /* no descriptor was left to hear them with */
};

/* -errno with a cause chain. */
int wmk_accept_open(const struct wmk_accept_options *options, struct wmk_accept **gate);
/* Nobody accepts any more; those who wait in the listener's queue stay there. */
void wmk_accept_close(struct wmk_accept *gate);
/*
 * A non-blocking socket to watch, for readiness to be read; several may, and one of them need hear it (EPOLLEXCLUSIVE).
 */
int wmk_accept_fd(const struct wmk_accept *gate);
/*
 * For this shard. 1: *guest has come, and the socket is the caller's; to be followed by wmk_accept_closed(). 0: nobody
 * is there, or only others' were, to whom they have been handed: the listener tells whether there are more. -errno,
 * without words: there is nothing to accept with; look again in a while, not at once. Any thread.
 */
int wmk_accept_next(struct wmk_accept *gate, unsigned shard, struct wmk_app_conn *guest);
/* Has the shard so many more than another that it should watch anew? Any thread. */
bool wmk_accept_is_ahead(const struct wmk_accept *gate, unsigned shard);
/* A guest that was accepted, or taken, is with its shard no longer. Any thread. */
void wmk_accept_closed(struct wmk_accept *gate, pid_t pid, uid_t uid);
/*
 * What a guest of the user has the daemon keep was `was` bytes, and is `is`; nothing when it leaves. Returns that of
 * all the user's guests; 0 of root's and of those of the user that we run as, which nobody counts. Any thread.
 */
uint64_t wmk_accept_keeps(struct wmk_accept *gate, uid_t uid, size_t was, size_t is);
/* Any thread. */
void wmk_accept_stats(const struct wmk_accept *gate, struct wmk_accept_stats *stats);

#endif
