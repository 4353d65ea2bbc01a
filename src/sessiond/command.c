/* SPDX-License-Identifier: MIT */
/*
 * command.c - dispatch requests: find the function, decode, run, encode the reply (see command.h); and functions that
 * several commands share.
 */
#include "sessiond/command_request.h"

#include "base/error.h"
#include "base/nearest.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int (*function_of(uint16_t type))(struct command_request *cmd)
{
	switch (type) {
	case WMK_CTL_VERSION: return wmk_command_version;
	case WMK_CTL_CREATE: return wmk_command_create;
	case WMK_CTL_DESTROY: return wmk_command_destroy;
	case WMK_CTL_START: return wmk_command_start;
	case WMK_CTL_STOP: return wmk_command_stop;
	case WMK_CTL_LIST_SESSIONS: return wmk_command_list_sessions;
	case WMK_CTL_LIST_APPS: return wmk_command_list_apps;
	case WMK_CTL_ENABLE_CHANNEL: return wmk_command_enable_channel;
	case WMK_CTL_DISABLE_CHANNEL: return wmk_command_disable_channel;
	case WMK_CTL_ENABLE_EVENT: return wmk_command_enable_event;
	case WMK_CTL_DISABLE_EVENT: return wmk_command_disable_event;
	case WMK_CTL_ADD_CONTEXT: return wmk_command_add_context;
	case WMK_CTL_TRACK: return wmk_command_track;
	case WMK_CTL_UNTRACK: return wmk_command_untrack;
	case WMK_CTL_CLEAR: return wmk_command_clear;
	case WMK_CTL_RECLAIM: return wmk_command_reclaim;
	case WMK_CTL_ROTATE: return wmk_command_rotate;
	case WMK_CTL_ROTATION: return wmk_command_rotation;
	case WMK_CTL_REGENERATE: return wmk_command_regenerate;
	case WMK_CTL_SHUTDOWN: return wmk_command_shutdown;
	case WMK_CTL_LIST_KERNEL: return wmk_command_list_kernel;
	case WMK_CTL_SNAPSHOT: return wmk_command_snapshot;
	case WMK_CTL_SNAPSHOT_OUTPUT: return wmk_command_snapshot_output;
	default: return NULL;
	}
}

/* ── one request ─────────────────────────────────────────────────────────────────────────────────────── */

static void warning_add(struct command_request *cmd, const char *text)
{
	struct wmk_ctl_outcome *outcome = cmd->reply;
	const char *copy = wmk_arena_text(&cmd->arena, text);
	const char **at = copy ? wmk_arena_append(&cmd->arena, &outcome->warnings, sizeof(*at)) : NULL;

	if (at)
		*at = copy;
}

/*
 * Some warnings are omitted, so that the reply stays within the limits of the protocol. A reply beyond the limits could
 * not be sent, and the client would not receive the result.
 */
static void warn_of_rest(struct command_request *cmd)
{
	char text[80];

	snprintf(text, sizeof(text), "%u more warnings are not shown", cmd->omitted);
	warning_add(cmd, text);
}

static int answer(struct command_request *cmd, const struct wmk_frame *frame, const void *body, struct wmk_out *out)
{
	const struct wmk_request_type *command = wmk_ctl_request_find(frame->type);
	int (*function)(struct command_request *) = function_of(frame->type);

	if (!command || !function)
		return wmk_error(-ENOSYS, "unknown request type 0x%x", frame->type);
	void *request = wmk_arena_alloc(&cmd->arena, command->request->size);
	cmd->reply = wmk_arena_alloc(&cmd->arena, command->reply->size);
	if (!request || !cmd->reply)
		return -ENOMEM;
	int err = wmk_object_decode(command->request, body, frame->length, request, &cmd->arena);
	if (err < 0)
		return wmk_error_add(err, "cannot decode the request %s", command->name);
	cmd->request = request;
	err = function(cmd);
	if (err < 0)
		return err;
	if (cmd->omitted && command->reply == &wmk_ctl_outcome_object)
		warn_of_rest(cmd);
	err = wmk_object_send(out, WMK_CTL_REPLY, frame->request, command->reply, cmd->reply);
	return err < 0 ? wmk_error_add(err, "cannot encode the reply: request less") : 0;
}

void wmk_commands_run(const struct wmk_commands *commands, const struct wmk_peer *peer, const struct wmk_frame *frame,
		      const void *body, struct wmk_out *out)
{
	struct command_request cmd = { .commands = commands, .peer = peer };
	char words[1024];

	wmk_error_clear();
	int err = answer(&cmd, frame, body, out);
	if (err < 0)
		wmk_out_error(out, (enum wmk_msg)WMK_CTL_ERROR, frame->request, err,
			      wmk_error_text(words, sizeof(words)));
	wmk_arena_free(&cmd.arena);
	wmk_error_clear();
}

/* ── find sessions ───────────────────────────────────────────────────────────────────────────────────── */

static bool may(const struct command_request *cmd, const struct wmk_session *session)
{
	return wmk_peer_may(cmd->peer, cmd->commands->daemon, wmk_session_uid(session));
}

int wmk_command_request_sessions(struct command_request *cmd, bool own, const char *glob,
				 struct wmk_session ***out)
{
	struct wmk_session **all = NULL;
	int n = wmk_session_get_all(cmd->commands->tracing, &all), kept = 0;
	uid_t uid;
	gid_t gid;

	wmk_peer_owner(cmd->peer, cmd->commands->daemon, &uid, &gid);
	for (int i = 0; i < n; i++)
		if (may(cmd, all[i]) && (!own || wmk_session_uid(all[i]) == uid) &&
		    (!glob || wmk_pattern_match_text(glob, wmk_session_name(all[i]))))
			all[kept++] = all[i];
		else
			wmk_session_put(all[i]);
	*out = all;
	return n < 0 ? n : kept;
}

static int no_session(struct command_request *cmd, const char *name)
{
	struct wmk_session **all;
	struct wmk_nearest near;
	char names[300] = "";
	int n = wmk_command_request_sessions(cmd, false, NULL, &all);

	wmk_nearest_init(&near, name);
	for (int i = 0; i < n; i++)
		wmk_nearest_offer(&near, wmk_session_name(all[i]));
	if (n >= 0)
		wmk_nearest_text(&near, names, sizeof(names));
	for (int i = 0; i < n; i++)
		wmk_session_put(all[i]);
	if (n >= 0)
		free(all);
	if (n == 0)
		return wmk_errorx(-ENOENT, "there is no session '%.60s', and you have no other: create one", name);
	return wmk_errorx(-ENOENT, "there is no session '%.60s'%s%.70s", name,
			  names[0] ? "; did you mean: " : "", names);
}

/*
 * Find the first session of another user with this name, if the client may control this session. The caller has already
 * searched the sessions of the client's own user.
 */
static struct wmk_session *others_session(struct command_request *cmd, const char *name)
{
	struct wmk_session **all, *found = NULL;
	int n = wmk_command_request_sessions(cmd, false, NULL, &all);

	for (int i = 0; i < n; i++) {
		if (!found && strcmp(wmk_session_name(all[i]), name) == 0)
			found = all[i];
		else
			wmk_session_put(all[i]);
	}
	if (n >= 0)
		free(all);
	return found;
}

int wmk_command_request_session(struct command_request *cmd, const char *name, struct wmk_session **out)
{
	struct wmk_session *session;
	uid_t uid;
	gid_t gid;

	if (!*name)
		return wmk_error(-EINVAL, "the request names no session");
	wmk_peer_owner(cmd->peer, cmd->commands->daemon, &uid, &gid);
	session = wmk_session_get(cmd->commands->tracing, uid, name);
	if (session && !may(cmd, session)) {
		wmk_session_put(session);
		session = NULL;
	}
	if (!session)
		session = others_session(cmd, name);
	*out = session;
	return session ? 0 : no_session(cmd, name);
}

int wmk_command_request_enter(struct command_request *cmd, const char *name, struct wmk_session **out)
{
	int err = wmk_command_request_session(cmd, name, out);

	if (err < 0)
		return err;
	err = wmk_session_lock(*out);
	if (err < 0)
		wmk_session_put(*out);
	return err;
}

void wmk_command_request_leave(struct wmk_session *session)
{
	wmk_session_unlock(session);
	wmk_session_put(session);
}

/* ── fill the reply ──────────────────────────────────────────────────────────────────────────────────── */

void wmk_command_request_warn(struct command_request *cmd, const char *format, ...)
{
	const struct wmk_ctl_outcome *outcome = cmd->reply;
	char text[800];
	va_list args;

	/* the last entry is for the number of omitted warnings */
	if (outcome->warnings.n + 1 >= WMK_CTL_WARNINGS_MAX) {
		cmd->omitted++;
		return;
	}
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	warning_add(cmd, text);
}

void wmk_command_request_warn_cause(struct command_request *cmd, const char *what)
{
	char words[600];

	wmk_command_request_warn(cmd, "%s: %s", what, wmk_error_text(words, sizeof(words)));
	wmk_error_clear();
}

void wmk_command_request_warn_awaited(struct command_request *cmd, struct wmk_session *session)
{
	char words[300];
	unsigned n = wmk_session_awaited(session, words, sizeof(words));

	if (n && wmk_session_recovered(session))
		wmk_command_request_warn(cmd,
			      "session %.100s: cannot adopt %u of its ring sets, which stay unchanged (at most %s)",
			      wmk_session_name(session), n, words);
	else if (n)
		wmk_command_request_warn(
			cmd,
			"session %.100s: no application has reattached %u ring set%s of the crashed daemons (at most "
			"%s): event records that are only in %s are lost when the applications end",
			wmk_session_name(session), n, n > 1 ? "s" : "", words, n > 1 ? "them" : "it");
}

int wmk_command_request_describe(struct command_request *cmd, struct wmk_session *session)
{
	struct wmk_ctl_outcome *outcome = cmd->reply;
	struct wmk_ctl_session *is = wmk_arena_append(&cmd->arena, &outcome->sessions, sizeof(*is));
	char words[400];

	if (!is)
		return -ENOMEM;
	int err = cmd->no_wait ? wmk_session_describe_known(session, is, &cmd->arena)
			       : wmk_session_describe(session, is, &cmd->arena);
	if (err < 0) {
		outcome->sessions.n--;
		return err;
	}
	if (wmk_session_trouble(session, words, sizeof(words)) < 0)
		wmk_command_request_warn(cmd, "session %.100s: %s", is->name, words);
	while (wmk_session_syscalls_warning(session, words, sizeof(words)))
		wmk_command_request_warn(cmd, "session %.100s: %s", is->name, words);
	if (is->full)
		wmk_command_request_warn(cmd,
			      "session %.100s has stopped: its trace has reached its limit of %llu bytes (--max-size)",
			      is->name, (unsigned long long)is->settings.max_size);
	return 0;
}

/* ── changes ─────────────────────────────────────────────────────────────────────────────────────────── */

void wmk_command_request_changed(struct command_request *cmd, struct wmk_session *session)
{
	const struct wmk_commands *c = cmd->commands;

	if (c->changed && c->changed(c->data, session, false) < 0)
		wmk_command_request_warn_cause(cmd, "the change is not saved for the next session daemon");
}

int wmk_command_request_update(struct command_request *cmd, struct wmk_session *session)
{
	struct wmk_ctl_outcome *outcome = cmd->reply;
	int err = wmk_tracing_update(cmd->commands->tracing, session, WMK_COMMAND_UPDATE_MS, &outcome->unanswered,
				     &cmd->arena);

	if (err < 0)
		return err;
	if (wmk_session_lock(session) < 0) {
		wmk_error_clear();
		return 0;
	}
	err = wmk_command_request_describe(cmd, session);
	wmk_session_unlock(session);
	return err;
}

/* ── rotations ───────────────────────────────────────────────────────────────────────────────────────── */

/* Rotate the session or, if `change` is not NULL, change the schedule of rotations. */
static int on_rotation(struct command_request *cmd, const char *name, const struct wmk_ctl_rotation *change)
{
	struct wmk_session *session;
	int err = wmk_command_request_enter(cmd, name, &session);

	if (err < 0)
		return err;
	err = change ? wmk_session_set_rotation(session, change) : wmk_session_rotate(session);
	if (err == 0) {
		wmk_command_request_changed(cmd, session);
		err = wmk_command_request_describe(cmd, session);
	}
	wmk_command_request_leave(session);
	return err;
}

int wmk_command_rotate(struct command_request *cmd)
{
	const struct wmk_ctl_session_name *request = cmd->request;

	return on_rotation(cmd, request->session, NULL);
}

int wmk_command_rotation(struct command_request *cmd)
{
	const struct wmk_ctl_rotation *request = cmd->request;
	int err = request->off || request->rotate_us || request->rotate_size || request->retain_size ||
				  request->retain_us || request->retain_count
			  ? on_rotation(cmd, request->session, request)
			  : wmk_error(-EINVAL, "the request has no schedule of rotations");

	if (err == 0 && cmd->commands->scheduled)
		cmd->commands->scheduled(cmd->commands->data);
	return err;
}
