/* SPDX-License-Identifier: MIT */
/* kernel_events.h - the kernel's events of a channel. */
#ifndef WMK_SESSION_KERNEL_EVENTS_H
#define WMK_SESSION_KERNEL_EVENTS_H

#include "session/kernel/kernel_rings.h"

/* Does a rule in force select this event? Probes: as far as they are among `probes`, which may be NULL. */
bool wmk_kernel_rules_select(const struct wmk_session_channel *channel, const struct wmk_kernel_probes *probes,
			   const struct wmk_kentry *entry);
/*
 * The rule of a probe fits the event that it makes, if it is one of `probes`, which may be NULL; no other fits such an
 * event.
 */
bool wmk_kernel_rule_fits(const struct wmk_kernel_probes *probes, const struct wmk_ctl_rule *rule,
			  const struct wmk_kentry *entry);
bool wmk_kernel_selects(const struct rings *rings, const struct wmk_kentry *entry);
struct kernel_event *wmk_kernel_event_find(const struct wmk_kernel_rings *kernel, const struct wmk_kentry *entry);
/* The class that the kernel's own description of the event makes. NULL with a cause chain. */
struct class *wmk_kernel_event_class(struct wmk_tracing *tracing, const struct wmk_tracefs *tracefs,
				     const struct wmk_kentry *entry);
/*
 * The channel has it from here on. `class`: NULL fails. `filter` is taken, also when it fails. What the kernel is to be
 * sent about it is sent before the event is enabled; of one that may be on, in the order of a change.
 */
int wmk_kernel_event_add(struct rings *rings, const struct wmk_kentry *entry, struct class *class,
			 struct wmk_kfilter_made filter);
void wmk_kernel_event_free(struct kernel_event *event);

#endif
