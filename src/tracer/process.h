/* SPDX-License-Identifier: MIT */
/* process.h - properties of this process and of the session daemon's; the descriptor table of the helper thread. */
#ifndef WMK_TRACER_PROCESS_H
#define WMK_TRACER_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Store the name of the process: the current name of its main thread or, without /proc, the name of the executable.
 * Returns the start time of the process in clock ticks since boot; 0 without /proc.
 */
uint64_t wmk_process_describe(char *name, size_t size);
/*
 * Copy the name that the last wmk_process_describe() has stored; the name is empty before the first
 * wmk_process_describe(). Only the helper thread calls wmk_process_describe() and wmk_process_name().
 */
void wmk_process_name(char *name, size_t size);
/*
 * wmk_process_parent() returns the process that forked this one. A forked child calls wmk_process_forked_by() with the
 * pid of its parent from before the fork, because the parent may end early. Without a stored pid, wmk_process_parent()
 * returns the current parent.
 */
void wmk_process_forked_by(pid_t parent);
pid_t wmk_process_parent(void);
/*
 * Return a number that identifies the program since the last exec(): all copies of this library in the process have the
 * same number. 0: not available.
 */
uint64_t wmk_process_image(void);
/*
 * True if the process cannot answer, because the process is stopped, is a zombie, or does not exist. Returns false if
 * the state of the process is unknown. Returns false also if the start time of the process differs from `start` (0: any
 * start time). If the start times differ, the pid may belong to another process, or `start` may be from another time
 * namespace.
 */
bool wmk_process_is_stuck(pid_t pid, uint64_t start);
/*
 * Give this thread its own descriptor table, in which descriptors 0 to 2 refer to /dev/null or to an empty file. The
 * helper thread must not keep pipes of the application open. A library that writes to descriptors 0 to 2 must not write
 * to the sockets of libwaymark. Returns false if the thread cannot get its own descriptor table.
 */
bool wmk_process_unshare_files(void);

#endif
