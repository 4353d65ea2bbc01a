/* SPDX-License-Identifier: MIT */
/*
 * namespaces.c - namespaces of this process (see namespaces.h).
 */
#include "kernel/proc/namespaces.h"

#include <errno.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

/* The kernel's PROC_PID_INIT_INO. */
#define FIRST_PID_NAMESPACE 0xEFFFFFFCu
#define NSEC 1000000000

/* The offsets of this process's clocks; a process does not change its time namespace while it runs. */
static struct wmk_clock_offsets offsets;
static pthread_once_t offsets_once = PTHREAD_ONCE_INIT;

/* Returns 0 if the namespace is unknown. */
static uint64_t namespace_of(const char *link)
{
	struct stat st;

	return stat(link, &st) == 0 ? (uint64_t)st.st_ino : 0;
}

static void read_offsets(void)
{
	offsets = wmk_clock_offsets();
}

uint64_t wmk_kspaces_monotonic(void)
{
	pthread_once(&offsets_once, read_offsets);
	return wmk_clock_monotonic() - (uint64_t)offsets.monotonic;
}

uint64_t wmk_kspaces_start_time(uint64_t ticks)
{
	pthread_once(&offsets_once, read_offsets);
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

	/*
	 * The link pid_for_children has no target until the first child runs in the PID namespace of the children.
	 * Without a target, namespace_of() returns 0.
	 */
	if (own == 0 || namespace_of("/proc/self/ns/pid_for_children") == own)
		return 0;
	return wmk_errorx(-EINVAL, "cannot start threads: children of this process get another PID namespace "
			  "(use unshare --pid with --fork)");
}

int wmk_kspaces_check(void)
{
	return wmk_kspaces_is_first_pid() ? 0 :
	       wmk_errorx(-ENOTSUP, "cannot record the kernel: its records have process numbers of the initial PID "
			  "namespace, and this process runs in another one (run waymark outside of the "
			  "container, or in the PID namespace of the host)");
}
