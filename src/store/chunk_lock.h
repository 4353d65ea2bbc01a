/* SPDX-License-Identifier: MIT */
/*
 * chunk_lock.h - the names of closed chunks (docs/rotation.md), and the lock by which a reader prevents that retention
 * deletes a chunk (store/retention.h).
 */
#ifndef WMK_STORE_CHUNK_LOCK_H
#define WMK_STORE_CHUNK_LOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define WMK_ARCHIVES "archives"    /* the directory of the closed chunks of a session */
#define WMK_CHUNK_NAME_MAX 64u     /* bytes of a name, with the NUL */

/* Parse BEGIN-END-NUMBER. False: not the name of a chunk. */
bool wmk_chunk_name_parse(const char *name, uint64_t *number, time_t *end);
/*
 * Lock the chunk that contains the trace in the directory `path`, shared (flock()). The caller closes *lock; -1: the
 * trace is in no chunk, or its chunk cannot be opened. -ESTALE with a cause chain: the chunk has been deleted.
 */
int wmk_chunk_lock(const char *path, int *lock);

#endif
