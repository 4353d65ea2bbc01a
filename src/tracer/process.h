/* SPDX-License-Identifier: MIT */
/* process.h - properties of this process and of the session daemon's; the descriptor table of the helper thread. */
#ifndef WMK_TRACER_PROCESS_H
#define WMK_TRACER_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Store the name of the process: the current name of its main thread, or without /proc the name of the executable.
 * Returns the start time in clock ticks since boot; 0 without /proc.
 */
uint64_t wmk_process_describe(char *name, size_t size);
/*
 * Copy the name that the last wmk_process_describe() has stored; empty before the first wmk_process_describe(). Only
 * the helper thread calls wmk_process_describe() and wmk_process_name().
 */
void wmk_process_name(char *name, size_t size);
/*
 * wmk_process_parent() returns the process that forked this one. A forked child stores the getpid() of its parent from
 * before the fork by wmk_process_forked_by(), because the parent may end early. Without a stored value,
 * wmk_process_parent() returns the current parent.
 */
void wmk_process_forked_by(pid_t parent);
pid_t wmk_process_parent(void);
/*
 * A number that identifies the program since the last exec(): the same for all copies of this library in the process.
 * 0: not available.
 */
uint64_t wmk_process_image(void);
/*
 * Whether the process cannot answer: it is stopped, a zombie, or does not exist. Returns false if the state is unknown.
 * Returns false also if the start time of the process differs from `start` (0: any). The pid may then belong to another
 * process, or `start` may be from another time namespace.
 */
bool wmk_process_is_stuck(pid_t pid, uint64_t start);
/*
 * Give this thread its own descriptor table, in which 0 to 2 refer to /dev/null or an empty file. The thread must not
 * keep pipes of the application open. A library that writes to descriptors 0 to 2 must not write to our sockets.
 * Returns false if the thread cannot get its own descriptor table.
 */
bool wmk_process_unshare_files(void);

#endif
