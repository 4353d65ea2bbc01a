/* SPDX-License-Identifier: MIT */
/*
 * spool.h - additional files of a spool, which holds a trace until a relay has received it (sender/spool_dir.h). Errors
 * are -errno with a cause chain, unless stated otherwise.
 */
#ifndef WMK_STORE_SPOOL_H
#define WMK_STORE_SPOOL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "store/store.h"

#define WMK_SPOOL_RELAY ".relay"           /* in the spool: URL of the relay, boot of the machine */
#define WMK_SPOOL_ENDED ".ended"           /* in the spool: exists if the session has ended */
#define WMK_SPOOL_UUID ".uuid"             /* in a trace: its UUID */
#define WMK_SPOOL_CLEARED ".cleared"       /* in a trace: names of removed streams, one a line */

/* Write the UUID of the trace to the file .uuid. A file .uuid is replaced. */
int wmk_store_spool_uuid(struct wmk_store *store, const uint8_t uuid[16]);
/*
 * Append the name of a stream to the list of removed streams. Call this before the files of the stream are removed
 * (`removed` is false), and again after the removal (`removed` is true). Returns 1. If `removed` is false and the
 * stream has no files, the function returns 0, and the caller may omit the second call.
 */
int wmk_store_spool_cleared(struct wmk_store *store, const char *stream, bool removed);
/*
 * Open the directory of a spool with the rights of the calling thread. Returns a descriptor, or -errno without a cause
 * chain.
 */
int wmk_store_spool_directory(const char *path);
/*
 * Store the URL of the relay in the spool, and lock the spool until the returned descriptor is closed. Each side
 * (store.h) has its own lock, which is held by one sender. -EBUSY: another sender has the lock. Rights as above.
 */
int wmk_store_spool_begin(int directory, const char *url, bool kernel);
/*
 * Create or remove the note that the session has ended. If a spool has the note that its session has ended, a later
 * process sends the spool.
 */
int wmk_store_spool_note_end(int directory, bool ended);
/*
 * In the spool at `path`, create the note that the session has ended, with the rights of uid and gid. It is no error if
 * the spool does not exist, because a sender may remove the spool at any time.
 */
int wmk_store_spool_end(const char *path, uid_t uid, gid_t gid);
/*
 * True if the session of the spool has ended, or if the machine was restarted after the creation of the spool. If the
 * result is true, `url` receives the URL of the relay.
 */
bool wmk_store_spool_is_left(int directory, char *url, size_t size);
/* Remove the directory of a spool if it is empty. Rights as above. */
void wmk_store_spool_remove(const char *path);

#endif
