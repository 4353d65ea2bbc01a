/* SPDX-License-Identifier: MIT */
/*
 * window.h - test points inside the restartable sequence, which cannot call functions. In a test build, the restartable
 * sequence reads a separate page between any two stores (WMK_SEQ_WINDOW in arch/). An unreadable page raises a fault
 * exactly between the two stores.
 *
 * The environment arms one window of a process: WMK_SEQ_POINT=NUMBER:ACTION[:AFTER]. AFTER is a number of records
 * (default 0). ACTION kill sends SIGKILL at the window; ACTION stop sends SIGSTOP at the window, once. The test points
 * are compiled only with -DWMK_TESTPOINTS, for x86-64.
 *
 *     straight lines  0 header stored  1 payload  2 slot's tag  3 its time  4 its count (next: the commit)
 *     general         5 old sub-buffer half closed  6 closed  7 new one half opened  8 opened
 *                     9 before each fragment, and after the last
 *                     10 payload stored  11 tag  12 time  13 count (next: the commit)
 */
#ifndef WMK_RING_WINDOW_H
#define WMK_RING_WINDOW_H

#if defined(WMK_TESTPOINTS) && defined(__x86_64__)
/* Called at the start of each record: the function arms the window once AFTER records have been written. */
void wmk_ring_window_count(void);
#else
static inline void wmk_ring_window_count(void)
{
}
#endif

#endif
