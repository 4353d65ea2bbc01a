/* SPDX-License-Identifier: MIT */
/* rundir_rig.h - a directory in place of a runtime directory, for tests of one file in it. */
#ifndef WMK_WIRE_RUNDIR_RIG_H
#define WMK_WIRE_RUNDIR_RIG_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char dir[64], path[128];
static int dir_fd;

/* `path` is that of the file. -1: the directory cannot be made. */
static inline int rig_make(const char *file)
{
	strcpy(dir, "/tmp/wmk-rundir-XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/%s", dir, file);
	dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return dir_fd < 0 ? -1 : 0;
}

static inline int rig_remove(void)
{
	remove(path);
	close(dir_fd);
	return rmdir(dir);
}

#endif
