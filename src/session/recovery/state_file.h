/* SPDX-License-Identifier: MIT */
/*
 * state_file.h - the state of a session daemon on disk, by which the next daemon continues its sessions.
 *
 *     <rundir>/state/                 mode 0700
 *         N.json                      a session: options, channels, rules, trackers, rings; replaced at every change
 *         N.ids                       ids of events in its rings, appended before an application receives them
 *         identities                  the identity under which each application claims rings
 *         identities.old              the same for applications of earlier daemons
 *         clock.json                  the clocks as the first daemon measured them
 *
 * The consumer daemon and the applications hold the rings themselves. The daemon does not trust the files: it checks
 * all values again, like the values of a client. Any thread may call the functions; functions about one session are
 * called with the session's lock held.
 */
#ifndef WMK_SESSION_STATE_FILE_H
#define WMK_SESSION_STATE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "session/tracing.h"

struct wmk_state;

/*
 * Create or open the state directory in `rundir`, and read the state. If `recovered` is not NULL, read the state from
 * `recovered` instead, a directory of rings in files (shm_path.h). Files that cannot be read are reported to `say` (may
 * be NULL) and kept.
 */
int wmk_state_open(int rundir, const char *recovered, void (*say)(void *data, const char *words), void *data,
		   struct wmk_state **state);
/* Close the state. Sessions that were read and not restored are dropped; all files stay. */
void wmk_state_close(struct wmk_state *state);
/*
 * Number of sessions that were read; highest number of rings in these sessions (for
 * wmk_tracing_options.first_rings_id).
 */
unsigned wmk_state_sessions(const struct wmk_state *state);
uint64_t wmk_state_last_rings(const struct wmk_state *state);

/*
 * Adjust the clocks that this daemon has just measured to the saved state. If sessions were read, the saved clocks of
 * these sessions replace the measured clocks. Two measurements differ by microseconds, so a session with two
 * measurements would have records out of order. If no session was read, the measured clocks are written to a file. 0 or
 * -errno with a cause chain.
 */
int wmk_state_clocks(struct wmk_state *state, struct wmk_clocks *clocks);

/*
 * Return the descriptor of the memory of the rings; the callback remains the owner of the descriptor. -ENOENT: the
 * consumer daemon runs and does not have the rings any more. Another negative value: no process has the rings.
 */
typedef int wmk_state_held(void *data, const uint8_t trace_uuid[16], uint32_t stream_id);
/*
 * Restore all sessions, before any application registers. If no descriptor of rings is found, the session waits until
 * an application offers these rings (reattach.c). Rings of an ended process are finished if the consumer daemon has
 * their counts. `gone` returns the counts of rings of ended processes; `gone` NULL: no counts are available. A session
 * that cannot be restored at all is reported and ends. Returns the number of restored sessions.
 */
unsigned wmk_state_restore(struct wmk_state *state, struct wmk_tracing *tracing, wmk_state_held *held,
			   wmk_rings_gone *gone, void *data);

/*
 * Before sessions are restored: pass the identities of earlier daemons to `tracing`. After the restore, and before any
 * application registers, wmk_state_identities_begin() drops the identities of ended processes, and begins the file of
 * this daemon. 0 or -errno with a cause chain; after an error, claims of ended processes stay taken, and everything
 * else works.
 */
int wmk_state_identities(struct wmk_state *state, struct wmk_tracing *tracing);
int wmk_state_identities_begin(struct wmk_state *state);
/* As wmk_tracing_options.on_identity. */
void wmk_state_identity(struct wmk_state *state, const struct wmk_identity *is);

/* Callbacks for wmk_commands.changed and wmk_tracing_options.on_id. */
int wmk_state_changed(struct wmk_state *state, struct wmk_session *session, bool gone);
int wmk_state_id(struct wmk_state *state, struct wmk_session *session, uint64_t rings_id, uint32_t id,
		 const struct wmk_event_class *event);

#endif
