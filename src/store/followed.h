/* SPDX-License-Identifier: MIT */
/*
 * followed.h - live readers of a trace. The hidden file `.live` connects them with the writer:
 *
 *     reader ── locks it for reading while it follows the trace ──► writer: flushes more often
 *     reader ◄── low-water time: all earlier records are in files ── writer: after a drain pass, while it is locked
 *
 * The kernel releases the lock of a reader that crashes. Only the owner of the trace can open the file.
 */
#ifndef WMK_STORE_FOLLOWED_H
#define WMK_STORE_FOLLOWED_H

#include <stdbool.h>
#include <stdint.h>

#include "store/store.h"

#define WMK_STORE_LIVE ".live"

/*
 * The content of `.live`, which may also be empty. A reader ignores a pair that does not match, because the writer was
 * changing the pair.
 */
struct wmk_store_low_water {
	uint64_t ts;               /* in the clock of the trace */
	uint64_t inverted;         /* ~ts */
};

/* True if a reader follows the trace. One system call. */
bool wmk_store_is_followed(const struct wmk_store *store);
/* Publish the low-water time. After an error, readers only wait longer. */
void wmk_store_low_water(const struct wmk_store *store, uint64_t ts);

#endif
