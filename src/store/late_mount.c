/* SPDX-License-Identifier: MIT */
/*
 * late_mount.c - wait for the file system of a trace (see late_mount.h).
 */
#include <fcntl.h>
#include <mntent.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "store/late_mount.h"

#define LINE 4096
#define AGAIN_MS 1000              /* a change of the options of a mount may not end the poll */

struct mounted {
	char at[PATH_MAX];         /* "": no file system contains the path */
	bool read_only;
};

static bool contains(const char *at, const char *path)
{
	const size_t len = strlen(at);

	return strcmp(at, "/") == 0 || (strncmp(path, at, len) == 0 && (path[len] == '/' || !path[len]));
}

/*
 * In the mount table `file`, find the innermost file system that contains the path. If several entries have the same
 * mount point, the last of these entries is used.
 */
static void find(const char *file, const char *path, struct mounted *found)
{
	FILE *table = setmntent(file, "re");
	struct mntent entry;
	char line[LINE];

	found->at[0] = '\0';
	found->read_only = false;
	while (table && getmntent_r(table, &entry, line, sizeof(line))) {
		if (entry.mnt_dir[0] != '/' || !contains(entry.mnt_dir, path) || hasmntopt(&entry, "noauto") ||
		    strlen(entry.mnt_dir) < strlen(found->at))
			continue;
		snprintf(found->at, sizeof(found->at), "%s", entry.mnt_dir);
		found->read_only = hasmntopt(&entry, "ro") != NULL;
	}
	if (table)
		endmntent(table);
}

bool wmk_store_mount_is_due(const char *path, char place[PATH_MAX])
{
	struct mounted wanted, present;

	find("/etc/fstab", path, &wanted);
	find("/proc/self/mounts", path, &present);
	strcpy(place, wanted.at);
	if (!wanted.at[0] || strlen(present.at) > strlen(wanted.at))
		return false;
	return strlen(present.at) < strlen(wanted.at) || (present.read_only && !wanted.read_only);
}

void wmk_store_mount_await(const char *path)
{
	struct pollfd mounts = { .fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC), .events = POLLPRI };
	char place[PATH_MAX];

	while (wmk_store_mount_is_due(path, place))
		poll(&mounts, 1, AGAIN_MS);
	if (mounts.fd >= 0)
		close(mounts.fd);
}
