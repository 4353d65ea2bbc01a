/* SPDX-License-Identifier: MIT */
/*
 * sd_notify.c - the interface to the process that started the daemon: passed sockets, and readiness (see rundir.h). The
 * file implements the protocols of systemd, and the protocol of the descriptor that the command-line tool passes.
 */
#include "sessiond/rundir.h"

#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define INHERITED_FIRST 3               /* SD_LISTEN_FDS_START of systemd */
#define HANDED_MAX 16

/* A number in the environment, 0 .. INT_MAX; -1: unset or invalid. */
static int number_of(const char *variable)
{
	const char *text = getenv(variable);
	char *end;

	if (!text || *text < '0' || *text > '9')
		return -1;
	errno = 0;
	long value = strtol(text, &end, 10);
	return errno || *end || value > 0x7fffffff ? -1 : (int)value;
}

static bool option_is(int fd, int option, int wanted)
{
	int value;
	socklen_t len = sizeof(value);

	return getsockopt(fd, SOL_SOCKET, option, &value, &len) == 0 && value == wanted;
}

static int inherited_take(int fd, const char *name, size_t len, int inherited[WMK_SESSIOND_SOCKETS])
{
	static const char *const names[WMK_SESSIOND_SOCKETS] = { "app", "ctl" };
	int flags = fcntl(fd, F_GETFL);
	unsigned which = 0;

	while (which < WMK_SESSIOND_SOCKETS && (strlen(names[which]) != len || memcmp(names[which], name, len) != 0))
		which++;
	if (which == WMK_SESSIOND_SOCKETS)
		return wmk_error(-EINVAL,
				 "unknown name '%.*s' of a passed socket: the names are 'app' and 'ctl' "
				 "(FileDescriptorName=)",
				 len < 40 ? (int)len : 40, name);
	if (inherited[which] >= 0)
		return wmk_error(-EINVAL, "two sockets with the name '%s' were passed", names[which]);
	if (flags < 0 || !option_is(fd, SO_DOMAIN, AF_UNIX) || !option_is(fd, SO_TYPE, SOCK_STREAM) ||
	    !option_is(fd, SO_ACCEPTCONN, 1))
		return wmk_error(-EINVAL, "the descriptor passed as '%s' is not a listening AF_UNIX stream socket",
				 names[which]);
	if (fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0 || fcntl(fd, F_SETFD, FD_CLOEXEC) != 0)
		return wmk_error(-errno, "cannot use the socket passed as '%s'", names[which]);
	inherited[which] = fd;
	return 0;
}

int wmk_sessiond_rundir_inherited(int inherited[WMK_SESSIOND_SOCKETS])
{
	int n = number_of("LISTEN_FDS"), err = 0;
	const char *names = getenv("LISTEN_FDNAMES");

	inherited[WMK_SESSIOND_APP] = inherited[WMK_SESSIOND_CTL] = -1;
	if (number_of("LISTEN_PID") == getpid() && n > 0) {
		if (n > HANDED_MAX)
			err = wmk_error(-EINVAL, "%d sockets were passed: the limit is %d", n, HANDED_MAX);
		for (int i = 0; i < n && err == 0; i++) {
			size_t len = names ? strcspn(names, ":") : 0;

			err = inherited_take(INHERITED_FIRST + i, names ? names : "", len, inherited);
			if (names)
				names = names[len] ? names + len + 1 : NULL;
		}
	}
	unsetenv("LISTEN_PID");
	unsetenv("LISTEN_FDS");
	unsetenv("LISTEN_FDNAMES");
	return err;
}

void wmk_sessiond_rundir_starter(struct wmk_sessiond_rundir_starter *starter)
{
	const char *notify = getenv("NOTIFY_SOCKET");
	int fd = number_of("WAYMARK_READY_FD");

	memset(starter, 0, sizeof(*starter));
	starter->ready = fd >= 0 && fcntl(fd, F_SETFD, FD_CLOEXEC) == 0 ? fd : -1;
	if (notify && (*notify == '/' || *notify == '@') && strlen(notify) < sizeof(starter->notify))
		strcpy(starter->notify, notify);
	unsetenv("WAYMARK_READY_FD");
	unsetenv("NOTIFY_SOCKET");
}

static void notify_systemd(const char *path, const char *state)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	size_t len = strlen(path);
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return;
	memcpy(address.sun_path, path, len);
	if (*path == '@')
		address.sun_path[0] = '\0';      /* abstract address */
	sendto(fd, state, strlen(state), MSG_NOSIGNAL, (const struct sockaddr *)&address,
	       (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len));
	close(fd);
}

void wmk_sd_notify(struct wmk_sessiond_rundir_starter *starter, const char *state, const char *failure)
{
	char text[1024];

	if (starter->ready >= 0) {
		int n = failure ? snprintf(text, sizeof(text), "!%s", failure) : snprintf(text, sizeof(text), "+");
		size_t len = n < (int)sizeof(text) ? (size_t)n : sizeof(text) - 1;
		ssize_t written;

		do
			written = write(starter->ready, text, len);
		while (written < 0 && errno == EINTR);
		close(starter->ready);
		starter->ready = -1;
	}
	if (starter->notify[0] && state)
		notify_systemd(starter->notify, state);
}
