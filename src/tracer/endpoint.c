/* SPDX-License-Identifier: MIT */
/* endpoint.c - see endpoint.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "tracer/channel.h"
#include "tracer/endpoint.h"
#include "tracer/process.h"
#include "wire/hints.h"
#include "wire/notify_fifo.h"

#define BACKOFF_MIN_MS 10
#define BACKOFF_MAX_MS 1000
#define CHECK_PEER_MS 100
#define RETRY_MIN_MS 10000
#define RETRY_MAX_MS 60000

/*
 * The directory is determined before each attempt, because the directory of a user below /run/user may be created after
 * the application has started.
 */
static void find_dir(struct wmk_endpoint *endpoint)
{
	int len = wmk_rundir_of(endpoint->owner, wmk_tracer.has_rundir ? wmk_tracer.rundir : NULL, endpoint->dir,
				sizeof(endpoint->dir));

	if (len < 0 || (size_t)len + sizeof("/" WMK_APP_SOCKET) > sizeof(endpoint->dir)) {
		wmk_error_clear();
		endpoint->dir[0] = '\0';
	}
}

bool wmk_endpoint_find(unsigned index, struct wmk_endpoint *endpoint)
{
	const char *dir = wmk_tracer.has_rundir ? wmk_tracer.rundir : NULL;
	uid_t uid = geteuid();

	if (index > 1 || (index == 1 && (dir || uid == 0 || wmk_tracer.secure)))
		return false;
	endpoint->index = index;
	endpoint->owner = dir || index == 1 ? uid : 0;
	find_dir(endpoint);
	endpoint->is_fresh = true;
	return true;
}

static void socket_path(const struct wmk_endpoint *endpoint, char path[WMK_ENDPOINT_PATH_MAX])
{
	strcpy(path, endpoint->dir);
	strcat(path, "/" WMK_APP_SOCKET);
}

bool wmk_endpoint_has_socket(const struct wmk_endpoint *endpoint)
{
	char path[WMK_ENDPOINT_PATH_MAX];

	if (!endpoint->dir[0])
		return false;
	socket_path(endpoint, path);
	return access(path, F_OK) == 0;
}

void wmk_endpoints_report(enum wmk_unrecorded reason, int err)
{
	struct wmk_endpoint endpoint;
	char path[WMK_ENDPOINT_PATH_MAX];

	for (unsigned i = 0; wmk_endpoint_find(i, &endpoint); i++)
		if (wmk_endpoint_has_socket(&endpoint)) {
			socket_path(&endpoint, path);
			wmk_conn_report_once(path, reason, err);
		}
}

void wmk_endpoint_close(struct wmk_endpoint *endpoint)
{
	if (endpoint->notify >= 0)
		close(endpoint->notify);
	endpoint->notify = -1;
}

bool wmk_endpoint_is_due(const struct wmk_endpoint *endpoint, int64_t now)
{
	return endpoint->dir[0] && endpoint->conn.sock < 0 && now >= endpoint->retry_at;
}

/* Return the delay that follows the delay `ms` (0: no delay yet). The delays double, from `least` to `most`. */
static int32_t next_delay(int32_t ms, int32_t least, int32_t most)
{
	ms = ms ? 2 * ms : least;
	return ms < most ? ms : most;
}

/* Return the time of the next connection attempt if no FIFO reports a new session daemon. */
static int64_t retry_later(struct wmk_endpoint *endpoint, int64_t now)
{
	endpoint->retry_ms = next_delay(endpoint->retry_ms, RETRY_MIN_MS, RETRY_MAX_MS);
	return now + endpoint->retry_ms;
}

/* Open the FIFO again, so that the FIFO reports only session daemons that start after the next connection attempt. */
static void open_fifo(struct wmk_endpoint *endpoint)
{
	wmk_endpoint_close(endpoint);
	endpoint->notify = wmk_notify_open(endpoint->dir, endpoint->owner);
}

void wmk_endpoint_notified(struct wmk_endpoint *endpoint)
{
	endpoint->retry_ms = 0;
	if (endpoint->conn.sock >= 0) {
		open_fifo(endpoint);
		endpoint->daemon_started = true;
	} else {
		wmk_endpoint_close(endpoint);
		endpoint->retry_at = 0;
	}
}

bool wmk_endpoint_connect(struct wmk_endpoint *endpoint, int64_t now)
{
	char path[WMK_ENDPOINT_PATH_MAX];
	int err;

	if (endpoint->index == 1 && !endpoint->is_fresh)
		find_dir(endpoint);
	endpoint->is_fresh = endpoint->daemon_started = false;
	open_fifo(endpoint);
	socket_path(endpoint, path);
	err = wmk_conn_open(&endpoint->conn, path, endpoint->index);
	if (err == -EMFILE && endpoint->notify >= 0) {
		wmk_endpoint_close(endpoint);
		err = wmk_conn_open(&endpoint->conn, path, endpoint->index);
	}
	if (err == 0) {
		endpoint->conn.opened = now;
		endpoint->conn.check_peer_at = now + CHECK_PEER_MS;
		endpoint->backoff = 0;
		endpoint->retry_at = INT64_MAX;
		return true;
	}
	wmk_error_clear();
	if (err == -EAGAIN) {
		/* a session daemon runs, but its backlog is full: keep inherited recorders */
		endpoint->backoff = next_delay(endpoint->backoff, BACKOFF_MIN_MS, BACKOFF_MAX_MS);
		endpoint->retry_at = now + endpoint->backoff;
		return false;
	}
	wmk_orphans_remove(endpoint->index, false);
	endpoint->backoff = 0;
	const bool is_absent = err == -ENOENT || err == -ECONNREFUSED || err == -EPERM;

	endpoint->retry_at = endpoint->notify >= 0 && is_absent ? INT64_MAX : retry_later(endpoint, now);
	return false;
}

void wmk_endpoint_lost(struct wmk_endpoint *endpoint, int64_t now)
{
	const struct wmk_conn *conn = &endpoint->conn;
	/*
	 * The connection is over if the session daemon refused the application, or if the session daemon accepted the
	 * application and has ended. When the connection is over, the FIFO reports the next session daemon. If the
	 * session daemon refused the application with EMFILE, or closed the connection without an answer, the session
	 * daemon had no room for the application.
	 */
	const bool is_over = conn->welcomed || (conn->refused && conn->refused != EMFILE);

	wmk_conn_close(&endpoint->conn, endpoint->conn.persist);
	if (is_over)
		endpoint->retry_ms = 0;
	if (endpoint->daemon_started)
		endpoint->retry_at = now;
	else
		endpoint->retry_at = is_over && endpoint->notify >= 0 ? INT64_MAX : retry_later(endpoint, now);
}

bool wmk_endpoint_wants_dump(const struct wmk_endpoint *endpoint)
{
	struct wmk_hints hints;

	return !wmk_hints_read(endpoint->dir, endpoint->owner, &hints) || hints.dumps;
}

void wmk_endpoint_check_peer(struct wmk_endpoint *endpoint, int64_t now, int64_t until_ms)
{
	struct wmk_conn *conn = &endpoint->conn;
	struct wmk_hints hints;

	if (now < conn->check_peer_at)
		return;
	conn->check_peer_at = now - conn->opened < until_ms ? now + CHECK_PEER_MS : INT64_MAX;
	/* a process in another PID namespace cannot be checked */
	conn->unresponsive = conn->peer && wmk_process_is_stuck(conn->peer, 0);
	if (conn->peer && !conn->unresponsive && wmk_hints_read(endpoint->dir, endpoint->owner, &hints))
		conn->unresponsive = hints.pid && wmk_process_is_stuck((pid_t)hints.pid, hints.start);
}
