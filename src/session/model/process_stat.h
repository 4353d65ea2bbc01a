/* SPDX-License-Identifier: MIT */
/* process_stat.h - processes as /proc describes them. */
#ifndef WMK_SESSION_PROCESS_STAT_H
#define WMK_SESSION_PROCESS_STAT_H

#include "session/model/session_model.h"

/*
 * False: it has ended for sure, all its threads have. True when it cannot be known: hidden, or in a pid namespace where
 * processes are hidden. birth: wmk_app_birth(), or the time when it started; 0: unknown, any process with that number
 * will do.
 */
bool wmk_process_lives(pid_t pid, uint64_t birth);
/* Parent and time of start (clock ticks since boot), from /proc. False: it is gone, or hidden. */
bool wmk_process_stat(pid_t pid, pid_t *parent, uint64_t *start_time, char *state);
/*
 * Is no thread of it running, about to, or kept by a device? *turns: how often they ran so far, to see whether one did
 * between two such questions. At most *budget threads are looked at, which it is less afterwards. False also when it
 * cannot be known.
 */
bool wmk_process_is_idle(pid_t pid, unsigned *budget, uint64_t *turns);
uint64_t wmk_pidfd_birth(int pidfd);     /* 0: they have no numbers */

#endif
