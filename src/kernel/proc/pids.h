/* SPDX-License-Identifier: MIT */
/*
 * pids.h - the threads of a process, and translation of process numbers of a client in another PID namespace: a
 * container numbers its processes anew.
 *
 * `status` in /proc contains the numbers of a process in all its PID namespaces, beginning with the namespace of the
 * reader (proc_pid_status(5), pid_namespaces(7)).
 */
#ifndef WMK_KERNEL_PIDS_H
#define WMK_KERNEL_PIDS_H

#include <stdint.h>
#include <sys/types.h>

/*
 * Translates the process number `number` from the PID namespace of the process `client` to the PID namespace of this
 * process. *pid receives the translated number. If both namespaces are the same or a namespace is hidden, *pid is
 * `number`, without a check that a process has this number. Any thread.
 *
 * Errors have a cause chain: -ESRCH: no such process exists in the client's namespace and its descendants. -ENOTSUP:
 * numbers cannot be translated, because `client` is 0, or because /proc belongs to another namespace than ours.
 * SO_PEERCRED reports 0 for a process outside of our namespace. -ENOMEM, or an error of /proc.
 */
int wmk_kpids_of(pid_t client, uint64_t number, pid_t *pid);

/*
 * Calls one() for each current thread of the process until one() returns a value other than 0, and returns this value.
 * -ESRCH, without a cause: no such process.
 */
int wmk_kpids_threads(pid_t pid, int (*one)(void *data, int32_t tid), void *data);

#endif
