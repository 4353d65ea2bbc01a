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
#include "wire/hints.h"
#include "wire/notify_fifo.h"

#define BACKOFF_MIN_MS 10u
#define BACKOFF_MAX_MS 1000u
#define JUDGE_MS 100
#define LOOK_MIN_MS 10000
#define LOOK_MAX_MS 60000

/*
 * Anew before each look: a user's directory below /run/user may come after his programs, and a daemon that comes then
 * is there.
 */
static void find_dir(struct wmk_place *place)
{
	int len = wmk_rundir_of(place->owner, wmk_tracer.has_rundir ? wmk_tracer.rundir : NULL, place->dir,
				sizeof(place->dir));

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
	if (place->notify >= 0)
		close(place->notify);
	place->notify = -1;
}

bool wmk_place_is_due(const struct wmk_place *place, int64_t now)
{
	return place->dir[0] && place->conn.sock < 0 && now >= place->again;
}

/* When to look again where no FIFO reports a daemon. */
static int64_t look_later(struct wmk_place *place, int64_t now)
{
	place->look_ms = place->look_ms ? 2 * place->look_ms : LOOK_MIN_MS;
	if (place->look_ms > LOOK_MAX_MS)
		place->look_ms = LOOK_MAX_MS;
	return now + place->look_ms;
}

/* Anew: what it has reported up to now is answered by what the caller does next. */
static void open_fifo(struct wmk_place *place)
{
	wmk_place_close(place);
	place->notify = wmk_notify_open(place->dir, place->owner);
}

void wmk_place_notified(struct wmk_place *place)
{
	place->look_ms = 0;
	if (place->conn.sock >= 0) {
		open_fifo(place);
		place->is_news = true;
	} else {
		wmk_place_close(place);
		place->again = 0;
	}
}

bool wmk_place_try(struct wmk_place *place, int64_t now)
{
	char path[WMK_PLACE_BYTES];
	int err;

	if (place->index == 1 && !place->is_fresh)
		find_dir(place);
	place->is_fresh = place->is_news = false;
	open_fifo(place);
	socket_path(place, path);
	err = wmk_conn_open(&place->conn, path, place->index);
	if (err == -EMFILE && place->notify >= 0) {
		wmk_place_close(place);
		err = wmk_conn_open(&place->conn, path, place->index);
	}
	if (err == 0) {
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
	const bool is_absent = err == -ENOENT || err == -ECONNREFUSED || err == -EPERM;

	place->again = place->notify >= 0 && is_absent ? INT64_MAX : look_later(place, now);
	return false;
}

void wmk_place_lost(struct wmk_place *place, int64_t now)
{
	const struct wmk_conn *conn = &place->conn;
	/*
	 * It does not want the application; or it wanted it and ends, and the next one is reported. Else it had no
	 * room.
	 */
	const bool is_over = conn->welcomed || (conn->refused && conn->refused != EMFILE);

	wmk_conn_close(&place->conn, place->conn.persist);
	if (is_over)
		place->look_ms = 0;
	if (place->is_news)
		place->again = now;
	else
		place->again = is_over && place->notify >= 0 ? INT64_MAX : look_later(place, now);
}

bool wmk_place_wants_dump(const struct wmk_place *place)
{
	struct wmk_hints hints;

	return !wmk_hints_read(place->dir, place->owner, &hints) || hints.dumps;
}

void wmk_place_judge(struct wmk_place *place, int64_t now, int64_t until_ms)
{
	struct wmk_conn *conn = &place->conn;
	struct wmk_hints hints;

	if (now < conn->judge)
		return;
	conn->judge = now - conn->opened < until_ms ? now + JUDGE_MS : INT64_MAX;
	/* (who listens in another pid namespace cannot be judged from here) */
	conn->silent = conn->peer && wmk_process_is_stuck(conn->peer, 0);
	if (conn->peer && !conn->silent && wmk_hints_read(place->dir, place->owner, &hints))
		conn->silent = hints.pid && wmk_process_is_stuck((pid_t)hints.pid, hints.start);
}
