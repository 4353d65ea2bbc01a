/* SPDX-License-Identifier: MIT */
/*
 * app_accept.h - accept connections of applications, and assign each process to a shard.
 *
 *                   ┌─accept4()─► shard 0: a new process, or one of shard 0: keep the connection
 *     app.sock ─────┤                │ a process of shard 1: take(), which queues the connection there
 *                   └─accept4()─► shard 1
 *
 * All shards wait on one listening socket (EPOLLEXCLUSIVE), so a connection wakes one thread. Usually the woken thread
 * serves the connection. The kernel wakes the thread that has waited longest. A shard with many more applications than
 * another shard removes the listener from its epoll instance and adds the listener again. The kernel then wakes this
 * shard after all other shards.
 *
 * While a process has an open connection, all connections of the process go to the shard of its first connection. A
 * process that registers again after exec() or setuid() therefore finds its state in the same shard.
 */
#ifndef WMK_SESSION_APP_ACCEPT_H
#define WMK_SESSION_APP_ACCEPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#define WMK_ACCEPT_SHARDS 64u          /* largest number of shards */
/* number of connections up to which a user may use the last quarter of the places */
#define WMK_ACCEPT_RESERVED 16u

struct wmk_accept;

/* An accepted connection. */
struct wmk_app_conn {
	int socket;                      /* non-blocking */
	struct ucred cred;               /* from SO_PEERCRED */
	bool too_many;                   /* exceeds the limit of its user: refuse with a message */
};

struct wmk_accept_options {
	size_t size;                     /* sizeof(struct wmk_accept_options) */
	int listener;                    /* non-blocking; borrowed */
	uid_t only;                      /* refuse applications of other users with a message; (uid_t)-1: accept all */
	unsigned n_shards;               /* 1 .. WMK_ACCEPT_SHARDS */
	/*
	 * Limits of connections; 0: none. Root and the user of this process have no limits. `max_of_uid` limits the
	 * connections of each user, and `max` limits the connections of all users together. wmk_accept reduces `max` to
	 * half the available descriptors. While three quarters of `max` are in use, only a user with fewer than
	 * WMK_ACCEPT_RESERVED connections gets another connection.
	 */
	unsigned max_of_uid, max;
	/*
	 * Pass a connection to another shard. The function takes ownership of the socket, even on an error. The
	 * function is called in the accepting thread, so it must not block. Not needed for one shard.
	 */
	int (*take)(void *data, unsigned shard, const struct wmk_app_conn *conn);
	void *data;
};

struct wmk_accept_stats {
	uint64_t accepted, refused;      /* refused: of another user than `only` */
	uint64_t turned_away;            /* closed without a message: no descriptor or no memory was free */
};

/* -errno with a cause chain. */
int wmk_accept_open(const struct wmk_accept_options *options, struct wmk_accept **acceptor);
/* Close. After the close, no thread accepts connections; connections in the queue of the listener stay in the queue. */
void wmk_accept_close(struct wmk_accept *acceptor);
/*
 * Return the descriptor of the listener, which is readable when connections are pending. Several threads may wait; one
 * wake-up is enough (EPOLLEXCLUSIVE).
 */
int wmk_accept_fd(const struct wmk_accept *acceptor);
/*
 * Accept one connection for this shard.
 *
 * Returns 1 and fills *conn; the caller then owns the socket and calls wmk_accept_closed() later. 0: no connection for
 * this shard. Connections of other shards have been passed on; the listener stays readable if more connections are
 * pending. -errno, without a cause chain: accepting is impossible now; retry after a delay. Any thread.
 */
int wmk_accept_next(struct wmk_accept *acceptor, unsigned shard, struct wmk_app_conn *conn);
/* True if the shard should renew its wait, because another shard has far fewer connections. Any thread. */
bool wmk_accept_is_ahead(const struct wmk_accept *acceptor, unsigned shard);
/* Report that a connection, which this shard accepted or took over, is closed. Any thread. */
void wmk_accept_closed(struct wmk_accept *acceptor, pid_t pid, uid_t uid);
/*
 * Change the number of bytes that are counted for a connection of the user from `was` to `is`; `is` is 0 when the
 * connection closes. Returns the number of bytes for all connections of the user. Returns 0 for root and for the user
 * of this process, because connections of these users are not counted. Any thread.
 */
uint64_t wmk_accept_keeps(struct wmk_accept *acceptor, uid_t uid, size_t was, size_t is);
/* Any thread. */
void wmk_accept_stats(const struct wmk_accept *acceptor, struct wmk_accept_stats *stats);

#endif
