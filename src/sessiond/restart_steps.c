/* SPDX-License-Identifier: MIT */
/*
 * restart_steps.c - see restart_steps.h. The consumer daemon writes the records of the new rings to the next chunk
 * (consumer/clock_restart.h). If the rotation follows within 10 s, all times in one chunk are on the same side of the
 * restart of the clock.
 */
#include "sessiond/restart_steps.h"

#include "base/error.h"
#include "sessiond/command.h"

static int rotate(struct wmk_session *session)
{
	int err = wmk_session_lock(session);

	if (err < 0)
		return err;
	err = wmk_session_rotate(session);
	wmk_session_unlock(session);
	return err;
}

bool wmk_restart_run(struct wmk_tracing *tracing, struct wmk_session *session, char *words, size_t size)
{
	char cause[400];
	int err = wmk_session_lock(session);

	if (err == 0) {
		err = wmk_session_clock_restarted(session);
		wmk_session_unlock(session);
	}
	if (err > 0) {
		/*
		 * An application that does not answer in time records into its old rings until it has processed the
		 * update.
		 */
		wmk_tracing_update(tracing, session, WMK_COMMAND_UPDATE_MS, NULL, NULL);
		wmk_error_clear();
		err = rotate(session);
	} else if (err == 0) {
		return false;
	}
	wmk_error_format(words, size, "session %.200s: its clock has restarted: %.300s", wmk_session_name(session),
			 err < 0 ? wmk_error_text(cause, sizeof(cause)) :
				 "recording continues in new rings and a new chunk");
	wmk_error_clear();
	return true;
}
