/* SPDX-License-Identifier: MIT */
/*
 * app_accept.c - accept connections of applications (see app_accept.h).
 */
#include "session/apps/app_accept.h"

#include "base/error.h"
#include "session/apps/deferred_close.h"
#include "wire/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define HOMES 4096u                  /* slots, by pid; processes with the same slot share a shard */
#define SHARD_BITS 8u
/* limit of attempts in one call; after the last attempt the call ends without a connection for the shard */
#define ATTEMPTS 64u
#define SLACK 16u                    /* connections that a shard may have more than another */

struct accept_user {
	struct accept_user *next;
	uid_t uid;
	unsigned n;
	uint64_t bytes;                  /* kept by the daemon for its connections */
};

struct wmk_accept {
	struct wmk_accept_options options;
	uid_t own;                       /* effective uid of this process */
	/* higher descriptors are reserved for other uses: commands, rings, traces */
	int most;
	pthread_mutex_t lock;            /* protects `spare`, `users`, `n_conns` */
	int spare;
	struct accept_user *users;
	uint64_t n_conns;               /* connections of all users */
	/* relaxed: counts */
	atomic_uint_fast64_t accepted, refused, turned_away;
	atomic_uint loads[WMK_ACCEPT_SHARDS];
	/* Number of connections in a slot, and their shard: n << SHARD_BITS | shard. */
	atomic_uint homes[HOMES];
};

/* ── the shard of a process ──────────────────────────────────────────────────────────────────────────── */

static atomic_uint *home_of(struct wmk_accept *acceptor, pid_t pid)
{
	/* pids are assigned in ascending order: the remainder spreads them evenly */
	return &acceptor->homes[(unsigned)pid % HOMES];
}

static unsigned load_of(const struct wmk_accept *acceptor, unsigned shard)
{
	return atomic_load_explicit(&acceptor->loads[shard], memory_order_relaxed);
}

bool wmk_accept_is_ahead(const struct wmk_accept *acceptor, unsigned shard)
{
	unsigned least = UINT_MAX;

	for (unsigned i = 0; i < acceptor->options.n_shards; i++)
		if (load_of(acceptor, i) < least)
			least = load_of(acceptor, i);
	return load_of(acceptor, shard) >= SLACK + least;
}

/* Count one more connection of the process; returns its shard. */
static unsigned enter(struct wmk_accept *acceptor, pid_t pid, unsigned shard)
{
	atomic_uint *home = home_of(acceptor, pid);
	/* relaxed: the exchange (G1) verifies the value */
	unsigned was = atomic_load_explicit(home, memory_order_relaxed), is;

	do
		is = was >> SHARD_BITS ? was + (1u << SHARD_BITS) : 1u << SHARD_BITS | shard;
	/*
	 * (G1) acquire: pairs with the release in wmk_accept_closed(); release: pairs with the acquire in this function
	 * of another shard, which then passes connections to the shard that this call selected
	 */
	while (!atomic_compare_exchange_weak_explicit(home, &was, is, memory_order_acq_rel, memory_order_relaxed));
	is &= (1u << SHARD_BITS) - 1;
	atomic_fetch_add_explicit(&acceptor->loads[is], 1, memory_order_relaxed);
	return is;
}

/* ── connections per user ────────────────────────────────────────────────────────────────────────────── */

static struct accept_user **user_find(struct wmk_accept *acceptor, uid_t uid)
{
	struct accept_user **user = &acceptor->users;

	while (*user && (*user)->uid != uid)
		user = &(*user)->next;
	return user;
}

/* Root and the user of this process have no limit. */
static bool is_ours(const struct wmk_accept *acceptor, uid_t uid)
{
	return uid == 0 || uid == acceptor->own;
}

/*
 * True if the user exceeds its limit of connections. The function also returns true if the user has more than
 * WMK_ACCEPT_RESERVED connections while more than three quarters of `max` are in use. The caller holds the lock, and
 * has counted the new connection already.
 */
static bool has_too_many(const struct wmk_accept *acceptor, const struct accept_user *user)
{
	const uint64_t places = acceptor->options.max;

	if (is_ours(acceptor, user->uid))
		return false;
	return (acceptor->options.max_of_uid && user->n > acceptor->options.max_of_uid) ||
	       (places && user->n > WMK_ACCEPT_RESERVED && acceptor->n_conns > places - places / 4);
}

/* Count one more connection of the user, and set *too_many if the user exceeds the limit. -ENOMEM: not counted. */
static int count_user(struct wmk_accept *acceptor, uid_t uid, bool *too_many)
{
	struct accept_user **user;
	int err = 0;

	pthread_mutex_lock(&acceptor->lock);
	user = user_find(acceptor, uid);
	if (!*user && (*user = calloc(1, sizeof(**user))) != NULL)
		(*user)->uid = uid;
	if (*user) {
		(*user)->n++;
		acceptor->n_conns++;
		/* (a refused connection counts until it is closed) */
		*too_many = has_too_many(acceptor, *user);
	} else {
		err = -ENOMEM;
	}
	pthread_mutex_unlock(&acceptor->lock);
	return err;
}

static void discount_user(struct wmk_accept *acceptor, uid_t uid)
{
	pthread_mutex_lock(&acceptor->lock);
	struct accept_user **user = user_find(acceptor, uid), *gone = *user;

	acceptor->n_conns -= gone != NULL;
	if (gone && --gone->n == 0) {
		*user = gone->next;
		free(gone);
	}
	pthread_mutex_unlock(&acceptor->lock);
}

uint64_t wmk_accept_keeps(struct wmk_accept *acceptor, uid_t uid, size_t was, size_t is)
{
	uint64_t all = 0;

	if (is_ours(acceptor, uid))
		return 0;
	pthread_mutex_lock(&acceptor->lock);
	struct accept_user *user = *user_find(acceptor, uid);

	if (user)
		all = user->bytes += is - (uint64_t)was;
	pthread_mutex_unlock(&acceptor->lock);
	return all;
}

void wmk_accept_closed(struct wmk_accept *acceptor, pid_t pid, uid_t uid)
{
	discount_user(acceptor, uid);
	/*
	 * (G1) release: what this shard did for the connection happens before another shard gets the process; pairs
	 * with the exchange in enter()
	 */
	const unsigned was = atomic_fetch_sub_explicit(home_of(acceptor, pid), 1u << SHARD_BITS, memory_order_release);

	atomic_fetch_sub_explicit(&acceptor->loads[was & ((1u << SHARD_BITS) - 1)], 1, memory_order_relaxed);
}

/* ── accepting ───────────────────────────────────────────────────────────────────────────────────────── */

static void count(atomic_uint_fast64_t *counter)
{
	atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

static void refuse(struct wmk_accept *acceptor, int socket, uid_t uid)
{
	struct wmk_out out = { 0 };

	count(&acceptor->refused);
	if (wmk_out_error(&out, WMK_MSG_REFUSED, 0, EACCES,
			  "this session daemon serves applications of its own user only") == 0)
		wmk_out_send(&out, socket);
	wmk_out_free(&out);
	wmk_deferred_close_socket(socket, uid);
}

static bool turned_away(struct wmk_accept *acceptor, int socket, uid_t uid)
{
	count(&acceptor->turned_away);
	wmk_deferred_close_socket(socket, uid);
	return false;
}

/* Returns true and fills *conn if the connection belongs to the shard. */
static bool arrived(struct wmk_accept *acceptor, unsigned shard, int socket, struct wmk_app_conn *conn)
{
	socklen_t len = sizeof(conn->cred);

	conn->socket = socket;
	conn->cred.uid = (uid_t)-1;
	wmk_deferred_close_expect(socket);
	/*
	 * The kernel assigns the lowest free descriptor number. A descriptor number of `most` or above therefore shows
	 * that few descriptors are left.
	 */
	if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &conn->cred, &len) != 0 || socket >= acceptor->most ||
	    wmk_deferred_close_is_full(conn->cred.uid))
		return turned_away(acceptor, socket, conn->cred.uid);
	if (acceptor->options.only != (uid_t)-1 && conn->cred.uid != acceptor->options.only) {
		refuse(acceptor, socket, conn->cred.uid);
		return false;
	}
	if (count_user(acceptor, conn->cred.uid, &conn->too_many) < 0)
		return turned_away(acceptor, socket, conn->cred.uid);
	count(&acceptor->accepted);
	const unsigned home = enter(acceptor, conn->cred.pid, shard);

	if (home == shard)
		return true;
	if (acceptor->options.take(acceptor->options.data, home, conn) < 0) {
			wmk_error_clear();       /* no memory: the connection is closed */
		wmk_accept_closed(acceptor, conn->cred.pid, conn->cred.uid);
	}
	return false;
}

/*
 * Close one pending connection when no descriptor is left, by means of a spare descriptor. A pending connection that is
 * not accepted keeps the listener readable. 1: closed one; 0: none is pending; -errno.
 */
static int turn_away(struct wmk_accept *acceptor)
{
	pthread_mutex_lock(&acceptor->lock);
	if (acceptor->spare >= 0)
		close(acceptor->spare);
	int socket = accept4(acceptor->options.listener, NULL, NULL, SOCK_CLOEXEC);
	const int ret = socket >= 0 ? 1 : errno == EAGAIN ? 0 : -errno;

	if (socket >= 0) {
		wmk_deferred_close_expect(socket);
		wmk_deferred_close_socket(socket, (unsigned)-1);
		count(&acceptor->turned_away);
	}
	acceptor->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
	pthread_mutex_unlock(&acceptor->lock);
	return ret;
}

int wmk_accept_next(struct wmk_accept *acceptor, unsigned shard, struct wmk_app_conn *conn)
{
	int ret;

	for (unsigned i = 0; i < ATTEMPTS; i++) {
		int socket = accept4(acceptor->options.listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (socket >= 0) {
			if (arrived(acceptor, shard, socket, conn))
				return 1;
		} else if (errno == EAGAIN) {
			return 0;
		} else if (errno == EMFILE || errno == ENFILE) {
			ret = turn_away(acceptor);
			if (ret <= 0)
				return ret;
		} else if (errno != EINTR && errno != ECONNABORTED) {
			return -errno;
		}
	}
	return 0;
}

/* ── open, close ─────────────────────────────────────────────────────────────────────────────────────── */

int wmk_accept_open(const struct wmk_accept_options *options, struct wmk_accept **out)
{
	struct rlimit files;
	struct wmk_accept *acceptor;

	if (options->size != sizeof(*options) || !options->n_shards || options->n_shards > WMK_ACCEPT_SHARDS)
		return wmk_error(-EINVAL, "invalid accept options: structure size or number of shards");
	acceptor = calloc(1, sizeof(*acceptor));
	if (!acceptor)
		return wmk_error(-ENOMEM, "no memory to accept applications");
	acceptor->options = *options;
	acceptor->own = geteuid();
	acceptor->most = getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < INT_MAX
			     ? (int)(files.rlim_cur - files.rlim_cur / 8)
			     : INT_MAX;
	/* each application takes two descriptors */
	if (acceptor->options.max > (unsigned)acceptor->most / 2)
		acceptor->options.max = (unsigned)acceptor->most / 2;
	pthread_mutex_init(&acceptor->lock, NULL);
	acceptor->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (acceptor->spare < 0) {
		const int err = wmk_error(-errno, "cannot open the spare descriptor for refusing connections");

		wmk_accept_close(acceptor);
		return err;
	}
	*out = acceptor;
	return 0;
}

void wmk_accept_close(struct wmk_accept *acceptor)
{
	if (!acceptor)
		return;
	while (acceptor->users) {            /* (connections that are still open, as in a test) */
		struct accept_user *gone = acceptor->users;

		acceptor->users = gone->next;
		free(gone);
	}
	if (acceptor->spare >= 0)
		close(acceptor->spare);
	pthread_mutex_destroy(&acceptor->lock);
	free(acceptor);
}

int wmk_accept_fd(const struct wmk_accept *acceptor)
{
	return acceptor->options.listener;
}

void wmk_accept_stats(const struct wmk_accept *acceptor, struct wmk_accept_stats *stats)
{
	stats->accepted = atomic_load_explicit(&acceptor->accepted, memory_order_relaxed);
	stats->refused = atomic_load_explicit(&acceptor->refused, memory_order_relaxed);
	stats->turned_away = atomic_load_explicit(&acceptor->turned_away, memory_order_relaxed);
}
