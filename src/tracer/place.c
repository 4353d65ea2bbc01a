/* SPDX-License-Identifier: MIT */
/* place.c - see place.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "tracer/channel.h"
#include "tracer/place.h"
#include "tracer/process.h"
#include "wire/bell.h"

#define BACKOFF_MIN_MS 10u
#define BACKOFF_MAX_MS 1000u
#define JUDGE_MS 100
#define AWAY_MAX_MS 60000

/* Anew before each look: a user's directory below /run/user may come after his programs, and a daemon that comes then is there. */
static void find_dir(struct wmk_place *place)
{
	int len = wmk_rundir_of(place->owner, wmk_tracer.has_rundir ? wmk_tracer.rundir : NULL, place->dir, sizeof(place->dir));

	if (len < 0 || (size_t)len + sizeof("/" WMK_APP_SOCKET) > sizeof(place->dir)) {
		wmk_error_clear();
		place->dir[0] = '\0';
	}
}

bool wmk_place_find(unsigned index, struct wmk_place *place)
{
	const char *dir = wmk_tracer.has_rundir ? wmk_tracer.rundir : NULL;
	uid_t uid = geteuid();

	if (index > 1 || (index == 1 && (dir || uid == 0 || wmk_tracer.secure)))
		return false;
	place->index = index;
	place->owner = dir || index == 1 ? uid : 0;
	find_dir(place);
	place->is_fresh = true;
	return true;
}

static void socket_path(const struct wmk_place *place, char path[WMK_PLACE_BYTES])
{
	strcpy(path, place->dir);
	strcat(path, "/" WMK_APP_SOCKET);
}

bool wmk_place_has_socket(const struct wmk_place *place)
{
	char path[WMK_PLACE_BYTES];

	if (!place->dir[0])
		return false;
	socket_path(place, path);
	return access(path, F_OK) == 0;
}

void wmk_place_report(enum wmk_unrecorded reason, int err)
{
	struct wmk_place place;
	char path[WMK_PLACE_BYTES];

	for (unsigned i = 0; wmk_place_find(i, &place); i++)
		if (wmk_place_has_socket(&place)) {
			socket_path(&place, path);
			wmk_conn_report(path, reason, err);
		}
}

void wmk_place_close(struct wmk_place *place)
{
	wmk_wait_close(place->wait.page);
	place->wait.page = NULL;
}

/* Anew each time: the page that was mapped may not be the one that has the name now. */
static void look_at_page(struct wmk_place *place)
{
	wmk_place_close(place);
	if (wmk_wait_open(place->dir, place->owner, &place->wait.page) < 0 &&
	    (place->owner == 0 || wmk_wait_open(place->dir, 0, &place->wait.page) < 0))
		place->wait.page = NULL;
	wmk_error_clear();
	if (place->wait.page)
		place->wait.generation = wmk_wait_generation(place->wait.page);
}

bool wmk_place_is_due(const struct wmk_place *place, int64_t now)
{
	if (!place->dir[0] || place->conn.sock >= 0)
		return false;
	return now >= place->again || (place->wait.page && wmk_wait_generation(place->wait.page) != place->wait.generation);
}

/* All bells are at root's place; a runtime directory of its own is the only place, and has none. */
static void open_bell(struct wmk_place *place)
{
	char dir[WMK_PLACE_BYTES];

	if (place->bell < 0 && !wmk_tracer.has_rundir && wmk_rundir_of(0, NULL, dir, sizeof(dir)) > 0)
		place->bell = wmk_bell_open(dir, place->owner);
}

void wmk_place_expect_bell(struct wmk_place *place, int64_t now)
{
	if (place->conn.sock < 0 && place->bell < 0 && place->again > now + WMK_PLACE_BELL_MS)
		place->again = now + WMK_PLACE_BELL_MS;
}

void wmk_place_leave_bell(struct wmk_place *place)
{
	if (place->bell < 0)
		return;
	close(place->bell);
	place->bell = -1;
	place->again = 0;
}

bool wmk_place_try(struct wmk_place *place, int64_t now, bool polls)
{
	char path[WMK_PLACE_BYTES];
	int err;

	/* before connect(): who comes in between has rung */
	if (polls)
		open_bell(place);
	if (place->index == 1 && !place->is_fresh)
		find_dir(place);
	place->is_fresh = false;
	look_at_page(place);
	socket_path(place, path);
	err = wmk_conn_open(&place->conn, path, place->index);
	if (err == 0) {
		wmk_place_leave_bell(place);
		place->conn.opened = now;
		place->conn.judge = now + JUDGE_MS;
		place->backoff = 0;
		place->again = INT64_MAX;
		return true;
	}
	wmk_error_clear();
	if (err == -EAGAIN) {
		/* somebody is there, and many have come before us: what was inherited records on */
		place->backoff = place->backoff ? place->backoff * 2 : BACKOFF_MIN_MS;
		if (place->backoff > BACKOFF_MAX_MS)
			place->backoff = BACKOFF_MAX_MS;
		place->again = now + place->backoff;
		return false;
	}
	wmk_orphans_remove(place->index, false);
	place->backoff = 0;
	const bool is_told = (place->bell >= 0 || place->wait.page) && (err == -ENOENT || err == -ECONNREFUSED || err == -EPERM);

	place->again = is_told ? INT64_MAX : now + WMK_PLACE_LOOK_MS;
	return false;
}

/*
 * When it is to come again to a controller that had no room for it: ever later; INT64_MAX: that one does not want it, or wanted it and goes, and announces the
 * next one.
 */
static int64_t after_being_turned_away(struct wmk_place *place, int64_t now)
{
	const struct wmk_conn *conn = &place->conn;

	if (conn->welcomed || (conn->refused && conn->refused != EMFILE)) {
		place->away_ms = 0;
		return INT64_MAX;
	}
	place->away_ms = place->away_ms ? 2 * place->away_ms : WMK_PLACE_LOOK_MS;
	if (place->away_ms > AWAY_MAX_MS)
		place->away_ms = AWAY_MAX_MS;
	return now + place->away_ms;
}

void wmk_place_lost(struct wmk_place *place, int64_t now, bool polls)
{
	const int64_t later = after_being_turned_away(place, now);
	uint32_t tried = place->wait.generation;
	bool had = place->wait.page != NULL;

	wmk_conn_close(&place->conn, place->conn.persist);
	/* before the page is looked at: who has come by then has changed it */
	if (polls)
		open_bell(place);
	look_at_page(place);
	place->again = later;
	if (place->wait.page && (!had || place->wait.generation != tried)) {
		place->away_ms = 0;
		place->again = now;
	} else if (!place->wait.page) {
		place->again = now + WMK_PLACE_LOOK_MS;
	}
}

void wmk_place_judge(struct wmk_place *place, int64_t now, int64_t until_ms)
{
	struct wmk_conn *conn = &place->conn;
	const struct wmk_wait_page *page = place->wait.page;

	if (now < conn->judge)
		return;
	conn->judge = now - conn->opened < until_ms ? now + JUDGE_MS : INT64_MAX;
	/* (who listens in another pid namespace cannot be judged from here) */
	conn->silent = conn->peer && wmk_process_is_stuck(conn->peer, 0);
	if (conn->peer && page && !conn->silent) {
		/* relaxed: of one daemon or the next, both is no more than a hint */
		uint32_t pid = atomic_load_explicit(&page->pid, memory_order_relaxed);

		conn->silent = pid && wmk_process_is_stuck((pid_t)pid, atomic_load_explicit(&page->start, memory_order_relaxed));
	}
}
