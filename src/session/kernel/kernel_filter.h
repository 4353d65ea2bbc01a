/* SPDX-License-Identifier: MIT */
/* kernel_filter.h - filters of kernel channels. */
#ifndef WMK_SESSION_KERNEL_FILTER_H
#define WMK_SESSION_KERNEL_FILTER_H

#include "session/kernel/kernel_rings.h"

/*
 * Of rules that were checked: does each filter mean anything in the events of those that have it? -EINVAL, and where it
 * does not.
 */
int wmk_kernel_filters_fit(struct wmk_tracing *tracing, const struct wmk_list *rules);
/* Behind rules that were added: as wmk_session_filters_check(), of a kernel channel. */
int wmk_kernel_filters_check(struct wmk_session_channel *channel, const struct wmk_list *rules);
/*
 * What the channel's rules want of the event; those of probes, as far as they are among `probes`, which may be NULL.
 * `refused`: the kernel is not asked. *made: wmk_kfilter_made_free().
 */
int wmk_kernel_filter_of(const struct wmk_session_channel *channel, const struct wmk_kernel_probes *probes,
			 const struct wmk_tracefs *tracefs, const struct wmk_kentry *entry, bool refused,
			 struct wmk_kfilter_made *made);
/* The same of a system call that BPF records, with records of this class: the consumer runs all of it. */
int wmk_kernel_syscall_filter_of(const struct wmk_session_channel *channel, const struct wmk_kentry *entry,
			      const struct wmk_event_class *class, struct wmk_kfilter_made *made);
/*
 * Bring the filters of events that are there in line with the rules, and those of events that were just introduced.
 * Meanwhile nothing is refused that the rules want, or those before them.
 */
int wmk_kernel_filters_update(struct rings *rings, const struct wmk_tracefs *tracefs,
			      const struct wmk_kcatalog *catalog);

#endif
