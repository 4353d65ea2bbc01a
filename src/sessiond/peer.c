/* SPDX-License-Identifier: MIT */
/*
 * peer.c - credentials of clients (see peer.h). A client belongs to a group if its process has this group
 * (SO_PEERGROUPS), or if the user database lists its user in the group. A user that was added to the group therefore
 * does not need a new login.
 */
#include "sessiond/peer.h"

#include "base/error.h"
#include "sessiond/rundir.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/openat2.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SO_PEERGROUPS
#define SO_PEERGROUPS 59             /* Linux 4.13 */
#endif
#define GROUPS_START 64
#define GROUPS_MAX 65536

static bool holds(const gid_t *groups, int n, gid_t group)
{
	for (int i = 0; i < n; i++)
		if (groups[i] == group)
			return true;
	return false;
}

static bool process_has(int socket, gid_t group)
{
	gid_t start[GROUPS_START], *groups = start;
	socklen_t len = sizeof(start);
	int err = getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, groups, &len);

	if (err != 0 && errno == ERANGE && len <= GROUPS_MAX * sizeof(gid_t)) {
		groups = malloc(len);
		err = groups ? getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, groups, &len) : -1;
	}
	bool has = err == 0 && holds(groups, (int)(len / sizeof(gid_t)), group);
	if (groups != start)
		free(groups);
	return has;
}

static bool user_has(uid_t uid, gid_t group)
{
	gid_t start[GROUPS_START], *groups = start;
	struct passwd entry, *user = NULL;
	char buf[16384];
	int n = GROUPS_START;

	if (getpwuid_r(uid, &entry, buf, sizeof(buf), &user) != 0 || !user)
		return false;
	int got = getgrouplist(user->pw_name, user->pw_gid, groups, &n);
	if (got < 0 && n > GROUPS_START && n <= GROUPS_MAX) {
		groups = malloc((size_t)n * sizeof(gid_t));
		got = groups ? getgrouplist(user->pw_name, user->pw_gid, groups, &n) : -1;
	}
	bool has = got >= 0 && holds(groups, n, group);
	if (groups != start)
		free(groups);
	return has;
}

int wmk_peer_get(int socket, struct wmk_peer *peer)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);

	if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &cred, &len) != 0)
		return wmk_error(-errno, "cannot get the credentials of a client");
	*peer = (struct wmk_peer){ .pid = cred.pid, .uid = cred.uid, .gid = cred.gid };
	return 0;
}

void wmk_peer_member(int socket, struct wmk_peer *peer)
{
	struct group group, *found = NULL;
	char buf[16384];

	peer->member = getgrnam_r(WMK_SESSIOND_GROUP, &group, buf, sizeof(buf), &found) == 0 && found &&
		       (peer->gid == found->gr_gid || process_has(socket, found->gr_gid) ||
			user_has(peer->uid, found->gr_gid));
}

int wmk_peer_admit(const struct wmk_peer *peer, uid_t daemon)
{
	if (peer->uid == 0 || peer->uid == daemon || (daemon == 0 && peer->member))
		return 0;
	if (daemon == 0)
		return wmk_errorx(
			-EACCES, "root's session daemon accepts commands only from root and members of the group %s",
			WMK_SESSIOND_GROUP);
	return wmk_errorx(-EACCES, "this session daemon accepts commands only from user %u", (unsigned)daemon);
}

bool wmk_peer_may(const struct wmk_peer *peer, uid_t daemon, uid_t owner)
{
	return peer->uid == 0 || (peer->uid == owner && (peer->uid == daemon || (daemon == 0 && peer->member)));
}

/*
 * Shorten `path` to the longest part that exists. The remaining components of `path` do not exist yet. If the existing
 * part is the same directory for two processes, the remaining components will also be the same for both processes.
 * False: unknown.
 */
static bool nearest_there(char *path, struct stat *st)
{
	while (stat(path, st) != 0) {
		char *slash = strrchr(path, '/');

		if (errno != ENOENT || !slash)
			return false;
		path[slash == path ? 1 : slash - path] = '\0';
	}
	return true;
}

bool wmk_peer_sees(const struct wmk_peer *peer, const char *path)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT };
	char root[32], at[PATH_MAX];
	struct stat ours, theirs;
	bool sees = true;

	snprintf(root, sizeof(root), "/proc/%d/root", (int)peer->pid);
	const int dir = peer->pid > 0 ? open(root, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;

	if (dir >= 0 && (size_t)snprintf(at, sizeof(at), "%s", path) < sizeof(at) && nearest_there(at, &ours)) {
		const int fd = (int)syscall(SYS_openat2, dir, at, &how, sizeof(how));

		sees = fd >= 0 || errno != ENOENT;
		if (fd >= 0 && fstat(fd, &theirs) == 0)
			sees = ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino;
		if (fd >= 0)
			close(fd);
	}
	if (dir >= 0)
		close(dir);
	return sees;
}

void wmk_peer_owner(const struct wmk_peer *peer, uid_t daemon, uid_t *uid, gid_t *gid)
{
	*uid = daemon == 0 ? peer->uid : daemon;
	*gid = daemon == 0 ? peer->gid : getegid();
}
