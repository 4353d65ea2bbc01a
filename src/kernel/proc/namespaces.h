/* SPDX-License-Identifier: MIT */
/*
 * namespaces.h - how the namespaces of this process change thread numbers and times of kernel records.
 *
 * Kernel records have thread numbers of the initial PID namespace and times of the initial time namespace. A process in
 * another PID namespace cannot map these thread numbers (pid_namespaces(7)). Waymark therefore records the kernel only
 * from the initial PID namespace. In a time namespace, CLOCK_MONOTONIC has a fixed offset (time_namespaces(7)). The
 * functions subtract this offset.
 *
 * Any thread.
 */
#ifndef WMK_KERNEL_NAMESPACES_H
#define WMK_KERNEL_NAMESPACES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

/* True if this process is in the initial PID namespace, or if its PID namespace is unknown. */
bool wmk_kspaces_is_first_pid(void);
/*
 * 0: this process can record the kernel. -ENOTSUP with a cause chain: the PID namespace of this process prevents kernel
 * recording.
 */
int wmk_kspaces_check(void);
/*
 * 0: this process can have threads. -EINVAL with a cause chain: children of this process get another PID namespace, as
 * after `unshare --pid` without --fork. In this state, pthread_create() fails.
 */
int wmk_kspaces_check_threads(void);

/* CLOCK_MONOTONIC of the initial time namespace, as bpf_ktime_get_ns() and tracefs's clock `mono` return it. */
uint64_t wmk_kspaces_monotonic(void);
/*
 * Converts a start time of /proc/PID/stat to ticks of the initial time namespace. Processes in different time
 * namespaces get the same result, with a tolerance of one tick.
 */
uint64_t wmk_kspaces_start_time(uint64_t ticks);

#endif
