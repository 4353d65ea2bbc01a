/* SPDX-License-Identifier: MIT */
/*
 * peer.h - who is at the other end of a socket, by the kernel's word, and what they may.
 *
 *     root's daemon      root: everything; members of the group `tracing`: sessions of their own
 *     a user's daemon    that user, and root: everything; what root makes there belongs to the user
 */
#ifndef WMK_SESSIOND_PEER_H
#define WMK_SESSIOND_PEER_H

#include <stdbool.h>
#include <sys/types.h>

struct wmk_peer {
	pid_t pid;
	uid_t uid;
	gid_t gid;
	bool member;                     /* of the group that may use root's daemon; looked up when they connect */
};

/* Everything but `member`. 0; -errno of getsockopt() with words. */
int wmk_peer_get(int socket, struct wmk_peer *peer);
/* Fills `member`. Asks the user database, which may be far away: not from a thread that must not wait. */
void wmk_peer_member(int socket, struct wmk_peer *peer);
/* May they give commands to a daemon of user `daemon` at all? 0, or -EACCES with words. */
int wmk_peer_admit(const struct wmk_peer *peer, uid_t daemon);
/* May they see and change what belongs to `owner`? */
bool wmk_peer_may(const struct wmk_peer *peer, uid_t daemon, uid_t owner);
/* False: `path`, absolute, certainly leads the client to another file than us (another mount namespace, or root). */
bool wmk_peer_sees(const struct wmk_peer *peer, const char *path);
/* To whom belongs what they make. */
void wmk_peer_owner(const struct wmk_peer *peer, uid_t daemon, uid_t *uid, gid_t *gid);

#endif
