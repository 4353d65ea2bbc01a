/* SPDX-License-Identifier: MIT */
/*
 * membarrier.h - membarrier(2).
 */
#ifndef WMK_TRACER_MEMBARRIER_H
#define WMK_TRACER_MEMBARRIER_H

/* Execute `command`, and at the first use `registration` before it. 0 or -errno. */
int wmk_membarrier(int command, int registration);
/*
 * Register for the commands of patching and of grace periods. With one thread the kernel only notes that. With several
 * it waits for a grace period of its own, 10 ms and more, which would delay the start of an application; then nothing
 * is registered here.
 */
void wmk_membarrier_prepare(void);

#endif
