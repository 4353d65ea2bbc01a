/* SPDX-License-Identifier: MIT */
/*
 * process_stat.c - properties of a process: its parent, its start time, whether it lives, whether its threads rest.
 *
 * Nothing is cached. Between two calls, a process may end, and another process may get its pid.
 */
#include "session/model/process_stat.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#define PIDFS 0x50494446              /* the file system of pidfds since Linux 6.9 */
#define BY_PIDFD (1ull << 63)
/* states of threads that are not runnable and not in uninterruptible sleep (proc(5)) */
#define RESTING "STtZX"

/* Read the beginning of a file. Returns false if the file cannot be read or is empty. */
static bool text_of(const char *path, char *buf, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, buf, size - 1) : -1;

	if (fd >= 0)
		close(fd);
	buf[n > 0 ? n : 0] = '\0';
	return n > 0;
}

bool wmk_process_stat(pid_t pid, pid_t *parent, uint64_t *start_time, char *state)
{
	char path[40], buf[1024], *at;
	int field;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (!text_of(path, buf, sizeof(buf)))
		return false;
	at = strrchr(buf, ')');          /* the name may contain any character; its ')' is the last one */
	if (!at || sscanf(at, ") %c %d", state, parent) != 2)
		return false;
	for (field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	*start_time = at ? strtoull(at + 1, NULL, 10) : 0;
	return at != NULL;
}

uint64_t wmk_pidfd_birth(int pidfd)
{
	static _Atomic int numbered;             /* 0: unknown, 1: pidfs, -1: no pidfs; relaxed: all threads agree */
	int is = atomic_load_explicit(&numbered, memory_order_relaxed);
	struct statfs fs;
	struct stat st;

	if (is == 0 && pidfd >= 0) {
		is = fstatfs(pidfd, &fs) == 0 && fs.f_type == PIDFS ? 1 : -1;
		atomic_store_explicit(&numbered, is, memory_order_relaxed);
	}
	return is > 0 && fstat(pidfd, &st) == 0 ? (uint64_t)st.st_ino | BY_PIDFD : 0;
}

/*
 * Return false if the process of `pid` certainly does not have this `birth`. Return true if the birth of the process is
 * unknown. The caller checks whether the process has ended.
 */
static bool is_meant(pid_t pid, int pidfd, uint64_t birth)
{
	uint64_t started;
	pid_t parent;
	char state;

	if (birth & BY_PIDFD) {
		const uint64_t is = wmk_pidfd_birth(pidfd);

		return is == 0 || is == birth;           /* unknown counts as the same process */
	}
	return birth == 0 || !wmk_process_stat(pid, &parent, &started, &state) || started == 0 || started == birth;
}

bool wmk_process_lives(pid_t pid, uint64_t birth)
{
	int fd = pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
	struct pollfd death = { .fd = fd, .events = POLLIN };

	if (fd < 0)
		/* EINVAL, ENOENT: the number is now the id of a thread */
		return pid <= 0 || (errno != ESRCH && errno != EINVAL && errno != ENOENT);
	bool lives = is_meant(pid, fd, birth) && poll(&death, 1, 0) != 1;

	close(fd);
	return lives;
}

/*
 * True if the thread is neither runnable nor in uninterruptible sleep. Adds the number of the time slices of the thread
 * to *turns.
 */
static bool thread_rests(pid_t pid, const char *tid, uint64_t *turns)
{
	char path[64], buf[1024], state, *at;
	unsigned long long n;

	snprintf(path, sizeof(path), "/proc/%d/task/%.16s/stat", (int)pid, tid);
	if (!text_of(path, buf, sizeof(buf)) || !(at = strrchr(buf, ')')) || sscanf(at, ") %c", &state) != 1 ||
	    !strchr(RESTING, state))
		return false;
	snprintf(path, sizeof(path), "/proc/%d/task/%.16s/schedstat", (int)pid, tid);
	if (!text_of(path, buf, sizeof(buf)) || sscanf(buf, "%*u %*u %llu", &n) != 1)
		return false;
	*turns += n;
	return true;
}

bool wmk_process_is_idle(pid_t pid, unsigned *budget, uint64_t *turns)
{
	char path[40];
	bool rests = true;
	unsigned n = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	DIR *threads = opendir(path);

	*turns = 0;
	while (threads && rests) {
		const struct dirent *thread = readdir(threads);

		if (!thread)
			break;
		if (thread->d_name[0] == '.')
			continue;
		rests = *budget > 0 && thread_rests(pid, thread->d_name, turns);
		*budget -= *budget > 0;
		n++;
	}
	if (threads)
		closedir(threads);
	return rests && n > 0;
}
