/* SPDX-License-Identifier: MIT */
/*
 * tracker.c - select the applications of a session: domains that are limited to a process or an executable and its
 * descendants, and allow-lists for a whole session.
 *
 * Each channel remembers its members. Ancestors are checked when an application registers. The application is a
 * descendant if an ancestor is a member or the process of the domain. A process is identified by its pid and its start
 * time. process_set.c has the table.
 */
#include "session/apps/tracker.h"

#include "base/error.h"
#include "session/model/process_set.h"
#include "session/model/process_stat.h"

#include <errno.h>
#include <inttypes.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#define TRACKED_MAX 4096u
/* limit of tracked pids of a kernel session: each kernel record is compared with all of them */
#define TRACKED_KERNEL_MAX WMK_CONSUMERD_PIDS
#define ANCESTORS_MAX 64
#define ATTEMPTS 3                      /* attempts to read the ancestors while one of them ends */
#define UNTRACKED 32u                /* entries per application: 256 bytes */

uint64_t wmk_app_birth(struct app *app)
{
	const uint64_t birth = wmk_pidfd_birth(app->pidfd);

	return birth ? birth : wmk_app_start_time(app);
}

/* Return the path of the executable; an empty text: hidden, or the process has ended. */
static const char *exe_of(pid_t pid, char *exe, size_t size)
{
	char path[40];

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	ssize_t n = readlink(path, exe, size - 1);

	exe[n > 0 ? n : 0] = '\0';
	return exe;
}

uint64_t wmk_app_start_time(struct app *app)
{
	pid_t parent;
	char state;

	if (!app->start_time_read && !wmk_process_stat(app->pid, &parent, &app->start_time, &state))
		app->start_time = 0;
	app->start_time_read = true;
	return app->start_time;
}

const char *wmk_app_exe(struct app *app)
{
	char exe[4096];

	if (!app->exe)
		app->exe = strdup(exe_of(app->pid, exe, sizeof(exe)));
	return app->exe ? app->exe : "";
}

/*
 * The function also returns true for a file that was removed or replaced after the program began (for example by an
 * update): the kernel appends " (deleted)".
 */
static bool exec_is(const char *wanted, const char *exe)
{
	const char *base = strrchr(exe, '/'), *is = strchr(wanted, '/') || !base ? exe : base + 1;
	const size_t len = strlen(wanted);

	return strncmp(wanted, is, len) == 0 && (!is[len] || strcmp(is + len, " (deleted)") == 0);
}

static bool root_is(const struct wmk_ctl_domain *domain, pid_t pid, uint64_t start_time, const char *exe)
{
	if (domain->kind == WMK_DOMAIN_PID)
		return (uint64_t)pid == domain->pid && (!domain->start_time || start_time == domain->start_time);
	return exe && *exe && exec_is(domain->exec, exe);
}

/*
 * 1: the application is a descendant; 0: the application is not and never will be a descendant; -1: unknown, because an
 * ancestor has just ended.
 */
static int descends(const struct wmk_session_channel *channel, pid_t pid)
{
	const struct wmk_ctl_domain *domain = &channel->is.domain;
	char exe[4096], state;
	uint64_t start_time;
	pid_t parent;

	if (!wmk_process_stat(pid, &parent, &start_time, &state))
		return -1;
	for (int i = 0; i < ANCESTORS_MAX && parent > 1; i++) {
		pid = parent;
		if (!wmk_process_stat(pid, &parent, &start_time, &state))
			return -1;
		/* the process of the domain need not be an application itself */
		if (wmk_process_set_has(&channel->members, pid, start_time) ||
		    root_is(domain, pid, start_time,
			    domain->kind == WMK_DOMAIN_EXEC ? exe_of(pid, exe, sizeof(exe)) : NULL))
			return 1;
	}
	return 0;
}

/*
 * True if the application's parent was a member and has ended, for example when a daemon forks twice. /proc then shows
 * no ancestor to follow. The application itself reports its parent, so the daemon accepts only a member that has the
 * same user as the application. An application therefore cannot enter the trace of another user. For a parent that has
 * not ended, /proc is authoritative.
 */
static bool was_forked_by_member(const struct wmk_session_channel *channel, const struct app *app)
{
	uint64_t start_time;
	pid_t parent;
	char state = 'Z';

	return wmk_process_set_has_pid(&channel->members, app->forked_by, app->uid) &&
	       (!wmk_process_stat(app->forked_by, &parent, &start_time, &state) || state == 'Z');
}

/*
 * Cache applications that are not in the domain of the channel, because reading /proc at each update is slow. A program
 * that exec() starts and a child process register as new applications, so the cached result stays valid. The table has
 * few slots. If the serial of another channel has overwritten the slot of this channel, the daemon reads /proc once
 * more.
 */
static bool is_not_tracked(const struct app *app, const struct wmk_session_channel *channel)
{
	return app->untracked && channel->serial && app->untracked[channel->serial % UNTRACKED] == channel->serial;
}

static void not_tracked_remember(struct app *app, const struct wmk_session_channel *channel)
{
	if (!app->untracked)
		app->untracked = calloc(UNTRACKED, sizeof(*app->untracked));
	if (app->untracked)
		app->untracked[channel->serial % UNTRACKED] = channel->serial;
}

bool wmk_domain_has(struct wmk_session_channel *channel, struct app *app)
{
	const struct wmk_ctl_domain *domain = &channel->is.domain;

	if (domain->kind == WMK_DOMAIN_USER || domain->kind == WMK_DOMAIN_KERNEL)
		return domain->kind == WMK_DOMAIN_USER;
	const uint64_t began = wmk_app_start_time(app);
	bool in = root_is(domain, app->pid, began, domain->kind == WMK_DOMAIN_EXEC ? wmk_app_exe(app) : NULL);

	if (!domain->follow)
		return in;
	in = in || wmk_process_set_has(&channel->members, app->pid, began);
	if (!in && !is_not_tracked(app, channel)) {
		int is = -1;

		/* When a process ends, its children get a new parent: a subreaper among the ancestors, or init. */
		for (int turn = 0; turn < ATTEMPTS && is < 0; turn++)
			is = descends(channel, app->pid);
		in = is == 1 || was_forked_by_member(channel, app);
		if (is == 0 && !in)
			not_tracked_remember(app, channel);
	}
	if (in)
		wmk_process_set_add(&channel->members, app->pid, began, app->uid);
	return in;
}

/* ── trackers ────────────────────────────────────────────────────────────────────────────────────────── */

static bool list_has(const struct wmk_list *list, uint64_t id)
{
	const uint64_t *ids = list->items;

	for (uint32_t i = 0; i < list->n; i++)
		if (ids[i] == id)
			return true;
	return false;
}

bool wmk_session_tracks(const struct wmk_session *session, const struct app *app)
{
	const struct wmk_ctl_trackers *t = &session->trackers;

	return (session->all_users || app->uid == session->uid) &&
	       (!t->pid || list_has(&t->pids, (uint64_t)app->pid)) && (!t->uid || list_has(&t->uids, app->uid)) &&
	       (!t->gid || list_has(&t->gids, app->gid));
}

/* False: the list is full. */
static bool list_change(struct wmk_list *list, uint64_t id, bool add, unsigned max)
{
	uint64_t *ids = list->items;

	if (add && !list_has(list, id)) {
		if (list->n == max)
			return false;
		ids[list->n++] = id;
	}
	for (uint32_t i = 0; !add && i < list->n; i++)
		if (ids[i] == id)
			ids[i--] = ids[--list->n];
	return true;
}

/* Change all ids or none: a complete, changed copy of the list replaces the list. */
static int list_change_all(struct wmk_list *list, const struct wmk_list *by, bool add, unsigned max)
{
	const uint64_t room = (uint64_t)list->n + by->n, most = room < max ? room : max;
	struct wmk_list made = { malloc(most * sizeof(uint64_t)), list->n };
	bool fits = true;

	if (!made.items)
		return wmk_error(-ENOMEM, "no memory for the allow-list");
	if (list->n)
		memcpy(made.items, list->items, list->n * sizeof(uint64_t));
	for (uint32_t i = 0; fits && i < by->n; i++)
		fits = list_change(&made, ((const uint64_t *)by->items)[i], add, max);
	if (!fits) {
		free(made.items);
		return wmk_errorx(-E2BIG,
				  "more than %u entries in the allow-list: it is unchanged, with %u entries", max,
				  list->n);
	}
	free(list->items);
	*list = made;
	return 0;
}

int wmk_session_track(struct wmk_session *session, const struct wmk_ctl_track *track, bool add)
{
	struct wmk_ctl_trackers *t = &session->trackers;
	struct wmk_list *const lists[] = { &t->pids, &t->uids, &t->gids, &t->kernel_pids };
	bool *const narrowed[] = { &t->pid, &t->uid, &t->gid, &t->kernel_pid };

	if (track->kind >= WMK_TRACK_KINDS)
		return wmk_error(-EINVAL, "invalid kind of tracker: the kinds are pid, uid, gid and kernel pid");
	struct wmk_list *list = lists[track->kind];

	if (track->all) {
		list->n = 0;
		*narrowed[track->kind] = !add;
		return 0;
	}
	if (track->ids.n == 0)
		return wmk_error(-EINVAL, "nothing to track: give ids, or use track --all or untrack --all");
	/* the first tracked id replaces "everything"; single ids cannot be excluded from "everything" */
	if (!add && !*narrowed[track->kind])
		return wmk_error(-EINVAL, "cannot untrack single ids while all are tracked: use track with the wanted "
					  "ids first, or untrack --all");
	for (uint32_t i = 0; track->kind == WMK_TRACK_KERNEL_PID && i < track->ids.n; i++)
		if (((const uint64_t *)track->ids.items)[i] > INT32_MAX)
			return wmk_error(-EINVAL, "invalid pid %" PRIu64 ": the largest is %d",
					 ((const uint64_t *)track->ids.items)[i], INT32_MAX);
	int err = list_change_all(list, &track->ids, add,
				  track->kind == WMK_TRACK_KERNEL_PID ? TRACKED_KERNEL_MAX : TRACKED_MAX);

	*narrowed[track->kind] |= err == 0;
	return err;
}
