/* SPDX-License-Identifier: MIT */
/*
 * owner_identity.c - files made with the rights of a session's owner, by a thread of root's daemon.
 *
 * The kernel keeps the identity for file systems for each thread, and the groups too; the C library changes the groups
 * of all threads, so that is a raw system call here. Capabilities over files go and come with the user id.
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
#define WORDS_MAX (1u << 20)       /* of an entry in the user database */

struct wmk_rights {
	_Atomic unsigned users;    /* relaxed but for the last one's going */
	uid_t uid;
	gid_t gid;
	int n;
	gid_t groups[];
};

/* Of the calling thread. */
static _Thread_local struct {
	struct wmk_rights *rights; /* NULL: its own */
	uid_t uid;                 /* what it had before */
	gid_t gid;
	gid_t *groups;
	int n;
} now;

/* The user's name, malloc'd; NULL: he has none, or it cannot be found out. */
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

/* A user without a name has his group alone. */
static struct wmk_rights *resolve(uid_t uid, gid_t gid)
{
	struct wmk_rights *rights = NULL, *grown;
	char *name = name_of(uid);
	int n = 32, got;

	for (;;) {
		grown = realloc(rights, sizeof(*rights) + (size_t)n * sizeof(gid_t));
		if (!grown)
			break;
		rights = grown;
		rights->groups[0] = gid;
		got = n;
		if (!name || getgrouplist(name, gid, rights->groups, &got) >= 0) {
			rights->n = name ? got : 1;
			rights->uid = uid;
			rights->gid = gid;
			atomic_init(&rights->users, 1);
			free(name);
			return rights;
		}
		if (got <= n || got > GROUPS_MAX)
			break;
		n = got;
	}
	free(name);
	free(rights);
	return NULL;
}

static void set_groups(const gid_t *groups, int n)
{
	/* Permitted, or wmk_rights_enter() had failed: memory is what it can lack. */
	while (syscall(SYS_setgroups, n, groups) < 0 && errno == ENOMEM)
		sched_yield();
}

int wmk_rights_enter(struct wmk_rights *rights)
{
	int n;

	if (!rights)
		return 0;
	if (now.rights)
		return now.rights->uid == rights->uid
			       ? 0
			       : wmk_error(-EBUSY, "this thread acts for user %u", (unsigned)now.rights->uid);
	n = getgroups(0, NULL);
	now.groups = malloc((size_t)(n > 0 ? n : 1) * sizeof(gid_t));
	now.n = now.groups ? getgroups(n, now.groups) : -1;
	if (now.n < 0 || syscall(SYS_setgroups, rights->n, rights->groups) < 0) {
		int err = now.groups ? -errno : -ENOMEM;

		free(now.groups);
		return wmk_error(err, "cannot act for user %u: %s", (unsigned)rights->uid, strerror(-err));
	}
	now.gid = (gid_t)setfsgid(rights->gid);
	now.uid = (uid_t)setfsuid(rights->uid);
	now.rights = rights;
	if ((uid_t)setfsuid((uid_t)-1) == rights->uid && (gid_t)setfsgid((gid_t)-1) == rights->gid)
		return 1;
	wmk_rights_leave(1);
	return wmk_error(-EPERM, "cannot act for user %u", (unsigned)rights->uid);
}

void wmk_rights_leave(int entered)
{
	const int before = errno;

	if (entered <= 0)
		return;
	setfsuid(now.uid);
	setfsgid(now.gid);
	set_groups(now.groups, now.n);
	free(now.groups);
	now.groups = NULL;
	now.rights = NULL;
	errno = before;
}

uid_t wmk_rights_uid(const struct wmk_rights *rights)
{
	return rights ? rights->uid : geteuid();
}

struct wmk_rights *wmk_rights_take(void)
{
	if (now.rights)
		atomic_fetch_add_explicit(&now.rights->users, 1, memory_order_relaxed);
	return now.rights;
}

void wmk_rights_drop(struct wmk_rights *rights)
{
	/* Release of who goes, acquire of the last: nobody reads what is freed. */
	if (rights && atomic_fetch_sub_explicit(&rights->users, 1, memory_order_acq_rel) == 1)
		free(rights);
}

int wmk_store_as(uid_t uid, gid_t gid)
{
	struct wmk_rights *rights;
	int err;

	if (now.rights)
		return wmk_error(-EBUSY, "this thread acts for user %u already", (unsigned)now.rights->uid);
	if (uid == geteuid())
		return 0;
	if (geteuid() != 0)
		return wmk_error(-EPERM, "user %u cannot make files for user %u", (unsigned)geteuid(), (unsigned)uid);
	rights = resolve(uid, gid);
	if (!rights)
		return wmk_error(-ENOMEM, "no memory for the groups of user %u", (unsigned)uid);
	err = wmk_rights_enter(rights);
	if (err < 0)
		wmk_rights_drop(rights);
	return err < 0 ? err : 0;
}

void wmk_store_as_end(void)
{
	struct wmk_rights *rights = now.rights;

	if (!rights)
		return;
	wmk_rights_leave(1);
	wmk_rights_drop(rights);
}
