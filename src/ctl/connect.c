/* SPDX-License-Identifier: MIT */
/*
 * connect.c - select a session daemon and connect to it; errors of this thread (see waymark/ctl.h).
 *
 *     rundir option, or $WAYMARK_RUNDIR ──► only that daemon
 *     else root's, if it accepts us     ──► else the user's own
 *
 * SO_PEERCRED must show that the daemon runs as root or as this user, because another user may have created the socket.
 */
#include "ctl/connection.h"

#include "base/error.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

/* If a daemon accepts a connection and closes it without sending anything, retry. */
#define RETRIES 5u
#define RETRY_MS 20

const char *waymark_ctl_error(unsigned index)
{
	return wmk_error_get(index);
}

const char *waymark_ctl_error_text(char *buf, size_t size)
{
	return wmk_error_text(buf, size);
}

const char *waymark_ctl_library_version(void)
{
	return WMK_VERSION;
}

/* ── connect to one endpoint ─────────────────────────────────────────────────────────────────────────── */

static int peer_check(int sock, const char *path, bool named)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	if (getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &peer, &len) != 0)
		return wmk_error(-errno, "cannot get the user of the process that listens on %s", path);
	if (peer.uid == 0 || peer.uid == geteuid() || (named && geteuid() == 0))
		return 0;
	return wmk_errorx(-EACCES,
			  "the process that listens on %s belongs to user %u: it must belong to root or to your user",
			  path,
			  (unsigned)peer.uid);
}

/* Return the descriptor of a connected socket, or -errno. */
static int socket_connect(const char *rundir, bool named, uint64_t deadline)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int left = wmk_ctl_left(deadline);
	/* AF_UNIX applies SO_SNDTIMEO to connect(), too, while the listen queue is full */
	struct timeval patience = { left / 1000, left % 1000 * 1000 };

	if (snprintf(address.sun_path, sizeof(address.sun_path), "%s/" WMK_CTL_SOCKET, rundir) >=
	    (int)sizeof(address.sun_path))
		return wmk_error(-ENAMETOOLONG, "the path %.60s.../" WMK_CTL_SOCKET " is too long for a socket",
				 rundir);
	int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (sock < 0)
		return wmk_error(-errno, "cannot create a socket");
	int err = left == 0 ? wmk_error(-ETIMEDOUT, "cannot connect to %s: the timeout has expired", address.sun_path)
			    : 0;
	if (err == 0 && left > 0 && setsockopt(sock, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) != 0)
		err = wmk_error(-errno, "cannot set a timeout for connecting");
	if (err == 0 && connect(sock, (const struct sockaddr *)&address, sizeof(address)) != 0)
		err = wmk_error(errno == EAGAIN || errno == EINPROGRESS ? -ETIMEDOUT : -errno, "cannot connect to %s",
				address.sun_path);
	if (err == 0)
		err = peer_check(sock, address.sun_path, named);
	if (err == 0)
		return sock;
	close(sock);
	return err;
}

/* True if no process listens on the socket. */
static bool has_no_listener(int err)
{
	return err == -ENOENT || err == -ECONNREFUSED;
}

/* ── select a daemon ─────────────────────────────────────────────────────────────────────────────────── */

struct endpoint {
	const char *named;           /* named by an option; NULL: no option names one */
	bool only;                   /* named by an option or the environment */
	char path[128];               /* the named directory, or that of the user's own daemon */
};

static int endpoint_find(struct endpoint *endpoint, const char *rundir)
{
	const char *environment = secure_getenv("WAYMARK_RUNDIR");

	endpoint->named = rundir && *rundir ? rundir : NULL;
	endpoint->only = endpoint->named || (environment && *environment);
	if (!endpoint->named) {
		int len = wmk_rundir(geteuid(), 1, endpoint->path, sizeof(endpoint->path));

		return len < 0 ? len : 0;
	}
	if (*rundir != '/' || strlen(rundir) >= sizeof(endpoint->path))
		return wmk_error(-EINVAL,
				 "the runtime directory '%.60s' is not an absolute path of less than %zu bytes", rundir,
				 sizeof(endpoint->path));
	strcpy(endpoint->path, rundir);
	return 0;
}

/*
 * If no daemon was named, connect to root's daemon. Returns a socket, or -1 if root's daemon does not run or rejects
 * this user.
 */
static int connect_root(struct waymark_ctl *ctl, const struct endpoint *endpoint, uint64_t deadline)
{
	if (endpoint->only || geteuid() == 0 || wmk_rundir(0, 0, ctl->rundir, sizeof(ctl->rundir)) < 0)
		return -1;
	int sock = socket_connect(ctl->rundir, false, deadline);
	return sock < 0 ? -1 : sock;
}

/*
 * Connect to a daemon that another process is starting at the same time. The other daemon holds the lock of the runtime
 * directory, and will listen shortly.
 */
static int connect_other(const struct endpoint *endpoint, uint64_t deadline, int err)
{
	const struct timespec pause = { .tv_nsec = 20000000 };
	char words[600];

	waymark_ctl_error_text(words, sizeof(words));
	for (int i = 0; i < 10; i++) {
		int sock = socket_connect(endpoint->path, endpoint->named, deadline);

		if (sock >= 0)
			return sock;
		if (!has_no_listener(sock))
			break;
		nanosleep(&pause, NULL);
	}
	return wmk_ctl_error_chain(err, words);
}

static int connect_own(struct waymark_ctl *ctl, const struct waymark_ctl_connect_options *options,
		       const struct endpoint *endpoint, uint64_t deadline)
{
	strcpy(ctl->rundir, endpoint->path);
	int sock = socket_connect(ctl->rundir, endpoint->named, deadline);
	if (sock >= 0 && options->recover) {
		close(sock);
		return wmk_errorx(-EBUSY,
				  "a session daemon already runs in %s: a recovery needs a separate runtime directory",
				  ctl->rundir);
	}
	if (sock >= 0 || !has_no_listener(sock))
		return sock;
	if (options->start != WAYMARK_CTL_START_IF_NONE)
		return wmk_error_add(sock, "no session daemon runs");
	int err = wmk_ctl_daemon_start(options->program, endpoint->named, options->recover, deadline);
	if (err == -ECHILD && !options->recover)
		return connect_other(endpoint, deadline, err);
	if (err < 0)
		return err;
	ctl->started = true;
	sock = socket_connect(ctl->rundir, endpoint->named, deadline);
	return sock < 0 ? wmk_error_add(sock, "the session daemon that was started uses another runtime directory")
			: sock;
}

/* Send a first request, so that waymark_ctl_connect() returns the error of this request. */
static int handshake(struct waymark_ctl *ctl)
{
	const struct wmk_empty nothing = { 0 };

	return wmk_ctl_request(ctl, WMK_CTL_VERSION, &nothing, NULL);
}

static void disconnect(struct waymark_ctl *ctl)
{
	if (ctl->socket >= 0)
		close(ctl->socket);
	ctl->socket = -1;
	wmk_in_free(&ctl->in);
	wmk_out_free(&ctl->out);
}

static int connect_any(struct waymark_ctl *ctl, const struct waymark_ctl_connect_options *options, uint64_t deadline)
{
	struct endpoint endpoint;
	int err = endpoint_find(&endpoint, options->rundir);

	if (err < 0)
		return err;
	ctl->socket = connect_root(ctl, &endpoint, deadline);
	if (ctl->socket >= 0) {
		err = handshake(ctl);
		if (err != -EACCES)
			return err;
		disconnect(ctl);               /* the daemon accepts other users, but not this user */
	}
	for (unsigned i = 0;; i++) {
		ctl->socket = connect_own(ctl, options, &endpoint, deadline);
		err = ctl->socket < 0 ? ctl->socket : handshake(ctl);
		if (err != -ECONNRESET || i == RETRIES)
			return err;
		/* The daemon was about to exit when this client connected. */
		disconnect(ctl);
		nanosleep(&(struct timespec){ .tv_nsec = RETRY_MS * 1000000 }, NULL);
	}
}

int waymark_ctl_connect(const struct waymark_ctl_connect_options *given, struct waymark_ctl **out)
{
	struct waymark_ctl_connect_options options = { 0 };
	int err = 0;

	*out = NULL;
	wmk_error_clear();
	if (given)
		err = WMK_CTL_OPTIONS(&options, given, "connect", NULL);
	if (err == 0 && (options.start > WAYMARK_CTL_START_NEVER || options.timeout_ms < -1))
		err = wmk_error(-EINVAL, "connect: unknown start mode, or a timeout below -1");
	if (err == 0 && options.recover &&
	    (*options.recover != '/' || !options.rundir || options.start != WAYMARK_CTL_START_IF_NONE))
		err = wmk_error(-EINVAL,
				"connect: recover needs an absolute path, a runtime directory, and "
				"WAYMARK_CTL_START_IF_NONE");
	if (err < 0)
		return err;
	struct waymark_ctl *ctl = calloc(1, sizeof(*ctl));
	if (!ctl)
		return wmk_error(-ENOMEM, "no memory for a connection");
	ctl->socket = -1;
	ctl->timeout_ms = options.timeout_ms ? options.timeout_ms : TIMEOUT_MS;
	err = connect_any(ctl, &options, wmk_ctl_deadline(ctl->timeout_ms));
	if (err < 0) {
		waymark_ctl_close(ctl);
		return wmk_error_add(err, "cannot connect to a session daemon");
	}
	*out = ctl;
	return 0;
}

void waymark_ctl_close(struct waymark_ctl *ctl)
{
	if (!ctl)
		return;
	disconnect(ctl);
	free(ctl);
}

const char *waymark_ctl_rundir(const struct waymark_ctl *ctl)
{
	return ctl->rundir;
}

bool waymark_ctl_started(const struct waymark_ctl *ctl)
{
	return ctl->started;
}

void waymark_ctl_set_timeout(struct waymark_ctl *ctl, int timeout_ms)
{
	ctl->timeout_ms = timeout_ms > 0 || timeout_ms == -1 ? timeout_ms : TIMEOUT_MS;
}
