/* SPDX-License-Identifier: MIT */
/*
 * relay_list.c - see relay_list.h.
 */
#include "sessiond/relay_list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "session/tracing.h"

/* Return the name of the session that has its spool in `path`; "" if there is no such session, NULL for -ENOMEM. */
static const char *session_of_path(struct wmk_session **all, int n, const char *path, struct wmk_arena *arena)
{
	for (int i = 0; i < n; i++)
		if (strcmp(wmk_session_path(all[i]), path) == 0)
			return wmk_arena_text(arena, wmk_session_name(all[i]));
	return "";
}

static bool is_listed(const struct wmk_ctl_sessions *reply, const char *name, uint64_t uid)
{
	const struct wmk_ctl_session *sessions = reply->sessions.items;

	for (uint32_t i = 0; i < reply->sessions.n; i++)
		if (sessions[i].uid == uid && strcmp(sessions[i].name, name) == 0)
			return true;
	return false;
}

int wmk_relay_list(const struct wmk_commands *commands, const struct wmk_peer *peer, struct wmk_ctl_sessions *reply,
		   struct wmk_arena *arena)
{
	struct wmk_list found = { NULL, 0 };
	struct wmk_session **all;
	int err = wmk_session_relays(commands->tracing, &found, arena);
	int n = err < 0 || !found.n ? 0 : wmk_session_get_all(commands->tracing, &all);

	if (err < 0 || n < 0)
		return err < 0 ? err : n;
	for (uint32_t i = 0; i < found.n && err == 0; i++) {
		struct wmk_ctl_relay *relay = (struct wmk_ctl_relay *)found.items + i, *to;

		if (!wmk_peer_may(peer, commands->daemon, (uid_t)relay->uid))
			continue;
		relay->session = session_of_path(all, n, relay->path, arena);
		if (relay->session && *relay->session && !is_listed(reply, relay->session, relay->uid))
			continue;
		to = relay->session ? wmk_arena_append(arena, &reply->relays, sizeof(*to)) : NULL;
		err = to ? 0 : -ENOMEM;
		if (to)
			*to = *relay;
	}
	for (int i = 0; i < n; i++)
		wmk_session_put(all[i]);
	if (found.n)
		free(all);
	return err;
}
