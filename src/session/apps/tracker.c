/* SPDX-License-Identifier: MIT */
/*
 * tracker.c - which programs a session is about: domains narrowed to a process or an executable, with those that
 * descend from it, and trackers, which narrow a whole session.
 *
 * Who follows is remembered with the channel (members): a descendant is one whose parent, or parent's parent, ... is
 * the process itself or a member, when it registers. A process is known by its number and its time of start. The table
 * of them is in process_set.c.
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
#define TRACKED_KERNEL_MAX WMK_CONSUMERD_PIDS    /* each record of the kernel is held against all of them */
#define ANCESTORS_MAX 64
#define LOOKS 3                      /* at the ancestors, while one of them ends */
#define STRANGERS 32u                /* remembered for each application: 256 bytes of it */

uint64_t wmk_app_birth(struct app *app)
{
	const uint64_t birth = wmk_pidfd_birth(app->pidfd);

	return birth ? birth : wmk_app_start_time(app);
}

/* Path of what it executes, "" if that is hidden, or it is gone. */
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
 * Also of a file that has lost its name since, or given it to another, as an update does: the kernel says so behind it.
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

/* 1: it does; 0: it does not, nor will it ever; -1: not now, who is in between has just ended. */
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
		/* the first of them need not be traced itself */
		if (wmk_process_set_has(&channel->members, pid, start_time) ||
		    root_is(domain, pid, start_time,
			    domain->kind == WMK_DOMAIN_EXEC ? exe_of(pid, exe, sizeof(exe)) : NULL))
			return 1;
	}
	return 0;
}

/*
 * Who forked it has ended (as when a daemon forks twice), and /proc knows no more of it. That it was one of them is the
 * program's own word, which is taken for processes of its own user alone: so nobody comes into others' traces by it.
 * Whoever lives, /proc has told of.
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
 * Who was found not to descend is not asked for again at each update: /proc is slow. A program in another image (exec),
 * or a child, comes as another application. Few serials are remembered, each at its place; one that was driven out is
 * asked for once more.
 */
static bool is_not_tracked(const struct app *app, const struct wmk_session_channel *channel)
{
	return app->strangers && channel->serial && app->strangers[channel->serial % STRANGERS] == channel->serial;
}

static void not_tracked_remember(struct app *app, const struct wmk_session_channel *channel)
{
	if (!app->strangers)
		app->strangers = calloc(STRANGERS, sizeof(*app->strangers));
	if (app->strangers)
		app->strangers[channel->serial % STRANGERS] = channel->serial;
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

		/*
		 * Who has just ended has given its children away by now: to an ancestor that adopts them (a subreaper),
		 * or to init.
		 */
		for (int turn = 0; turn < LOOKS && is < 0; turn++)
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

/* False: there is no room for it. */
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

/* All of them or none: in a list that takes the other's place when it is whole. */
static int list_change_all(struct wmk_list *list, const struct wmk_list *by, bool add, unsigned max)
{
	const uint64_t room = (uint64_t)list->n + by->n, most = room < max ? room : max;
	struct wmk_list made = { malloc(most * sizeof(uint64_t)), list->n };
	bool fits = true;

	if (!made.items)
		return wmk_error(-ENOMEM, "no memory for what is tracked");
	if (list->n)
		memcpy(made.items, list->items, list->n * sizeof(uint64_t));
	for (uint32_t i = 0; fits && i < by->n; i++)
		fits = list_change(&made, ((const uint64_t *)by->items)[i], add, max);
	if (!fits) {
		free(made.items);
		return wmk_error_said(-E2BIG, "more than %u would be tracked: it stays as it was, with %u of them", max,
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
		return wmk_error(-EINVAL, "what is tracked is a pid, a uid or a gid");
	struct wmk_list *list = lists[track->kind];

	if (track->all) {
		list->n = 0;
		*narrowed[track->kind] = !add;
		return 0;
	}
	if (track->ids.n == 0)
		return wmk_error(-EINVAL,
				 "say which are tracked; all of them: track --all, none of them: untrack --all");
	/* the first that is tracked is the only one; of everything, none can be left out */
	if (!add && !*narrowed[track->kind])
		return wmk_error(-EINVAL, "all are tracked: say first which (track), or that none are (untrack --all)");
	for (uint32_t i = 0; track->kind == WMK_TRACK_KERNEL_PID && i < track->ids.n; i++)
		if (((const uint64_t *)track->ids.items)[i] > INT32_MAX)
			return wmk_error(-EINVAL, "%" PRIu64 " is the number of no process",
					 ((const uint64_t *)track->ids.items)[i]);
	int err = list_change_all(list, &track->ids, add,
				  track->kind == WMK_TRACK_KERNEL_PID ? TRACKED_KERNEL_MAX : TRACKED_MAX);

	*narrowed[track->kind] |= err == 0;
	return err;
}
