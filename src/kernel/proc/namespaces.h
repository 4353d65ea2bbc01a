/* SPDX-License-Identifier: MIT */
/*
 * namespaces.h - what the namespaces of this process change between the kernel's records and this process.
 *
 * Kernel records have thread numbers of the initial PID namespace and times of the initial time namespace. In a PID
 * namespace of its own a process cannot map the numbers (pid_namespaces(7)), so it does not record the kernel. In a
 * time namespace CLOCK_MONOTONIC has a fixed offset (time_namespaces(7)), which is subtracted here.
 *
 * Any thread.
 */
#ifndef WMK_KERNEL_NAMESPACES_H
#define WMK_KERNEL_NAMESPACES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

/* This process is in the initial PID namespace, or which one it is in is unknown. */
bool wmk_kspaces_is_first_pid(void);
/* 0: this process can record the kernel. -ENOTSUP with a cause chain: it cannot, because of its PID namespace. */
int wmk_kspaces_check(void);
/*
 * 0: this process can have threads. -EINVAL with a cause chain: its children get another PID namespace than its own, as
 * behind `unshare --pid` without --fork; pthread_create() fails there.
 */
int wmk_kspaces_check_threads(void);

/* CLOCK_MONOTONIC of the initial time namespace, as bpf_ktime_get_ns() and tracefs's clock `mono` return it. */
uint64_t wmk_kspaces_monotonic(void);
/* A start time of /proc/PID/stat, in ticks of the initial time namespace: the same for all readers, up to a tick. */
uint64_t wmk_kspaces_start_time(uint64_t ticks);

#endif
