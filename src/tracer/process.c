/* SPDX-License-Identifier: MIT */
/* process.c - see process.h. */
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tracer/process.h"

struct stat_line {
	char bytes[1024];
	const char *name;
	size_t name_len;
	char state;
	uint64_t start;
};

/* Read the name, the state and the start time of a process from /proc/PID/stat. */
static bool read_stat(const char *path, struct stat_line *line)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, line->bytes, sizeof(line->bytes) - 1) : -1;

	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return false;
	line->bytes[n] = '\0';
	char *at = strrchr(line->bytes, ')');           /* the name may contain parentheses: take the last ')' */
	const char *begin = strchr(line->bytes, '(');

	if (!at || !begin || begin > at || at[1] != ' ' || !at[2])
		return false;
	line->name = begin + 1;
	line->name_len = (size_t)(at - begin - 1);
	line->state = at[2];
	for (int field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	line->start = at ? strtoull(at + 1, NULL, 10) : 0;
	return at != NULL;
}

bool wmk_process_is_stuck(pid_t pid, uint64_t start)
{
	struct stat_line line;
	char path[32];

	if (pid <= 0)
		return false;
	if (kill(pid, 0) != 0 && errno == ESRCH)
		return true;
	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	if (!read_stat(path, &line))
		return false;
	return strchr("TtZX", line.state) && (!start || line.start == start);
}

static pid_t forked_by;                 /* 0: not set */

void wmk_process_forked_by(pid_t parent)
{
	forked_by = parent;
}

pid_t wmk_process_parent(void)
{
	return forked_by ? forked_by : getppid();
}

static char last_name[256];

uint64_t wmk_process_describe(char *name, size_t size)
{
	struct stat_line line;
	bool is_read = read_stat("/proc/self/stat", &line);

	if (is_read)
		snprintf(last_name, sizeof(last_name), "%.*s", (int)line.name_len, line.name);
	else
		snprintf(last_name, sizeof(last_name), "%s", program_invocation_short_name);
	last_name[strcspn(last_name, "\n")] = '\0';
	wmk_process_name(name, size);
	return is_read ? line.start : 0;
}

void wmk_process_name(char *name, size_t size)
{
	snprintf(name, size, "%s", last_name);
}

/*
 * The kernel gives 16 random bytes (AT_RANDOM) to each program at exec(). All copies of this library in a process see
 * the same random bytes. The random bytes differ after the next exec().
 */
uint64_t wmk_process_image(void)
{
	uint64_t random[2] = { 0 };
	const void *bytes = (const void *)getauxval(AT_RANDOM);

	if (!bytes)
		return 0;
	memcpy(random, bytes, sizeof(random));
	/* mixed, because the C library derives secrets from the random bytes */
	for (int i = 0; i < 4; i++) {
		random[0] = (random[0] ^ random[0] >> 29) * 0xbf58476d1ce4e5b9u + random[1];
		random[1] = (random[1] ^ random[1] >> 32) * 0x94d049bb133111ebu + random[0];
	}
	return (random[0] ^ random[1]) | 1;
}

/* Open /dev/null, or an empty sealed file if /dev/null does not exist (chroot). */
static int open_nothing(void)
{
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (fd < 0 && (fd = memfd_create("waymark-null", MFD_CLOEXEC | MFD_ALLOW_SEALING)) >= 0)
		fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL);
	return fd;
}

bool wmk_process_unshare_files(void)
{
	if (syscall(SYS_close_range, 0u, ~0u, CLOSE_RANGE_UNSHARE) != 0) {
		/* before Linux 5.9: unshare the table, then close everything that may be open in it */
		long max = sysconf(_SC_OPEN_MAX);

		if (syscall(SYS_unshare, 0x400 /* CLONE_FILES */) != 0)
			return false;
		for (int fd = 0; fd < (max > 0 && max < 65536 ? max : 65536); fd++)
			close(fd);
	}
	return open_nothing() == 0 && fcntl(0, F_DUPFD_CLOEXEC, 1) == 1 && fcntl(0, F_DUPFD_CLOEXEC, 2) == 2;
}
