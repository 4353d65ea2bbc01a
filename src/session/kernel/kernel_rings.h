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
#include "session/kernel/kernel_probes.h"
#include "session/model/session_model.h"

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

/* A channel's buffers in the kernel, made. NULL with a cause chain. */
struct rings *wmk_kernel_rings_make(struct wmk_session_channel *channel);
/* These rings are a kernel channel's from here on, without an instance yet. The last reference removes the instance,
 * unless the next daemon is to have it. */
int wmk_kernel_rings_attach(struct rings *rings);
/* Nothing is recorded into it any more; before it is emptied for the last time. Not locked. */
void wmk_kernel_halt(const struct rings *rings);

#endif
