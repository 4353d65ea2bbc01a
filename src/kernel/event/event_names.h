/* SPDX-License-Identifier: MIT */
/*
 * event_names.h - what the kernel's events and their fields are called in the trace: as lttng-modules has them, where
 * it has the event, so that Trace Compass's kernel views and other analyses find what they look for; else as the kernel
 * does. One table is in event_names.c.
 *
 *     events/irq/softirq_entry       irq_softirq_entry        its `vec` stays a number
 *     events/sched/sched_switch      sched_switch             prev_pid is `prev_tid`, prev_prio counts from the real-time priorities on
 *     events/syscalls/sys_enter_X    syscall_entry_X          without __syscall_nr
 *
 * Pure; constant; any thread.
 */
#ifndef WMK_KERNEL_EVENT_NAMES_H
#define WMK_KERNEL_EVENT_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "schema/schema.h"

enum wmk_khow {
	WMK_KHOW_PLAIN,
	/* a number, though the kernel has labels for its values: analyses want numbers there */
	WMK_KHOW_NUMBER,
	WMK_KHOW_ADD,              /* a number, and `add` is added to it */
	WMK_KHOW_RWBS,             /* of block devices: letters that become lttng-modules' bits */
	WMK_KHOW_DROPPED,
};

struct wmk_kfield_rule {
	char name[WMK_NAME_MAX + 1];
	enum wmk_khow how;
	int add;
};

/* The name in the trace. False: it would be too long. */
bool wmk_kname_event(const char *system, const char *kernel_name, char name[WMK_NAME_MAX + 1]);
/* How the field `field` of this event is shown. */
void wmk_kname_field(const char *system, const char *kernel_name, const char *field, struct wmk_kfield_rule *rule);
/* lttng-modules has the current thread's id as a field `tid` of this event, and the kernel has not. */
bool wmk_kname_has_tid(const char *system, const char *kernel_name);

/*
 * Does a pattern of the user's (`*`, `?`, `[a-z]`) mean this event? It is held against the name in the trace, the
 * kernel's own, and `system:name` with either.
 */
bool wmk_kname_matches(const char *pattern, const char *system, const char *kernel_name);
/*
 * The way back: what events/<system>/<kernel_name> the name in the trace would be of. False: the table does not say,
 * then it may be any system's event of that very name.
 */
bool wmk_kname_find(const char *name, const char **system, char kernel_name[WMK_NAME_MAX + 1]);

/* Names of the bits that WMK_KHOW_RWBS makes. */
#define WMK_KRWBS_LABELS 11u
extern const struct wmk_label wmk_krwbs_labels[WMK_KRWBS_LABELS];
/* The letters, as far as `len` or a NUL, as bits. */
unsigned wmk_krwbs_bits(const char *letters, size_t len);

#endif
