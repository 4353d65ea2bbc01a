/* SPDX-License-Identifier: MIT */
/*
 * command.h - perform requests of clients: a table from the requests of wire/ctl.h to functions that use tracing.h.
 *
 *     clients.h: a worker ──frame──► wmk_commands_run() ── permission ── decode ── function ── encode ──► frame
 *
 * The permission is checked first. To a client without permission, the daemon reports that the session does not exist.
 * A command changes the session, and then waits at most WMK_COMMAND_UPDATE_MS for the applications. The reply lists the
 * applications that have not confirmed the change by that time.
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
	 * Optional. Called after the session has changed, to save the session. The session is locked. If `gone` is
	 * true, the session was destroyed and is not locked. An error is reported to the client as a warning with the
	 * text of the cause chain.
	 */
	int (*changed)(void *data, struct wmk_session *session, bool gone);
	/*
	 * Optional. Called after the session was stopped, or destroyed (`gone`). If finish_later is set, another thread
	 * reconciles the applications and writes the last records. If finish_later is NULL, the command itself
	 * reconciles the applications and writes the last records before it replies.
	 */
	void (*finish_later)(void *data, struct wmk_session *session, bool gone);
	/*
	 * Optional. Called after a session became active, or after its schedule of rotations was changed. It may be
	 * locked.
	 */
	void (*scheduled)(void *data);
	/*
	 * Optional. Called after WMK_CTL_SHUTDOWN has destroyed all sessions: end the daemon soon, from another thread.
	 */
	void (*shutdown)(void *data);
	void *data;
};

/*
 * Handle one request, as wmk_clients_ops.command describes. Any thread that has called wmk_tracing_thread_begin() can
 * call this function, also concurrently.
 */
void wmk_commands_run(const struct wmk_commands *commands, const struct wmk_peer *peer, const struct wmk_frame *frame,
		      const void *body, struct wmk_out *out);

#endif
