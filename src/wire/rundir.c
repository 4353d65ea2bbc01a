/* SPDX-License-Identifier: MIT */
/*
 * rundir.c - where an application and its controller meet (control.md, "Where things are"). From the uid alone: a
 * program and its daemon find the same place whatever their environments are; WAYMARK_RUNDIR overrides it, for
 * private runs.
 */
#include "wire/wire.h"

#include "base/error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>

/* What fits before "/app.sock" (and the other names there, none longer than 15 bytes) into a socket's address. */
#define RUNDIR_MAX (sizeof(((struct sockaddr_un *)0)->sun_path) - sizeof("/123456789012345"))

/* `text`, then `uid` unless that is UINT_MAX, at `at`; no printf: every program that is instrumented comes here when it starts. */
static size_t append(char *buf, size_t size, size_t at, const char *text, uid_t uid)
{
	char digits[10];
	unsigned n = 0;

	for (; *text; text++, at++)
		if (at < size)
			buf[at] = *text;
	if (uid != (uid_t)-1)
		do
			digits[n++] = (char)('0' + uid % 10);
		while ((uid /= 10) != 0);
	for (; n > 0; at++) {
		n--;
		if (at < size)
			buf[at] = digits[n];
	}
	if (size > 0)
		buf[at < size ? at : size - 1] = '\0';
	return at;
}

int wmk_rundir_of(uid_t uid, const char *wanted, char *buf, size_t size)
{
	const uid_t none = (uid_t)-1;
	struct stat st;
	char user[32];
	size_t n;

	if (wanted && *wanted) {
		if (*wanted != '/')
			return wmk_error(-EINVAL, "WAYMARK_RUNDIR=%.80s is not an absolute path", wanted);
		n = append(buf, size, 0, wanted, none);
	} else if (uid == 0) {
		n = append(buf, size, 0, "/run/waymark", none);
	} else {
		append(user, sizeof(user), 0, "/run/user/", uid);
		if (stat(user, &st) == 0 && S_ISDIR(st.st_mode))
			n = append(buf, size, append(buf, size, 0, user, none), "/waymark", none);
		else
			n = append(buf, size, 0, "/tmp/waymark-", uid);
	}
	if (n >= size || n > RUNDIR_MAX)
		return wmk_error(-ENAMETOOLONG, "the runtime directory's path %.60s... has more than %zu bytes", buf,
				 RUNDIR_MAX);
	return (int)n;
}

int wmk_rundir(uid_t uid, int getenv_ok, char *buf, size_t size)
{
	return wmk_rundir_of(uid, getenv_ok ? secure_getenv("WAYMARK_RUNDIR") : NULL, buf, size);
}

bool wmk_rundir_file(const char *rundir, const char *name, char path[WMK_RUNDIR_FILE_BYTES])
{
	const uid_t none = (uid_t)-1;
	size_t n = append(path, WMK_RUNDIR_FILE_BYTES, 0, rundir, none);

	n = append(path, WMK_RUNDIR_FILE_BYTES, n, "/", none);
	return append(path, WMK_RUNDIR_FILE_BYTES, n, name, none) < WMK_RUNDIR_FILE_BYTES;
}
