/* SPDX-License-Identifier: MIT */
/*
 * rundir.c - where an application and its controller meet (control.md, "Where things are"). From the uid alone: a
 * program and its daemon find the same place whatever their environments are; WAYMARK_RUNDIR overrides it, for
 * private runs.
 */
#include "wire/wire.h"

#include "base/error.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>

/* What fits before "/app.sock" (and the other names there, none longer than 15 bytes) into a socket's address. */
#define RUNDIR_MAX (sizeof(((struct sockaddr_un *)0)->sun_path) - sizeof("/123456789012345"))

int wmk_rundir(uid_t uid, int getenv_ok, char *buf, size_t size)
{
	const char *wanted = getenv_ok ? secure_getenv("WAYMARK_RUNDIR") : NULL;
	struct stat st;
	char user[32];
	int n;

	snprintf(user, sizeof(user), "/run/user/%u", (unsigned)uid);
	if (wanted && *wanted) {
		if (*wanted != '/')
			return wmk_error(-EINVAL, "WAYMARK_RUNDIR=%.80s is not an absolute path", wanted);
		n = snprintf(buf, size, "%s", wanted);
	} else if (uid == 0) {
		n = snprintf(buf, size, "/run/waymark");
	} else if (stat(user, &st) == 0 && S_ISDIR(st.st_mode)) {
		n = snprintf(buf, size, "%s/waymark", user);
	} else {
		n = snprintf(buf, size, "/tmp/waymark-%u", (unsigned)uid);
	}
	if (n < 0 || (size_t)n >= size || (size_t)n > RUNDIR_MAX)
		return wmk_error(-ENAMETOOLONG, "the runtime directory's path %.60s... has more than %zu bytes", buf,
				 RUNDIR_MAX);
	return n;
}
