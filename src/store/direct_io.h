/* SPDX-License-Identifier: MIT */
/*
 * direct_io.h - writes past the page cache (O_DIRECT), or through it, whichever is faster at the moment. Internal to
 * src/store.
 */
#ifndef WMK_STORE_DIRECT_IO_H
#define WMK_STORE_DIRECT_IO_H

#include <stdatomic.h>

#include "store/store.h"

#define WMK_DIRECT_BLOCK 4096u     /* direct writes begin and end at multiples of this in the file */

/* What large packets of a trace have taken lately: one disk, all its streams. Hints for each other: relaxed. */
struct wmk_direct_rates {
	_Atomic uint32_t turn;
	_Atomic uint32_t pressure; /* percent: how much of its buffer whoever writes still has to write */
	_Atomic uint64_t rate[2];  /* kB/s: through the cache, past it; 0 unknown */
};

struct wmk_direct {
	int fd;                    /* -1: not possible here */
	struct wmk_direct_rates *rates;
};

/*
 * Sets direct->fd, to -1 where the file system has no direct writes, or `name` in `dir` is no longer the file that `fd`
 * is. `rates` is the store's.
 */
void wmk_direct_open(struct wmk_direct *direct, struct wmk_direct_rates *rates, int dir, const char *name, int fd);
void wmk_direct_close(struct wmk_direct *direct);
/* Like wmk_store_write_whole() on `fd`; past the cache where that is possible and worth while. */
int wmk_direct_write(struct wmk_direct *direct, int fd, const struct iovec *iov, int n, uint64_t offset);

#endif
