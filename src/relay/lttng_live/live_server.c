/* SPDX-License-Identifier: MIT */
/*
 * live_server.c - accepts viewers of the LTTng-live protocol, and runs a thread for each; live_server.h describes it.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "base/thread.h"
#include "relay/lttng_live/live_server.h"
#include "relay/lttng_live/viewer.h"

#define VIEWERS_MAX 64u
#define STACK (256u << 10)

struct live_viewer {
	struct wmk_lttng_live *server;
	pthread_t thread;
	int socket;
	bool is_used;              /* the thread runs, or has ended and waits for the join */
	bool has_ended;            /* under the lock; the thread has finished its work */
};

struct wmk_lttng_live {
	int root, listening, stop; /* an eventfd that ends the server */
	uint16_t port;
	pthread_t thread;
	pthread_mutex_t lock;
	struct live_viewer viewers[VIEWERS_MAX];
};

/* ── viewers ─────────────────────────────────────────────────────────────────────────────────────────── */

static void *serve(void *data)
{
	struct live_viewer *viewer = data;

	wmk_viewer_serve(viewer->socket, viewer->server->root);
	wmk_error_clear();
	/*
	 * Shut the socket down, so that the peer receives the end of the stream immediately. The descriptor number
	 * stays in use until the thread is joined.
	 */
	shutdown(viewer->socket, SHUT_RDWR);
	pthread_mutex_lock(&viewer->server->lock);
	viewer->has_ended = true;
	pthread_mutex_unlock(&viewer->server->lock);
	return NULL;
}

static void join(struct live_viewer *viewer)
{
	pthread_join(viewer->thread, NULL);
	close(viewer->socket);
	viewer->is_used = false;
}

/* Return a free entry for a viewer. NULL means that connected viewers use all entries. */
static struct live_viewer *find_place(struct wmk_lttng_live *server)
{
	for (unsigned i = 0; i < VIEWERS_MAX; i++) {
		struct live_viewer *viewer = &server->viewers[i];
		bool has_ended;

		pthread_mutex_lock(&server->lock);
		has_ended = viewer->has_ended;
		pthread_mutex_unlock(&server->lock);
		if (viewer->is_used && has_ended)
			join(viewer);
		if (!viewer->is_used)
			return viewer;
	}
	return NULL;
}

static void accept_viewer(struct wmk_lttng_live *server)
{
	int socket = accept4(server->listening, NULL, NULL, SOCK_CLOEXEC), one = 1;
	struct live_viewer *viewer = socket < 0 ? NULL : find_place(server);
	pthread_attr_t attr;

	if (!viewer) {
		if (socket >= 0)
			close(socket);
		return;
	}
	setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	*viewer = (struct live_viewer){ .server = server, .socket = socket };
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	viewer->is_used = wmk_thread_create(&viewer->thread, &attr, serve, viewer) == 0;
	pthread_attr_destroy(&attr);
	if (!viewer->is_used)
		close(socket);
}

static void *accept_viewers(void *data)
{
	struct wmk_lttng_live *server = data;
	struct pollfd fds[] = { { .fd = server->listening, .events = POLLIN },
				{ .fd = server->stop, .events = POLLIN } };

	while (!fds[1].revents) {
		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			break;
		if (fds[0].revents & POLLIN)
			accept_viewer(server);
	}
	return NULL;
}

/* ── the server ──────────────────────────────────────────────────────────────────────────────────────── */

static int start_listening(struct wmk_lttng_live *server, uint16_t port)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(port),
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(address);
	int one = 1;

	server->listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (server->listening < 0)
		return wmk_error(-errno, "cannot create a socket");
	setsockopt(server->listening, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(server->listening, (struct sockaddr *)&address, sizeof(address)) < 0 ||
	    listen(server->listening, 16) < 0 ||
	    getsockname(server->listening, (struct sockaddr *)&address, &len) < 0)
		return wmk_error(-errno, "cannot listen on 127.0.0.1:%u", port);
	server->port = ntohs(address.sin_port);
	return 0;
}

static void close_descriptors(struct wmk_lttng_live *server)
{
	const int descriptors[] = { server->root, server->listening, server->stop };

	for (unsigned i = 0; i < sizeof(descriptors) / sizeof(*descriptors); i++)
		if (descriptors[i] >= 0)
			close(descriptors[i]);
	pthread_mutex_destroy(&server->lock);
	free(server);
}

int wmk_lttng_live_open(const char *root, uint16_t port, struct wmk_lttng_live **server)
{
	struct wmk_lttng_live *new = calloc(1, sizeof(*new));
	int err;

	if (!new)
		return wmk_error(-ENOMEM, "no memory for the LTTng-live server");
	pthread_mutex_init(&new->lock, NULL);
	new->listening = -1;
	new->stop = eventfd(0, EFD_CLOEXEC);
	new->root = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	err = new->root < 0 || new->stop < 0 ? wmk_error(-errno, "cannot open %s", root)
					     : start_listening(new, port);
	if (err == 0) {
		err = -wmk_thread_create(&new->thread, NULL, accept_viewers, new);
		if (err < 0)
			wmk_error(err, "cannot start a thread");
	}
	if (err < 0) {
		close_descriptors(new);
		return wmk_error_add(err, "cannot serve LTTng-live viewers");
	}
	*server = new;
	return 0;
}

uint16_t wmk_lttng_live_port(const struct wmk_lttng_live *server)
{
	return server->port;
}

void wmk_lttng_live_close(struct wmk_lttng_live *server)
{
	if (!server)
		return;
	eventfd_write(server->stop, 1);
	pthread_join(server->thread, NULL);
	for (unsigned i = 0; i < VIEWERS_MAX; i++) {
		if (!server->viewers[i].is_used)
			continue;
		shutdown(server->viewers[i].socket, SHUT_RDWR);
		join(&server->viewers[i]);
	}
	close_descriptors(server);
}
