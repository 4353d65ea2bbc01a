/* SPDX-License-Identifier: MIT */
/*
 * command.h - what clients ask for, done: a table from the requests of wire/ctl.h to functions over tracing.h.
 *
 *     clients.h: a worker ──frame──► wmk_commands_run() ── who may? ── decode ── function ── encode ──► frame
 *
 * Permission comes first: a session that a client may not see is not there for him. A command changes the session, then
 * has the applications brought in line, for at most WMK_COMMAND_UPDATE_MS; who has not confirmed by then is named in
 * the answer.
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
	uid_t daemon;                    /* whose daemon it is */
	const char *version, *rundir;
	uint64_t started;                /* seconds since 1970 */
	/*
	 * Optional. The session is now as it is: write it down. Locked. `gone`: it was destroyed (not locked any more).
	 * What it returns is a warning to the client (words in the cause chain).
	 */
	int (*changed)(void *data, struct wmk_session *session, bool gone);
	/* Optional. WMK_CTL_SHUTDOWN: all sessions have been destroyed; end soon, elsewhere. */
	void (*shutdown)(void *data);
	void *data;
};

/*
 * Answer one request: as wmk_clients_ops.command. Any number of threads at a time; each has called
 * wmk_tracing_thread_begin().
 */
void wmk_commands_run(const struct wmk_commands *commands, const struct wmk_peer *peer, const struct wmk_frame *frame,
		      const void *body, struct wmk_out *out);

#endif
