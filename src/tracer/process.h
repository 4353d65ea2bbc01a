/* SPDX-License-Identifier: MIT */
/*
 * process.h - what the kernel says of this process, and of the one that should answer it; the helper's own descriptors.
 */
#ifndef WMK_TRACER_PROCESS_H
#define WMK_TRACER_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * The name of the process: of its main thread, as it is now; where /proc is missing, as it was called. Returns when it
 * started, in clock ticks since boot; 0 where /proc does not say.
 */
uint64_t wmk_process_describe(char *name, size_t size);
/* The name that was had last; empty before. Both are the helper's alone. */
void wmk_process_name(char *name, size_t size);
/*
 * Who made this process by fork: its child says so, with what getpid() was there, since the parent may have ended
 * before anybody asks. Else whoever is the parent now.
 */
void wmk_process_forked_by(pid_t parent);
pid_t wmk_process_parent(void);
/*
 * A number for what runs in this process since its last exec: the same for every copy of this library in it; 0 if it
 * cannot be had.
 */
uint64_t wmk_process_image(void);
/*
 * Will this process not answer as things are: is it stopped, or a zombie, or gone? False where that is unknown: where
 * it has another start time than `start` (0: any), it may be another process, or `start` is a time of another time
 * namespace.
 */
bool wmk_process_is_stuck(pid_t pid, uint64_t start);
/*
 * Give this thread a table of descriptors that no other thread sees. 0 to 2 lead to nothing: a pipe of the program's
 * must not stay open because this thread holds an end of it, and a library that writes to them must not meet our
 * sockets. False: it cannot be had.
 */
bool wmk_process_unshare_files(void);

#endif
