/* SPDX-License-Identifier: MIT */
/*
 * spool_sync.h - writes a spool to its disk, so that a reset of the machine loses only the latest packets. The sender
 * does not synchronize the spool while the relay acknowledges packets soon.
 */
#ifndef WMK_SENDER_SPOOL_SYNC_H
#define WMK_SENDER_SPOOL_SYNC_H

#include <time.h>

#include "sender/spool_dir.h"

/*
 * Synchronize all files of the spool that were modified at or after `since`, and their directories. A file that cannot
 * be synchronized is skipped: after a reset of the machine, its missing packets are a gap (relay_gap.h).
 */
void wmk_spool_sync(const struct wmk_spool *spool, time_t since);

#endif
