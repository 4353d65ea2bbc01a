/* SPDX-License-Identifier: MIT */
/*
 * spool.h - files of a trace that is in a spool until a relay has received it (sender/spool_dir.h). Errors are -errno
 * with a cause chain, unless stated otherwise.
 */
#ifndef WMK_STORE_SPOOL_H
#define WMK_STORE_SPOOL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "store/store.h"

#define WMK_SPOOL_RELAY ".relay"           /* of the spool: URL of the relay, boot of the machine */
#define WMK_SPOOL_ENDED ".ended"           /* of the spool: the session has ended */
#define WMK_SPOOL_UUID ".uuid"             /* of a trace: its UUID */
#define WMK_SPOOL_CLEARED ".cleared"       /* of a trace: names of removed streams, one a line */

/* Store the UUID of the trace, if it has none yet. */
int wmk_store_spool_uuid(struct wmk_store *store, const uint8_t uuid[16]);
/*
 * Append a name to the removed streams: before the files of the stream are removed, with `removed` false, and after it,
 * with true. The first call returns 1, or 0 if the stream has no file; the second one is then not necessary.
 */
int wmk_store_spool_cleared(struct wmk_store *store, const char *stream, bool removed);
/* Open the directory of a spool, with the rights of the calling thread. A descriptor, or -errno without a cause. */
int wmk_store_spool_directory(const char *path);
/*
 * Store the URL of the relay in the spool, and lock the spool until the returned descriptor is closed: one sender for
 * each side (store.h) has the lock. -EBUSY: another sender has it. Rights as above.
 */
int wmk_store_spool_begin(int directory, const char *url, bool kernel);
/* Note that the session has ended, so that a sender of a later process sends the rest; or remove the note. */
int wmk_store_spool_note_end(int directory, bool ended);
/* True if the session of the spool has ended, or the machine was restarted since; then stores the URL of the relay. */
bool wmk_store_spool_is_left(int directory, char *url, size_t size);
/* Remove the directory of a spool if it is empty. Rights as above. */
void wmk_store_spool_remove(const char *path);

#endif
