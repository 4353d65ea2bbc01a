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

/* Write the UUID of the trace. A file .uuid is replaced. */
int wmk_store_spool_uuid(struct wmk_store *store, const uint8_t uuid[16]);
/*
 * Append a name to the removed streams. Call this before the files of the stream are removed, with `removed` false, and
 * again after the removal, with true. Returns 1. With `removed` false, the function returns 0 if the stream has no
 * file; the caller may then omit the call with `removed` true.
 */
int wmk_store_spool_cleared(struct wmk_store *store, const char *stream, bool removed);
/* Open a spool with the rights of the calling thread. A descriptor, or -errno without a cause chain. */
int wmk_store_spool_directory(const char *path);
/*
 * Store the URL of the relay in the spool, and lock the spool until the returned descriptor is closed. Each side
 * (store.h) has one lock, for one sender. -EBUSY: another sender has the lock. Rights as above.
 */
int wmk_store_spool_begin(int directory, const char *url, bool kernel);
/* Create the note that the session has ended, or remove it. A later process sends spools with this note. */
int wmk_store_spool_note_end(int directory, bool ended);
/*
 * Create the note that the session has ended in the spool at `path`, with the rights of uid and gid. A sender may
 * remove the spool at any time, so an absent spool is not an error.
 */
int wmk_store_spool_end(const char *path, uid_t uid, gid_t gid);
/*
 * True if the session of the spool has ended, or the machine was restarted. If the result is true, `url` has the URL of
 * the relay.
 */
bool wmk_store_spool_is_left(int directory, char *url, size_t size);
/* Remove the directory of a spool if it is empty. Rights as above. */
void wmk_store_spool_remove(const char *path);

#endif
