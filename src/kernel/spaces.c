/* SPDX-License-Identifier: MIT */
/*
 * spaces.c - namespaces of this process (see spaces.h).
 */
#include "kernel/spaces.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "kernel/procfs.h"

/* The kernel's PROC_PID_INIT_INO and PROC_TIME_INIT_INO. */
#define FIRST_PID_NAMESPACE 0xEFFFFFFCu
#define FIRST_TIME_NAMESPACE 0xEFFFFFFAu
#define NSEC 1000000000

/* The offsets of this process's clocks; a process does not change its time namespace while it runs. */
static struct {
	int64_t monotonic, boot;
} offsets;
static pthread_once_t offsets_once = PTHREAD_ONCE_INIT;

/* 0: unknown. */
static uint64_t namespace_of(const char *link)
{
	struct stat st;

	return stat(link, &st) == 0 ? (uint64_t)st.st_ino : 0;
}

int64_t wmk_kspaces_offset_parse(const char *text, const char *clock)
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

/* The file has the offsets of the namespace that children get; it is this process's own, as exec() enters it. */
static void look(void)
{
	const uint64_t own = namespace_of("/proc/self/ns/time");
	char text[256];

	if (own == 0 || own == FIRST_TIME_NAMESPACE ||
	    wmk_kproc_read(AT_FDCWD, "/proc/self/timens_offsets", text, sizeof(text)) <= 0)
		return;
	offsets.monotonic = wmk_kspaces_offset_parse(text, "monotonic");
	offsets.boot = wmk_kspaces_offset_parse(text, "boottime");
}

uint64_t wmk_kspaces_monotonic(void)
{
	pthread_once(&offsets_once, look);
	return wmk_clock_monotonic() - (uint64_t)offsets.monotonic;
}

uint64_t wmk_kspaces_start_time(uint64_t ticks)
{
	pthread_once(&offsets_once, look);
	return ticks - (uint64_t)(offsets.boot / (NSEC / sysconf(_SC_CLK_TCK)));
}

bool wmk_kspaces_is_first_pid(void)
{
	const uint64_t own = namespace_of("/proc/self/ns/pid");

	return own == 0 || own == FIRST_PID_NAMESPACE;
}

int wmk_kspaces_check_threads(void)
{
	const uint64_t own = namespace_of("/proc/self/ns/pid");

	/* (one without its first process cannot be looked at: 0) */
	if (own == 0 || namespace_of("/proc/self/ns/pid_for_children") == own)
		return 0;
	return wmk_error_said(-EINVAL, "a process with children in another PID namespace than its own cannot have "
			      "threads (with unshare --pid, use --fork)");
}

int wmk_kspaces_check(enum wmk_clock_kind clock)
{
	if (!wmk_kspaces_is_first_pid())
		return wmk_error_said(-ENOTSUP, "the kernel's records have other process numbers than this PID "
				      "namespace: run waymark outside of the container, or in the PID namespace "
				      "of the host");
	pthread_once(&offsets_once, look);
	if (clock == WMK_CLOCK_MONOTONIC && offsets.monotonic)
		return wmk_error_said(-ENOTSUP, "CLOCK_MONOTONIC of this time namespace is %" PRId64 " s ahead of the "
				      "clock of the kernel's records: run waymark outside of it",
				      offsets.monotonic / NSEC);
	return 0;
}
