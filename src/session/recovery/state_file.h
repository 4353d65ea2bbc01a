/* SPDX-License-Identifier: MIT */
/*
 * state_file.h - what a session daemon writes down, so that the next one goes on with the sessions that it had.
 *
 *     <rundir>/state/                 0700
 *         N.json                      a session: options, channels, rules, trackers, which rings it has; written whole at every change
 *         N.ids                       ids of events in its rings, appended before any program hears of them
 *         identities                  by what identity each program stands in claims of rings; identities.old: those of earlier daemons
 *         clock.json                  the clocks as the first daemon measured them
 *
 * The rings themselves are the consumer daemon's to keep, and the programs'. What is read is trusted no more than what
 * a client says: the core checks it again. Any thread; what is about one session is called with its lock held.
 */
#ifndef WMK_SESSION_STATE_FILE_H
#define WMK_SESSION_STATE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "session/tracing.h"

struct wmk_state;

/*
 * Make or open the directory in `rundir`, and read what is there; or `recovered` in its place, a directory of rings in
 * files (shm_path.h). What cannot be read is told to `say` (may be NULL), and left.
 */
int wmk_state_open(int rundir, const char *recovered, void (*say)(void *data, const char *words), void *data,
		   struct wmk_state **state);
/* Nothing that was read is kept but what was restored; the files stay. */
void wmk_state_close(struct wmk_state *state);
/* How many sessions were read, and the highest number of any rings in them (for wmk_tracing_options.first_rings_id). */
unsigned wmk_state_sessions(const struct wmk_state *state);
uint64_t wmk_state_last_rings(const struct wmk_state *state);

/*
 * The clocks have just been measured. Where sessions were read, they become those with which the sessions have
 * recorded: two measurements differ by microseconds, and the traces of one session by two of them would not be in
 * order. Else they are written to a file. 0 or -errno with a cause chain.
 */
int wmk_state_clocks(struct wmk_state *state, struct wmk_clocks *clocks);

/*
 * The descriptor of the rings' memory, which stays the callback's; -ENOENT: who emptied them is there, and has them no
 * more; else negative:
 * nobody is left who had them.
 */
typedef int wmk_state_held(void *data, const uint8_t trace_uuid[16], uint32_t stream_id);
/*
 * Make all sessions again, before any program comes. Rings that nobody has are awaited from programs (reattach.c), but
 * those of a process that ended are finished if the consumer reports that: it has their counts, which `gone` returns
 * (NULL: none). A session of which nothing can be made again ends: it is told, and forgotten. Returns how many were
 * made again.
 */
unsigned wmk_state_restore(struct wmk_state *state, struct wmk_tracing *tracing, wmk_state_held *held,
			   wmk_rings_gone *gone, void *data);

/*
 * What identities earlier daemons gave, told to `tracing` before the sessions are restored; and afterwards, before any
 * program comes: those of the dead are forgotten, those of this daemon's programs written down from here on. 0 or
 * -errno with a cause chain: then claims of the dead stay taken, and nothing else is wrong.
 */
int wmk_state_identities(struct wmk_state *state, struct wmk_tracing *tracing);
int wmk_state_identities_begin(struct wmk_state *state);
/* As wmk_tracing_options.on_identity. */
void wmk_state_identity(struct wmk_state *state, const struct wmk_identity *is);

/* As wmk_commands.changed and wmk_tracing_options.on_id. */
int wmk_state_changed(struct wmk_state *state, struct wmk_session *session, bool gone);
int wmk_state_id(struct wmk_state *state, struct wmk_session *session, uint64_t rings_id, uint32_t id,
		 const struct wmk_event_class *event);

#endif
