/* SPDX-License-Identifier: MIT */
/*
 * window.h - test points inside the restartable sequence, where nothing can be called: between any two stores the
 * sequence of a test build reads a page of its own (WMK_SEQ_WINDOW in arch/). Making that page unreadable raises a
 * fault exactly there.
 *
 * The environment arms one window of a process: WMK_SEQ_POINT=NUMBER:ACTION[:AFTER], ACTION kill or stop, after so
 * many records (0). kill: SIGKILL at that place. stop: SIGSTOP there, once. Compiled only with -DWMK_TESTPOINTS, for
 * x86-64.
 *
 *     straight lines  0 header stored  1 payload  2 slot's tag  3 its time  4 its count (next: the commit)
 *     general         5 old sub-buffer half closed  6 closed  7 new one half opened  8 opened  9 before each fragment
 *     and behind
 *                     10 payload stored  11 tag  12 time  13 count (next: the commit)
 */
#ifndef WMK_RING_WINDOW_H
#define WMK_RING_WINDOW_H

#if defined(WMK_TESTPOINTS) && defined(__x86_64__)
/* At the beginning of each record: arms what the environment asks for, when it is time. */
void wmk_ring_window_count(void);
#else
static inline void wmk_ring_window_count(void)
{
}
#endif

#endif
