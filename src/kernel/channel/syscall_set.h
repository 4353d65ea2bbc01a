/* SPDX-License-Identifier: MIT */
/*
 * syscall_set.h - structures that three files share: channel_reader.c, syscall_set.c (selects system calls that BPF
 * records) and syscall_stream.c (makes their packets).
 */
#ifndef WMK_KERNEL_SYSCALL_SET_H
#define WMK_KERNEL_SYSCALL_SET_H

#include "kernel/syscall/syscall_event.h"
#include "kernel/channel/syscall_reader.h"
#include "kernel/channel/channel_events.h"

#define WMK_SYSCALL_SET_NO_ID UINT32_MAX

/* A system call that has event classes in the trace. */
struct wmk_syscall_entry {
	struct wmk_syscall call;
	uint32_t ids[2];                 /* ids of entry and exit */
	/* NULL until the first filter is set, which needs the class to read records */
	struct wmk_event_class *classes[2];
	struct wmk_kreader_filters filters[2];
};

struct wmk_syscall_set {
	struct wmk_syscalls *bpf;          /* NULL: not loaded */
	bool is_started;
	/* the instance records one process: set_event_pid of the instance selects the processes that BPF records */
	bool is_of_process;
	/* overwrite mode: limit for the kept packets of one ring; 0: discard mode */
	uint64_t kept_bytes;
	uint32_t own_version;            /* `own.version` of the processes that BPF excludes now */
	uint64_t wanted[WMK_SYSCALLS_WORDS];
	struct wmk_syscall_entry *calls[WMK_SYSCALLS_ABIS][WMK_SYSCALLS_NUMBERS];
};

int wmk_syscall_set_event(struct wmk_kreader *reader, const char *name, uint32_t id);
/* Sets the filter program of the event from now on; NULL: keeps all records. -ENOENT: the event has no id. */
int wmk_syscall_set_filter(struct wmk_kreader *reader, const char *name, const void *program, size_t len);
void wmk_syscall_set_free(struct wmk_syscall_set *set);

/*
 * syscall_follow.c: for an instance that records one process and its descendants, follows all of these processes that
 * exist now.
 */
int wmk_syscall_set_follow(const struct wmk_kreader *reader);

#endif
