/* SPDX-License-Identifier: MIT */
/*
 * idle_compression.h - compress the closed chunks of a session (`create --compress`) in a thread of idle priority.
 *
 *     a chunk is closed ─► start ─► thread: wmk_compress_chunks()     (store/compress_directory.h)
 *
 * The process compresses in at most one thread at a time; other compression threads wait for this thread. Whenever the
 * process ends, each chunk is either plain or compressed. Chunks that are still plain are compressed after the next
 * rotation.
 */
#ifndef WMK_CONSUMER_IDLE_COMPRESSION_H
#define WMK_CONSUMER_IDLE_COMPRESSION_H

#include <sys/types.h>

/*
 * `path`: of the session, copied. The files are accessed with the rights of the owner. `log` gets the error, and must
 * live as long as the process; may be NULL. Any thread. An error has a cause chain.
 */
int wmk_idle_compression_start(const char *path, uid_t uid, gid_t gid, void (*log)(const char *words));

#endif
