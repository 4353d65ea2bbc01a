/* SPDX-License-Identifier: MIT */
/* process.c - see process.h. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "tracer/process.h"

/* State and start time as /proc/PID/stat has them. */
static bool read_stat(const char *path, char *state, uint64_t *start)
{
	char buf[1024], *at;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, buf, sizeof(buf) - 1) : -1;

	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return false;
	buf[n] = '\0';
	at = strrchr(buf, ')');         /* the name may hold anything but is the last in parentheses */
	if (!at || at[1] != ' ' || !at[2])
		return false;
	*state = at[2];
	for (int field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	*start = at ? strtoull(at + 1, NULL, 10) : 0;
	return at != NULL;
}

uint64_t wmk_process_start_time(void)
{
	uint64_t start;
	char state;

	return read_stat("/proc/self/stat", &state, &start) ? start : 0;
}

bool wmk_process_is_stuck(pid_t pid, uint64_t start)
{
	char path[32], state;
	uint64_t began;

	if (pid <= 0)
		return false;
	if (kill(pid, 0) != 0 && errno == ESRCH)
		return true;
	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	if (!read_stat(path, &state, &began))
		return false;
	return strchr("TtZX", state) || (start && began != start);
}

void wmk_process_name(char *name, size_t size)
{
	int fd = open("/proc/self/comm", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, name, size - 1) : -1;

	if (fd >= 0)
		close(fd);
	if (n > 0)
		name[n] = '\0';
	else
		snprintf(name, size, "%s", program_invocation_short_name);
	name[strcspn(name, "\n")] = '\0';
}

/* The kernel gives 16 random bytes to each program that it starts: the same for every copy of this library in it, others after exec. */
uint64_t wmk_process_image(void)
{
	uint64_t random[2] = { 0 };
	const void *bytes = (const void *)getauxval(AT_RANDOM);

	if (!bytes)
		return 0;
	memcpy(random, bytes, sizeof(random));
	/* mixed: the C library makes its secrets of them */
	for (int i = 0; i < 4; i++) {
		random[0] = (random[0] ^ random[0] >> 29) * 0xbf58476d1ce4e5b9u + random[1];
		random[1] = (random[1] ^ random[1] >> 32) * 0x94d049bb133111ebu + random[0];
	}
	return (random[0] ^ random[1]) | 1;
}
