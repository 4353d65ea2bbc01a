/* SPDX-License-Identifier: MIT */
/*
 * syscall_event.h - records of system calls as records of the trace.
 *
 *     wmk_syscalls_class(&call, is_exit, &class)             syscall_entry_openat, syscall_exit_openat,
 *                                                            compat_syscall_entry_..., syscall_entry_unknown
 *     wmk_syscalls_payload(&call, &record, out, room)        the fields, packed
 *
 * Each argument becomes a field with the name of the argument. Arguments that point to data have other or additional
 * fields:
 *
 *     path, text           the text itself; also at exit, where it is "" unless only the exit could read it (the system
 *                          call has loaded its page)
 *     argv                 a sequence of texts
 *     buffer               the pointer, and <arg>_bytes: a blob; for a buffer that the system call fills, at exit
 *     socket address       the pointer, and <arg>_family, <arg>_port, <arg>_address
 *     timespec             the pointer, and <arg>_sec, <arg>_nsec
 *     stat                 at exit <arg>_mode, _uid, _gid, _size
 *     pollfd               the pointer, and <arg>_fds: a sequence of structures, at entry and at exit
 *     pair of descriptors  at exit <arg>_0, <arg>_1
 *
 * The last field, `pointers`, has three bits for each pointer: NULL, unreadable, cut. Data that was not read is 0 or
 * empty. At exit, the first field is `ret`. A system call with an unknown number has this number as its first field,
 * `id`.
 *
 * Any thread.
 */
#ifndef WMK_KERNEL_SYSCALL_EVENT_H
#define WMK_KERNEL_SYSCALL_EVENT_H

#include "kernel/syscall/syscall_bpf.h"

/* Make the event class. *class is malloc'd: wmk_event_class_free(). 0, or -errno with a cause chain. */
int wmk_syscalls_class(const struct wmk_syscall *call, bool is_exit, struct wmk_event_class **class);
/*
 * Write the payload of a record of `call`. Returns the size of the payload in bytes; -ENOSPC: the payload needs more
 * than `room` bytes. The function trusts only the pointers and lengths of the record's pieces.
 */
long wmk_syscalls_payload(const struct wmk_syscall *call, const struct wmk_syscalls_record *record, uint8_t *out,
			  size_t room);

#endif
