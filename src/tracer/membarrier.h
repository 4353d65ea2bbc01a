/* SPDX-License-Identifier: MIT */
/*
 * membarrier.h - membarrier(2).
 */
#ifndef WMK_TRACER_MEMBARRIER_H
#define WMK_TRACER_MEMBARRIER_H

/* Execute `command`; at its first use, `registration` before it. Returns 0 or -errno. */
int wmk_membarrier(int command, int registration);
/*
 * Register for the commands of patching and grace periods. In a single-threaded process this costs nothing. Otherwise
 * the kernel waits for its own grace period, 10 ms or more, which would delay the start of an application; then nothing
 * is registered here.
 */
void wmk_membarrier_prepare(void);

#endif
