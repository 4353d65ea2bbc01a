/* SPDX-License-Identifier: MIT */
/*
 * followed.h - live readers of a trace. The hidden file `.live` connects them with the writer:
 *
 *     reader ── locks it for reading while it follows the trace ──► writer: flushes more often
 *     reader ◄── low-water time: all earlier records are in files ── writer: after a drain pass, while it is locked
 *
 * The kernel releases the lock of a reader that crashes. The file can be opened only by the owner of the trace.
 */
#ifndef WMK_STORE_FOLLOWED_H
#define WMK_STORE_FOLLOWED_H

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

#include "store/store.h"

#define WMK_STORE_LIVE ".live"

/*
 * The content of the file `.live`; the file may also be empty. A reader ignores a pair of values that do not match,
 * because the writer may be changing the pair.
 */
struct wmk_store_low_water {
	uint64_t ts;               /* in the clock of the trace */
	uint64_t inverted;         /* ~ts */
};

/*
 * Follow the trace in the directory `dir` until the caller closes the returned descriptor. -1: the trace has no
 * `.live`, or another user owns it; the trace can be read without the lock.
 */
static inline int wmk_store_follow(int dir)
{
	struct flock whole = { .l_type = F_RDLCK, .l_whence = SEEK_SET };
	int live = openat(dir, WMK_STORE_LIVE, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (live >= 0 && fcntl(live, F_OFD_SETLK, &whole) < 0) {
		close(live);
		live = -1;
	}
	return live;
}
/*
 * Read the low-water time from the descriptor that wmk_store_follow() returned. Returns false, and leaves *ts
 * unchanged, if no low-water time is published.
 */
static inline bool wmk_store_followed_to(int live, uint64_t *ts)
{
	struct wmk_store_low_water water;

	if (live < 0 || pread(live, &water, sizeof(water), 0) != (ssize_t)sizeof(water) || water.ts != ~water.inverted)
		return false;
	*ts = water.ts;
	return true;
}
/* True if a reader follows the trace. One system call. */
bool wmk_store_is_followed(const struct wmk_store *store);
/* Publish the low-water time. If the low-water time cannot be written, readers only wait longer. */
void wmk_store_low_water(const struct wmk_store *store, uint64_t ts);

#endif
