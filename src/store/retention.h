/* SPDX-License-Identifier: MIT */
/*
 * retention.h - delete the oldest closed chunks of a session (docs/rotation.md).
 *
 *     archives/NAME/              ──one rename──►  archives/.NAME.deleted/  ──► its files are removed
 *     archives/.NAME.locked       a file: its time is that of the first attempt, which the lock of a reader stopped
 *
 * A reader locks the directory of a chunk (store/chunk_lock.h). The deletion takes the exclusive lock, and keeps it. So
 * a reader that has the lock finds all files. After a crash, the next call removes the hidden directory. Only
 * directories with the name of a chunk, BEGIN-END-NUMBER, are deleted.
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

/* A locked chunk is deleted despite its lock when this time has passed since the first attempt. */
#define WMK_RETENTION_LOCK_S 600u

/*
 * Delete the oldest chunks of `path`/archives until the rest is within the limits. `log` receives a message if a chunk
 * is locked. An error of one chunk does not stop the deletion of the others. Returns the last error.
 */
int wmk_retention_apply(const char *path, const struct wmk_retention *keep, void (*log)(const char *words),
			struct wmk_retained *retained);

#endif
