/* SPDX-License-Identifier: MIT */
/* relay_paths.c - paths of the certificates of a relay and of its peers, and valid names of peers (certificates.h). */
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "net/certificates.h"

/*
 * Get the path of the file `name`: the absolute path in the environment variable `variable`, else /etc/waymark/NAME
 * (root), else ~/.config/waymark/NAME.
 */
static int path_of(const char *variable, const char *name, char *path, size_t size)
{
	const char *given = secure_getenv(variable), *home = secure_getenv("HOME");
	const struct passwd *user;
	int len;

	if (given && *given == '/') {
		len = snprintf(path, size, "%s", given);
	} else if (geteuid() == 0) {
		len = snprintf(path, size, "/etc/waymark/%s", name);
	} else {
		user = home && *home == '/' ? NULL : getpwuid(geteuid());
		home = user ? user->pw_dir : home;
		if (!home || *home != '/')
			return wmk_errorx(-ENOENT, "cannot find the home directory of user %lu (set %s)",
					  (unsigned long)geteuid(), variable);
		len = snprintf(path, size, "%s/.config/waymark/%s", home, name);
	}
	return (size_t)len < size ? 0 : wmk_error(-ENAMETOOLONG, "the path of %s is too long", name);
}

int wmk_relay_dir(char *path, size_t size)
{
	return path_of("WAYMARK_RELAY_DIR", "relay", path, size);
}

int wmk_peer_file(char *path, size_t size)
{
	return path_of("WAYMARK_RELAY_PEM", "relay.pem", path, size);
}
