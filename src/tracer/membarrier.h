/* SPDX-License-Identifier: MIT */
/*
 * membarrier.h - membarrier(2).
 */
#ifndef WMK_TRACER_MEMBARRIER_H
#define WMK_TRACER_MEMBARRIER_H

/*
 * Execute `command`. If the process has not registered for `command`, execute `registration` first. Returns 0 or
 * -errno.
 */
int wmk_membarrier(int command, int registration);
/*
 * Register for the membarrier commands of patching and grace periods. In a single-threaded process, the registration
 * costs nothing. In a process with several threads, the function registers nothing: the kernel would wait for an RCU
 * grace period, 10 ms or more, and delay the start of the application.
 */
void wmk_membarrier_prepare(void);

#endif
