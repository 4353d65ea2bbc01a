/* SPDX-License-Identifier: MIT */
/*
 * event_names.h - names of kernel events and their fields in traces. If lttng-modules has the event, its names apply,
 * because Trace Compass's kernel views and other analyses expect them. Events that lttng-modules does not have keep the
 * kernel's names. The table is in event_names.c.
 *
 *     events/irq/softirq_entry       irq_softirq_entry        its `vec` stays a number
 *     events/sched/sched_switch      sched_switch             prev_pid becomes `prev_tid`; prev_prio: 100 less
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
	/* a number without the kernel's labels, because analyses expect a number */
	WMK_KHOW_NUMBER,
	WMK_KHOW_ADD,              /* a number to which `add` is added */
	WMK_KHOW_RWBS,             /* letters of block devices, which become the bits of lttng-modules */
	WMK_KHOW_DROPPED,
};

struct wmk_kfield_rule {
	char name[WMK_NAME_MAX + 1];
	enum wmk_khow how;
	int add;
};

/* Writes the name that the event has in traces. Returns false if the name is longer than WMK_NAME_MAX. */
bool wmk_kname_event(const char *system, const char *kernel_name, char name[WMK_NAME_MAX + 1]);
/* Fills the rule for the field `field` of this event. */
void wmk_kname_field(const char *system, const char *kernel_name, const char *field, struct wmk_kfield_rule *rule);
/*
 * Returns whether lttng-modules adds a field `tid` (the current thread) that the kernel's event does not have.
 */
bool wmk_kname_has_tid(const char *system, const char *kernel_name);
/*
 * Returns whether the trace's event has two additional fields: the processes of the threads in parent_pid and
 * child_pid.
 */
bool wmk_kname_has_processes(const char *system, const char *kernel_name);

/*
 * Returns whether a pattern (`*`, `?`, `[a-z]`) selects this event. The pattern applies to the name in the trace, to
 * the kernel's name, and to `system:name` with one of these names.
 */
bool wmk_kname_matches(const char *pattern, const char *system, const char *kernel_name);

/* Labels of the bits of WMK_KHOW_RWBS. */
#define WMK_KRWBS_LABELS 11u
extern const struct wmk_label wmk_krwbs_labels[WMK_KRWBS_LABELS];
/* Converts the letters, up to `len` or a NUL, to bits. */
unsigned wmk_krwbs_bits(const char *letters, size_t len);

#endif
