/* SPDX-License-Identifier: MIT */
/* door.h - a listening socket with an abstract address, private to this process, for tests of accepting. */
#ifndef WMK_SESSION_T_DOOR_H
#define WMK_SESSION_T_DOOR_H

#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* Returns the listener and sets `address`; -1 on an error. */
static inline int door_open(struct sockaddr_un *address, const char *name)
{
	int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	address->sun_family = AF_UNIX;
	snprintf(address->sun_path + 1, sizeof(address->sun_path) - 1, "waymark-%s-%ld", name, (long)getpid());
	if (bind(listener, (const struct sockaddr *)address, sizeof(*address)) == 0 && listen(listener, 4096) == 0)
		return listener;
	close(listener);
	return -1;
}

#endif
