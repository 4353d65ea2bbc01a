/* SPDX-License-Identifier: MIT */
/*
 * kernel_rings.h - structures that kernel_channel.c (selects events), kernel_filter.c (filters records), kernel_rings.c
 * (instances) and kernel_restore.c (instances of an earlier daemon) share.
 */
#ifndef WMK_SESSION_KERNEL_RINGS_H
#define WMK_SESSION_KERNEL_RINGS_H

#include "kernel/event/catalog.h"
#include "kernel/event/filter_split.h"
#include "kernel/tracefs/instance.h"
#include "session/kernel/kernel_probes.h"
#include "session/model/session_model.h"

#define WMK_KERNEL_SEND_MAX 1024u        /* events in one message to the consumer daemon */

/* The next step for an event's filter. */
enum wmk_kernel_todo {
	WMK_KERNEL_DONE,
	/* the consumer daemon has the filter, and the event is not enabled yet: write the filter to the kernel */
	WMK_KERNEL_WRITE,
	WMK_KERNEL_CHANGE,       /* send the filter to the consumer daemon, and write the filter to the kernel */
};

/* A kernel event that was selected in a channel at least once. */
struct kernel_event {
	char *system, *name;
	struct class *class;
	bool on;
	struct wmk_kfilter_made filter;
	uint8_t todo;            /* enum wmk_kernel_todo */
	bool asked;              /* the kernel has or may have a filter for this event */
	/* the kernel rejected its part of the filter: the consumer daemon evaluates the whole filter */
	bool refused;
};

struct wmk_kernel_rings {
	int instance;
	char name[WMK_KINSTANCE_NAME];
	struct kernel_event *events;
	unsigned n_events, cap_events;
	struct wmk_kernel_probes *probes;
	struct wmk_kernel_syscalls *calls;  /* recorded by BPF; NULL: none */
	bool on;
};

/* Create the buffers of a channel in the kernel. NULL with a cause chain. */
struct rings *wmk_kernel_rings_make(struct wmk_session_channel *channel);
/*
 * Prepare these rings as the rings of a kernel channel, without an instance yet. Releasing the last reference removes
 * the instance, unless the next daemon takes over the instance.
 */
int wmk_kernel_rings_attach(struct rings *rings);
/* Stop recording into the instance, before it is drained for the last time. Not locked. */
void wmk_kernel_halt(const struct rings *rings);

#endif
