/* SPDX-License-Identifier: MIT */
/*
 * record_left.c - remove runtime directories that killed `waymark record` processes have left.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "cli/recording.h"
#include "wire/wire.h"

#define PREFIX "waymark-record-"
/* A process that has just created its runtime directory does not listen yet. */
#define LISTENS_S 10
#define BINDS_S 3600

/* Return whether the directory belongs to this user and has not changed for `age` seconds. */
static bool is_old(const char *path, time_t age)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() && st.st_mtime < time(NULL) - age;
}

/* Return 0 if a process listens, or else the positive errno of connect(). */
static int listener_error(const char *path)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd, err;

	if (strlen(path) >= sizeof(addr.sun_path))
		return 0;
	strcpy(addr.sun_path, path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return 0;
	err = connect(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0 ? 0 : errno;
	close(fd);
	return err;
}

void wmk_recording_remove_left(const char *parent)
{
	DIR *dir = opendir(parent);
	struct dirent *entry;

	while (dir && (entry = readdir(dir)) != NULL) {
		char path[300], socket_path[320];

		if (strncmp(entry->d_name, PREFIX, sizeof(PREFIX) - 1) != 0 ||
		    (size_t)snprintf(path, sizeof(path), "%s/%s", parent, entry->d_name) >= sizeof(path) ||
		    !is_old(path, LISTENS_S))
			continue;
		snprintf(socket_path, sizeof(socket_path), "%s/" WMK_APP_SOCKET, path);
		const int err = listener_error(socket_path);

		if (err == ECONNREFUSED)
			unlink(socket_path);
		if (err == ECONNREFUSED || (err == ENOENT && is_old(path, BINDS_S)))
			rmdir(path);
	}
	if (dir)
		closedir(dir);
}
