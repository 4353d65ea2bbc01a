/* SPDX-License-Identifier: MIT */
/*
 * command_session.c - commands for whole sessions: create, destroy, start, stop, clear, regenerate, snapshot, list,
 * version, shutdown.
 */
#include "sessiond/command_request.h"

#include "base/error.h"
#include "base/utf8.h"
#include "session/snapshot.h"
#include "sessiond/relay_list.h"
#include "sessiond/snapshot_steps.h"
#include "store/store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SAME_SECOND_MAX 1000u
#define FLUSH_MAX_US INT32_MAX

int wmk_command_version(struct command_request *cmd)
{
	struct wmk_ctl_version_reply *reply = cmd->reply;

	reply->version = cmd->commands->version;
	reply->pid = (uint64_t)getpid();
	reply->uid = cmd->commands->daemon;
	reply->started = cmd->commands->started;
	reply->rundir = cmd->commands->rundir;
	return 0;
}

/* ── create ──────────────────────────────────────────────────────────────────────────────────────────── */

static int path_check(const char *what, const char *path)
{
	if (*path != '/')
		return wmk_error(-EINVAL, "the %s '%.240s' is not an absolute path", what, path);
	for (const char *c = path; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			return wmk_error(-EINVAL, "the path of the %s contains a control character", what);
	return 0;
}

static int default_place(const struct wmk_ctl_create *request, const char *name, bool auto_name, char *path,
			 size_t size)
{
	int err = path_check("home directory", request->home), n;
	char directory[WMK_OBJECT_TEXT_MAX];

	if (err < 0)
		return wmk_error_add(err, "no path for the trace and no usable home directory were given");
	const bool spool = request->settings.url && *request->settings.url;

	n = snprintf(directory, sizeof(directory), "%s/%s", request->home,
		     spool ? WMK_RELAY_SPOOLS : "waymark-traces");
	if (n < 0 || (size_t)n >= sizeof(directory))
		return wmk_error(-ENAMETOOLONG, "the path of the trace is too long");
	if (!auto_name)
		return wmk_store_default_path(directory, NULL, name, time(NULL), path, size);
	n = snprintf(path, size, "%s/%s", directory, name);         /* the name contains the time */
	return n > 0 && (size_t)n < size ? 0 : wmk_error(-ENAMETOOLONG, "the path of the trace is too long");
}

/* Normalize the path: remove '//', '/./', and a trailing '/'. (The target of '..' depends on links.) */
static void path_tidy(char *path)
{
	char *to = path;

	for (const char *at = path; *at;)
		if (at[0] == '/' && (at[1] == '/' || !at[1]))
			at++;
		else if (at[0] == '/' && at[1] == '.' && (at[2] == '/' || !at[2]))
			at += 2;
		else
			*to++ = *at++;
	if (to == path)
		*to++ = '/';
	*to = '\0';
}

/* Check three conditions: the directory is unused, no other session will use it, and the client can find the trace. */
static int place_check(struct command_request *cmd, const struct wmk_session_options *o)
{
	/* The directory may contain snapshots of earlier sessions, because each new snapshot gets a new name. */
	int err = o->settings.snapshot ? 0 : wmk_session_output_check(cmd->commands->tracing, o);

	if (err == 0 && !wmk_peer_sees(cmd->peer, o->path))
		return wmk_errorx(-ENOENT, "%.60s is another directory for the session daemon, which writes the "
				  "trace: the client has another mount namespace or root directory", o->path);

	return err == 0 ? wmk_session_path_check(cmd->commands->tracing, o) : err;
}

/*
 * Write the path into the buffer `path`, and set the path of the options to this buffer. A default path contains the
 * time in seconds. If another default path of the same second is in use, the new path gets a number as suffix.
 */
static int choose_path(struct command_request *cmd, const struct wmk_session_options *o, bool auto_name, char *path,
		       size_t size)
{
	const struct wmk_ctl_create *request = cmd->request;

	if (request->path && *request->path && *o->settings.url)
		return wmk_errorx(-EINVAL, "a session with a relay has no directory (--output): its spool is in "
				  "the home directory");
	if (request->path && *request->path) {
		int n = snprintf(path, size, "%s", request->path);

		if (n < 0 || (size_t)n >= size)
			return wmk_error(-ENAMETOOLONG, "the path of the trace is too long");
		int err = path_check("trace", path);
		if (err < 0)
			return err;
		path_tidy(path);
		return place_check(cmd, o);
	}
	int err = default_place(request, o->name, auto_name, path, size);
	size_t len = err == 0 ? strlen(path) : 0;
	if (err == 0)
		err = place_check(cmd, o);
	for (unsigned i = 2; (err == -ENOTEMPTY || err == -EBUSY) && i <= SAME_SECOND_MAX; i++) {
		if ((size_t)snprintf(path + len, size - len, "-%u", i) >= size - len)
			return wmk_error(-ENAMETOOLONG, "the path of the trace is too long");
		err = place_check(cmd, o);
	}
	return err;
}

static void auto_name(char *name, size_t size, unsigned attempt)
{
	time_t now = time(NULL);
	struct tm tm;
	size_t n;

	localtime_r(&now, &tm);
	n = strftime(name, size, "auto-%Y%m%d-%H%M%S", &tm);
	if (attempt > 1)
		snprintf(name + n, size - n, "-%u", attempt);
}

/* A description is printed on one line of a list, and is stored as text in the metadata. */
static int description_check(const char *text)
{
	if (!wmk_utf8_is(text))
		return wmk_error(-EINVAL, "invalid description: not UTF-8");
	for (const char *c = text; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			return wmk_error(-EINVAL, "invalid description: it contains a control character");
	return 0;
}

static int create_once(struct command_request *cmd, unsigned attempt, struct wmk_session **session)
{
	const struct wmk_ctl_create *request = cmd->request;
	bool unnamed = !*request->name;
	char name[64], path[WMK_OBJECT_TEXT_MAX];
	struct wmk_session_options options = {
		.name = request->name,
		.path = path,
		.all_users = cmd->commands->daemon == 0,
		.settings = request->settings,
	};

	wmk_peer_owner(cmd->peer, cmd->commands->daemon, &options.uid, &options.gid);
	if (unnamed) {
		auto_name(name, sizeof(name), attempt);
		options.name = name;
	}
	/* The name is checked before it becomes a component of a path. */
	int err = strlen(options.name) > WMK_CTL_NAME_MAX || strchr(options.name, '/')
			  ? wmk_error(-EINVAL, "invalid session name: allowed are 1 to %u bytes without '/'",
				      WMK_CTL_NAME_MAX)
			  : 0;
	if (err == 0 && request->settings.description)
		err = description_check(request->settings.description);
	if (err == 0 && (request->settings.flush_us < 0 || request->settings.flush_us > FLUSH_MAX_US))
		err = wmk_error(-EINVAL, "invalid flush interval of the session (--live): at most %d microseconds",
				FLUSH_MAX_US);
	if (err == 0)
		err = choose_path(cmd, &options, unnamed, path, sizeof(path));
	return err == 0 ? wmk_session_create(cmd->commands->tracing, &options, session) : err;
}

int wmk_command_create(struct command_request *cmd)
{
	const struct wmk_ctl_create *request = cmd->request;
	struct wmk_session *session = NULL;
	int err = create_once(cmd, 1, &session);

	for (unsigned i = 2; err == -EEXIST && !*request->name && i <= SAME_SECOND_MAX; i++)
		err = create_once(cmd, i, &session);
	if (err < 0)
		return wmk_error_add(err, "cannot create the session");
	err = wmk_session_lock(session);
	if (err == 0) {
		wmk_command_request_changed(cmd, session);
		err = wmk_command_request_describe(cmd, session);
		wmk_session_unlock(session);
	}
	wmk_session_put(session);
	return err;
}

/* ── destroy ─────────────────────────────────────────────────────────────────────────────────────────── */

/* Destroy the session without waiting for its last records. Takes over the reference. */
static int destroy_later(struct command_request *cmd, struct wmk_session *session)
{
	const struct wmk_commands *c = cmd->commands;
	int err = wmk_session_lock(session);

	if (err == 0) {
		err = wmk_command_request_describe(cmd, session);
		if (err == 0)
			wmk_session_destroy(session);
		wmk_session_unlock(session);
	}
	if (err == 0)
		c->finish_later(c->data, session, true);
	wmk_session_put(session);
	return err;
}

/* Takes over the reference. */
static int destroy_one(struct command_request *cmd, struct wmk_session *session)
{
	const struct wmk_commands *c = cmd->commands;
	struct wmk_ctl_outcome *outcome = cmd->reply;

	if (cmd->no_wait)
		return destroy_later(cmd, session);
	struct wmk_ctl_session *last = wmk_arena_append(&cmd->arena, &outcome->sessions, sizeof(*last));
	int err = last ? wmk_session_lock(session) : -ENOMEM;
	char words[400];

	if (err < 0) {
		outcome->sessions.n -= last != NULL;
		wmk_session_put(session);
		return err;
	}
	if (wmk_session_trouble(session, words, sizeof(words)) < 0)
		wmk_command_request_warn(cmd, "session %.100s: %s", wmk_session_name(session), words);
	wmk_command_request_warn_awaited(cmd, session);
	wmk_session_destroy(session);
	wmk_session_unlock(session);
	if (wmk_tracing_update(c->tracing, session, WMK_COMMAND_UPDATE_MS, &outcome->unanswered, &cmd->arena) < 0)
		wmk_command_request_warn_cause(cmd, "not all applications were updated");
	if (wmk_session_finish(session, last, &cmd->arena) < 0)
		wmk_command_request_warn_cause(cmd, "not everything could be written");
	/* After an error, remove the entry if it does not have the name of the session. */
	if (!last->name)
		outcome->sessions.n--;
	if (c->changed && c->changed(c->data, session, true) < 0)
		wmk_command_request_warn_cause(cmd, "cannot remove the saved state of the session");
	wmk_session_put(session);
	return 0;
}

static int none_matches(const char *glob)
{
	return wmk_errorx(-ENOENT, "no session matches '%.100s'", glob);
}

/*
 * Call `one` for all sessions, or for the sessions that match `glob`. `one` takes ownership of the reference to the
 * session. A session that is already in the requested state is no error. If another client has destroyed a session in
 * the meantime, the function returns no error for this session. Returns the first other error.
 */
static int each_session(struct command_request *cmd, bool own, const char *glob,
			int (*one)(struct command_request *cmd, struct wmk_session *session))
{
	struct wmk_session **all;
	int n = glob ? wmk_pattern_check(glob) : 0, first = 0;

	if (n < 0)
		return n;
	n = wmk_command_request_sessions(cmd, own, glob, &all);
	for (int i = 0; i < n; i++) {
		int err = one(cmd, all[i]);

		if (err == -ENOENT || err == -EALREADY)
			wmk_error_clear();
		else if (err < 0 && first == 0)
			first = err;
	}
	if (n >= 0)
		free(all);
	return n == 0 && glob ? none_matches(glob) : n < 0 ? n : first;
}

/*
 * Call `one` for the sessions that the request selects. `one` takes ownership of the reference to the session. If `all`
 * is true, an empty name in the request selects all sessions.
 */
static int requested_sessions(struct command_request *cmd, bool all,
			      int (*one)(struct command_request *cmd, struct wmk_session *session))
{
	const struct wmk_ctl_session_name *request = cmd->request;
	struct wmk_session *session;

	if (request->glob || (all && !*request->session))
		return each_session(cmd, true, request->glob ? request->session : NULL, one);
	int err = wmk_command_request_session(cmd, request->session, &session);
	return err < 0 ? err : one(cmd, session);
}

int wmk_command_destroy(struct command_request *cmd)
{
	const struct wmk_ctl_session_name *request = cmd->request;

	cmd->no_wait = request->no_wait && cmd->commands->finish_later;
	return requested_sessions(cmd, true, destroy_one);
}

int wmk_command_shutdown(struct command_request *cmd)
{
	const struct wmk_commands *c = cmd->commands;
	struct wmk_ctl_outcome outcome = { { NULL, 0 }, { NULL, 0 }, { NULL, 0 } };
	void *reply = cmd->reply;

	if (cmd->peer->uid != 0 && cmd->peer->uid != c->daemon)
		return wmk_errorx(-EACCES, "only root may shut down root's session daemon");
	cmd->reply = &outcome;          /* discarded: the reply of this request has no outcome */
	int err = each_session(cmd, false, NULL, destroy_one);
	cmd->reply = reply;
	if (err < 0)
		return err;
	if (c->shutdown)
		c->shutdown(c->data);
	return 0;
}

/* ── start, stop, clear, regenerate ──────────────────────────────────────────────────────────────────── */

/*
 * The daemon of an ordinary user records only this user's applications. `start` creates the trace and the rings of the
 * daemon's user, and so reports errors of the trace and of the rings.
 */
static int prepare(struct command_request *cmd, struct wmk_session *session)
{
	int err = cmd->commands->daemon != 0 ? wmk_session_prepare(session, wmk_session_uid(session)) : 0;
	char words[400];

	if (err == 0)
		return 0;
	if (wmk_session_trouble(session, words, sizeof(words)) < 0)
		wmk_error(err, "%.300s", words);
	wmk_error_add(err, "cannot start session '%.240s'", wmk_session_name(session));
	wmk_session_unstart(session);
	return err;
}

/* Takes over the reference. */
static int start_one(struct command_request *cmd, struct wmk_session *session)
{
	int err = wmk_session_lock(session);

	if (err == 0) {
		err = wmk_session_start(session);
		if (err == 0)
			err = prepare(cmd, session);
		if (err == 0)
			wmk_command_request_changed(cmd, session);
		wmk_session_unlock(session);
	}
	if (err == 0 && cmd->commands->scheduled)
		cmd->commands->scheduled(cmd->commands->data);
	if (err == 0)
		err = wmk_command_request_update(cmd, session);
	wmk_session_put(session);
	return err;
}

int wmk_command_start(struct command_request *cmd)
{
	return requested_sessions(cmd, false, start_one);
}

/* The caller holds a reference. */
static int stop_one(struct command_request *cmd, struct wmk_session *session)
{
	struct wmk_ctl_outcome *outcome = cmd->reply;
	int err = wmk_session_lock(session);

	if (err < 0)
		return err;
	err = wmk_session_stop(session);
	if (err == 0)
		wmk_command_request_changed(cmd, session);
	if (err == 0 && cmd->no_wait)
		err = wmk_command_request_describe(cmd, session);
	wmk_session_unlock(session);
	if (err == 0 && cmd->no_wait)
		cmd->commands->finish_later(cmd->commands->data, session, false);
	if (err < 0 || cmd->no_wait)
		return err;
	if (wmk_tracing_update(cmd->commands->tracing, session, WMK_COMMAND_UPDATE_MS, &outcome->unanswered,
			       &cmd->arena) < 0)
		wmk_command_request_warn_cause(cmd, "not all applications were updated");
	err = wmk_session_lock(session);
	if (err < 0)
		return err;
	if (wmk_session_flush(session) < 0)
		wmk_command_request_warn_cause(cmd, "not everything could be written");
	wmk_command_request_warn_awaited(cmd, session);
	err = wmk_command_request_describe(cmd, session);
	wmk_session_unlock(session);
	return err;
}

/* Takes over the reference. */
static int stop_and_put(struct command_request *cmd, struct wmk_session *session)
{
	int err = stop_one(cmd, session);

	wmk_session_put(session);
	return err;
}

int wmk_command_stop(struct command_request *cmd)
{
	const struct wmk_ctl_session_name *request = cmd->request;

	cmd->no_wait = request->no_wait && cmd->commands->finish_later;
	return requested_sessions(cmd, true, stop_and_put);
}

/* Takes over the reference. */
static int clear_one(struct command_request *cmd, struct wmk_session *session)
{
	int err = wmk_session_lock(session);

	if (err < 0) {
		wmk_session_put(session);
		return err;
	}
	err = wmk_session_clear(session);
	if (err == 0) {
		wmk_command_request_changed(cmd, session);         /* the clear resets `full` */
		err = wmk_command_request_describe(cmd, session);
	}
	wmk_command_request_leave(session);
	return err;
}

int wmk_command_clear(struct command_request *cmd)
{
	return requested_sessions(cmd, false, clear_one);
}

int wmk_command_regenerate(struct command_request *cmd)
{
	const struct wmk_ctl_regenerate *request = cmd->request;
	struct wmk_session *session;
	int err = wmk_command_request_enter(cmd, request->session, &session);

	if (err < 0)
		return err;
	if (request->what == WMK_REGENERATE_METADATA) {
		err = wmk_session_regenerate_metadata(session);
		if (err == 0)
			err = wmk_command_request_describe(cmd, session);
		wmk_command_request_leave(session);
		return err;
	}
	wmk_session_regenerate_statedump(session);
	wmk_session_unlock(session);
	err = wmk_command_request_update(cmd, session);
	wmk_session_put(session);
	return err;
}

/* ── snapshots ───────────────────────────────────────────────────────────────────────────────────────── */

/* Copy and normalize a path that the client has sent; "" is copied as "". */
static int path_take(const struct command_request *cmd, const char *given, char *path, size_t size)
{
	const int n = snprintf(path, size, "%s", given);
	int err = *given ? path_check("snapshot", given) : 0;

	if (n < 0 || (size_t)n >= size)
		return wmk_error(-ENAMETOOLONG, "the path of the snapshot is too long");
	if (err < 0 || !*given)
		return err;
	path_tidy(path);
	return wmk_peer_sees(cmd->peer, path)
		       ? 0
		       : wmk_errorx(-ENOENT, "%.60s is another directory for the session daemon, which writes the "
				    "snapshot: the client has another mount namespace or root directory", path);
}

int wmk_command_snapshot(struct command_request *cmd)
{
	const struct wmk_ctl_snapshot *request = cmd->request;
	struct wmk_snapshot_options options = { .name = request->name, .max_size = request->max_size,
						.reason = request->reason, .program = request->program,
						.pid = (pid_t)request->pid };
	char path[WMK_OBJECT_TEXT_MAX];
	struct wmk_session *session;
	int err = path_take(cmd, request->path, path, sizeof(path));

	if (err == 0)
		err = wmk_command_request_enter(cmd, request->session, &session);
	if (err < 0)
		return err;
	options.path = path;
	err = wmk_snapshot_run(cmd->commands->tracing, session, &options, cmd->reply, &cmd->arena);
	wmk_session_put(session);
	return err < 0 ? wmk_error_add(err, "cannot record a snapshot") : 0;
}

int wmk_command_snapshot_output(struct command_request *cmd)
{
	struct wmk_ctl_snapshot_output output = *(const struct wmk_ctl_snapshot_output *)cmd->request;
	char path[WMK_OBJECT_TEXT_MAX];
	struct wmk_session *session;
	int err = output.remove ? 0 : path_take(cmd, output.path, path, sizeof(path));

	if (err == 0 && !output.remove && !*path)
		err = wmk_error(-EINVAL, "the request has no directory for snapshots");
	if (err == 0)
		err = wmk_command_request_enter(cmd, output.session, &session);
	if (err < 0)
		return err;
	output.path = path;
	err = wmk_session_snapshot_output(session, &output);
	if (err == 0) {
		wmk_command_request_changed(cmd, session);
		err = wmk_command_request_describe(cmd, session);
	}
	wmk_command_request_leave(session);
	return err;
}

/* ── lists ───────────────────────────────────────────────────────────────────────────────────────────── */

static int list_one(struct command_request *cmd, struct wmk_session *session)
{
	struct wmk_ctl_sessions *reply = cmd->reply;
	int err = wmk_session_lock(session);
	struct wmk_ctl_session *is;

	if (err < 0) {                   /* destroyed since the list was made */
		wmk_error_clear();
		return 0;
	}
	is = wmk_arena_append(&cmd->arena, &reply->sessions, sizeof(*is));
	err = is ? wmk_session_describe(session, is, &cmd->arena) : -ENOMEM;
	wmk_session_unlock(session);
	return err;
}

int wmk_command_list_sessions(struct command_request *cmd)
{
	const struct wmk_ctl_list_sessions *request = cmd->request;
	struct wmk_session **all, *session;
	const char *glob = request->glob ? request->session : NULL;
	int err = glob ? wmk_pattern_check(glob) : 0, n;

	if (err < 0)
		return err;
	if (*request->session && !glob) {
		err = wmk_command_request_session(cmd, request->session, &session);
		if (err < 0)
			return err;
		err = list_one(cmd, session);
		wmk_session_put(session);
		return err < 0 ? err : wmk_relay_list(cmd->commands, cmd->peer, cmd->reply, &cmd->arena);
	}
	n = wmk_command_request_sessions(cmd, false, glob, &all);
	for (int i = 0; i < n; i++) {
		if (err == 0)
			err = list_one(cmd, all[i]);
		wmk_session_put(all[i]);
	}
	if (n >= 0)
		free(all);
	err = n == 0 && glob ? none_matches(glob) : n < 0 ? n : err;
	return err < 0 ? err : wmk_relay_list(cmd->commands, cmd->peer, cmd->reply, &cmd->arena);
}

int wmk_command_list_apps(struct command_request *cmd)
{
	const struct wmk_ctl_list_apps *request = cmd->request;
	struct wmk_ctl_apps *reply = cmd->reply;
	/* The list shows an event as enabled if a session of this user enables the event (root: of any user). */
	const uid_t uid = cmd->peer->uid;
	int err = *request->pattern ? wmk_pattern_check(request->pattern) : 0;

	/* The list has the applications of all users, because a session of root's daemon records all users. */
	return err < 0 ? err
		       : wmk_tracing_list_apps(cmd->commands->tracing, request, (uid_t)-1, uid == 0 ? (uid_t)-1 : uid,
					       &reply->apps, &cmd->arena);
}
