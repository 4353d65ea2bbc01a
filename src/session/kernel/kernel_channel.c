/* SPDX-License-Identifier: MIT */
/*
 * kernel_channel.c - bring the kernel in line with a session's kernel channels (see kernel_channel.h): select the
 * kernel events of each channel, and switch them on or off.
 */
#include "session/kernel/kernel_channel.h"

#include "base/error.h"
#include "kernel/event/kernel_event.h"
#include "kernel/proc/namespaces.h"
#include "kernel/tracefs/tracefs.h"
#include "session/kernel/kernel_events.h"
#include "session/kernel/kernel_filter.h"
#include "session/kernel/kernel_probes.h"
#include "session/kernel/kernel_rings.h"
#include "session/kernel/kernel_send.h"
#include "session/kernel/kernel_statedump.h"
#include "session/kernel/kernel_syscalls.h"
#include "session/model/class_table.h"
#include "session/model/ring_layout.h"
#include "session/model/rings.h"
#include "session/model/session_report.h"
#include "session/model/session_tracefs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ── the catalog of kernel events ────────────────────────────────────────────────────────────────────── */

int wmk_kernel_catalog(struct wmk_tracing *tracing, struct wmk_kcatalog **catalog)
{
	struct wmk_tracefs *tracefs;
	int err = wmk_kernel_tracefs(tracing, &tracefs);

	return err < 0 ? err : wmk_kcatalog_open(tracefs, catalog);
}

/* ── check rules ─────────────────────────────────────────────────────────────────────────────────────── */

int wmk_kernel_rule_check(struct wmk_session *session, const struct wmk_ctl_rule *rule, char *note, size_t size)
{
	struct wmk_kcatalog *catalog;
	struct wmk_tracefs *tracefs;
	int err;

	note[0] = '\0';
	if (rule->level_op != WMK_LEVEL_ANY)
		return wmk_errorx(-EINVAL, "kernel events have no log levels");
	err = wmk_kernel_tracefs(session->tracing, &tracefs);
	if (err == 0)
		err = wmk_kinstance_clock_check(tracefs, session->clock);
	if (err == 0)
		err = wmk_kspaces_check();
	if (err == 0 && wmk_rule_is_probe(rule))
		return wmk_kernel_probe_check(tracefs, rule, session->uid, session->gid, note, size);
	if (err == 0)
		err = wmk_kcatalog_open(tracefs, &catalog);
	if (err < 0)
		return err;
	err = wmk_kcatalog_check(catalog, rule->pattern);
	wmk_kcatalog_close(catalog);
	return err;
}

uint64_t wmk_kernel_fitting(const struct wmk_kcatalog *catalog, const struct wmk_ctl_rule *rule)
{
	uint64_t n = 0;

	if (wmk_rule_is_probe(rule))
		return rule->enabled;
	for (size_t i = 0; catalog && i < wmk_kcatalog_size(catalog); i++)
		n += wmk_kernel_rule_fits(NULL, rule, wmk_kcatalog_at(catalog, i));
	return n;
}

/* ── events ──────────────────────────────────────────────────────────────────────────────────────────── */

/*
 * Add an event with the filters of the rules that select the event. An event is not added if its filters are never
 * true.
 */
static int event_new(struct rings *rings, const struct wmk_tracefs *tracefs, const struct wmk_kentry *entry)
{
	struct wmk_kfilter_made filter;
	int err = wmk_kernel_filter_of(rings->channel, rings->kernel->probes, tracefs, entry, false, &filter);

	if (err < 0 || filter.never)
		return err;
	return wmk_kernel_event_add(rings, entry, wmk_kernel_event_class(rings->session->tracing, tracefs, entry),
				    filter);
}

/* ── update ──────────────────────────────────────────────────────────────────────────────────────────── */

/* Add new events to the channel, declare them in the metadata, and send them to the consumer daemon. */
static int introduce(struct rings *rings, const struct wmk_tracefs *tracefs, const struct wmk_kentry *const *entries,
		     unsigned n)
{
	struct wmk_kernel_rings *kernel = rings->kernel;
	const unsigned before = kernel->n_events;
	struct kernel_event *events[WMK_KERNEL_SEND_MAX];
	struct class *classes[WMK_KERNEL_SEND_MAX];
	int err = 0;

	/* the session reports an event that cannot be added, and records the other events */
	for (unsigned i = 0; i < n && err != -ENOMEM; i++) {
		err = event_new(rings, tracefs, entries[i]);
		if (err < 0)
			wmk_session_report(rings->session, err, NULL);
	}
	err = err == -ENOMEM ? err : 0;
	n = kernel->n_events - before;
	for (unsigned i = 0; i < n; i++) {
		events[i] = &kernel->events[before + i];
		classes[i] = events[i]->class;
	}
	if (err == 0)
		err = wmk_rings_declare(rings, classes, n);
	if (err == 0 && n)
		err = wmk_kernel_send_events(rings, events, n, rings->restored);
	/* events that the consumer daemon has not received are removed */
	for (; err < 0 && kernel->n_events > before; kernel->n_events--)
		wmk_kernel_event_free(&kernel->events[kernel->n_events - 1]);
	return err;
}

static int introduce_all(struct rings *rings, const struct wmk_tracefs *tracefs, const struct wmk_kcatalog *catalog)
{
	const struct wmk_kentry *fresh[WMK_KERNEL_SEND_MAX];
	unsigned n = 0;
	int err = 0;

	for (size_t i = 0; i < wmk_kcatalog_size(catalog) && err == 0; i++) {
		const struct wmk_kentry *entry = wmk_kcatalog_at(catalog, i);

		if (wmk_kernel_selects(rings, entry) && !wmk_kernel_event_find(rings->kernel, entry))
			fresh[n++] = entry;
		if (n == WMK_KERNEL_SEND_MAX) {
			err = introduce(rings, tracefs, fresh, n);
			n = 0;
		}
	}
	return err < 0 || n == 0 ? err : introduce(rings, tracefs, fresh, n);
}

static int events_switch(struct rings *rings, const struct wmk_kcatalog *catalog)
{
	int first = 0;

	for (size_t i = 0; i < wmk_kcatalog_size(catalog); i++) {
		const struct wmk_kentry *entry = wmk_kcatalog_at(catalog, i);
		struct kernel_event *event = wmk_kernel_event_find(rings->kernel, entry);
		const bool on = event && !event->filter.never && wmk_kernel_selects(rings, entry);

		if (!event || event->on == on)
			continue;
		int err = wmk_kinstance_event(rings->kernel->instance, event->system, event->name, on);

		if (err == 0)
			event->on = on;
		else if (first == 0)
			first = err;
	}
	return first;
}

/*
 * Switch on BPF before the tracefs instance, because loading and verifying a BPF program triggers many kernel events.
 * The instance must not record the events that loading BPF triggers.
 */
static int rings_switch(struct rings *rings, bool on)
{
	const int calls = on ? wmk_kernel_syscalls_switch(rings, rings->kernel->calls, true) : 0;
	struct wmk_error_chain *why = wmk_error_take();
	int err = rings->kernel->on == on ? 0 : wmk_kinstance_switch(rings->kernel->instance, on);

	if (err == 0)
		rings->kernel->on = on;
	if (err < 0) {
		wmk_error_drop(why);
		return err;
	}
	wmk_error_give(why);
	return on ? calls : wmk_kernel_syscalls_switch(rings, rings->kernel->calls, false);
}

static bool channel_records(const struct wmk_session_channel *channel)
{
	const struct wmk_ctl_rule *rules = channel->is.rules.items;
	bool any = false;

	for (uint32_t i = 0; i < channel->is.rules.n; i++)
		any = any || rules[i].enabled;
	return any && channel->session->active && channel->is.enabled;
}

bool wmk_session_kernel_records(const struct wmk_session *session, const struct wmk_kentry *entry)
{
	for (unsigned i = 0; i < session->n_channels; i++) {
		const struct wmk_session_channel *channel = session->channels[i];
		const struct wmk_ctl_rule *rules = channel->is.rules.items;

		if (!wmk_channel_is_kernel(channel) || !channel_records(channel))
			continue;
		for (uint32_t k = 0; k < channel->is.rules.n; k++)
			if (rules[k].enabled && wmk_kernel_rule_fits(NULL, &rules[k], entry))
				return true;
	}
	return false;
}

static struct rings *rings_current(const struct wmk_session_channel *channel)
{
	for (struct rings *rings = channel->session->rings; rings; rings = rings->next)
		if (rings->channel == channel && rings->kernel && wmk_rings_current(rings))
			return rings;
	return NULL;
}

static int channel_update(struct wmk_session_channel *channel)
{
	const bool records = channel_records(channel);
	struct wmk_tracefs *tracefs;
	struct wmk_kcatalog *catalog;
	struct rings *current;
	int err = 0;

	for (struct rings *rings = channel->session->rings; rings; rings = rings->next)
		if (rings->channel == channel && rings->kernel && (!records || !wmk_rings_current(rings)) &&
		    rings_switch(rings, false) < 0)
			err = wmk_error_number();
	if (!records || err < 0)
		return err;
	err = wmk_kernel_tracefs(channel->session->tracing, &tracefs);
	if (err < 0)
		return err;
	current = rings_current(channel);
	if (!current)
		current = wmk_kernel_rings_make(channel);
	if (!current)
		return wmk_error_number() < 0 ? wmk_error_number() : -ENOMEM;
	/* install probes first, so that the catalog contains their events */
	const int probes = wmk_kernel_probes_install(tracefs, current, &current->kernel->probes);
	struct wmk_error_chain *why = wmk_error_take();

	err = wmk_kcatalog_open(tracefs, &catalog);
	if (err < 0) {
		wmk_error_drop(why);
		return err;
	}
	err = introduce_all(current, tracefs, catalog);
	if (err == 0)
		err = wmk_kernel_filters_update(current, tracefs, catalog);
	if (err == 0)
		err = events_switch(current, catalog);
	wmk_kcatalog_close(catalog);
	if (err == 0)
		err = wmk_kernel_syscalls_update(tracefs, current, &current->kernel->calls);
	if (err == 0)
		err = rings_switch(current, true);
	if (err < 0) {
		wmk_error_drop(why);
		return err;
	}
	wmk_kernel_statedump_send(current);
	wmk_error_give(why);
	return probes;
}

int wmk_session_kernel_update(struct wmk_session *session)
{
	int first = 0;

	for (unsigned i = 0; i < session->n_channels; i++) {
		int err = wmk_channel_is_kernel(session->channels[i]) ? channel_update(session->channels[i]) : 0;

		if (err < 0 && first == 0)
			first = wmk_error_add(err, "cannot record all events of kernel channel '%.60s'",
					      session->channels[i]->is.name);
	}
	return first;
}
