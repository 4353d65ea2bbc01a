/* SPDX-License-Identifier: MIT */
/*
 * kernel_syscalls.h - system calls of kernel channels: by BPF, with what their arguments point to, or by tracefs's
 * events, as numbers. Private to src/session.
 *
 * Which of them is decided once, when a channel's rules name system calls for the first time, and kept for the
 * channel's life: BPF where it can be had (tried). The consumer has the BPF program, and is told what to record:
 *
 *     rules ──tables of calls──► classes ──ids, declared──► the consumer is told ──► which calls are wanted, none while the channel is off
 *
 * The consumer also receives a filter program for each direction of a call, and the processes of track --kernel.
 *
 * All under the session's lock.
 */
#ifndef WMK_SESSION_KERNEL_SYSCALLS_H
#define WMK_SESSION_KERNEL_SYSCALLS_H

#include "session/model/session_model.h"

struct wmk_kernel_syscalls;
struct wmk_tracefs;
struct wmk_kentry;

/* For those channels that have to be. Before the session is written down. */
void wmk_session_syscalls_decide(struct wmk_session *session);

/* Before it is decided: what will be decided. */
bool wmk_channel_syscalls_expected_by_bpf(const struct wmk_session_channel *channel);
/*
 * The class of the records that BPF makes of a system call in the kernel's list of events. The caller's to
 * wmk_event_class_free().
 */
int wmk_kernel_syscall_class(const struct wmk_tracefs *tracefs, const struct wmk_kentry *entry,
			  struct wmk_event_class **class);

static inline bool wmk_channel_syscalls_by_bpf(const struct wmk_session_channel *channel)
{
	return channel->is.calls_by == WMK_CALLS_BY_BPF;
}

/*
 * Those that rules want and are new are declared, and the consumer is told; where the channel is on, it records them
 * from now on and no others. *calls is made for it, the caller's to wmk_kernel_syscalls_free().
 */
int wmk_kernel_syscalls_update(const struct wmk_tracefs *tracefs, struct rings *rings,
			       struct wmk_kernel_syscalls **calls);
/* On, or off: nothing more is recorded when it returns. */
int wmk_kernel_syscalls_switch(struct rings *rings, struct wmk_kernel_syscalls *calls, bool on);

void wmk_kernel_syscalls_free(struct wmk_kernel_syscalls *calls);

#endif
