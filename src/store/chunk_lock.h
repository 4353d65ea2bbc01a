/* SPDX-License-Identifier: MIT */
/*
 * chunk_lock.h - the names of closed chunks (docs/rotation.md), and the lock of a reader. While a reader holds the lock
 * of a chunk, retention does not delete the chunk (store/retention.h).
 */
#ifndef WMK_STORE_CHUNK_LOCK_H
#define WMK_STORE_CHUNK_LOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define WMK_ARCHIVES "archives"    /* the directory of the closed chunks of a session */
#define WMK_CHUNK_NAME_MAX 64u     /* bytes of a name, with the NUL */

/* Write the chunk name BEGIN-END-NUMBER. */
void wmk_chunk_name_format(char name[WMK_CHUNK_NAME_MAX], time_t begin, time_t end, uint64_t number);
/* Parse BEGIN-END-NUMBER. Returns false if the text is not a chunk name. */
bool wmk_chunk_name_parse(const char *name, uint64_t *number, time_t *end);
/*
 * Take a shared lock (flock()) of the closed chunk that contains the trace `path`. The caller closes *lock. *lock is -1
 * if the trace is not in a closed chunk, or the chunk cannot be opened. -ESTALE with a cause chain: the chunk was
 * deleted.
 */
int wmk_chunk_lock(const char *path, int *lock);

#endif
