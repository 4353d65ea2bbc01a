/* SPDX-License-Identifier: MIT */
/* test_trackers.c - domains of a process or an executable with descendants, allow-lists, buffers per process. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "session/apps/app.h"
#include "session/model/process_set.h"
#include "session/model/process_stat.h"
#include "world.h"

static uint64_t born(unsigned i)
{
	uint64_t start_time;
	pid_t parent;
	char process_state;

	assert_true(wmk_process_stat(proc_at(i)->pid, &parent, &start_time, &process_state));
	return start_time;
}

static struct wmk_session_channel *narrow(struct wmk_session *session, uint32_t key, struct wmk_ctl_domain domain)
{
	struct wmk_ctl_channel options;
	char name[16];

	snprintf(name, sizeof(name), "ch%u", key);
	options = world_channel_options(name, key);
	options.domain = domain;
	return world_channel(session, &options, "*");
}
#define NARROW(s, i, ...) narrow(s, i, (struct wmk_ctl_domain){ __VA_ARGS__ })

/* Copy the test program to another name; fails before anything is started. */
static void other_make(struct world *w)
{
	char *path = proc_at(0)->other;
	int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct stat st;

	snprintf(path, sizeof(proc_at(0)->other), "%.60s/other-name", w->rundir);
	int to = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0700);

	assert_true(from >= 0 && to >= 0 && fstat(from, &st) == 0);
	for (off_t left = st.st_size; left > 0;) {
		ssize_t n = sendfile(to, from, NULL, (size_t)left);

		assert_true(n > 0);
		left -= n;
	}
	close(from);
	close(to);
}

static void other_remove(void)
{
	assert_int_equal(unlink(proc_at(0)->other), 0);
}

/* ── domains ─────────────────────────────────────────────────────────────────────────────────────────── */

static void test_pid_domain_selects_process_and_descendants(void **state)
{
	struct world w;

	(void)state;
	world_prepare(&w);
	world_open(&w, 2);
	struct wmk_session *s = world_session(&w, "s");

	proc_start(0, 1, 0x1);
	proc_start(0, 2, 0x1);
	uint64_t pid = (uint64_t)proc_at(1)->pid;

	NARROW(s, 0, .kind = WMK_DOMAIN_PID, .pid = pid, .start_time = born(1));
	NARROW(s, 1, .kind = WMK_DOMAIN_PID, .pid = (uint64_t)proc_at(2)->pid, .start_time = born(2) + 1);
	NARROW(s, 2, .kind = WMK_DOMAIN_USER);
	NARROW(s, 3, .kind = WMK_DOMAIN_PID, .pid = pid, .follow = true, .start_time = born(1));
	world_start(&w, s);
	assert_int_equal(proc_enabled(1, 0), 0x1);
	assert_null(proc_channel(2, 0));
	assert_null(proc_channel(2, 1));         /* an earlier process had this pid */
	/* domains are independent: an event may be in one channel of each */
	assert_int_equal(proc_enabled(1, 2), 0x1);
	assert_int_equal(proc_enabled(2, 2), 0x1);
	/* a child does not record into its parent's rings, unless the domain includes descendants */
	assert_int_equal(proc_channel(1, 0)->flags, WMK_CHANNEL_PRIVATE);
	assert_int_equal(proc_channel(1, 2)->flags, 0);
	assert_int_equal(proc_channel(1, 3)->flags, 0);
	proc_start(1, 3, 0x3);
	assert_null(proc_channel(3, 0));
	assert_int_equal(proc_enabled(3, 3), 0x3);
	assert_null(proc_channel(2, 3));
	/* a grandchild; after the child has ended, it and its own children still belong to the domain */
	assert_int_equal(proc_bid(3, PROC_SPAWN, 4), 0);
	assert_int_equal(proc_bid(4, PROC_CONNECT, 0x1), 0);
	assert_int_equal(proc_enabled(4, 3), 0x1);
	proc_kill(3);
	assert_int_equal(proc_bid(4, PROC_CONNECT, 0x1), 0);
	assert_int_equal(proc_enabled(4, 3), 0x1);
	proc_start(4, 5, 0x1);
	assert_int_equal(proc_enabled(5, 3), 0x1);
	world_stop(&w, s);
	world_start(&w, s);
	assert_int_equal(proc_enabled(5, 3), 0x1);
	assert_null(proc_channel(2, 3));
	for (unsigned i = 1; i < 6; i++)
		if (i != 3)
			proc_kill(i);
	world_destroy(&w, s);
	world_close(&w);
}

static void test_executable_filter_selects_processes(void **state)
{
	struct world w;
	char self[4096] = "";

	(void)state;
	assert_true(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
	const char *base = strrchr(self, '/') + 1;

	world_prepare(&w);
	world_open(&w, 2);
	other_make(&w);
	struct wmk_session *s = world_session(&w, "s");

	NARROW(s, 0, .kind = WMK_DOMAIN_EXEC, .exec = "other-name");
	NARROW(s, 1, .kind = WMK_DOMAIN_EXEC, .exec = self);
	NARROW(s, 2, .kind = WMK_DOMAIN_EXEC, .exec = base);
	NARROW(s, 3, .kind = WMK_DOMAIN_EXEC, .exec = "/usr/bin/other-name");
	NARROW(s, 4, .kind = WMK_DOMAIN_EXEC, .exec = "other-name", .follow = true);
	world_start(&w, s);
	proc_start(0, 1, 0x1);
	assert_int_equal(proc_bid(0, PROC_SPAWN, 2), 0);
	assert_int_equal(proc_bid(2, PROC_EXEC, 1), 0);
	proc_at(2)->image = 1;
	assert_int_equal(proc_bid(2, PROC_CONNECT, 0x1), 0);
	assert_null(proc_channel(1, 0));
	assert_int_equal(proc_enabled(1, 1), 0x1);
	assert_int_equal(proc_enabled(1, 2), 0x1);
	assert_null(proc_channel(1, 3));
	assert_null(proc_channel(1, 4));
	assert_int_equal(proc_enabled(2, 0), 0x1);
	assert_null(proc_channel(2, 1));
	assert_null(proc_channel(2, 3));
	assert_int_equal(proc_enabled(2, 4), 0x1);
	/* its child under another name is a descendant; and it is itself after another exec */
	assert_int_equal(proc_bid(2, PROC_SPAWN, 3), 0);
	assert_int_equal(proc_bid(3, PROC_EXEC, 0), 0);
	assert_int_equal(proc_bid(3, PROC_CONNECT, 0x3), 0);
	assert_null(proc_channel(3, 0));
	assert_int_equal(proc_enabled(3, 2), 0x3);
	assert_int_equal(proc_enabled(3, 4), 0x3);
	assert_int_equal(proc_bid(2, PROC_EXEC, 0), 0);
	proc_at(2)->image = 2;
	assert_int_equal(proc_bid(2, PROC_CONNECT, 0x1), 0);
	assert_null(proc_channel(2, 0));
	assert_int_equal(proc_enabled(2, 4), 0x1);
	/* the ancestor is not an application itself (as make(1)): its descendants are selected */
	assert_int_equal(proc_bid(0, PROC_SPAWN, 4), 0);
	assert_int_equal(proc_bid(4, PROC_EXEC, 1), 0);
	assert_int_equal(proc_bid(4, PROC_SPAWN, 5), 0);
	assert_int_equal(proc_bid(5, PROC_EXEC, 0), 0);
	assert_int_equal(proc_bid(5, PROC_CONNECT, 0x1), 0);
	assert_null(proc_channel(5, 0));
	assert_int_equal(proc_enabled(5, 4), 0x1);
	for (unsigned i = 1; i < 6; i++)
		proc_kill(i);
	world_destroy(&w, s);
	other_remove();
	world_close(&w);
}

/* Applications with a removed or replaced executable (an update) continue to record. */
static void test_replaced_executable_still_matches(void **state)
{
	struct world w;
	char path[80];

	(void)state;
	world_prepare(&w);
	world_open(&w, 1);
	other_make(&w);
	snprintf(path, sizeof(path), "%s", proc_at(0)->other);
	struct wmk_session *s = world_session(&w, "s");

	NARROW(s, 0, .kind = WMK_DOMAIN_EXEC, .exec = "other-name");
	NARROW(s, 1, .kind = WMK_DOMAIN_EXEC, .exec = path);
	NARROW(s, 2, .kind = WMK_DOMAIN_EXEC, .exec = "other", .follow = true);
	NARROW(s, 3, .kind = WMK_DOMAIN_EXEC, .exec = "other-name", .follow = true);
	world_start(&w, s);
	assert_int_equal(proc_bid(0, PROC_SPAWN, 1), 0);
	assert_int_equal(proc_bid(1, PROC_EXEC, 1), 0);
	assert_int_equal(proc_bid(1, PROC_SPAWN, 2), 0);
	assert_int_equal(proc_bid(2, PROC_EXEC, 0), 0);
	other_remove();
	assert_int_equal(proc_bid(1, PROC_CONNECT, 0x1), 0);
	assert_int_equal(proc_enabled(1, 0), 0x1);
	assert_int_equal(proc_enabled(1, 1), 0x1);
	assert_null(proc_channel(1, 2));         /* a part of the name does not match */
	assert_int_equal(proc_enabled(1, 3), 0x1);
	/* its child executes another program, and is a descendant */
	assert_int_equal(proc_bid(2, PROC_CONNECT, 0x3), 0);
	assert_null(proc_channel(2, 0));
	assert_int_equal(proc_enabled(2, 3), 0x3);
	/* the executable is replaced */
	other_make(&w);
	assert_int_equal(proc_bid(1, PROC_CONNECT, 0x1), 0);
	assert_int_equal(proc_enabled(1, 1), 0x1);
	for (unsigned i = 1; i < 3; i++)
		proc_kill(i);
	world_destroy(&w, s);
	other_remove();
	world_close(&w);
}

/* Ended processes are removed when the table would grow; living ones stay. */
static void ended_processes_are_removed_from_the_process_set(void **state)
{
	struct process_set members = { 0 };

	(void)state;
	procs_kill(NULL);
	assert_false(wmk_process_set_has(&members, 1, 1));
	assert_int_equal(proc_bid(0, PROC_SPAWN, 1), 0);
	const pid_t alive = proc_at(1)->pid, self = getpid();
	const uint64_t since = born(1);

	wmk_process_set_add(&members, alive, since, 0);
	wmk_process_set_add(&members, self, 0, 0);      /* unknown start time */
	/* earlier processes with our pid, and unused pids */
	for (uint64_t i = 0; i < 20000; i++)
		wmk_process_set_add(&members, i % 2 ? alive : (1 << 30) - (pid_t)i, since + 1 + i, 0);
	assert_true(wmk_process_set_has(&members, alive, since));
	assert_true(wmk_process_set_has(&members, self, 0));
	assert_false(wmk_process_set_has(&members, alive, since + 2));
	assert_true(wmk_process_set_has_pid(&members, alive, 0));
	assert_false(wmk_process_set_has_pid(&members, alive, 1));     /* of another user */
	assert_false(wmk_process_set_has_pid(&members, 1, 0));
	assert_false(wmk_process_set_has_pid(&members, 0, 0));
	assert_in_range(members.n_places, 16, 64);
	wmk_process_set_add(&members, alive, since, 0);
	assert_true(wmk_process_set_has(&members, alive, since));
	proc_kill(1);
	assert_false(wmk_process_lives(alive, since));
	assert_false(wmk_process_lives(alive, 0));
	wmk_process_set_free(&members);
}

/* /proc is read once for an application that is not a descendant, and again after an exec. */
static void test_unrelated_apps_are_not_recorded(void **state)
{
	struct world w;

	(void)state;
	world_prepare(&w);
	other_make(&w);
	world_open(&w, 1);
	struct wmk_session *s = world_session(&w, "s");
	struct wmk_session_channel *channel =
		NARROW(s, 0, .kind = WMK_DOMAIN_EXEC, .exec = "other-name", .follow = true);

	proc_start(0, 1, 0x1);
	proc_start(1, 2, 0x1);
	world_start(&w, s);
	assert_null(proc_channel(2, 0));
	const struct app *app = w.shards[0]->app;

	while (app->pid != proc_at(2)->pid)
		app = app->next;
	assert_int_equal(app->untracked[channel->serial % 32], channel->serial);
	/* its parent executes the program now: it was started before, and does not descend from that */
	assert_int_equal(proc_bid(1, PROC_EXEC, 1), 0);
	world_update(&w, s);
	assert_null(proc_channel(2, 0));
	/* when it registers again, it is a descendant */
	assert_int_equal(proc_bid(2, PROC_CLOSE, 0), 0);
	assert_int_equal(proc_bid(2, PROC_CONNECT, 0x1), 0);
	assert_int_equal(proc_enabled(2, 0), 0x1);
	proc_kill(1);
	proc_kill(2);
	world_destroy(&w, s);
	other_remove();
	world_close(&w);
}

/* ── trackers ────────────────────────────────────────────────────────────────────────────────────────── */

static int track(struct world *w, struct wmk_session *s, uint32_t kind, uint64_t id, bool add)
{
	struct wmk_ctl_track what = { .kind = kind, .all = id == UINT64_MAX, .ids = { &id, 1 } };

	assert_int_equal(wmk_session_lock(s), 0);
	int err = wmk_session_track(s, &what, add);

	wmk_session_unlock(s);
	world_update(w, s);
	return err;
}

#define EVERY UINT64_MAX

static void test_allow_lists_select_applications(void **state)
{
	struct world w;

	(void)state;
	world_prepare(&w);
	world_open(&w, 2);
	struct wmk_session *s = world_session(&w, "s");
	uint64_t uid = getuid(), gid = getgid();

	NARROW(s, 0, .kind = WMK_DOMAIN_USER);
	world_start(&w, s);
	for (unsigned i = 1; i < 4; i++)
		proc_start(0, i, 0x3);
	const uint64_t pid[] = { 0, (uint64_t)proc_at(1)->pid, (uint64_t)proc_at(2)->pid, (uint64_t)proc_at(3)->pid };

#define TRACKED(a, b, c) do { \
		/* An application that is tracked by pid is private: its children do not record. */ \
		assert_int_equal(proc_channel(1, 0)->flags, (a) && s->trackers.pid ? WMK_CHANNEL_PRIVATE : 0); \
		assert_int_equal(proc_channel(2, 0)->flags, (b) && s->trackers.pid ? WMK_CHANNEL_PRIVATE : 0); \
		assert_int_equal(proc_channel(3, 0)->flags, (c) && s->trackers.pid ? WMK_CHANNEL_PRIVATE : 0); \
		assert_int_equal(proc_enabled(1, 0), (a) ? 0x3 : 0); \
		assert_int_equal(proc_enabled(2, 0), (b) ? 0x3 : 0); \
		assert_int_equal(proc_enabled(3, 0), (c) ? 0x3 : 0); \
	} while (0)
	TRACKED(1, 1, 1);
	assert_int_equal(track(&w, s, WMK_TRACK_PID, pid[1], false), -EINVAL);   /* all are tracked */
	TRACKED(1, 1, 1);
	assert_int_equal(track(&w, s, WMK_TRACK_PID, pid[1], true), 0);
	TRACKED(1, 0, 0);
	assert_int_equal(track(&w, s, WMK_TRACK_PID, pid[3], true), 0);
	assert_int_equal(track(&w, s, WMK_TRACK_PID, pid[3], true), 0);
	TRACKED(1, 0, 1);
	assert_int_equal(track(&w, s, WMK_TRACK_PID, pid[1], false), 0);
	TRACKED(0, 0, 1);
	assert_int_equal(track(&w, s, WMK_TRACK_PID, pid[2], false), 0);         /* an absent id is no error */
	assert_int_equal(track(&w, s, WMK_TRACK_UID, uid + 1, true), 0);
	TRACKED(0, 0, 0);
	assert_int_equal(track(&w, s, WMK_TRACK_UID, uid, true), 0);
	TRACKED(0, 0, 1);
	assert_int_equal(track(&w, s, WMK_TRACK_GID, EVERY, false), 0);
	TRACKED(0, 0, 0);
	assert_int_equal(track(&w, s, WMK_TRACK_GID, gid, true), 0);
	TRACKED(0, 0, 1);
	assert_int_equal(track(&w, s, WMK_TRACK_GID, gid, false), 0);
	TRACKED(0, 0, 0);                /* an empty allow-list selects none, not all */
	assert_int_equal(track(&w, s, WMK_TRACK_GID, EVERY, true), 0);
	assert_int_equal(track(&w, s, WMK_TRACK_PID, EVERY, true), 0);
	TRACKED(1, 1, 1);
	assert_int_equal(track(&w, s, WMK_TRACK_KERNEL_PID, pid[1], true), 0);       /* for kernel records only */
	TRACKED(1, 1, 1);
	assert_int_equal(track(&w, s, WMK_TRACK_KINDS, uid, true), -EINVAL);
	for (int add = 0; add < 2; add++) {      /* an empty request is invalid */
		assert_int_equal(wmk_session_lock(s), 0);
		assert_int_equal(wmk_session_track(s, &(struct wmk_ctl_track){ .kind = WMK_TRACK_UID }, add), -EINVAL);
		assert_non_null(strstr(wmk_error_get(0), "untrack --all"));
		wmk_session_unlock(s);
	}
	world_update(&w, s);
	TRACKED(1, 1, 1);
	/* repeated changes: memory is bounded by the number of tracked ids */
	static uint64_t many[2049];

	for (uint32_t i = 0; i < 2049; i++)
		many[i] = i + 1;
	const struct wmk_ctl_track base = { .ids = { many, 2048 } }, one = { .ids = { &many[2048], 1 } };

	assert_int_equal(wmk_session_lock(s), 0);
	assert_int_equal(wmk_session_track(s, &base, true), 0);
	for (int i = 0; i < 6000; i++)
		if (wmk_session_track(s, &one, i % 2 == 0) != 0)
			fail_msg("after %d times: %s", i, wmk_error_get(0));
	/* more than the limit: no id is added, and a list that selects all still does */
	static uint64_t more[4097];

	for (uint32_t i = 0; i < 4097; i++)
		more[i] = i + 2000;
	const struct wmk_ctl_track pids_more = { .ids = { more, 2100 } },
				   gids_more = { .kind = WMK_TRACK_GID, .ids = { more, 4097 } };

	assert_int_equal(wmk_session_track(s, &pids_more, true), -E2BIG);
	assert_non_null(strstr(wmk_error_get(0), "with 2048 entries"));
	assert_int_equal(s->trackers.pids.n, 2048);
	assert_int_equal(wmk_session_track(s, &gids_more, true), -E2BIG);
	assert_false(s->trackers.gid);
	assert_int_equal(s->trackers.gids.n, 0);
	wmk_session_unlock(s);
	world_destroy(&w, s);
	for (unsigned i = 1; i < 4; i++)
		proc_kill(i);
	world_close(&w);
}

/* ── buffers per process ─────────────────────────────────────────────────────────────────────────────── */

static struct wmk_session_channel *private(struct wmk_session *session, const char *name, uint32_t key)
{
	struct wmk_ctl_channel options = world_channel_options(name, key);

	options.settings.buffers = WMK_BUFFERS_PID;
	return world_channel(session, &options, "*");
}

static struct world_rings *rings_of(struct world *w, const char *channel, unsigned i)
{
	char sub[64];

	snprintf(sub, sizeof(sub), "pid/proc_%u-%d-", i, (int)proc_at(i)->pid);
	return world_rings(w, "s", channel, sub);
}

static void reap(struct wmk_session *s)
{
	assert_int_equal(wmk_session_lock(s), 0);
	wmk_session_reap(s);
	wmk_session_unlock(s);
}

static void each_process_has_its_own_rings_with_per_process_buffers(void **state)
{
	struct world w;

	(void)state;
	world_prepare(&w);
	world_open(&w, 2);
	struct wmk_session *s = world_session(&w, "s");

	private(s, "own", 0);
	world_start(&w, s);
	proc_start(0, 1, 0x3);
	proc_start(0, 2, 0x2);
	proc_start(1, 3, 0x1);
	assert_int_equal(w.rings_open, 3);
	assert_int_equal(w.traces_open, 3);
	for (unsigned i = 1; i < 4; i++) {
		assert_non_null(rings_of(&w, "own", i));
		assert_int_equal(rings_of(&w, "own", i)->inode, proc_channel(i, 0)->inode);
		assert_int_equal(proc_channel(i, 0)->flags, WMK_CHANNEL_PRIVATE);
	}
	assert_int_not_equal(proc_channel(1, 0)->inode, proc_channel(2, 0)->inode);
	assert_int_not_equal(proc_channel(1, 0)->inode, proc_channel(3, 0)->inode);
	assert_int_equal(proc_channel(2, 0)->ids[1], 0);         /* its own ids, too */
	/* one more channel, after a list of applications was made: the same process has the same trace */
	struct wmk_list apps = { NULL, 0 };
	struct wmk_arena arena = { 0 };

	const struct wmk_ctl_list_apps everything = { .pattern = "" };
	assert_int_equal(wmk_tracing_list_apps(w.tracing, &everything, (uid_t)-1, (uid_t)-1, &apps, &arena), 0);
	wmk_arena_free(&arena);
	struct wmk_ctl_channel second = world_channel_options("second", 1);

	second.settings.buffers = WMK_BUFFERS_PID;
	second.domain = (struct wmk_ctl_domain){
		.kind = WMK_DOMAIN_PID, .pid = (uint64_t)proc_at(1)->pid, .start_time = born(1) };
	world_channel(s, &second, "*");
	world_update(&w, s);
	assert_int_equal(proc_enabled(1, 1), 0x3);
	assert_int_equal(w.rings_open, 4);
	assert_int_equal(w.traces_open, 3);
	assert_ptr_equal(rings_of(&w, "second", 1)->trace, rings_of(&w, "own", 1)->trace);
	/* the end of a process closes its own rings only, and only when they are reaped */
	struct world_rings *own = rings_of(&w, "own", 1), *more = rings_of(&w, "second", 1);

	proc_kill(1);
	world_wait(&w, &w.ended, 2);     /* once per channel */
	assert_false(own->closed);
	reap(s);
	assert_true(own->closed && more->closed);
	assert_true(own->trace->closed);
	assert_int_equal(w.rings_open, 2);
	assert_int_equal(w.traces_open, 2);
	assert_false(rings_of(&w, "own", 3)->closed);
	reap(s);
	assert_int_equal(w.rings_open, 2);
	/* a process with a new connection keeps its rings */
	own = rings_of(&w, "own", 2);
	assert_int_equal(proc_bid(2, PROC_CONNECT, 0x3), 0);
	assert_int_equal(proc_channel(2, 0)->inode, own->inode);
	assert_int_equal(w.rings_open, 2);
	world_destroy(&w, s);
	assert_int_equal(w.rings_open, 0);
	proc_kill(2);
	proc_kill(3);
	world_wait(&w, &w.apps_gone, 3);
	assert_int_equal(w.ended, 2);
	world_close(&w);
}

/* The rings of a process end with its program; the next program gets its own. Closed rings get no events. */
static void test_exec_ends_rings_of_the_process(void **state)
{
	struct world w;

	(void)state;
	world_prepare(&w);
	world_open(&w, 1);
	struct wmk_session *s = world_session(&w, "s");

	private(s, "own", 0);
	world_start(&w, s);
	assert_int_equal(proc_bid(0, PROC_SPAWN, 1), 0);
	proc_at(1)->image = 7;
	assert_int_equal(proc_bid(1, PROC_CONNECT, 0x1), 0);
	struct world_rings *before = rings_of(&w, "own", 1);
	char sub[200];

	snprintf(sub, sizeof(sub), "%s", before->trace->sub);
	assert_int_equal(proc_bid(1, PROC_EXEC, 0), 0);
	proc_at(1)->image = 8;
	assert_int_equal(proc_bid(1, PROC_CONNECT, 0x3), 0);
	assert_int_equal(proc_enabled(1, 0), 0x3);
	assert_int_equal(w.ended, 1);
	assert_int_equal(w.rings_open, 2);
	struct world_rings *after = rings_of(&w, "own", 1);

	assert_ptr_not_equal(before, after);
	assert_string_not_equal(sub, after->trace->sub);         /* its own directory, even within the same second */
	assert_int_equal(proc_channel(1, 0)->inode, after->inode);
	reap(s);
	assert_true(before->closed);
	assert_false(after->closed);
	assert_int_equal(proc_bid(1, PROC_EVENTS, 0x4), 0);
	assert_int_equal(proc_enabled(1, 0), 0x7);
	proc_kill(1);
	world_wait(&w, &w.ended, 2);
	reap(s);
	assert_int_equal(w.rings_open + w.traces_open, 0);
	world_destroy(&w, s);
	world_close(&w);
}

/* If rings cannot be created, no trace remains for a process that registers. */
static void no_trace_is_left_if_rings_cannot_be_created(void **state)
{
	struct world w;

	(void)state;
	world_prepare(&w);
	w.options.max_ring_bytes = 1;
	world_open(&w, 1);
	struct wmk_session *s = world_session(&w, "s");

	private(s, "own", 0);
	world_start(&w, s);
	for (int i = 0; i < 3; i++) {
		proc_start(0, 1, 0x1);
		assert_null(proc_channel(1, 0));
		proc_kill(1);
		world_wait(&w, &w.apps_gone, (unsigned)i + 1);
		reap(s);
		assert_int_equal(w.traces_open, 0);
	}
	w.refuse = -EMFILE;
	assert_int_equal(wmk_session_lock(s), 0);
	w.tracing->options.max_ring_bytes = 1u << 30;
	wmk_session_unlock(s);
	proc_start(0, 1, 0x1);
	assert_null(proc_channel(1, 0));
	assert_int_equal(w.traces_open, 0);
	proc_kill(1);
	world_destroy(&w, s);
	world_close(&w);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_pid_domain_selects_process_and_descendants, procs_kill),
		cmocka_unit_test_teardown(test_executable_filter_selects_processes, procs_kill),
		cmocka_unit_test_teardown(test_replaced_executable_still_matches, procs_kill),
		cmocka_unit_test_teardown(ended_processes_are_removed_from_the_process_set, procs_kill),
		cmocka_unit_test_teardown(test_unrelated_apps_are_not_recorded, procs_kill),
		cmocka_unit_test_teardown(test_allow_lists_select_applications, procs_kill),
		cmocka_unit_test_teardown(each_process_has_its_own_rings_with_per_process_buffers, procs_kill),
		cmocka_unit_test_teardown(test_exec_ends_rings_of_the_process, procs_kill),
		cmocka_unit_test_teardown(no_trace_is_left_if_rings_cannot_be_created, procs_kill),
	};

	procs_begin(argc, argv);
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	procs_end();
	return failed;
}
