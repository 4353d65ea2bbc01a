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
	const bool kernel = is->domain.kind == WMK_DOMAIN_KERNEL;
	char text[400];

	(void)stream_id;
	if (own || (!kernel && is->settings.mode == WMK_MODE_OVERWRITE))
		return 0;
	snprintf(text, sizeof(text), "channel %.255s is not in the snapshot: it %s", is->name,
		 kernel ? "records the kernel"
			: "is in discard mode, and its records are in the trace of the session");
	warn(data, text);
	return 0;
}

void wmk_snapshot_warn_left_out(struct wmk_session *session, struct wmk_ctl_snapshot_reply *reply,
				struct wmk_arena *arena)
{
	struct snapshot_warnings to = { reply, arena };

	wmk_session_each_channel(session, warn_of_channel, &to);
}

void wmk_snapshot_dump_again(struct wmk_tracing *tracing, struct wmk_session *session,
			     struct wmk_ctl_snapshot_reply *reply, struct wmk_arena *arena)
{
	const struct snapshot_warnings to = { reply, arena };
	struct wmk_list unanswered = { NULL, 0 };
	char text[120];

	wmk_session_regenerate_statedump(session);
	wmk_session_unlock(session);
	if (wmk_tracing_update(tracing, session, WMK_COMMAND_UPDATE_MS, &unanswered, arena) < 0)
		wmk_error_clear();       /* the snapshot contains older state dumps */
	if (!unanswered.n)
		return;
	snprintf(text, sizeof(text),
		 "%u application%s not recorded the state dump in time: the snapshot has older ones", unanswered.n,
		 unanswered.n == 1 ? " has" : "s have");
	warn(&to, text);
}
