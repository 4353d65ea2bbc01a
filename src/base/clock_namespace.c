/* SPDX-License-Identifier: MIT */
/*
 * clock_namespace.c - read the offsets of the process's time namespace (see clock.h).
 */
#include "base/clock.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define INITIAL_NAMESPACE 0xEFFFFFFAu     /* the kernel's PROC_TIME_INIT_INO */
#define NSEC 1000000000

int64_t wmk_clock_offset_parse(const char *text, const char *clock)
{
	const size_t len = strlen(clock);
	int64_t seconds, ns;

	for (const char *line = text; line && *line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, clock, len) == 0 && sscanf(line + len, " %" SCNd64 " %" SCNd64, &seconds, &ns) == 2 &&
		    seconds > -INT32_MAX && seconds < INT32_MAX && ns >= 0 && ns < NSEC)
			return seconds * NSEC + ns;
	}
	return 0;
}

/*
 * /proc/self/timens_offsets contains the offsets of the time namespace for future children of the process. The offsets
 * for children also hold for this process, because exec() moves a process into the time namespace for its children.
 */
struct wmk_clock_offsets wmk_clock_offsets(void)
{
	struct wmk_clock_offsets offsets = { 0, 0 };
	struct stat st;
	char text[256];

	if (stat("/proc/self/ns/time", &st) != 0 || st.st_ino == INITIAL_NAMESPACE)
		return offsets;
	int fd = open("/proc/self/timens_offsets", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return offsets;
	const ssize_t n = read(fd, text, sizeof(text) - 1);

	close(fd);
	if (n <= 0)
		return offsets;
	text[n] = '\0';
	offsets.monotonic = wmk_clock_offset_parse(text, "monotonic");
	offsets.boot = wmk_clock_offset_parse(text, "boottime");
	return offsets;
}
