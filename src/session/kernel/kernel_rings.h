/* SPDX-License-Identifier: MIT */
/*
 * kernel_rings.h - shared by kernel_channel.c (which events), kernel_filter.c (which of their records), kernel_rings.c
 * (the instances that they are recorded into) and kernel_restore.c (those of an earlier daemon).
 */
#ifndef WMK_SESSION_KERNEL_RINGS_H
#define WMK_SESSION_KERNEL_RINGS_H

#include "kernel/event/catalog.h"
#include "kernel/event/filter_split.h"
#include "kernel/tracefs/instance.h"
#include "session/kernel_channels.h"
#include "session/kernel/kernel_probes.h"

#define WMK_KERNEL_SEND_MAX 1024u        /* events that the consumer is told of at a time */

/* What is to be done about an event's filter. */
enum wmk_kernel_todo {
	WMK_KERNEL_DONE,
	WMK_KERNEL_WRITE,        /* the consumer knows it, and nothing is recorded yet: the kernel is to be told */
	WMK_KERNEL_CHANGE,       /* both are */
};

/* An event of the kernel that was enabled in a channel once. */
struct kernel_event {
	char *system, *name;
	struct class *class;
	bool on;
	struct wmk_kfilter_made filter;
	uint8_t todo;            /* enum wmk_kernel_todo */
	bool asked;              /* the kernel has a filter of it, or may have */
	bool refused;            /* the kernel would not have its part: the consumer does it all */
};

struct wmk_kernel_rings {
	int instance;
	char name[WMK_KINSTANCE_NAME];
	struct kernel_event *events;
	unsigned n_events, cap_events;
	struct wmk_kernel_probes *probes;
	struct wmk_kernel_syscalls *calls;  /* by BPF; NULL: none */
	bool on;
};

/* kernel_channel.c */
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
 * told of it is done before the event is enabled; of one that may be on, in the order of a change.
 */
int wmk_kernel_event_add(struct rings *rings, const struct wmk_kentry *entry, struct class *class,
			 struct wmk_kfilter_made filter);
void wmk_kernel_event_free(struct kernel_event *event);
/* What the consumer is told of it, for as long as the event is there. */
struct wmk_consumerd_event wmk_kernel_event_message(const struct rings *rings, const struct kernel_event *event,
						 bool changing);
/* The consumer knows of these events of the channel from here on, with their filters. */
int wmk_kernel_send_events(struct rings *rings, struct kernel_event *const *events, unsigned n, bool changing);

/* kernel_rings.c */
/* These rings are a kernel channel's from here on, without an instance yet. The last reference removes the instance,
 * unless the next daemon is to have it. */
int wmk_kernel_rings_attach(struct rings *rings);
/* A channel's buffers in the kernel, made. NULL with a cause chain. */
struct rings *wmk_kernel_rings_make(struct wmk_session_channel *channel);
/* At the outlet: what it records of these events is consumed. */
int wmk_kernel_consumed(struct rings *rings, struct wmk_consumerd_event *events, unsigned n);

/* kernel_filter.c */
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
