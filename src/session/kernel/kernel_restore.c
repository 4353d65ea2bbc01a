/* SPDX-License-Identifier: MIT */
/*
 * kernel_restore.c - take over the instances and probes that an earlier daemon left in the kernel. Restored sessions
 * continue to use the instances and probes of the earlier daemon. Restored sessions also consume the records that the
 * kernel made while no session daemon ran. Instances and probes without a session are removed.
 */
#include "session/kernel/kernel_restore.h"

#include "base/error.h"
#include "kernel/tasks/task_context.h"
#include "kernel/tracefs/tracefs.h"
#include "session/kernel/kernel_events.h"
#include "session/kernel/kernel_filter.h"
#include "session/kernel/kernel_probes.h"
#include "session/kernel/kernel_rings.h"
#include "session/kernel/kernel_send.h"
#include "session/kernel/kernel_syscalls.h"
#include "session/model/class_table.h"
#include "session/model/quota.h"
#include "session/model/ring_layout.h"
#include "session/model/rings.h"
#include "session/model/session_report.h"
#include "session/model/session_tracefs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ── restore ─────────────────────────────────────────────────────────────────────────────────────────── */

int wmk_kernel_restore(struct rings *rings)
{
	struct wmk_tracing *tracing = rings->session->tracing;
	const uint64_t bytes = wmk_rings_bytes(&rings->channel->is);
	struct wmk_tracefs *tracefs;
	int err = wmk_kernel_tracefs(tracing, &tracefs);

	if (err < 0)
		return err;
	err = wmk_kernel_rings_attach(rings);
	if (err == 0)
		err = wmk_tracefs_instance_open(tracefs, rings->kernel->name, &rings->kernel->instance);
	if (err == 0)
		err = wmk_quota_rings_charge(tracing, rings->session->uid, bytes, true);
	if (err < 0)
		return err;
	rings->bytes = bytes;
	rings->restored = true;
	rings->session->kernel_dumps += rings->session->kernel_dumps == 0;
	rings->kernel->on = true;        /* the state is unknown, but switching off twice does no harm */
	return wmk_trace_ensure_open(rings->trace);
}

/*
 * True if BPF is assumed to have recorded all occurrences of the system call, because the kernel's own event of the
 * system call is switched off now. (Records of BPF and of tracefs may have the same class.)
 */
static bool was_by_bpf(const struct rings *rings, const struct wmk_kentry *entry)
{
	char path[200], *text;
	size_t len;

	if (!entry->call || !wmk_channel_syscalls_by_bpf(rings->channel))
		return false;
	snprintf(path, sizeof(path), "events/%s/%s/enable", entry->system, entry->name);
	if (wmk_tracefs_read(rings->kernel->instance, path, &text, &len) < 0) {
		wmk_error_clear();
		return true;
	}
	const bool is_on = *text == '1';

	free(text);
	return !is_on;
}

/*
 * Add the events that the buffers may still contain. An event is added if the event has an id in the rings and fits an
 * enabled or disabled rule.
 */
static int events_known(struct rings *rings, const struct wmk_tracefs *tracefs, const struct wmk_kcatalog *catalog)
{
	const struct wmk_ctl_rule *rules = rings->channel->is.rules.items;
	int err = 0;

	for (size_t i = 0; i < wmk_kcatalog_size(catalog) && err == 0; i++) {
		const struct wmk_kentry *entry = wmk_kcatalog_at(catalog, i);
		struct wmk_kfilter_made filter;
		struct class *class = NULL;

		for (uint32_t r = 0; r < rings->channel->is.rules.n && !class; r++)
			if (wmk_kernel_rule_fits(rings->kernel->probes, &rules[r], entry))
				class = wmk_kernel_event_class(rings->session->tracing, tracefs, entry);
		if (!class || !wmk_rings_has_id(rings, class) || was_by_bpf(rings, entry))
			continue;
		/*
		 * Buffers of an earlier layout may lack a context that the filters use. Buffers of an earlier layout
		 * receive no new records, so these buffers need no filter.
		 */
		filter = (struct wmk_kfilter_made){ .never = false };
		err = wmk_rings_current(rings) ? wmk_kernel_filter_of(rings->channel, rings->kernel->probes, tracefs,
								      entry, false, &filter)
					       : 0;
		if (err < 0 && err != -ENOMEM) {
			wmk_session_report(rings->session, err, NULL);
			err = 0;
			continue;
		}
		if (err == 0)
			err = wmk_kernel_event_add(rings, entry, class, filter);
	}
	return err;
}

/*
 * Start consuming. The function sends all events in one message, because the consumer daemon would skip records of an
 * unknown event.
 */
static int consumed_on(struct rings *rings)
{
	const struct wmk_tracefs *tracefs = rings->session->tracing->tracefs;
	struct wmk_consumerd_event *messages = NULL;
	struct wmk_kcatalog *catalog;
	int err;

	/* the probes of the earlier daemon, under the same names */
	if (wmk_kernel_probes_install(tracefs, rings, &rings->kernel->probes) < 0)
		wmk_session_report(rings->session, wmk_error_number(),
				   "cannot take over a probe of the earlier daemon");
	err = wmk_kcatalog_open(tracefs, &catalog);
	if (err < 0)
		return err;
	err = events_known(rings, tracefs, catalog);
	wmk_kcatalog_close(catalog);
	if (err == 0 && !(messages = calloc(rings->kernel->n_events + 1, sizeof(*messages))))
		err = wmk_error(-ENOMEM, "no memory for the events of a kernel channel");
	if (err == 0) {
		for (unsigned i = 0; i < rings->kernel->n_events; i++)
			messages[i] = wmk_kernel_event_message(rings, &rings->kernel->events[i], true);
		err = wmk_kernel_consumed(rings, messages, rings->kernel->n_events);
	}
	free(messages);
	return err;
}

void wmk_session_kernel_restored(struct wmk_session *session)
{
	for (struct rings **at = &session->rings; *at;) {
		struct rings *rings = *at;

		if (!rings->kernel || rings->output || consumed_on(rings) == 0) {
			at = &rings->next;
			continue;
		}
		wmk_session_report(session, wmk_error_number(),
				   "cannot take over a kernel channel of the earlier daemon");
		*at = rings->next;
		wmk_rings_put(rings);
	}
}

/* ── remove orphans ──────────────────────────────────────────────────────────────────────────────────── */

/* True if any session has kernel rings for which `is` is true. */
static bool any_rings(struct wmk_tracing *tracing, bool (*is)(const struct rings *rings, const char *name),
		      const char *name)
{
	struct wmk_session **all = NULL;
	int n = wmk_session_get_all(tracing, &all);
	bool found = n < 0;              /* without memory for the list of sessions, assume that such rings exist */

	for (int i = 0; i < n; i++) {
		pthread_mutex_lock(&all[i]->lock);
		for (const struct rings *rings = all[i]->rings; rings && !found; rings = rings->next)
			found = rings->kernel && is(rings, name);
		pthread_mutex_unlock(&all[i]->lock);
		wmk_session_put(all[i]);
	}
	free(all);
	return found;
}

/*
 * True if `name` is the instance of these rings, or the instance for the task contexts of these rings, which has a
 * suffix.
 */
static bool is_instance(const struct rings *rings, const char *name)
{
	const size_t len = strlen(rings->kernel->name);

	return strncmp(rings->kernel->name, name, len) == 0 &&
	       (!name[len] || strcmp(name + len, WMK_KCONTEXT_SUFFIX) == 0);
}

static bool is_ours(void *data, const char *name)
{
	return any_rings(data, is_instance, name);
}

static bool is_group(const struct rings *rings, const char *group)
{
	return strcmp(wmk_kernel_probes_group(rings->kernel->probes), group) == 0;
}

static bool has_group(void *data, const char *group)
{
	return any_rings(data, is_group, group);
}

void wmk_kernel_sweep(struct wmk_tracing *tracing)
{
	struct wmk_tracefs *tracefs;

	/* a daemon without root has created no instance, and no instance records while tracefs is not mounted */
	if (!tracing->kernel_owner[0] || geteuid() != 0 || !wmk_tracefs_is_mounted())
		return;
	if (wmk_kernel_tracefs(tracing, &tracefs) < 0 ||
	    wmk_kinstance_sweep(tracefs, tracing->kernel_owner, is_ours, tracing) < 0) {
		wmk_error_clear();
		return;
	}
	wmk_kernel_probes_sweep(tracefs, tracing->kernel_owner, has_group, tracing);
}
