/* SPDX-License-Identifier: MIT */
/*
 * clients.c - the thread that handles the connections of clients (see clients.h).
 *
 * Each client is in one of three states: reading, at work, or writing. The thread waits for one event of a client's
 * socket at a time (EPOLLONESHOT). Because of EPOLLONESHOT, a hang-up during work causes no wake-up, and no event
 * arrives for a client that was freed.
 *
 * A foreign client is a client that runs neither as root nor as the daemon's user. At the first request of a foreign
 * client, a worker checks the permission of the client, because this check may wait for the user database. A foreign
 * client occupies a connection before its permission is checked. The number of foreign clients is limited, and a
 * foreign client that sends no request is closed after a timeout. Clients of root do not count towards the limit of
 * foreign clients.
 */
#include "sessiond/clients.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/thread.h"
#include "session/apps/deferred_close.h"
#include "wire/ctl.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define EVENTS_AT_ONCE 32
#define ACCEPTED_AT_ONCE 32
#define SHUT_MS 1000

struct wmk_client {
	struct wmk_client *next;
	int socket;
	bool writing;
	bool known;                      /* its permission was checked */
	bool foreign;                    /* neither root nor the daemon's user */
	/*
	 * foreign client without a request: the time at which the connection is closed (ms, CLOCK_MONOTONIC); 0: no
	 * limit
	 */
	int64_t silent_until;
	bool last;                       /* close the connection when the output queue is sent */
	struct wmk_peer peer;
	struct wmk_in in;
	struct wmk_out out;
	struct wmk_job job;
};

struct wmk_clients {
	struct wmk_clients_options options;      /* defaults filled in */
	struct wmk_workers *workers;
	int epoll, stop, spare;
	bool is_shut;                    /* accepting is suspended for lack of descriptors: retry every SHUT_MS */
	struct wmk_client *client;       /* list */
	unsigned n_foreign;
	pthread_t thread;
	bool started;
};

/* ── in a worker ─────────────────────────────────────────────────────────────────────────────────────── */

static void answer_error(struct wmk_out *out, uint32_t request, int err)
{
	char words[1024];

	wmk_out_error(out, (enum wmk_msg)WMK_CTL_ERROR, request, err, wmk_error_text(words, sizeof(words)));
}

static void work(void *data, struct wmk_job *job)
{
	const struct wmk_clients *clients = data;
	struct wmk_client *client = job->client;

	if (!client->known) {
		if (clients->options.daemon == 0 && client->peer.uid != 0)
			wmk_peer_member(client->socket, &client->peer);
		int err = wmk_peer_admit(&client->peer, clients->options.daemon);
		if (err < 0) {
			answer_error(&client->out, job->frame.request, err);
			client->last = true;
			return;
		}
		client->known = true;
	}
	clients->options.ops.command(clients->options.ops.data, &client->peer, &job->frame, job->body, &client->out);
}

static void worker_begins(void *data)
{
	const struct wmk_clients_ops *ops = &((struct wmk_clients *)data)->options.ops;

	if (ops->thread_begin)
		ops->thread_begin(ops->data);
}

static void worker_ends(void *data)
{
	const struct wmk_clients_ops *ops = &((struct wmk_clients *)data)->options.ops;

	if (ops->thread_end)
		ops->thread_end(ops->data);
}

/* ── one client ──────────────────────────────────────────────────────────────────────────────────────── */

static void client_close(struct wmk_clients *clients, struct wmk_client *client)
{
	struct wmk_client **at = &clients->client;

	while (*at != client)
		at = &(*at)->next;
	*at = client->next;
	clients->n_foreign -= client->foreign;
	/*
	 * close() alone is not enough: a child between clone() and execve() has a copy of the descriptor, which would
	 * keep the socket in epoll
	 */
	epoll_ctl(clients->epoll, EPOLL_CTL_DEL, client->socket, NULL);
	wmk_deferred_close_socket(client->socket, client->peer.uid);
	wmk_in_free(&client->in);
	wmk_out_free(&client->out);
	free(client);
}

static void client_watch(struct wmk_clients *clients, struct wmk_client *client, uint32_t what)
{
	struct epoll_event event = { .events = what | EPOLLONESHOT, .data.ptr = client };

	client->writing = what == EPOLLOUT;
	if (epoll_ctl(clients->epoll, EPOLL_CTL_MOD, client->socket, &event) != 0)
		client_close(clients, client);
}

/*
 * Returns true if all output was sent, so the caller can read from the client again. Returns false if the caller must
 * not access the client any more, because the client may already be freed.
 */
static bool client_send(struct wmk_clients *clients, struct wmk_client *client)
{
	int sent = wmk_out_send(&client->out, client->socket);

	if (sent == 0) {
		client_watch(clients, client, EPOLLOUT);
		return false;
	}
	if (sent < 0 || client->last) {
		client_close(clients, client);
		return false;
	}
	return true;
}

static int full(uid_t uid)
{
	return wmk_errorx(-EMFILE, "user %u has sent too many descriptors that cannot be closed", (unsigned)uid);
}

/* Read from the client until a request is complete, or no more data is available. */
static void client_read(struct wmk_clients *clients, struct wmk_client *client)
{
	struct wmk_job *job = &client->job;

	for (;;) {
		int fd, got = wmk_in_frame(&client->in, &job->frame, &job->body, &fd);

		if (got >= 0 && wmk_deferred_close_is_full(client->peer.uid))
			got = full(client->peer.uid);
		if (fd >= 0)
			wmk_deferred_close_file(fd, client->peer.uid);   /* no request carries a descriptor */
		if (got == 1) {
			client->silent_until = 0;
			wmk_workers_give(clients->workers, job);
			return;
		}
		if (got < 0) {
			answer_error(&client->out, 0, got);
			client->last = true;
			client_send(clients, client);
			return;
		}
		got = wmk_in_receive(&client->in, client->socket);
		if (got == -EAGAIN) {
			client_watch(clients, client, EPOLLIN);
			return;
		}
		if (got != 1) {
			client_close(clients, client);
			return;
		}
	}
}

static void client_worked(struct wmk_clients *clients, struct wmk_client *client)
{
	if (wmk_out_queued(&client->out) == 0)
		client->last = true;
	if (client_send(clients, client))
		client_read(clients, client);
}

/* ── new clients ─────────────────────────────────────────────────────────────────────────────────────── */

static int watch(struct wmk_clients *clients, int fd, void *what)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = what };

	return epoll_ctl(clients->epoll, EPOLL_CTL_ADD, fd, &event) == 0
		       ? 0
		       : wmk_error(-errno, "cannot watch a descriptor");
}

/* The error message fits into an empty socket buffer, so the send does not block. */
static void refuse(int socket, uid_t uid, int err)
{
	struct wmk_out out = { 0 };

	answer_error(&out, 0, err);
	wmk_out_send(&out, socket);
	wmk_out_free(&out);
	wmk_deferred_close_socket(socket, uid);
	wmk_error_clear();
}

static unsigned clients_of(const struct wmk_clients *clients, uid_t uid)
{
	unsigned n = 0;

	for (const struct wmk_client *client = clients->client; client; client = client->next)
		n += client->peer.uid == uid;
	return n;
}

static bool is_foreign(const struct wmk_clients *clients, uid_t uid)
{
	return uid != 0 && uid != clients->options.daemon;
}

static int client_check(const struct wmk_clients *clients, int socket, struct wmk_peer *peer)
{
	int err = wmk_peer_get(socket, peer);

	if (err < 0) {
		peer->uid = (uid_t)-1;
		return err;
	}
	if (wmk_deferred_close_is_full(peer->uid))
		return full(peer->uid);
	if (is_foreign(clients, peer->uid) && clients->n_foreign >= clients->options.max_clients)
		return wmk_errorx(-EAGAIN, "too many clients: %u are connected", clients->n_foreign);
	unsigned n = clients_of(clients, peer->uid);
	if (n >= clients->options.max_of_uid)
		return wmk_errorx(-EAGAIN, "too many clients of user %u: %u are connected", (unsigned)peer->uid, n);
	return 0;
}

static void client_new(struct wmk_clients *clients, int socket)
{
	struct wmk_peer peer;
	int err = client_check(clients, socket, &peer);
	struct wmk_client *client = err == 0 ? calloc(1, sizeof(*client)) : NULL;
	struct epoll_event event = { .events = EPOLLIN | EPOLLONESHOT, .data.ptr = client };

	if (err == 0 && !client)
		err = wmk_error(-ENOMEM, "no memory for a client");
	if (err == 0 && epoll_ctl(clients->epoll, EPOLL_CTL_ADD, socket, &event) != 0)
		err = wmk_error(-errno, "cannot watch a client");
	if (err < 0) {
		free(client);
		refuse(socket, peer.uid, err);
		return;
	}
	client->socket = socket;
	client->in.close_fd = wmk_deferred_close_file;
	client->in.sender_uid = peer.uid;
	client->peer = peer;
	client->foreign = is_foreign(clients, peer.uid);
	if (client->foreign)
		client->silent_until = wmk_clock_ms() + clients->options.silent_ms;
	client->job.client = client;
	client->job.uid = peer.uid;
	client->next = clients->client;
	clients->client = client;
	clients->n_foreign += client->foreign;
}

/*
 * Close the spare descriptor, so that the thread can accept one connection and refuse it. Otherwise the loop would
 * spin. If the spare descriptor cannot be opened again, stop accepting connections for some time. Returns false if no
 * connection is pending, or if accepting is suspended.
 */
static bool refuse_without_descriptors(struct wmk_clients *clients)
{
	close(clients->spare);
	int socket = accept4(clients->options.listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (socket >= 0) {
		wmk_deferred_close_expect(socket);
		refuse(socket, (uid_t)-1, wmk_errorx(-EMFILE, "no file descriptor is free in the session daemon"));
	}
	clients->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (clients->spare < 0 && epoll_ctl(clients->epoll, EPOLL_CTL_DEL, clients->options.listener, NULL) == 0)
		clients->is_shut = true;
	return socket >= 0 && clients->spare >= 0;
}

static void open_again(struct wmk_clients *clients)
{
	clients->spare = clients->spare >= 0 ? clients->spare : open("/dev/null", O_RDONLY | O_CLOEXEC);
	clients->is_shut = clients->spare < 0 || watch(clients, clients->options.listener, &clients->options) < 0;
	wmk_error_clear();
}

static void clients_accept(struct wmk_clients *clients)
{
	for (int i = 0; i < ACCEPTED_AT_ONCE; i++) {
		int socket = accept4(clients->options.listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (socket >= 0) {
			wmk_deferred_close_expect(socket);
			client_new(clients, socket);
			continue;
		}
		if ((errno != EMFILE && errno != ENFILE) || !refuse_without_descriptors(clients))
			return;
	}
}

/* ── the loop ────────────────────────────────────────────────────────────────────────────────────────── */

static void workers_answered(struct wmk_clients *clients)
{
	struct wmk_job *job = wmk_workers_done(clients->workers);

	while (job) {
		struct wmk_job *next = job->next;

		client_worked(clients, job->client);
		job = next;
	}
}

static void client_ready(struct wmk_clients *clients, struct wmk_client *client)
{
	if (client->writing && !client_send(clients, client))
		return;
	client->writing = false;
	client_read(clients, client);
	wmk_error_clear();
}

/* Return the milliseconds from `now` until the next timeout of a silent client. -1: none. */
static int turn_ms(const struct wmk_clients *clients, int64_t now)
{
	int64_t first = clients->is_shut ? now + SHUT_MS : INT64_MAX;

	for (const struct wmk_client *client = clients->client; client; client = client->next)
		if (client->silent_until && client->silent_until < first)
			first = client->silent_until;
	return first == INT64_MAX ? -1 : first <= now ? 0 : first - now < INT_MAX ? (int)(first - now) : INT_MAX;
}

/*
 * Call this only between two epoll_wait() rounds, because the events of a round refer to clients. When this function is
 * called, the thread has read all data that clients sent before the time `then`.
 */
static void close_silent(struct wmk_clients *clients, int64_t then)
{
	for (struct wmk_client *client = clients->client, *next; client; client = next) {
		next = client->next;
		if (client->silent_until && client->silent_until <= then)
			client_close(clients, client);
	}
}

static void *clients_run(void *data)
{
	struct wmk_clients *clients = data;
	struct epoll_event events[EVENTS_AT_ONCE];

	for (;;) {
		const int64_t now = wmk_clock_ms();
		int n = epoll_wait(clients->epoll, events, EVENTS_AT_ONCE, turn_ms(clients, now));

		for (int i = 0; i < n; i++) {
			void *what = events[i].data.ptr;

			if (what == &clients->stop)
				return NULL;
			if (what == &clients->workers)
				workers_answered(clients);
			else if (what == &clients->options)
				clients_accept(clients);
			else
				client_ready(clients, what);
		}
		/* (with a full array more sockets may be ready, and are handled in the next turn) */
		if (n < EVENTS_AT_ONCE)
			close_silent(clients, now);
		if (clients->is_shut)
			open_again(clients);
	}
}

/* ── open, close ─────────────────────────────────────────────────────────────────────────────────────── */

static int loop_open(struct wmk_clients *clients)
{
	if (clients->epoll < 0 || clients->stop < 0 || clients->spare < 0)
		return wmk_error(-errno, "cannot create the descriptors of the client thread");
	int err = watch(clients, clients->stop, &clients->stop);
	if (err == 0)
		err = watch(clients, clients->options.listener, &clients->options);
	return err == 0 ? watch(clients, wmk_workers_fd(clients->workers), &clients->workers) : err;
}

static int thread_start(struct wmk_clients *clients)
{
	int err = wmk_thread_create(&clients->thread, NULL, clients_run, clients);

	clients->started = err == 0;
	return err ? wmk_error(-err, "cannot start the client thread") : 0;
}

int wmk_clients_open(const struct wmk_clients_options *options, struct wmk_clients **out)
{
	struct wmk_clients *clients;

	if (options->size != sizeof(*options) || !options->ops.command)
		return wmk_error(-EINVAL, "invalid client options: structure size, or no callback");
	clients = calloc(1, sizeof(*clients));
	if (!clients)
		return wmk_error(-ENOMEM, "no memory for the clients");
	struct wmk_clients_options *o = &clients->options;
	*o = *options;
	o->max_clients = o->max_clients ? o->max_clients : 256;
	o->max_of_uid = o->max_of_uid ? o->max_of_uid : 32;
	o->silent_ms = o->silent_ms ? o->silent_ms : 5000;
	o->workers = o->workers ? o->workers : 4;
	if (o->max_at_work == 0)         /* in a daemon of root, one worker is left for other users */
		o->max_at_work = o->daemon == 0 && o->workers > 1 ? o->workers - 1 : o->workers;
	clients->epoll = epoll_create1(EPOLL_CLOEXEC);
	clients->stop = eventfd(0, EFD_CLOEXEC);
	clients->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
	const struct wmk_workers_ops ops = { work, worker_begins, worker_ends, clients };
	int err = wmk_workers_open(o->workers + (o->daemon == 0), o->max_at_work, o->daemon == 0, &ops,
				   &clients->workers);
	if (err == 0)
		err = loop_open(clients);
	if (err == 0)
		err = thread_start(clients);
	if (err < 0) {
		wmk_clients_close(clients);
		return err;
	}
	*out = clients;
	return 0;
}

void wmk_clients_close(struct wmk_clients *clients)
{
	const uint64_t one = 1;

	if (!clients)
		return;
	if (clients->started) {
		if (write(clients->stop, &one, sizeof(one)) < 0)
			abort();         /* an open eventfd accepts this */
		pthread_join(clients->thread, NULL);
	}
	wmk_workers_close(clients->workers);
	while (clients->client) {
		wmk_out_send(&clients->client->out, clients->client->socket);
		client_close(clients, clients->client);
	}
	int fds[] = { clients->epoll, clients->stop, clients->spare };
	for (unsigned i = 0; i < 3; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	free(clients);
}
