/* SPDX-License-Identifier: MIT */
/*
 * setuid.c - wrappers of the functions that change the user of a process. Rings belong to a user: after a change of the
 * user, the process stops using its rings, and registers under its new identity.
 *
 * Only in the shared library. In a static program, the names of the wrappers belong to the C library. A static program
 * that changes its user continues to record into the rings of the old user.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tracer/compiler.h"
#include "tracer/helper_control.h"
#include "tracer/tls_owner.h"

struct ids {
	uid_t ruid, euid, suid;
	gid_t rgid, egid, sgid;
};

static struct ids ids_now(void)
{
	struct ids ids = { 0 };

	getresuid(&ids.ruid, &ids.euid, &ids.suid);
	getresgid(&ids.rgid, &ids.egid, &ids.sgid);
	return ids;
}

static void *next_function(const char *name, void *_Atomic *cache)
{
	void *function = atomic_load_explicit(cache, memory_order_relaxed);

	if (!function) {
		function = dlsym(RTLD_NEXT, name);
		atomic_store_explicit(cache, function, memory_order_relaxed);
	}
	return function;
}

static void ids_changed(const struct ids *before)
{
	struct ids now = ids_now();
	int saved = errno;

	/* a child of vfork() or clone() changes only itself: memory and helper thread belong to its parent */
	if (wmk_task_is_own() && memcmp(before, &now, sizeof(now)) != 0 && wmk_helper_halt(WMK_HELPER_USER_CHANGES))
		wmk_helper_resume();
	errno = saved;
}

#define SET_ID(name, parameters, arguments)                                     \
	int WMK_EXPORT name parameters                                          \
	{                                                                       \
		static void *_Atomic cache;                                     \
		int (*next) parameters;                                         \
		struct ids before = ids_now();                                  \
                                                                                \
		*(void **)&next = next_function(#name, &cache);                 \
		if (!next) {                                                    \
			errno = ENOSYS;                                         \
			return -1;                                              \
		}                                                               \
		int rc = next arguments;                                        \
                                                                                \
		ids_changed(&before);                                               \
		return rc;                                                      \
	}

SET_ID(setuid, (uid_t id), (id))
SET_ID(setgid, (gid_t id), (id))
SET_ID(seteuid, (uid_t id), (id))
SET_ID(setegid, (gid_t id), (id))
SET_ID(setreuid, (uid_t real, uid_t effective), (real, effective))
SET_ID(setregid, (gid_t real, gid_t effective), (real, effective))
SET_ID(setresuid, (uid_t real, uid_t effective, uid_t saved), (real, effective, saved))
SET_ID(setresgid, (gid_t real, gid_t effective, gid_t saved), (real, effective, saved))
