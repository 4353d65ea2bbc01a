/* SPDX-License-Identifier: MIT */
/* kernel_events.c - the kernel events of a channel, and whether its rules select an event. */
#include "session/kernel/kernel_events.h"

#include "base/error.h"
#include "kernel/event/kernel_event.h"
#include "kernel/tracefs/tracefs.h"
#include "session/kernel/kernel_probes.h"
#include "session/kernel/kernel_rings.h"
#include "session/kernel/kernel_syscalls.h"
#include "session/model/class_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool wmk_kernel_rule_fits(const struct wmk_kernel_probes *probes, const struct wmk_ctl_rule *rule,
			  const struct wmk_kentry *entry)
{
	if (wmk_rule_is_probe(rule))
		return wmk_kernel_probe_makes(probes, rule, entry);
	if (wmk_kentry_is_probe(entry) || !wmk_kentry_fits(entry, rule->pattern))
		return false;
	for (uint32_t i = 0; i < rule->exclusions.n; i++)
		if (wmk_kentry_fits(entry, ((const char *const *)rule->exclusions.items)[i]))
			return false;
	return true;
}

struct kernel_event *wmk_kernel_event_find(const struct wmk_kernel_rings *kernel, const struct wmk_kentry *entry)
{
	for (unsigned i = 0; i < kernel->n_events; i++)
		if (strcmp(kernel->events[i].name, entry->name) == 0 &&
		    strcmp(kernel->events[i].system, entry->system) == 0)
			return &kernel->events[i];
	return NULL;
}

struct class *wmk_kernel_event_class(struct wmk_tracing *tracing, const struct wmk_tracefs *tracefs,
				     const struct wmk_kentry *entry)
{
	struct wmk_event_class *class;
	struct wmk_kevent *event;

	if (wmk_kevent_load(tracefs->dir, entry->system, entry->name, &event) < 0)
		return NULL;
	class = event->class;
	event->class = NULL;
	wmk_kevent_free(event);
	return wmk_class_intern(tracing, class);
}

void wmk_kernel_event_free(struct kernel_event *event)
{
	free(event->system);
	free(event->name);
	wmk_kfilter_made_free(&event->filter);
}

static int event_room(struct wmk_kernel_rings *kernel, const struct wmk_kentry *entry, const struct class *class)
{
	if (!class)
		return wmk_error_add(wmk_error_number() < 0 ? wmk_error_number() : -ENOMEM,
				     "cannot parse the format of kernel event %s:%s", entry->system, entry->name);
	if (kernel->n_events == kernel->cap_events) {
		const unsigned cap = kernel->cap_events ? 2 * kernel->cap_events : 64;
		struct kernel_event *more = realloc(kernel->events, cap * sizeof(*more));

		if (!more)
			return wmk_error(-ENOMEM, "no memory for the events of a kernel channel");
		kernel->events = more;
		kernel->cap_events = cap;
	}
	return 0;
}

int wmk_kernel_event_add(struct rings *rings, const struct wmk_kentry *entry, struct class *class,
			 struct wmk_kfilter_made filter)
{
	struct wmk_kernel_rings *kernel = rings->kernel;
	struct kernel_event made = { .class = class, .filter = filter, .asked = rings->restored,
				     .todo = rings->restored ? WMK_KERNEL_CHANGE : WMK_KERNEL_WRITE };
	int err = event_room(kernel, entry, class);

	if (err == 0) {
		made.system = strdup(entry->system);
		made.name = strdup(entry->name);
		if (!made.system || !made.name)
			err = wmk_error(-ENOMEM, "no memory for the events of a kernel channel");
	}
	if (err < 0) {
		wmk_kernel_event_free(&made);
		return err;
	}
	kernel->events[kernel->n_events++] = made;
	return 0;
}

bool wmk_kernel_rules_select(const struct wmk_session_channel *channel, const struct wmk_kernel_probes *probes,
			   const struct wmk_kentry *entry)
{
	const struct wmk_list *list = &channel->is.rules;
	const struct wmk_ctl_rule *rules = list->items;

	for (uint32_t i = 0; i < list->n; i++)
		if (rules[i].enabled && wmk_kernel_rule_fits(probes, &rules[i], entry))
			return true;
	return false;
}

bool wmk_kernel_selects(const struct rings *rings, const struct wmk_kentry *entry)
{
	const struct wmk_session_channel *channel = rings->channel;

	return !(entry->call && wmk_channel_syscalls_by_bpf(channel)) &&
	       wmk_kernel_rules_select(channel, rings->kernel->probes, entry);
}
