/* SPDX-License-Identifier: MIT */
/*
 * testpoint.h - named points where a test can delay, stop, signal or kill the process, to widen race windows.
 *
 * Test points are compiled in only with -DWMK_TESTPOINTS (a separate test build). The environment defines the action of
 * a point:
 *
 *     WMK_TESTPOINT="name=action[:after[:arg]],..."
 *
 * The first `after` hits of a test point have no effect (default 0). Actions:
 * - kill: SIGKILL to the process, once;
 * - stop: SIGSTOP to the process, once;
 * - delay: a sleep at every later hit (arg: microseconds, default 1000);
 * - signal: a signal to the thread, at every later hit (arg: number, default SIGUSR1).
 *
 * Async-signal-safe, any thread, preserves errno.
 *
 * In the recording path and in the consumer daemon, a test point is placed between two side effects that other
 * processes can see. A restartable sequence (rseq(2)) cannot call a function, so a restartable sequence cannot contain
 * a test point. The code in arch/ gives tests a different mechanism in restartable sequences ("windows").
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
