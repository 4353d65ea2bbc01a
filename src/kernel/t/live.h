/* SPDX-License-Identifier: MIT */
/*
 * live.h - for tests of the BPF program: a process that waits until it is followed, does its calls, and ends; and what
 * was recorded of it.
 */
#ifndef WMK_KERNEL_T_LIVE_H
#define WMK_KERNEL_T_LIVE_H

#include <sys/types.h>

#include "kernel/syscall/syscall_bpf.h"

typedef void live_one(void *data, const struct wmk_syscalls_record *record);

/* Skips the test, in words, where it cannot be had. */
struct wmk_syscalls *live_open(const struct wmk_syscalls_options *options);
/* By name. */
void live_want(struct wmk_syscalls *calls, enum wmk_kabi abi, const char *name);
/* A child that runs `work` once live_go() was called, and exits with what it returns. */
pid_t live_fork(int (*work)(void *data), void *data, int *go);
void live_go(int go);
/*
 * Reads all rings until the process has ended and nothing is left, and hands each record to `one`; returns how many.
 * Asserts that the process has exited with 0.
 */
uint64_t live_read(struct wmk_syscalls *calls, pid_t pid, live_one *one, void *data);
/* All of it: follows the process that does `work`, and returns what was counted. */
struct wmk_syscalls_stats live_run(struct wmk_syscalls *calls, int (*work)(void *data), void *work_data, live_one *one,
				   void *data);
/* What argument `arg` points to; fails where the record has nothing of it. */
const struct wmk_syscalls_piece *live_piece(const struct wmk_syscalls_record *record, unsigned arg);

#endif
