/* SPDX-License-Identifier: MIT */
/* snapshot_steps.c - see snapshot_steps.h. */
#include "sessiond/snapshot_steps.h"

#include "base/error.h"
#include "sessiond/command.h"

#include <stdio.h>

/* The reply and its arena. */
struct snapshot_warnings {
	struct wmk_ctl_snapshot_reply *reply;
	struct wmk_arena *arena;
	bool has_kernel;                 /* the snapshot has the kernel channels */
};

static void warn(const struct snapshot_warnings *to, const char *text)
{
	const char *copy = wmk_arena_text(to->arena, text);
	const char **at = copy && to->reply->warnings.n < WMK_CTL_WARNINGS_MAX
				  ? wmk_arena_append(to->arena, &to->reply->warnings, sizeof(*at))
				  : NULL;

	if (at)
		*at = copy;
}

static int warn_of_channel(void *data, const struct wmk_ctl_channel *is, uint32_t stream_id, bool own)
{
	const struct snapshot_warnings *to = data;
	const bool kernel = is->domain.kind == WMK_DOMAIN_KERNEL;
	char text[400];

	(void)stream_id;
	if (own || ((!kernel || to->has_kernel) && is->settings.mode == WMK_MODE_OVERWRITE))
		return 0;
	snprintf(text, sizeof(text), "channel %.255s is not in the snapshot: it %s", is->name,
		 kernel ? "records the kernel (use create --snapshot)"
			: "is in discard mode, and its records are in the trace of the session");
	warn(to, text);
	return 0;
}

static void warn_left_out(struct wmk_session *session, const struct wmk_snapshot *snapshot,
			  struct wmk_ctl_snapshot_reply *reply, struct wmk_arena *arena)
{
	struct snapshot_warnings to = { reply, arena, wmk_snapshot_has_kernel(snapshot) };

	wmk_session_each_channel(session, warn_of_channel, &to);
}

/*
 * Locked; unlocks the session. Record the state dump again, so that the snapshot contains the currently loaded objects.
 */
static void dump_again(struct wmk_tracing *tracing, struct wmk_session *session, struct wmk_ctl_snapshot_reply *reply,
		       struct wmk_arena *arena)
{
	const struct snapshot_warnings to = { reply, arena, false };
	struct wmk_list unanswered = { NULL, 0 };
	char text[120];

	wmk_session_regenerate_statedump(session);
	wmk_session_unlock(session);
	if (wmk_tracing_update(tracing, session, WMK_COMMAND_UPDATE_MS, &unanswered, arena) < 0)
		wmk_error_clear();       /* the snapshot contains older state dumps */
	if (!unanswered.n)
		return;
	snprintf(text, sizeof(text),
		 "%u application%s not recorded the state dump in time: the snapshot contains older state "
		 "dumps", unanswered.n,
		 unanswered.n == 1 ? " has" : "s have");
	warn(&to, text);
}

int wmk_snapshot_run(struct wmk_tracing *tracing, struct wmk_session *session,
		     const struct wmk_snapshot_options *options, struct wmk_ctl_snapshot_reply *reply,
		     struct wmk_arena *arena)
{
	struct wmk_snapshot *snapshot;
	int err = wmk_snapshot_begin(session, options, &snapshot);

	if (err == 0)
		warn_left_out(session, snapshot, reply, arena);
	if (err == 0 && wmk_snapshot_has_dump(snapshot))
		dump_again(tracing, session, reply, arena);
	else
		wmk_session_unlock(session);
	return err == 0 ? wmk_snapshot_end(snapshot, reply, arena) : err;
}

bool wmk_snapshot_run_requested(struct wmk_tracing *tracing, struct wmk_session *session, char *words, size_t size)
{
	struct wmk_ctl_snapshot_reply reply = { 0 };
	struct wmk_snapshot_request request;
	struct wmk_arena arena = { 0 };
	char cause[400], program[48];

	if (wmk_session_lock(session) < 0) {
		wmk_error_clear();
		return false;
	}
	if (wmk_session_snapshot_requested(session, &request) == 0) {
		wmk_session_unlock(session);
		return false;
	}
	const struct wmk_snapshot_options options = { .name = request.name, .reason = request.reason,
						      .program = request.program, .pid = request.pid };
	const int err = wmk_snapshot_run(tracing, session, &options, &reply, &arena);

	snprintf(program, sizeof(program), request.pid ? "%.15s (process %ld)" : "a program", request.program,
		 (long)request.pid);
	wmk_error_format(words, size, "session %.200s: snapshot requested by %s: %.400s", wmk_session_name(session),
			 program, err < 0 ? wmk_error_text(cause, sizeof(cause)) : reply.path);
	if (err < 0 && wmk_session_lock(session) == 0) {
		wmk_session_snapshot_omitted(session);
		wmk_session_unlock(session);
	}
	wmk_error_clear();
	wmk_arena_free(&arena);
	return true;
}
