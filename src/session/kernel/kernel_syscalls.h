/* SPDX-License-Identifier: MIT */
/*
 * kernel_syscalls.h - system calls of kernel channels. BPF records a system call with the data that its arguments point
 * to; tracefs records the arguments as numbers. Private to src/session.
 *
 * The session daemon chooses between BPF and tracefs once, when the rules of a channel first select system calls. The
 * session daemon chooses BPF if a test of BPF succeeds, and keeps the choice as long as the channel exists. The
 * consumer daemon runs the BPF program and receives what to record:
 *
 *     rules ──tables of calls──► classes ──ids, declared──► consumer daemon ──► set of calls, empty while off
 *
 * The consumer daemon also receives a filter program for each system call and direction, and the list of processes of
 * `track --kernel`.
 *
 * All under the session's lock.
 */
#ifndef WMK_SESSION_KERNEL_SYSCALLS_H
#define WMK_SESSION_KERNEL_SYSCALLS_H

#include "session/model/session_model.h"

struct wmk_kernel_syscalls;
struct wmk_tracefs;
struct wmk_kentry;

/*
 * Decide between BPF and tracefs for each channel that needs the decision. Called before the session is written to the
 * state.
 */
void wmk_session_syscalls_decide(struct wmk_session *session);

/*
 * Return the decision between BPF and tracefs. Before the decision is made, return the choice that a decision would
 * make now.
 */
bool wmk_channel_syscalls_expected_by_bpf(const struct wmk_session_channel *channel);
/*
 * Make the event class of the records that BPF makes for a system call; the system call is an entry of the kernel's
 * list of events. The caller frees the class by wmk_event_class_free().
 */
int wmk_kernel_syscall_class(const struct wmk_tracefs *tracefs, const struct wmk_kentry *entry,
			  struct wmk_event_class **class);

static inline bool wmk_channel_syscalls_by_bpf(const struct wmk_session_channel *channel)
{
	return channel->is.calls_by == WMK_CALLS_BY_BPF;
}

/*
 * Declare newly selected system calls and send them to the consumer daemon. A later call of
 * wmk_kernel_syscalls_switch() makes BPF record exactly the selected system calls, even if recording is on already. The
 * function creates *calls; the caller frees *calls by wmk_kernel_syscalls_free().
 */
int wmk_kernel_syscalls_update(const struct wmk_tracefs *tracefs, struct rings *rings,
			       struct wmk_kernel_syscalls **calls);
/*
 * Switch the recording of system calls on or off. After a call that switches recording off has returned, BPF adds no
 * record.
 */
int wmk_kernel_syscalls_switch(struct rings *rings, struct wmk_kernel_syscalls *calls, bool on);

void wmk_kernel_syscalls_free(struct wmk_kernel_syscalls *calls);

#endif
