/* SPDX-License-Identifier: MIT */
/* kernel_filter.h - filters of kernel channels. */
#ifndef WMK_SESSION_KERNEL_FILTER_H
#define WMK_SESSION_KERNEL_FILTER_H

#include "session/kernel/kernel_rings.h"

/* Check that each filter fits the events that its rules select. -EINVAL with the position of the error. */
int wmk_kernel_filters_fit(struct wmk_tracing *tracing, const struct wmk_list *rules);
/* Like wmk_session_filters_check(), but for a kernel channel, after the rules were added. */
int wmk_kernel_filters_check(struct wmk_session_channel *channel, const struct wmk_list *rules);
/*
 * Make the filter of the event from the channel's rules; rules of probes count if their event is one of `probes` (may
 * be NULL). `refused`: the kernel has rejected the filter of this event before, so make a filter that only the consumer
 * daemon evaluates. The caller frees *made by wmk_kfilter_made_free().
 */
int wmk_kernel_filter_of(const struct wmk_session_channel *channel, const struct wmk_kernel_probes *probes,
			 const struct wmk_tracefs *tracefs, const struct wmk_kentry *entry, bool refused,
			 struct wmk_kfilter_made *made);
/* Make the filter of a system call that BPF records with this class; the consumer daemon evaluates the whole filter. */
int wmk_kernel_syscall_filter_of(const struct wmk_session_channel *channel, const struct wmk_kentry *entry,
			      const struct wmk_event_class *class, struct wmk_kfilter_made *made);
/*
 * Change the filters of existing and new events to the filters of the rules. During the update, no record is lost that
 * both the old and the new rules select.
 */
int wmk_kernel_filters_update(struct rings *rings, const struct wmk_tracefs *tracefs,
			      const struct wmk_kcatalog *catalog);

#endif
