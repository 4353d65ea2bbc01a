/* SPDX-License-Identifier: MIT */
/*
 * pids.h - the threads of a process; and which process somebody means by a number, who may be in another PID namespace
 * than we are: in a container processes have numbers of its own.
 *
 * /proc has in `status` the numbers of a process in all namespaces that it is in, the reader's first
 * (proc_pid_status(5), pid_namespaces(7)).
 */
#ifndef WMK_KERNEL_PIDS_H
#define WMK_KERNEL_PIDS_H

#include <stdint.h>
#include <sys/types.h>

/*
 * The process that `client`, a process, calls so: *pid, as we do. Where its namespace is ours, or is hidden from us, it
 * is the number itself, whether there is such a process or not. -ESRCH with a cause chain: in its namespace, and those
 * below, there is none; -ENOTSUP:
 * numbers of one namespace are unknown in the other (`client` is 0, as SO_PEERCRED has it for a process outside of our
 * namespace; or /proc shows another namespace than ours); -ENOMEM, ... Any thread.
 */
int wmk_kpids_of(pid_t client, uint64_t number, pid_t *pid);

/*
 * Each thread that the process has now, until one() gives another value than 0, which is returned. -ESRCH, without
 * words: there is no such process.
 */
int wmk_kpids_threads(pid_t pid, int (*one)(void *data, int32_t tid), void *data);

#endif
