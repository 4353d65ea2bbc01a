/* SPDX-License-Identifier: MIT */
/*
 * owner_identity.c - creates files with the rights of a session's owner, in a thread of root's daemon.
 *
 * The kernel stores the file system uid, the file system gid and the groups for each thread. The C library's
 * setgroups() changes the groups of all threads, so this file uses the raw system call. When the file system uid
 * changes, the kernel changes the thread's file capabilities accordingly.
 */
#include "store/store_state.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"

#define GROUPS_MAX 65536
#define WORDS_MAX (1u << 20)       /* bytes of one entry in the user database */

struct wmk_file_identity {
	_Atomic unsigned refs;    /* increments are relaxed, decrements acquire and release */
	uid_t uid;
	gid_t gid;
	int n;
	gid_t groups[];
};

/* The identity of the calling thread. */
static _Thread_local struct {
	struct wmk_file_identity *identity; /* NULL: the identity of the process */
	uid_t uid;                 /* the thread's own values, restored on leaving */
	gid_t gid;
	gid_t *groups;
	int n;
} now;

/* Return the name of a user, allocated with malloc(); NULL if the user has no name, or if the lookup fails. */
static char *name_of(uid_t uid)
{
	struct passwd entry, *found = NULL;
	char *words = NULL, *name = NULL, *grown;

	for (size_t size = 1024; size <= WORDS_MAX; size *= 2) {
		grown = realloc(words, size);
		if (!grown)
			break;
		words = grown;
		if (getpwuid_r(uid, &entry, words, size, &found) != ERANGE)
			break;
	}
	if (found)
		name = strdup(found->pw_name);
	free(words);
	return name;
}

/* A user without a name belongs only to the primary group. */
static struct wmk_file_identity *resolve(uid_t uid, gid_t gid)
{
	struct wmk_file_identity *identity = NULL, *grown;
	char *name = name_of(uid);
	int n = 32, got;

	for (;;) {
		grown = realloc(identity, sizeof(*identity) + (size_t)n * sizeof(gid_t));
		if (!grown)
			break;
		identity = grown;
		identity->groups[0] = gid;
		got = n;
		if (!name || getgrouplist(name, gid, identity->groups, &got) >= 0) {
			identity->n = name ? got : 1;
			identity->uid = uid;
			identity->gid = gid;
			atomic_init(&identity->refs, 1);
			free(name);
			return identity;
		}
		if (got <= n || got > GROUPS_MAX)
			break;
		n = got;
	}
	free(name);
	free(identity);
	return NULL;
}

static void set_groups(const gid_t *groups, int n)
{
	/*
	 * The kernel permits this call of setgroups(), because the thread already called setgroups() successfully when
	 * it entered the identity. Here, setgroups() can fail only because of a lack of memory.
	 */
	while (syscall(SYS_setgroups, n, groups) < 0 && errno == ENOMEM)
		sched_yield();
}

int wmk_file_identity_enter(struct wmk_file_identity *identity)
{
	int n;

	if (!identity)
		return 0;
	if (now.identity)
		return now.identity->uid == identity->uid
			       ? 0
			       : wmk_error(-EBUSY, "this thread already acts for user %u", (unsigned)now.identity->uid);
	n = getgroups(0, NULL);
	now.groups = malloc((size_t)(n > 0 ? n : 1) * sizeof(gid_t));
	now.n = now.groups ? getgroups(n, now.groups) : -1;
	if (now.n < 0 || syscall(SYS_setgroups, identity->n, identity->groups) < 0) {
		int err = now.groups ? -errno : -ENOMEM;

		free(now.groups);
		return wmk_error(err, "cannot act for user %u: %s", (unsigned)identity->uid, strerror(-err));
	}
	now.gid = (gid_t)setfsgid(identity->gid);
	now.uid = (uid_t)setfsuid(identity->uid);
	now.identity = identity;
	if ((uid_t)setfsuid((uid_t)-1) == identity->uid && (gid_t)setfsgid((gid_t)-1) == identity->gid)
		return 1;
	wmk_file_identity_leave(1);
	return wmk_error(-EPERM, "cannot act for user %u", (unsigned)identity->uid);
}

void wmk_file_identity_leave(int entered)
{
	const int before = errno;

	if (entered <= 0)
		return;
	setfsuid(now.uid);
	setfsgid(now.gid);
	set_groups(now.groups, now.n);
	free(now.groups);
	now.groups = NULL;
	now.identity = NULL;
	errno = before;
}

uid_t wmk_file_identity_uid(const struct wmk_file_identity *identity)
{
	return identity ? identity->uid : geteuid();
}

struct wmk_file_identity *wmk_file_identity_ref(void)
{
	if (now.identity)
		atomic_fetch_add_explicit(&now.identity->refs, 1, memory_order_relaxed);
	return now.identity;
}

void wmk_file_identity_unref(struct wmk_file_identity *identity)
{
	/*
	 * Each decrement has release order, and the last decrement also has acquire order. All reads of the memory
	 * therefore happen before free().
	 */
	if (identity && atomic_fetch_sub_explicit(&identity->refs, 1, memory_order_acq_rel) == 1)
		free(identity);
}

int wmk_store_identity_begin(uid_t uid, gid_t gid)
{
	struct wmk_file_identity *identity;
	int err;

	if (now.identity)
		return wmk_error(-EBUSY, "this thread already acts for user %u", (unsigned)now.identity->uid);
	if (uid == geteuid())
		return 0;
	if (geteuid() != 0)
		return wmk_error(-EPERM, "user %u is not permitted to create files for user %u", (unsigned)geteuid(),
				 (unsigned)uid);
	identity = resolve(uid, gid);
	if (!identity)
		return wmk_error(-ENOMEM, "no memory for the groups of user %u", (unsigned)uid);
	err = wmk_file_identity_enter(identity);
	if (err < 0)
		wmk_file_identity_unref(identity);
	return err < 0 ? err : 0;
}

void wmk_store_identity_end(void)
{
	struct wmk_file_identity *identity = now.identity;

	if (!identity)
		return;
	wmk_file_identity_leave(1);
	wmk_file_identity_unref(identity);
}
