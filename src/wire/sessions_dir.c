/* SPDX-License-Identifier: MIT */
/*
 * sessions_dir.c - the directory of automatic sessions (see sessions_dir.h).
 */
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "wire/sessions_dir.h"

static int home_of(uid_t uid, char *path, size_t size)
{
	const char *home = uid == geteuid() ? secure_getenv("HOME") : NULL;
	char strings[4096];
	struct passwd entry, *found = NULL;

	if (!home || *home != '/') {
		getpwuid_r(uid, &entry, strings, sizeof(strings), &found);
		home = found ? found->pw_dir : NULL;
	}
	if (!home || *home != '/')
		return wmk_errorx(-ENOENT, "cannot find the home directory of user %lu", (unsigned long)uid);
	return snprintf(path, size, "%s/.config/waymark/sessions", home);
}

int wmk_sessions_dir(uid_t daemon, char *path, size_t size)
{
	const char *given = secure_getenv("WAYMARK_SESSIONS");
	int len = given && *given == '/' ? snprintf(path, size, "%s", given)
		  : daemon == 0          ? snprintf(path, size, "/etc/waymark/sessions")
					 : home_of(daemon, path, size);

	if (len < 0)
		return len;
	return (size_t)len < size ? 0 : wmk_error(-ENAMETOOLONG, "the path of the directory of sessions is too long");
}
