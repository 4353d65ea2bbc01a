/* SPDX-License-Identifier: MIT */
/* server.c - waymark-consumerd's socket, its connection, and the loop of the server's thread. */
#include "consumer/server.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "consumer/clock_steps.h"
#include "consumer/connection.h"
#include "consumer/list_reply.h"
#include "consumer/output_work.h"
#include "consumer/outputs.h"
#include "consumer/requests.h"
#include "consumer/senders.h"
#include "consumer/server_rundir.h"

#define FIXED_FDS 4
#define RECEIVES_MAX 4096u              /* limit of receives from a session daemon that is replaced */
#define SHUTDOWN_ANSWER_MS 1000         /* time for a session daemon to read the reply to SHUTDOWN */

void wmk_consumer_server_stop(struct wmk_consumer_server *server)
{
	const int before = errno;

	__atomic_store_n(&server->stop, 1, __ATOMIC_RELAXED);
	wmk_server_wake(server);
	errno = before;
}

/* ── the connection ──────────────────────────────────────────────────────────────────────────────────── */

static void disconnect(struct wmk_consumer_server *server)
{
	if (server->connection < 0)
		return;
	close(server->connection);
	server->connection = -1;
	wmk_server_list_drop(server);
	wmk_out_free(&server->out);
	wmk_consumerd_in_free(&server->in);
}

static void begin_connection(struct wmk_consumer_server *server, int connection)
{
	struct ucred peer = { .pid = 0 };
	socklen_t size = sizeof(peer);
	const struct wmk_consumerd_hello hello = { .version = server->options.version, .pid = (uint64_t)getpid() };
	static const struct wmk_empty nothing;

	if (server->connection >= 0) {
		wmk_consumerd_send(&server->out, WMK_CONSUMERD_REPLACED, 0, &wmk_empty_object, &nothing,
				   -1);
		wmk_out_send(&server->out, server->connection);
		disconnect(server);
	}
	server->connection = connection;
	server->connections++;
	if (getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0)
		atomic_store_explicit(&server->daemon, peer.pid, memory_order_relaxed);
	server->was_connected = true;
	wmk_server_send(server, WMK_CONSUMERD_HELLO, &wmk_consumerd_hello_object, &hello);
	wmk_server_outputs_notify_again(server);
}

static void accept_one(struct wmk_consumer_server *server)
{
	int connection = accept4(server->listening, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct ucred peer;
	socklen_t len = sizeof(peer);

	if (connection < 0)
		return;
	if (getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0 || peer.uid != geteuid()) {
		wmk_server_log(server, "closed a connection of another user: only user %u can connect",
			       (unsigned)geteuid());
		close(connection);
		return;
	}
	wmk_server_handshake_add(server, connection);
}

/* Handle all complete messages that were received. False: close the connection. */
static bool handle_messages(struct wmk_consumer_server *server)
{
	struct wmk_frame frame;
	const void *body;
	size_t len;
	char words[300];
	int got, fd;

	while ((got = wmk_consumerd_in_next(&server->in, &frame, &body, &len, &fd)) == 1) {
		/*
		 * (the session daemon that started this process also sends a greeting, but this greeting needs no
		 * check)
		 */
		if (frame.type != WMK_CONSUMERD_HELLO || server->has_greeted)
			wmk_server_request(server, &frame, body, len, fd);
		server->has_greeted = true;
		if (fd >= 0)
			close(fd);
	}
	if (got < 0) {
		wmk_error_text(words, sizeof(words));
		wmk_server_log(server, "cannot decode a message of the session daemon: %s", words);
		wmk_server_refuse(server, server->connections, 0, got, words);
		wmk_out_send(&server->out, server->connection);
		wmk_error_clear();
		return false;
	}
	return true;
}

static bool receive(struct wmk_consumer_server *server)
{
	const int got = wmk_in_receive(&server->in.frames, server->connection);

	return got == -EAGAIN || (handle_messages(server) && got > 0);
}

static void replace(struct wmk_consumer_server *server, const struct wmk_server_handshake *daemon)
{
	/*
	 * If a session daemon crashed after it had sent requests, the server carries out these requests, because
	 * applications use the metadata in them.
	 */
	for (unsigned i = 0; i < RECEIVES_MAX && server->connection >= 0; i++)
		if (wmk_in_receive(&server->in.frames, server->connection) <= 0 || !handle_messages(server))
			break;
	begin_connection(server, daemon->connection);
	server->in = daemon->in;
	server->has_greeted = true;
	if (!handle_messages(server))
		disconnect(server);
}

/* ── the loop ────────────────────────────────────────────────────────────────────────────────────────── */

static void take_done(struct wmk_consumer_server *server)
{
	struct wmk_server_work *work, *next;
	uint64_t n;

	if (read(server->wake, &n, sizeof(n)) < 0 && errno != EAGAIN)
		return;
	pthread_mutex_lock(&server->lock_done);
	work = server->done;
	server->done = NULL;
	server->done_end = &server->done;
	pthread_mutex_unlock(&server->lock_done);
	for (; work; work = next) {
		next = work->next;
		wmk_server_work_done(work);
	}
	wmk_server_output_work_answer(server);
	wmk_server_senders_reap(server);
	if (__atomic_load_n(&server->stop, __ATOMIC_RELAXED) && !server->ending)
		wmk_server_end(server);
}

static bool is_over(const struct wmk_consumer_server *server)
{
	if (server->n_traces || server->n_work || server->output_work)
		return false;
	if (server->senders && !server->ending)
		return false;
	return server->ending || (server->was_connected && server->connection < 0);
}

/* Send as many queued messages as the socket accepts. */
static void send_queued(struct wmk_consumer_server *server)
{
	int rc;

	if (server->connection < 0)
		return;
	do {
		wmk_server_list_more(server);
		rc = wmk_out_send(&server->out, server->connection);
	} while (rc == 1 && server->list.active);
	if (rc < 0)
		disconnect(server);
}

static void report_clock_step(struct wmk_consumer_server *server)
{
	if (!wmk_clock_steps_read(server->clock_steps))
		return;
	wmk_server_clock_stepped(server);
}

static int run_once(struct wmk_consumer_server *server)
{
	struct pollfd fds[FIXED_FDS + WMK_SERVER_HANDSHAKES_MAX] = {
		{ .fd = server->wake, .events = POLLIN },
		{ .fd = server->listening, .events = POLLIN },
		{ .fd = server->connection, .events = (short)(POLLIN | (wmk_out_queued(&server->out) ? POLLOUT : 0)) },
		{ .fd = server->clock_steps, .events = POLLIN },
	};
	struct wmk_server_handshake daemon;
	unsigned refused, n = server->n_handshakes;

	if (poll(fds, FIXED_FDS + n, wmk_server_handshakes_poll(server, fds + FIXED_FDS)) < 0)
		return errno == EINTR ? 0 : wmk_error(-errno, "cannot wait for requests: %s", strerror(errno));
	if (fds[3].revents)
		report_clock_step(server);
	if (fds[0].revents)
		take_done(server);
	if (fds[2].revents & (POLLIN | POLLHUP | POLLERR) && server->connection == fds[2].fd && !receive(server))
		disconnect(server);
	if (wmk_server_handshakes_receive(server, fds + FIXED_FDS, n, &daemon, &refused))
		replace(server, &daemon);
	if (refused)
		wmk_server_log(server, "%u connection(s) closed: no greeting of a session daemon received", refused);
	if (fds[1].revents)
		accept_one(server);
	wmk_server_outputs_notify(server);
	send_queued(server);
	return 0;
}

/* Reply to the request SHUTDOWN, if a client sent SHUTDOWN. */
static void answer_shutdown(struct wmk_consumer_server *server)
{
	struct pollfd out;

	if (server->shutdown_request)
		wmk_server_reply_done(server, server->shutdown_connection, server->shutdown_request);
	while (server->connection >= 0 && wmk_out_queued(&server->out)) {
		out = (struct pollfd){ .fd = server->connection, .events = POLLOUT };
		if (wmk_out_send(&server->out, server->connection) != 0 || poll(&out, 1, SHUTDOWN_ANSWER_MS) <= 0)
			return;
	}
}

int wmk_consumer_server_run(struct wmk_consumer_server *server)
{
	int err = 0;

	wmk_server_senders_begin(server);
	send_queued(server);
	while (err >= 0 && !is_over(server))
		err = run_once(server);
	wmk_server_senders_stop(server);
	answer_shutdown(server);
	disconnect(server);              /* ends the wait for replies that are not sent yet */
	return err;
}

int wmk_consumer_server_open(const struct wmk_consumer_server_options *options, struct wmk_consumer_server **result)
{
	struct wmk_consumer_server *server = calloc(1, sizeof(*server));
	int err;

	if (!server)
		return wmk_error(-ENOMEM, "no memory for a server");
	server->options = *options;
	server->done_end = &server->done;
	server->lock = server->listening = server->connection = -1;
	pthread_mutex_init(&server->lock_done, NULL);
	server->clock_steps = wmk_clock_steps_open();
	server->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	err = server->wake < 0 ? wmk_error(-errno, "cannot create an eventfd: %s", strerror(errno))
			       : wmk_server_rundir_open(server);
	if (err < 0) {
		if (server->listening >= 0)
			close(server->listening);
		server->listening = -1;
		wmk_consumer_server_close(server);
		return err;
	}
	if (options->connection >= 0)
		begin_connection(server, options->connection);
	*result = server;
	return 0;
}

void wmk_consumer_server_close(struct wmk_consumer_server *server)
{
	if (!server)
		return;
	disconnect(server);
	wmk_server_handshakes_close(server);
	if (server->listening >= 0) {
		unlink(server->socket_path);
		close(server->listening);
	}
	if (server->lock >= 0)
		close(server->lock);
	if (server->clock_steps >= 0)
		close(server->clock_steps);
	if (server->wake >= 0)
		close(server->wake);
	pthread_mutex_destroy(&server->lock_done);
	free(server);
}
