/* SPDX-License-Identifier: MIT */
/*
 * gate.c - accepting programs (see gate.h).
 */
#include "session/gate.h"

#include "base/error.h"
#include "wire/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define BACKOFF_MS 100               /* no memory, no descriptors in the whole system: looking at once again would spin */

struct wmk_gate {
	struct wmk_gate_options options;
	int stop;                        /* an eventfd */
	int spare;
	int most;                        /* descriptors from this number on are for everything else: commands, rings, traces */
	pthread_t accepting;
	bool started;
	uint64_t accepted, refused, turned_away;
};

/* ── accepting ───────────────────────────────────────────────────────────────────────────────────────── */

static void count(uint64_t *counter)
{
	__atomic_store_n(counter, __atomic_load_n(counter, __ATOMIC_RELAXED) + 1, __ATOMIC_RELAXED);
}

static void refuse(struct wmk_gate *gate, int socket)
{
	struct wmk_out out = { 0 };

	count(&gate->refused);
	if (wmk_out_error(&out, WMK_MSG_REFUSED, 0, EACCES, "this session daemon serves the programs of its own user only") == 0)
		wmk_out_send(&out, socket);
	wmk_out_free(&out);
	close(socket);
}

/* Neighbouring numbers are spread. */
static unsigned shard_of(const struct wmk_gate *gate, pid_t pid)
{
	return (unsigned)(((uint64_t)(uint32_t)pid * 0x9E3779B97F4A7C15u) >> 33) % gate->options.n_shards;
}

static void arrived(struct wmk_gate *gate, int socket)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);

	/* The kernel gives the lowest number that is free. */
	if (socket >= gate->most) {
		count(&gate->turned_away);
		close(socket);
		return;
	}
	count(&gate->accepted);
	if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &cred, &len) != 0)
		close(socket);
	else if (gate->options.only != (uid_t)-1 && cred.uid != gate->options.only)
		refuse(gate, socket);
	else if (gate->options.take(gate->options.data, shard_of(gate, cred.pid), socket) < 0)
		wmk_error_clear();       /* no memory for it: it is closed */
}

/* One descriptor is kept, to turn somebody away with when there is none left: else poll() would return at once for ever. */
static int turn_away(struct wmk_gate *gate)
{
	close(gate->spare);
	int socket = accept4(gate->options.listener, NULL, NULL, SOCK_CLOEXEC);
	if (socket >= 0) {
		close(socket);
		count(&gate->turned_away);
	}
	gate->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
	return socket >= 0 ? 0 : -1;
}

/* 0: all that came was accepted; -1: it cannot be now. */
static int accept_all(struct wmk_gate *gate)
{
	for (;;) {
		int socket = accept4(gate->options.listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (socket >= 0)
			arrived(gate, socket);
		else if (errno == EAGAIN)
			return 0;
		else if (errno == EMFILE || errno == ENFILE) {
			if (turn_away(gate) < 0)
				return -1;
		} else if (errno != EINTR && errno != ECONNABORTED)
			return -1;
	}
}

static void *accepting_run(void *data)
{
	struct wmk_gate *gate = data;
	struct pollfd fds[2] = { { .fd = gate->stop, .events = POLLIN }, { .fd = gate->options.listener, .events = POLLIN } };

	for (;;) {
		if (poll(fds, 2, -1) < 0)
			continue;
		if (fds[0].revents)
			return NULL;
		if (accept_all(gate) < 0 && poll(fds, 1, BACKOFF_MS) == 1)
			return NULL;
	}
}

/* ── making and unmaking ─────────────────────────────────────────────────────────────────────────────── */

static int thread_start(struct wmk_gate *gate)
{
	sigset_t all, before;

	sigfillset(&all);                /* signals are the main thread's */
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int err = pthread_create(&gate->accepting, NULL, accepting_run, gate);
	gate->started = err == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return err ? wmk_error(-err, "cannot start the thread that programs register with") : 0;
}

int wmk_gate_open(const struct wmk_gate_options *options, struct wmk_gate **out)
{
	struct rlimit files;
	struct wmk_gate *gate;

	if (options->size != sizeof(*options) || options->n_shards == 0 || !options->take)
		return wmk_error(-EINVAL, "the gate's options have another version's size, no shards or no callback");
	gate = calloc(1, sizeof(*gate));
	if (!gate)
		return wmk_error(-ENOMEM, "no memory for the gate");
	gate->options = *options;
	gate->most = getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < INT_MAX ? (int)(files.rlim_cur - files.rlim_cur / 8) : INT_MAX;
	gate->stop = eventfd(0, EFD_CLOEXEC);
	gate->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
	int err = 0;
	if (gate->stop < 0 || gate->spare < 0)
		err = wmk_error(-errno, "cannot open the descriptors to wait for programs with");
	if (err == 0)
		err = thread_start(gate);
	if (err < 0) {
		wmk_gate_close(gate);
		return err;
	}
	*out = gate;
	return 0;
}

void wmk_gate_close(struct wmk_gate *gate)
{
	const uint64_t one = 1;

	if (!gate)
		return;
	if (gate->started) {
		if (write(gate->stop, &one, sizeof(one)) < 0)
			abort();         /* an eventfd of ours takes a one */
		pthread_join(gate->accepting, NULL);
	}
	if (gate->stop >= 0)
		close(gate->stop);
	if (gate->spare >= 0)
		close(gate->spare);
	free(gate);
}

void wmk_gate_stats(const struct wmk_gate *gate, struct wmk_gate_stats *stats)
{
	stats->accepted = __atomic_load_n(&gate->accepted, __ATOMIC_RELAXED);
	stats->refused = __atomic_load_n(&gate->refused, __ATOMIC_RELAXED);
	stats->turned_away = __atomic_load_n(&gate->turned_away, __ATOMIC_RELAXED);
}
