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
#define ATTEMPTS 64u                 /* of one call that yield no connection for the shard */
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
	pthread_mutex_t lock;            /* protects `spare`, `users`, `n_guests` */
	int spare;
	struct accept_user *users;
	uint64_t n_guests;               /* connections of all users */
	/* relaxed: counts */
	atomic_uint_fast64_t accepted, refused, turned_away;
	atomic_uint loads[WMK_ACCEPT_SHARDS];
	/* Number of connections in a slot, and their shard: n << SHARD_BITS | shard. */
	atomic_uint homes[HOMES];
};

/* ── the shard of a process ──────────────────────────────────────────────────────────────────────────── */

static atomic_uint *home_of(struct wmk_accept *gate, pid_t pid)
{
	/* pids are assigned in ascending order: the remainder spreads them evenly */
	return &gate->homes[(unsigned)pid % HOMES];
}

static unsigned load_of(const struct wmk_accept *gate, unsigned shard)
{
	return atomic_load_explicit(&gate->loads[shard], memory_order_relaxed);
}

bool wmk_accept_is_ahead(const struct wmk_accept *gate, unsigned shard)
{
	unsigned least = UINT_MAX;

	for (unsigned i = 0; i < gate->options.n_shards; i++)
		if (load_of(gate, i) < least)
			least = load_of(gate, i);
	return load_of(gate, shard) >= SLACK + least;
}

/* Count one more connection of the process; returns its shard. */
static unsigned enter(struct wmk_accept *gate, pid_t pid, unsigned shard)
{
	atomic_uint *home = home_of(gate, pid);
	/* relaxed: the exchange (G1) verifies the value */
	unsigned was = atomic_load_explicit(home, memory_order_relaxed), is;

	do
		is = was >> SHARD_BITS ? was + (1u << SHARD_BITS) : 1u << SHARD_BITS | shard;
	/*
	 * (G1) acquire: pairs with the release in wmk_accept_closed(); release: pairs with the acquire of another shard
	 * here, which then passes connections to the shard that this one selected
	 */
	while (!atomic_compare_exchange_weak_explicit(home, &was, is, memory_order_acq_rel, memory_order_relaxed));
	is &= (1u << SHARD_BITS) - 1;
	atomic_fetch_add_explicit(&gate->loads[is], 1, memory_order_relaxed);
	return is;
}

/* ── connections per user ────────────────────────────────────────────────────────────────────────────── */

static struct accept_user **user_find(struct wmk_accept *gate, uid_t uid)
{
	struct accept_user **user = &gate->users;

	while (*user && (*user)->uid != uid)
		user = &(*user)->next;
	return user;
}

/* Root and the user of this process have no limit. */
static bool is_ours(const struct wmk_accept *gate, uid_t uid)
{
	return uid == 0 || uid == gate->own;
}

/*
 * True if the user exceeds its limit, or would take one of the last places, which are for users with few connections.
 * Locked; the new connection is counted already.
 */
static bool has_too_many(const struct wmk_accept *gate, const struct accept_user *user)
{
	const uint64_t places = gate->options.max;

	if (is_ours(gate, user->uid))
		return false;
	return (gate->options.max_of_uid && user->n > gate->options.max_of_uid) ||
	       (places && user->n > WMK_ACCEPT_RESERVED && gate->n_guests > places - places / 4);
}

/* Count one more connection of the user, and set *too_many if it exceeds the limit. -ENOMEM: not counted. */
static int count_user(struct wmk_accept *gate, uid_t uid, bool *too_many)
{
	struct accept_user **user;
	int err = 0;

	pthread_mutex_lock(&gate->lock);
	user = user_find(gate, uid);
	if (!*user && (*user = calloc(1, sizeof(**user))) != NULL)
		(*user)->uid = uid;
	if (*user) {
		(*user)->n++;
		gate->n_guests++;
			/* (a refused connection counts until it is closed) */
		*too_many = has_too_many(gate, *user);
	} else {
		err = -ENOMEM;
	}
	pthread_mutex_unlock(&gate->lock);
	return err;
}

static void discount_user(struct wmk_accept *gate, uid_t uid)
{
	pthread_mutex_lock(&gate->lock);
	struct accept_user **user = user_find(gate, uid), *gone = *user;

	gate->n_guests -= gone != NULL;
	if (gone && --gone->n == 0) {
		*user = gone->next;
		free(gone);
	}
	pthread_mutex_unlock(&gate->lock);
}

uint64_t wmk_accept_keeps(struct wmk_accept *gate, uid_t uid, size_t was, size_t is)
{
	uint64_t all = 0;

	if (is_ours(gate, uid))
		return 0;
	pthread_mutex_lock(&gate->lock);
	struct accept_user *user = *user_find(gate, uid);

	if (user)
		all = user->bytes += is - (uint64_t)was;
	pthread_mutex_unlock(&gate->lock);
	return all;
}

void wmk_accept_closed(struct wmk_accept *gate, pid_t pid, uid_t uid)
{
	discount_user(gate, uid);
	/*
	 * (G1) release: what this shard did for the connection happens before another shard gets the process; pairs
	 * with the exchange in enter()
	 */
	const unsigned was = atomic_fetch_sub_explicit(home_of(gate, pid), 1u << SHARD_BITS, memory_order_release);

	atomic_fetch_sub_explicit(&gate->loads[was & ((1u << SHARD_BITS) - 1)], 1, memory_order_relaxed);
}

/* ── accepting ───────────────────────────────────────────────────────────────────────────────────────── */

static void count(atomic_uint_fast64_t *counter)
{
	atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

static void refuse(struct wmk_accept *gate, int socket, uid_t uid)
{
	struct wmk_out out = { 0 };

	count(&gate->refused);
	if (wmk_out_error(&out, WMK_MSG_REFUSED, 0, EACCES,
			  "this session daemon serves applications of its own user only") == 0)
		wmk_out_send(&out, socket);
	wmk_out_free(&out);
	wmk_deferred_close_socket(socket, uid);
}

static bool turned_away(struct wmk_accept *gate, int socket, uid_t uid)
{
	count(&gate->turned_away);
	wmk_deferred_close_socket(socket, uid);
	return false;
}

/* Returns true and fills *guest if the connection belongs to the shard. */
static bool arrived(struct wmk_accept *gate, unsigned shard, int socket, struct wmk_app_conn *guest)
{
	socklen_t len = sizeof(guest->cred);

	guest->socket = socket;
	guest->cred.uid = (uid_t)-1;
	wmk_deferred_close_expect(socket);
	/* The kernel assigns the lowest free number, so a number from `most` on means that few are left. */
	if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &guest->cred, &len) != 0 || socket >= gate->most ||
	    wmk_deferred_close_is_full(guest->cred.uid))
		return turned_away(gate, socket, guest->cred.uid);
	if (gate->options.only != (uid_t)-1 && guest->cred.uid != gate->options.only) {
		refuse(gate, socket, guest->cred.uid);
		return false;
	}
	if (count_user(gate, guest->cred.uid, &guest->too_many) < 0)
		return turned_away(gate, socket, guest->cred.uid);
	count(&gate->accepted);
	const unsigned home = enter(gate, guest->cred.pid, shard);

	if (home == shard)
		return true;
	if (gate->options.take(gate->options.data, home, guest) < 0) {
			wmk_error_clear();       /* no memory: the connection is closed */
		wmk_accept_closed(gate, guest->cred.pid, guest->cred.uid);
	}
	return false;
}

/*
 * Close one pending connection when no descriptor is left, by means of a spare descriptor: the listener would stay
 * readable otherwise. 1: closed one; 0: none is pending; -errno.
 */
static int turn_away(struct wmk_accept *gate)
{
	pthread_mutex_lock(&gate->lock);
	if (gate->spare >= 0)
		close(gate->spare);
	int socket = accept4(gate->options.listener, NULL, NULL, SOCK_CLOEXEC);
	const int ret = socket >= 0 ? 1 : errno == EAGAIN ? 0 : -errno;

	if (socket >= 0) {
		wmk_deferred_close_expect(socket);
		wmk_deferred_close_socket(socket, (unsigned)-1);
		count(&gate->turned_away);
	}
	gate->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
	pthread_mutex_unlock(&gate->lock);
	return ret;
}

int wmk_accept_next(struct wmk_accept *gate, unsigned shard, struct wmk_app_conn *guest)
{
	int ret;

	for (unsigned i = 0; i < ATTEMPTS; i++) {
		int socket = accept4(gate->options.listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (socket >= 0) {
			if (arrived(gate, shard, socket, guest))
				return 1;
		} else if (errno == EAGAIN) {
			return 0;
		} else if (errno == EMFILE || errno == ENFILE) {
			ret = turn_away(gate);
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
	struct wmk_accept *gate;

	if (options->size != sizeof(*options) || !options->n_shards || options->n_shards > WMK_ACCEPT_SHARDS)
		return wmk_error(-EINVAL, "invalid accept options: structure size or number of shards");
	gate = calloc(1, sizeof(*gate));
	if (!gate)
		return wmk_error(-ENOMEM, "no memory to accept applications");
	gate->options = *options;
	gate->own = geteuid();
	gate->most = getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < INT_MAX
			     ? (int)(files.rlim_cur - files.rlim_cur / 8)
			     : INT_MAX;
	/* each application takes two descriptors */
	if (gate->options.max > (unsigned)gate->most / 2)
		gate->options.max = (unsigned)gate->most / 2;
	pthread_mutex_init(&gate->lock, NULL);
	gate->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (gate->spare < 0) {
		const int err = wmk_error(-errno, "cannot open the spare descriptor for refusing connections");

		wmk_accept_close(gate);
		return err;
	}
	*out = gate;
	return 0;
}

void wmk_accept_close(struct wmk_accept *gate)
{
	if (!gate)
		return;
	while (gate->users) {            /* (connections that are still open, as in a test) */
		struct accept_user *gone = gate->users;

		gate->users = gone->next;
		free(gone);
	}
	if (gate->spare >= 0)
		close(gate->spare);
	pthread_mutex_destroy(&gate->lock);
	free(gate);
}

int wmk_accept_fd(const struct wmk_accept *gate)
{
	return gate->options.listener;
}

void wmk_accept_stats(const struct wmk_accept *gate, struct wmk_accept_stats *stats)
{
	stats->accepted = atomic_load_explicit(&gate->accepted, memory_order_relaxed);
	stats->refused = atomic_load_explicit(&gate->refused, memory_order_relaxed);
	stats->turned_away = atomic_load_explicit(&gate->turned_away, memory_order_relaxed);
}
