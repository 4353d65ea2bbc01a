/* SPDX-License-Identifier: MIT */
/*
 * spool_sync.h - writes a spool to its disk, so that a reset of the machine loses only the latest packets. The sender
 * does not synchronize the spool with the disk as long as the relay acknowledges packets soon.
 */
#ifndef WMK_SENDER_SPOOL_SYNC_H
#define WMK_SENDER_SPOOL_SYNC_H

#include <time.h>

#include "sender/spool_dir.h"

/*
 * Synchronize all files of the spool that were modified at or after `since`, and their directories. If a file cannot be
 * synchronized, the file is skipped. After a reset of the machine, the missing packets of a skipped file become a gap
 * (relay_gap.h).
 */
void wmk_spool_sync(const struct wmk_spool *spool, time_t since);

#endif
