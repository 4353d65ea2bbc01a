/* SPDX-License-Identifier: MIT */
/*
 * direct_io.h - writes with direct I/O (O_DIRECT) or through the page cache, whichever is faster at the moment.
 * Internal to src/store.
 */
#ifndef WMK_STORE_DIRECT_IO_H
#define WMK_STORE_DIRECT_IO_H

#include <stdatomic.h>

#include "store/store.h"

#define WMK_DIRECT_BLOCK 4096u     /* direct writes begin and end at multiples of this in the file */

/*
 * The measured write speeds of recent large packets of a trace, which all streams of the trace share. Hints only:
 * relaxed.
 */
struct wmk_direct_rates {
	_Atomic uint32_t turn;
	_Atomic uint32_t pressure; /* percentage of its buffer that the writing thread has not written yet */
	_Atomic uint64_t rate[2];  /* kB/s: of the page cache, of direct I/O; 0: unknown */
};

struct wmk_direct {
	int fd;                    /* -1: not supported */
	struct wmk_direct_rates *rates;
};

/*
 * Set direct->fd. The descriptor is -1 if the file system does not support direct I/O, or if `name` in `dir` no longer
 * refers to the file of `fd`. `rates` belongs to the store.
 */
void wmk_direct_open(struct wmk_direct *direct, struct wmk_direct_rates *rates, int dir, const char *name, int fd);
void wmk_direct_close(struct wmk_direct *direct);
/* Like wmk_store_write_whole() on `fd`, but uses direct I/O if direct I/O is possible and faster. */
int wmk_direct_write(struct wmk_direct *direct, int fd, const struct iovec *iov, int n, uint64_t offset);

#endif
