/* SPDX-License-Identifier: MIT */
/*
 * retention.h - delete the oldest closed chunks of a session (docs/rotation.md).
 *
 *     archives/NAME/              ──one rename──►  archives/.NAME.deleted/  ──► its files are removed
 *     archives/.NAME.locked       a file: since its time of modification, a reader has prevented the deletion
 *
 * A reader locks the directory of a chunk (store/chunk_lock.h). The deletion takes the lock exclusively, and keeps it.
 * So a reader with the lock finds all files. A crash leaves the hidden directory, which the next call removes. Only
 * directories with the name of a chunk, BEGIN-END-NUMBER, are deleted.
 *
 * Errors are -errno with a cause chain. Any thread; the caller's rights are used.
 */
#ifndef WMK_STORE_RETENTION_H
#define WMK_STORE_RETENTION_H

#include <stdint.h>

/* The closed chunks to keep. 0: no limit. */
struct wmk_retention {
	uint64_t size;                   /* bytes of all closed chunks */
	uint64_t us;                     /* age, since the chunk was closed */
	uint64_t count;
};

struct wmk_retained {
	uint64_t bytes;                  /* of the closed chunks that are left */
	unsigned deleted;                /* number of deleted chunks */
};

/* A locked chunk is deleted this long after the first attempt. */
#define WMK_RETENTION_LOCK_S 600u

/*
 * Delete the oldest chunks of `path`/archives until the rest is within the limits. `log` gets a message if a chunk is
 * locked. After an error with one chunk, the others are still deleted; returns the last error.
 */
int wmk_retention_apply(const char *path, const struct wmk_retention *keep, void (*log)(const char *words),
			struct wmk_retained *retained);

#endif
