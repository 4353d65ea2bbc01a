/* SPDX-License-Identifier: MIT */
/*
 * peer.h - the identity of a client, from SO_PEERCRED, and its permissions.
 *
 *     daemon of root      root: everything; members of the group `tracing`: sessions of their own
 *     daemon of a user    that user, and root: everything; sessions that root creates belong to the user
 */
#ifndef WMK_SESSIOND_PEER_H
#define WMK_SESSIOND_PEER_H

#include <stdbool.h>
#include <sys/types.h>

struct wmk_peer {
	pid_t pid;
	uid_t uid;
	gid_t gid;
	bool member;                     /* of the group that may use root's daemon; looked up at connection time */
};

/* Fill everything but `member`. 0; -errno of getsockopt() with a cause chain. */
int wmk_peer_get(int socket, struct wmk_peer *peer);
/*
 * Fill `member`. The function queries the user database, which may be slow, so do not call it from a thread that must
 * not block.
 */
void wmk_peer_member(int socket, struct wmk_peer *peer);
/* Check whether the client may use a daemon that runs as the user `daemon`. 0, or -EACCES with a cause chain. */
int wmk_peer_admit(const struct wmk_peer *peer, uid_t daemon);
/* True if the client may see and change the sessions of the user `owner`. */
bool wmk_peer_may(const struct wmk_peer *peer, uid_t daemon, uid_t owner);
/*
 * False if the absolute path `path` certainly refers to another file for the client than for the daemon. The files may
 * be different if the client has another mount namespace or another root directory.
 */
bool wmk_peer_sees(const struct wmk_peer *peer, const char *path);
/* Get the owner for sessions that the client creates. */
void wmk_peer_owner(const struct wmk_peer *peer, uid_t daemon, uid_t *uid, gid_t *gid);

#endif
