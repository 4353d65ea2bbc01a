/* SPDX-License-Identifier: MIT */
/*
 * shm_path.h - a session with rings in files (`waymark create --shm-path DIR`). Rings in files outlive all processes.
 * Rings in files also outlive a restart of the machine if DIR is on a persistent file system.
 *
 *     DIR/                             mode 0700, owned by the daemon's user
 *         NAME-20261123-170102/        one session, as long as it exists
 *             1.json, 1.ids            its state, as in state/ (state_file.h), which may be lost
 *             clock.json
 *             N.rings                  ring set N (ring/file.h); locked by every process that has it open or mapped
 *
 * The next session daemon finds the directory by the path in state/. `waymark recover DIR` opens the directory of a
 * session when no process uses the directory any more.
 */
#ifndef WMK_SESSION_SHM_PATH_H
#define WMK_SESSION_SHM_PATH_H

#include <stdbool.h>
#include <stdint.h>

#define WMK_SHM_PATH_MAX 3072u
#define WMK_SHM_JSON "1.json"

/*
 * Create the directory of session `name` in `parent`; the function also creates `parent` if the directory above
 * `parent` exists. The caller frees *path and closes *dir. -errno with a cause chain: for example `parent` is a link,
 * or other users can write to it.
 */
int wmk_shm_make(const char *parent, const char *name, uint64_t created, char **path, int *dir);
/* Open an existing directory, without a lock. */
int wmk_shm_open(const char *path, int *dir);
/*
 * Lock the directory as long as `dir` is open. The daemon of the session takes a shared lock (in wmk_shm_make()), and a
 * recovery takes an exclusive lock (`alone`). -EBUSY.
 */
int wmk_shm_lock(int dir, bool alone);
/*
 * Create the file for rings `id`, or open an existing file. Returns a descriptor with a lock, or -errno. -EBUSY: a
 * process uses the rings (with `alone`), or another process recovers them (without `alone`).
 */
int wmk_shm_file_make(int dir, uint64_t id);
int wmk_shm_file_open(int dir, uint64_t id, bool alone);
void wmk_shm_file_remove(int dir, uint64_t id);
/*
 * Remove a session's files, and the directory if the directory has no other files. With `unless_rings`, the function
 * removes nothing if the directory still has files of rings that could not be taken over.
 */
void wmk_shm_remove(int dir, const char *path, bool unless_rings);

#endif
