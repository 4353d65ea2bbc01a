/* SPDX-License-Identifier: MIT */
/*
 * command.h - perform requests of clients: a table from the requests of wire/ctl.h to functions that use tracing.h.
 *
 *     clients.h: a worker ──frame──► wmk_commands_run() ── permission ── decode ── function ── encode ──► frame
 *
 * Permission is checked first: a session that a client may not see does not exist for this client. A command changes
 * the session, then waits at most WMK_COMMAND_UPDATE_MS for the applications. The reply lists the applications that
 * have not confirmed by then.
 */
#ifndef WMK_SESSIOND_COMMAND_H
#define WMK_SESSIOND_COMMAND_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sessiond/peer.h"
#include "session/tracing.h"
#include "wire/wire.h"

#define WMK_COMMAND_UPDATE_MS 3000

struct wmk_commands {
	struct wmk_tracing *tracing;
	uid_t daemon;                    /* user of the daemon */
	const char *version, *rundir;
	uint64_t started;                /* seconds since 1970 */
	/*
	 * Optional. The session has changed: save it. The session is locked. If `gone` is true, the session was
	 * destroyed and is not locked. An error becomes a warning to the client, with the text of the cause chain.
	 */
	int (*changed)(void *data, struct wmk_session *session, bool gone);
	/*
	 * Optional. The session has stopped, or was destroyed (`gone`): reconcile the applications and write the last
	 * records later, in another thread. If finish_later is NULL, the command itself reconciles the applications and
	 * writes the last records before it replies.
	 */
	void (*finish_later)(void *data, struct wmk_session *session, bool gone);
	/* Optional. A session became active, or its schedule of rotations has changed. It may be locked. */
	void (*scheduled)(void *data);
	/* Optional. WMK_CTL_SHUTDOWN has destroyed all sessions: end the daemon soon, from another thread. */
	void (*shutdown)(void *data);
	void *data;
};

/*
 * Answer one request: see wmk_clients_ops.command. Any thread that has called wmk_tracing_thread_begin(); concurrent.
 */
void wmk_commands_run(const struct wmk_commands *commands, const struct wmk_peer *peer, const struct wmk_frame *frame,
		      const void *body, struct wmk_out *out);

#endif
