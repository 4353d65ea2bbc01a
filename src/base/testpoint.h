/* SPDX-License-Identifier: MIT */
/*
 * testpoint.h - named places where a test can delay, stop, signal or kill, to widen race windows on purpose.
 *
 * Compiled in only with -DWMK_TESTPOINTS (a build of its own for tests); otherwise nothing. The environment says what
 * a point does:
 *
 *     WMK_TESTPOINT="name=action[:after[:arg]],..."
 *
 * `after` hits of the point go by first (default 0). Actions: kill (SIGKILL to the process) and stop (SIGSTOP to the
 * process), once; delay (arg: microseconds, default 1000) and signal (arg: number, default SIGUSR1, to the hitting
 * thread), at every hit from then on. Async-signal-safe, any thread, errno preserved. Points stand between any two
 * visible side effects of the recording path and of the consumer. Inside a restartable sequence a point cannot call:
 * the sequence has "windows" instead (see arch/).
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
