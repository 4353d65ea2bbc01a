/* SPDX-License-Identifier: MIT */
/*
 * retention.h - delete the oldest closed chunks of a session (docs/rotation.md).
 *
 *     archives/NAME/              ──one rename──►  archives/.NAME.deleted/  ──► its files are removed
 *     archives/.NAME.locked       a file: its time is that of the first attempt, which the lock of a reader stopped
 *
 * A reader takes a shared lock on the directory of a chunk (store/chunk_lock.h). The deletion takes an exclusive lock
 * on the directory of the chunk, and holds it until the end. A reader that holds the lock therefore finds all files of
 * the chunk. If a crash has left a hidden directory, the next call removes it. Only directories that have the name of a
 * chunk (BEGIN-END-NUMBER) are deleted.
 *
 * Errors are -errno with a cause chain. Any thread; the caller's rights are used.
 */
#ifndef WMK_STORE_RETENTION_H
#define WMK_STORE_RETENTION_H

#include <stdint.h>

/* The closed chunks to keep. 0: no limit. */
struct wmk_retention {
	/* bytes of the trace; the open chunk counts as the largest closed chunk, but as at most a quarter of `size` */
	uint64_t size;
	uint64_t us;                     /* age, since the chunk was closed */
	uint64_t count;
};

struct wmk_retained {
	uint64_t bytes;                  /* of the remaining closed chunks */
	unsigned deleted;                /* number of deleted chunks */
};

/*
 * If a chunk is still locked when this time has passed since the first attempt to delete it, the chunk is deleted
 * despite its lock.
 */
#define WMK_RETENTION_LOCK_S 600u

/*
 * Delete the oldest chunks in `path`/archives until the remaining chunks are within the limits. `log` receives a
 * message if a chunk is locked. If one chunk cannot be deleted, the other chunks are still deleted. Returns the last
 * error.
 */
int wmk_retention_apply(const char *path, const struct wmk_retention *keep, void (*log)(const char *words),
			struct wmk_retained *retained);

#endif
