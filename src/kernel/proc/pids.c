/* SPDX-License-Identifier: MIT */
/*
 * pids.c - threads of processes; translation of process numbers of another PID namespace (see pids.h).
 */
#include "kernel/proc/pids.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/nsfs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "kernel/proc/procfs.h"

struct pid_search {
	struct wmk_kproc_lines lines;
	struct wmk_kproc_status status;
	/* the client's namespace, and the depth of this namespace (1: our own namespace) */
	uint32_t ns, level;
	int32_t number;
};

/* Returns false if the process is hidden or has exited. */
static bool read_status(struct pid_search *search, int task)
{
	search->status = (struct wmk_kproc_status){ .tgid = 0 };
	return wmk_kproc_status_read(&search->lines, task, &search->status) >= 0 && search->status.n_tids > 0;
}

static bool namespace_of(struct pid_search *search, pid_t pid, uint32_t *ns)
{
	const int task = wmk_kproc_open_task(AT_FDCWD, pid);
	const bool known = task >= 0 && wmk_kns_read(task, WMK_KNS_PID, ns) >= 0 && read_status(search, task);

	if (task >= 0)
		close(task);
	return known;
}

/* Returns true if the process is in the client's namespace or in a descendant of this namespace. */
static bool is_inside(int task, uint32_t ns)
{
	int fd = openat(task, "ns/pid", O_RDONLY | O_CLOEXEC), above;
	bool found = false;
	struct stat st;

	while (fd >= 0 && !found && fstat(fd, &st) == 0) {
		found = st.st_ino == ns;
		above = found ? -1 : ioctl(fd, NS_GET_PARENT);
		close(fd);
		fd = above;
	}
	if (fd >= 0)
		close(fd);
	return found;
}

static bool is_match(struct pid_search *search, DIR *proc, int32_t pid)
{
	const int task = wmk_kproc_open_task(dirfd(proc), pid);
	const bool found = task >= 0 && read_status(search, task) && search->status.n_tids >= search->level &&
			   search->status.tids[search->level - 1] == search->number && is_inside(task, search->ns);

	if (task >= 0)
		close(task);
	return found;
}

static int find(struct pid_search *search, pid_t *pid)
{
	DIR *proc = wmk_kproc_opendir(AT_FDCWD, "/proc");
	int err = -ESRCH;
	int32_t next;

	if (!proc)
		return wmk_error(-errno, "cannot list processes in /proc");
	while (err == -ESRCH && wmk_kproc_next_number(proc, &next) == 1)
		if (is_match(search, proc, next)) {
			*pid = next;
			err = 0;
		}
	closedir(proc);
	return err < 0 ? wmk_error(err, "process %" PRId32 " does not exist in the client's PID namespace",
				   search->number)
		       : 0;
}

/* Returns -ENOTSUP if /proc or the client belongs to another PID namespace than this process. */
static int check_proc(pid_t client)
{
	char self[16], own[16];
	const ssize_t n = readlink("/proc/self", self, sizeof(self) - 1);

	snprintf(own, sizeof(own), "%d", (int)getpid());
	self[n > 0 ? n : 0] = '\0';
	if (n > 0 && strcmp(self, own) != 0)
		return wmk_errorx(-ENOTSUP, "/proc belongs to another PID namespace than the session daemon: mount "
					    "a new procfs there");
	if (client == 0)
		return wmk_errorx(-ENOTSUP,
				  "cannot translate process numbers: the client is outside of the session "
				  "daemon's PID namespace");
	return 0;
}

int wmk_kpids_of(pid_t client, uint64_t number, pid_t *pid)
{
	struct pid_search *search;
	uint32_t ours;
	int err;

	if (number == 0 || number > INT32_MAX)
		return wmk_error(-ESRCH, "no such process: %" PRIu64, number);
	err = check_proc(client);
	if (err < 0)
		return err;
	search = calloc(1, sizeof(*search));
	if (!search)
		return wmk_error(-ENOMEM, "cannot look up a process: no memory");
	*pid = search->number = (int32_t)number;
	if (namespace_of(search, getpid(), &ours) && namespace_of(search, client, &search->ns) && search->ns != ours) {
		search->level = search->status.n_tids;
		err = find(search, pid);
	}
	free(search);
	return err;
}

int wmk_kpids_threads(pid_t pid, int (*one)(void *data, int32_t tid), void *data)
{
	char path[32];
	int32_t tid;
	int ret = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	DIR *dir = wmk_kproc_opendir(AT_FDCWD, path);

	if (!dir)
		return -ESRCH;
	while (ret == 0 && wmk_kproc_next_number(dir, &tid) == 1)
		ret = one(data, tid);
	closedir(dir);
	return ret;
}
