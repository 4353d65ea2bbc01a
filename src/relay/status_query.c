/* SPDX-License-Identifier: MIT */
/* status_query.c - a client of the relay that sends one request (see status_query.h). */
#include "relay/status_query.h"

#include <errno.h>
#include <netdb.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "relay/call.h"
#include "relay/server.h"

static int dial(const char *at)
{
	const struct addrinfo hints = { .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM };
	struct addrinfo *to = NULL;
	const char *port;
	char address[WMK_RELAY_ADDRESS_MAX];
	int fd, err;

	if (wmk_relay_address_split(at, address, &port) < 0 || getaddrinfo(address, port, &hints, &to) != 0)
		return wmk_errorx(-EINVAL, "invalid address '%.80s' of a relay: the form is ADDR:PORT, such as "
				  WMK_RELAY_STATUS_DEFAULT, at);
	if (!wmk_relay_address_is_loopback(to->ai_addr)) {
		freeaddrinfo(to);
		return wmk_errorx(-EINVAL, "cannot query the relay at %.80s: the status is available at loopback "
					   "addresses only", at);
	}
	fd = socket(to->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	err = fd < 0 || connect(fd, to->ai_addr, to->ai_addrlen) < 0 ? -errno : 0;
	freeaddrinfo(to);
	if (err == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return wmk_error(err, "cannot connect to the relay at %.80s: %s", at, strerror(-err));
}

int wmk_relay_status_query(const char *at, struct wmk_arena *arena, struct wmk_relay_status *status)
{
	const struct wmk_empty none = { 0 };
	struct wmk_relay_call call;
	const int fd = dial(at);
	int err;

	if (fd < 0)
		return fd;
	err = wmk_relay_call_begin(&call, fd, NULL, NULL);
	if (err == 0)
		err = wmk_relay_call(&call, WMK_RELAY_STATUS, &none, status, arena);
	wmk_relay_call_end(&call);
	return err < 0 ? wmk_error_add(err, "cannot query the relay at %.80s", at) : 0;
}
