/* SPDX-License-Identifier: MIT */
/*
 * init.h - the first use of libwaymark in a process.
 */
#ifndef WMK_TRACER_INIT_H
#define WMK_TRACER_INIT_H

/*
 * Read the environment, install the fork handlers, and load the clock plug-in, only once. Every exported function first
 * calls wmk_tracer_init(), without the lock.
 */
void wmk_tracer_init(void);

#endif
