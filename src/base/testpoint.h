/* SPDX-License-Identifier: MIT */
/*
 * testpoint.h - named places where a test can delay, stop, signal or kill, to widen race windows on purpose.
 *
 * Compiled in only with -DWMK_TESTPOINTS (a build of its own for tests); otherwise nothing. A point calls a
 * function that the environment sets up: WMK_TESTPOINT="name=action[:after]" with action one of kill, stop, delay, signal
 * (details in testpoint.c). Points stand between any two visible side effects of the recording path and of the
 * consumer. Inside a restartable sequence a point cannot call: the sequence has "windows" instead (see arch/).
 */
#ifndef WMK_BASE_TESTPOINT_H
#define WMK_BASE_TESTPOINT_H

#ifdef WMK_TESTPOINTS
void wmk_testpoint_hit(const char *name);
#define WMK_TESTPOINT(name) wmk_testpoint_hit(#name)
#else
#define WMK_TESTPOINT(name) ((void)0)
#endif

#endif
