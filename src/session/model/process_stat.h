/* SPDX-License-Identifier: MIT */
/* process_stat.h - properties of processes from /proc and pidfds. */
#ifndef WMK_SESSION_PROCESS_STAT_H
#define WMK_SESSION_PROCESS_STAT_H

#include "session/model/session_model.h"

/*
 * Return false if the process with all its threads has certainly ended. Returns true if the state of the process is
 * unknown: the process is hidden, or in a PID namespace that hides its processes. birth: wmk_pidfd_birth() or the start
 * time. 0: the birth is unknown, so any process with this pid counts.
 */
bool wmk_process_lives(pid_t pid, uint64_t birth);
/* Read parent, start time (clock ticks since boot) and state from /proc. False: the process has ended or is hidden. */
bool wmk_process_stat(pid_t pid, pid_t *parent, uint64_t *start_time, char *state);
/*
 * Return true if no thread of the process is runnable or in uninterruptible sleep. *turns: number of time slices that
 * its threads have had; two equal values show that no thread ran in between. Checks at most *budget threads and
 * decreases *budget. The function also returns false if the state of a thread is unknown.
 */
bool wmk_process_is_idle(pid_t pid, unsigned *budget, uint64_t *turns);
/* Return a number that identifies the process of a pidfd (its inode); 0: this kernel does not provide such numbers. */
uint64_t wmk_pidfd_birth(int pidfd);
#endif
