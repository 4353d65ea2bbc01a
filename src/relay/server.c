/* SPDX-License-Identifier: MIT */
/* server.c - the addresses of a relay (see server.h). */
#include "relay/server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cond.h"
#include "base/error.h"
#include "net/tls.h"
#include "relay/peer.h"

#define GREETING_MAX 256u            /* maximum connections without a complete HELLO */
#define LOOK_MS 250                  /* interval of the checks for revoked certificates */
#define ABANDONED_MS (60 * 60 * 1000)        /* a trace without a connection is closed after this time */
#define BROKEN_MS 30000              /* a connection that delivers no bytes for this time is broken */
#define KEEPALIVE_S 10

struct listener {
	int socket;
	uint16_t port;
	bool tls;
};

struct wmk_relay_server {
	struct wmk_relay_server_options is;
	struct listener listeners[WMK_RELAY_LISTEN_MAX];
	size_t n;
	int stop;
	bool refuses;                        /* the latest connection was refused */
	struct wmk_relay_hosts hosts;
	struct wmk_ingest_traces traces;
	struct wmk_peers peers;
};

/* ── addresses ───────────────────────────────────────────────────────────────────────────────────────── */

bool wmk_relay_address_is_loopback(const struct sockaddr *address)
{
	if (address->sa_family == AF_INET)
		return ntohl(((const struct sockaddr_in *)(const void *)address)->sin_addr.s_addr) >> 24 == 127;
	return address->sa_family == AF_INET6 &&
	       IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)(const void *)address)->sin6_addr);
}

int wmk_relay_address_split(const char *text, char address[WMK_RELAY_ADDRESS_MAX], const char **port)
{
	const char *colon = strrchr(text, ':');
	size_t len = colon ? (size_t)(colon - text) : 0;

	if (len > 2 && text[0] == '[' && text[len - 1] == ']') {
		text++;
		len -= 2;
	}
	if (!len || len >= WMK_RELAY_ADDRESS_MAX || !colon[1] || strspn(colon + 1, "0123456789") != strlen(colon + 1) ||
	    strlen(colon + 1) > 5)
		return -EINVAL;
	memcpy(address, text, len);
	address[len] = '\0';
	*port = colon + 1;
	return 0;
}

static int listen_at(const struct addrinfo *to)
{
	const int fd = socket(to->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), one = 1;
	int err = fd < 0 ? -errno : 0;

	if (err == 0)
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (err == 0 && to->ai_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one));
	if (err == 0 && (bind(fd, to->ai_addr, to->ai_addrlen) < 0 || listen(fd, 1024) < 0))
		err = -errno;
	if (err < 0 && fd >= 0)
		close(fd);
	return err < 0 ? err : fd;
}

static int open_listener(struct wmk_relay_server *server, const char *text)
{
	const struct addrinfo hints = { .ai_flags = AI_PASSIVE | AI_NUMERICHOST | AI_NUMERICSERV,
					.ai_socktype = SOCK_STREAM };
	struct listener *listener = &server->listeners[server->n];
	struct sockaddr_storage bound;
	socklen_t size = sizeof(bound);
	struct addrinfo *found = NULL;
	const char *port;
	char address[WMK_RELAY_ADDRESS_MAX];

	if (wmk_relay_address_split(text, address, &port) < 0 || getaddrinfo(address, port, &hints, &found) != 0)
		return wmk_errorx(-EINVAL, "invalid address '%.80s': the form is ADDR:PORT, with a numeric address "
				  "such as 127.0.0.1:%u or [::1]:%u", text, WMK_RELAY_PORT, WMK_RELAY_PORT);
	listener->tls = server->is.tls || !wmk_relay_address_is_loopback(found->ai_addr);
	listener->socket = listen_at(found);
	freeaddrinfo(found);
	if (listener->socket < 0)
		return wmk_error(listener->socket, "cannot listen on %.80s: %s", text, strerror(-listener->socket));
	if (getsockname(listener->socket, (struct sockaddr *)&bound, &size) == 0)
		listener->port = ntohs(((const struct sockaddr_in *)(const void *)&bound)->sin_port);
	server->n++;
	return 0;
}

static int open_listeners(struct wmk_relay_server *server)
{
	bool tls = false;
	int err = 0;

	for (size_t i = 0; i < server->is.n_listen && err == 0; i++) {
		err = open_listener(server, server->is.listen[i]);
		tls = tls || (err == 0 && server->listeners[i].tls);
	}
	if (err < 0 || !tls)
		return err;
	err = wmk_tls_open_server(server->is.certificates, &server->peers.tls);
	return err < 0 ? wmk_error_add(err, "an address that is not a loopback address needs TLS, and %.200s has no "
				       "usable certificates (waymark relay init makes them)", server->is.certificates)
		       : 0;
}

/* ── life ────────────────────────────────────────────────────────────────────────────────────────────── */

int wmk_relay_server_open(const struct wmk_relay_server_options *options, struct wmk_relay_server **result)
{
	struct wmk_relay_server *server = calloc(1, sizeof(*server));
	int err;

	if (!server)
		return wmk_error(-ENOMEM, "no memory for a relay");
	server->is = *options;
	server->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	err = server->stop < 0 ? wmk_error(-errno, "cannot make an event descriptor")
			       : wmk_relay_hosts_open(&server->hosts, options->output, options->conf);
	if (err < 0) {
		if (server->stop >= 0)
			close(server->stop);
		free(server);
		return err;
	}
	wmk_ingest_traces_init(&server->traces, &server->hosts);
	pthread_mutex_init(&server->peers.lock, NULL);
	wmk_cond_init(&server->peers.ended);
	server->peers.log = options->log;
	server->peers.relay = (struct wmk_ingest_relay){ .version = options->version, .start_ms = wmk_relay_now_ms(),
							 .hosts = &server->hosts, .traces = &server->traces };
	wmk_clocks_uuid(&(struct wmk_clocks){ .preferred = WMK_CLOCK_MONOTONIC }, WMK_CLOCK_MONOTONIC,
			server->peers.relay.clock_uuid);
	err = open_listeners(server);
	if (err < 0) {
		wmk_relay_server_close(server);
		return err;
	}
	*result = server;
	return 0;
}

uint16_t wmk_relay_server_port(const struct wmk_relay_server *server, size_t i)
{
	return server->listeners[i].port;
}

static void set_option(int fd, int level, int option, int value)
{
	/*
	 * An error of setsockopt() is ignored, because the relay without the option only detects a broken connection
	 * later.
	 */
	setsockopt(fd, level, option, &value, sizeof(value));
}

static void watch_network(int fd)
{
	set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
	set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, KEEPALIVE_S);
	set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, KEEPALIVE_S);
	set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, 2);
	set_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, BROKEN_MS);
}

/*
 * Send an error without waiting, then close the connection. On a TLS connection, the function sends no error message,
 * so the peer receives only the end of the connection.
 */
static void refuse(int fd, bool tls, const char *text)
{
	const struct wmk_relay_error error = { .err = EUSERS, .text = text };
	struct wmk_relay_frame frame = { .type = WMK_RELAY_ERROR };
	uint8_t *bytes;
	const long len = tls ? -1 : wmk_relay_message_encode(&frame, &wmk_relay_error_object, &error, &bytes);

	if (len > 0) {
		if (send(fd, bytes, (size_t)len, MSG_DONTWAIT | MSG_NOSIGNAL) == len)
			shutdown(fd, SHUT_WR);
		free(bytes);
	}
	close(fd);
}

static void accept_one(struct wmk_relay_server *server, const struct listener *listener)
{
	const int fd = accept4(listener->socket, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	char text[160] = "";

	if (fd < 0)
		return;
	pthread_mutex_lock(&server->peers.lock);
	if (server->peers.n >= server->is.conf->connections)
		snprintf(text, sizeof(text), "the relay has %u connections, its limit (connections in relay.conf)",
			 server->peers.n);
	else if (server->peers.n_greeting >= GREETING_MAX)
		snprintf(text, sizeof(text), "the relay waits for the HELLO of %u connections, its limit; try again",
			 server->peers.n_greeting);
	pthread_mutex_unlock(&server->peers.lock);
	/* If several connections are refused in a row, log only the first refusal. */
	if (text[0] && !server->refuses && server->is.log)
		server->is.log(text);
	server->refuses = text[0];
	if (text[0]) {
		refuse(fd, listener->tls, text);
		return;
	}
	watch_network(fd);
	if (wmk_peer_start(&server->peers, fd, listener->tls) < 0 && server->is.log)
		server->is.log(wmk_error_text(text, sizeof(text)));
	wmk_error_clear();
}

static void look(struct wmk_relay_server *server)
{
	if (server->peers.tls && wmk_tls_reload(server->peers.tls) == 1)
		atomic_fetch_add_explicit(&server->peers.certificates, 1, memory_order_relaxed);
	wmk_error_clear();
	wmk_ingest_traces_expire(&server->traces, ABANDONED_MS);
}

int wmk_relay_server_run(struct wmk_relay_server *server)
{
	struct pollfd pollers[WMK_RELAY_LISTEN_MAX + 1];

	for (size_t i = 0; i < server->n; i++)
		pollers[i] = (struct pollfd){ .fd = server->listeners[i].socket, .events = POLLIN };
	pollers[server->n] = (struct pollfd){ .fd = server->stop, .events = POLLIN };
	for (;;) {
		const int n = poll(pollers, server->n + 1, server->peers.tls ? LOOK_MS : 60000);

		if (n < 0 && errno != EINTR)
			return wmk_error(-errno, "cannot wait for connections");
		if (n > 0 && pollers[server->n].revents)
			return 0;
		for (size_t i = 0; i < server->n && n > 0; i++)
			if (pollers[i].revents)
				accept_one(server, &server->listeners[i]);
		look(server);
	}
}

void wmk_relay_server_stop(struct wmk_relay_server *server)
{
	const uint64_t one = 1;

	if (write(server->stop, &one, sizeof(one)) < 0)
		return;              /* wmk_relay_server_stop() was called */
}

void wmk_relay_server_close(struct wmk_relay_server *server)
{
	for (size_t i = 0; i < server->n; i++)
		close(server->listeners[i].socket);
	wmk_peers_end(&server->peers);
	wmk_ingest_traces_free(&server->traces);
	wmk_tls_close(server->peers.tls);
	wmk_relay_hosts_close(&server->hosts);
	pthread_cond_destroy(&server->peers.ended);
	pthread_mutex_destroy(&server->peers.lock);
	close(server->stop);
	free(server);
}
