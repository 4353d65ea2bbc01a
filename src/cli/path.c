/* SPDX-License-Identifier: MIT */
/*
 * path.c - see path.h.
 */
#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/path.h"

int wmk_cli_absolute_path(const char *path, char *buf, size_t size)
{
	char here[PATH_MAX] = "";

	if (path[0] != '/' && !getcwd(here, sizeof(here)))
		return wmk_error(-errno, "cannot get the working directory");
	if ((size_t)snprintf(buf, size, "%s%s%s", here, path[0] == '/' ? "" : "/", path) >= size)
		return wmk_error(-ENAMETOOLONG, "the path is too long: the maximum is %zu bytes", size - 1);
	return 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

int wmk_cli_remove_tree(const char *path)
{
	return nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}
