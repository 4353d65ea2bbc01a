/* SPDX-License-Identifier: MIT */
/*
 * idle_compression.h - compress the closed chunks of a session (`create --compress`) in a thread of idle priority.
 *
 *     a chunk is closed ─► start ─► thread: wmk_compress_chunks()     (store/compress_directory.h)
 *
 * At most one thread of the process compresses at a time; other compression threads wait for this thread. Each chunk is
 * either plain or compressed, even if the process ends during the compression. Chunks that are still plain are
 * compressed after the next rotation.
 */
#ifndef WMK_CONSUMER_IDLE_COMPRESSION_H
#define WMK_CONSUMER_IDLE_COMPRESSION_H

#include <sys/types.h>

/*
 * `path`: of the session, copied. The thread accesses the files with the rights of the owner. `log` receives the error,
 * and must stay valid as long as the process runs; `log` may be NULL. Any thread. If the function returns an error, the
 * error has a cause chain.
 */
int wmk_idle_compression_start(const char *path, uid_t uid, gid_t gid, void (*log)(const char *words));

#endif
