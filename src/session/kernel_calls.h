/* SPDX-License-Identifier: MIT */
/*
 * kernel_calls.h - system calls of kernel channels: by BPF, with what their arguments point to, or by tracefs's events, as numbers. Private to
 * src/session.
 *
 * Which of them is decided once, when a channel's rules name system calls for the first time, and kept for the channel's life: BPF where it can be had
 * (tried) and the channel discards, since BPF's rings cannot give up the oldest records. The consumer has the BPF program, and is told what to record:
 *
 *     rules ──tables of calls──► classes ──ids, declared──► the consumer is told ──► which calls are wanted, none while the channel is off
 *
 * All under the session's lock.
 */
#ifndef WMK_SESSION_KERNEL_CALLS_H
#define WMK_SESSION_KERNEL_CALLS_H

#include "session/internal.h"

struct wmk_kernel_calls;
struct wmk_tracefs;

/* For those channels that have to be. Before the session is written down. */
void wmk_session_calls_decide(struct wmk_session *session);

static inline bool wmk_channel_calls_by_bpf(const struct wmk_session_channel *channel)
{
	return channel->is.calls_by == WMK_CALLS_BY_BPF;
}

/*
 * Those that rules want and are new are declared, and the consumer is told; where the channel is on, it records them from now on and no others.
 * *calls is made for it, the caller's to free().
 */
int wmk_kernel_calls_update(const struct wmk_tracefs *tracefs, struct rings *rings, struct wmk_kernel_calls **calls);
/* On, or off: nothing more is recorded when it returns. */
int wmk_kernel_calls_switch(struct rings *rings, struct wmk_kernel_calls *calls, bool on);

#endif
