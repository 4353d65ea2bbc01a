/* SPDX-License-Identifier: MIT */
/*
 * gate.c - accepting programs (see gate.h).
 *
 * The dispatcher sleeps on an eventfd: who puts a connection on a queue that was empty wakes it. It looks until it finds the queue empty, so
 * whoever found it not empty is seen without a word.
 */
#include "session/gate.h"

#include "base/container.h"
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

#include <urcu/wfcqueue.h>

#define BACKOFF_MS 100               /* no memory, no descriptors in the whole system: looking at once again would spin */

struct arrival {
	struct cds_wfcq_node node;
	int socket;                      /* release in arrived() pairs with acquire in hand_out(): the queue's own order is hidden from checkers */
	pid_t pid;
};

struct wmk_gate {
	struct wmk_gate_options options;
	struct cds_wfcq_head head;
	struct cds_wfcq_tail tail;
	int stop, arrived;               /* eventfds */
	int spare;
	int most;                        /* descriptors from this number on are for everything else: commands, rings, traces */
	bool stopping;                   /* release in wmk_gate_close() pairs with acquire in dispatcher_run() */
	pthread_t accepting, dispatcher;
	bool started[2];
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

static void arrived(struct wmk_gate *gate, int socket)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);
	struct arrival *arrival;
	const uint64_t one = 1;

	/* The kernel gives the lowest number that is free. */
	if (socket >= gate->most) {
		count(&gate->turned_away);
		close(socket);
		return;
	}
	count(&gate->accepted);
	if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &cred, &len) != 0 || (arrival = malloc(sizeof(*arrival))) == NULL) {
		close(socket);
		return;
	}
	if (gate->options.only != (uid_t)-1 && cred.uid != gate->options.only) {
		free(arrival);
		refuse(gate, socket);
		return;
	}
	cds_wfcq_node_init(&arrival->node);
	arrival->pid = cred.pid;
	__atomic_store_n(&arrival->socket, socket, __ATOMIC_RELEASE);    /* pairs with hand_out() */
	if (!cds_wfcq_enqueue(&gate->head, &gate->tail, &arrival->node) && write(gate->arrived, &one, sizeof(one)) < 0)
		abort();                 /* an eventfd of ours takes a one */
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

/* ── handing out ─────────────────────────────────────────────────────────────────────────────────────── */

/* Neighbouring numbers are spread. */
static unsigned shard_of(const struct wmk_gate *gate, pid_t pid)
{
	return (unsigned)(((uint64_t)(uint32_t)pid * 0x9E3779B97F4A7C15u) >> 33) % gate->options.n_shards;
}

static void hand_out(struct wmk_gate *gate)
{
	struct cds_wfcq_node *node;

	while ((node = cds_wfcq_dequeue_blocking(&gate->head, &gate->tail)) != NULL) {
		struct arrival *arrival = wmk_container_of(node, struct arrival, node);
		int socket = __atomic_load_n(&arrival->socket, __ATOMIC_ACQUIRE);      /* pairs with arrived() */

		gate->options.take(gate->options.data, shard_of(gate, arrival->pid), socket);
		free(arrival);
	}
}

static void *dispatcher_run(void *data)
{
	struct wmk_gate *gate = data;
	uint64_t n;

	for (;;) {
		if (read(gate->arrived, &n, sizeof(n)) < 0 && errno != EINTR)
			return NULL;
		hand_out(gate);
		if (__atomic_load_n(&gate->stopping, __ATOMIC_ACQUIRE))      /* pairs with wmk_gate_close() */
			return NULL;
	}
}

/* ── making and unmaking ─────────────────────────────────────────────────────────────────────────────── */

static int threads_start(struct wmk_gate *gate)
{
	sigset_t all, before;

	sigfillset(&all);                /* signals are the main thread's */
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int err = pthread_create(&gate->dispatcher, NULL, dispatcher_run, gate);
	gate->started[1] = err == 0;
	if (err == 0) {
		err = pthread_create(&gate->accepting, NULL, accepting_run, gate);
		gate->started[0] = err == 0;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return err ? wmk_error(-err, "cannot start the threads that programs register with") : 0;
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
	cds_wfcq_init(&gate->head, &gate->tail);
	gate->stop = eventfd(0, EFD_CLOEXEC);
	gate->arrived = eventfd(0, EFD_CLOEXEC);
	gate->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
	int err = 0;
	if (gate->stop < 0 || gate->arrived < 0 || gate->spare < 0)
		err = wmk_error(-errno, "cannot open the descriptors to wait for programs with");
	if (err == 0)
		err = threads_start(gate);
	if (err < 0) {
		wmk_gate_close(gate);
		return err;
	}
	*out = gate;
	return 0;
}

static void tell(int eventfd)
{
	const uint64_t one = 1;

	if (write(eventfd, &one, sizeof(one)) < 0)
		abort();                 /* an eventfd of ours takes a one */
}

void wmk_gate_close(struct wmk_gate *gate)
{
	if (!gate)
		return;
	if (gate->started[0]) {
		tell(gate->stop);
		pthread_join(gate->accepting, NULL);
	}
	if (gate->started[1]) {
		__atomic_store_n(&gate->stopping, true, __ATOMIC_RELEASE);      /* pairs with dispatcher_run() */
		tell(gate->arrived);
		pthread_join(gate->dispatcher, NULL);
	}
	int fds[] = { gate->stop, gate->arrived, gate->spare };
	for (unsigned i = 0; i < 3; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	cds_wfcq_destroy(&gate->head, &gate->tail);
	free(gate);
}

void wmk_gate_stats(const struct wmk_gate *gate, struct wmk_gate_stats *stats)
{
	stats->accepted = __atomic_load_n(&gate->accepted, __ATOMIC_RELAXED);
	stats->refused = __atomic_load_n(&gate->refused, __ATOMIC_RELAXED);
	stats->turned_away = __atomic_load_n(&gate->turned_away, __ATOMIC_RELAXED);
}
