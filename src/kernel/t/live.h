/* SPDX-License-Identifier: MIT */
/*
 * live.h - for tests of the BPF program: a child process that waits until it is followed, makes its system calls and
 * exits; and the records of it.
 */
#ifndef WMK_KERNEL_T_LIVE_H
#define WMK_KERNEL_T_LIVE_H

#include <sys/types.h>

#include "kernel/syscall/syscall_bpf.h"

typedef void live_one(void *data, const struct wmk_syscalls_record *record);

/* Open the source; skips the test with a message if the machine does not support it. */
struct wmk_syscalls *live_open(const struct wmk_syscalls_options *options);
/* Select a system call by name. */
void live_want(struct wmk_syscalls *calls, enum wmk_kabi abi, const char *name);
/* Fork a child that runs `work` after live_go() and exits with its result. */
pid_t live_fork(int (*work)(void *data), void *data, int *go);
void live_go(int go);
/*
 * Read all rings until the process has exited and nothing is left; pass each record to `one`; return their number.
 * Asserts that the exit status is 0.
 */
uint64_t live_read(struct wmk_syscalls *calls, pid_t pid, live_one *one, void *data);
/* All steps: fork a child that does `work`, follow it, read its records, and return the counts. */
struct wmk_syscalls_stats live_run(struct wmk_syscalls *calls, int (*work)(void *data), void *work_data, live_one *one,
				   void *data);
/* Return the data that argument `arg` points to; fails if the record does not have it. */
const struct wmk_syscalls_piece *live_piece(const struct wmk_syscalls_record *record, unsigned arg);

#endif
