/* SPDX-License-Identifier: MIT */
/*
 * syscall_set.h - shared by channel_reader.c, syscall_set.c (which system calls of a channel are recorded by BPF) and
 * syscall_stream.c (what comes of them).
 */
#ifndef WMK_KERNEL_SYSCALL_SET_H
#define WMK_KERNEL_SYSCALL_SET_H

#include "kernel/syscall/syscall_event.h"
#include "kernel/channel/syscall_reader.h"
#include "kernel/channel/channel_events.h"

#define WMK_SYSCALL_SET_NO_ID UINT32_MAX

/* A call that the trace has events of. */
struct wmk_syscall_entry {
	struct wmk_syscall call;
	uint32_t ids[2];                 /* of its entry, of its exit */
	struct wmk_event_class *classes[2];    /* NULL until there is a filter, which reads by it */
	struct wmk_kreader_filters filters[2];
};

struct wmk_syscall_set {
	struct wmk_syscalls *bpf;          /* NULL: not loaded yet */
	bool is_started;
	/* the instance records one process: its set of threads says which processes BPF records */
	bool is_of_process;
	/* overwrite mode: of packets of one ring that are kept until the stop; 0: discard mode */
	uint64_t kept_bytes;
	uint32_t own_version;            /* of the processes that it leaves alone */
	uint64_t wanted[WMK_SYSCALLS_WORDS];
	struct wmk_syscall_entry *calls[WMK_SYSCALLS_ABIS][WMK_SYSCALLS_NUMBERS];
};

int wmk_syscall_set_event(struct wmk_kreader *reader, const char *name, uint32_t id);
/* Which records of the event are written from now on; program NULL: all. -ENOENT: the event has no id. */
int wmk_syscall_set_filter(struct wmk_kreader *reader, const char *name, const void *program, size_t len);
void wmk_syscall_set_free(struct wmk_syscall_set *set);

/* syscall_follow.c: of an instance that records one process and those that it starts, follow all that exist now. */
int wmk_syscall_set_follow(const struct wmk_kreader *reader);

#endif
