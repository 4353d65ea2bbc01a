/* SPDX-License-Identifier: MIT */
/* kernel_events.h - the kernel events of a channel. */
#ifndef WMK_SESSION_KERNEL_EVENTS_H
#define WMK_SESSION_KERNEL_EVENTS_H

#include "session/kernel/kernel_rings.h"

/* True if an enabled rule selects this event. Rules of probes select only events of `probes` (may be NULL). */
bool wmk_kernel_rules_select(const struct wmk_session_channel *channel, const struct wmk_kernel_probes *probes,
			   const struct wmk_kentry *entry);
/*
 * True if the rule fits the event. A rule with a probe fits the event of that probe, if `probes` (may be NULL) contains
 * the probe. Rules without a probe do not fit events of probes.
 */
bool wmk_kernel_rule_fits(const struct wmk_kernel_probes *probes, const struct wmk_ctl_rule *rule,
			  const struct wmk_kentry *entry);
/* True if the channel records this event through tracefs. */
bool wmk_kernel_selects(const struct rings *rings, const struct wmk_kentry *entry);
struct kernel_event *wmk_kernel_event_find(const struct wmk_kernel_rings *kernel, const struct wmk_kentry *entry);
/* Return the class of the event from the kernel's format file. NULL with a cause chain. */
struct class *wmk_kernel_event_class(struct wmk_tracing *tracing, const struct wmk_tracefs *tracefs,
				     const struct wmk_kentry *entry);
/*
 * Add an event to the channel. Fails if `class` is NULL. The function takes ownership of `filter`, even on failure. The
 * filter is sent before the event is enabled. In restored rings, the event may be enabled already, so the filter is
 * sent in the order of a change (kernel_filter.c).
 */
int wmk_kernel_event_add(struct rings *rings, const struct wmk_kentry *entry, struct class *class,
			 struct wmk_kfilter_made filter);
void wmk_kernel_event_free(struct kernel_event *event);

#endif
