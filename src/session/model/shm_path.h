/* SPDX-License-Identifier: MIT */
/*
 * shm_path.h - where a session's rings are files (`waymark create --shm-path DIR`), so that they outlive all processes,
 * and the machine where DIR does.
 *
 *     DIR/                             0700, the daemon's user's
 *         NAME-20261123-170102/        a session, as long as it is there
 *             1.json, 1.ids            what it is, as in state/ (state_file.h), which may not be there any more
 *             clock.json
 *             N.rings                  ring set N (ring/file.h); locked by whoever has it open or mapped
 *
 * The next session daemon finds them by the path in state/; `waymark recover DIR` by themselves, when nobody has them
 * any more.
 */
#ifndef WMK_SESSION_SHM_PATH_H
#define WMK_SESSION_SHM_PATH_H

#include <stdbool.h>
#include <stdint.h>

#define WMK_SHM_PATH_MAX 3072u
#define WMK_SHM_JSON "1.json"

/*
 * Make the directory of the session `name` in `parent`, which is made too if its own parent is there. *path is the
 * caller's, to free(); *dir its descriptor. -errno with a cause chain: it is a link, or others can write to it.
 */
int wmk_shm_make(const char *parent, const char *name, uint64_t created, char **path, int *dir);
/* One that was made; not locked. */
int wmk_shm_open(const char *path, int *dir);
/*
 * Who has a session has its directory, for as long as `dir` is open: a daemon that it records for shares it (one that
 * makes it has done so), who recovers it is alone. -EBUSY.
 */
int wmk_shm_lock(int dir, bool alone);
/*
 * A new file for rings `id`; open one that is there: -EBUSY with `alone` when somebody has it, without when it is being
 * recovered. A descriptor.
 */
int wmk_shm_file_make(int dir, uint64_t id);
int wmk_shm_file_open(int dir, uint64_t id, bool alone);
void wmk_shm_file_remove(int dir, uint64_t id);
/*
 * The session is over: what is a session's in it goes, and itself when nothing else is there; with `unless_rings`
 * nothing does when rings are left, which could not be taken over.
 */
void wmk_shm_remove(int dir, const char *path, bool unless_rings);

#endif
