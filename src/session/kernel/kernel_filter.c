/* SPDX-License-Identifier: MIT */
/*
 * kernel_filter.c - filters of the rules of kernel channels.
 *
 * A filter is checked against the kernel events that its rule selects. The filter is split into parts for the kernel
 * and the consumer daemon (kernel/event/filter_split.h). A filter changes in three steps while records arrive:
 *
 *     consumer daemon: old or new ──► kernel: the new one ──► consumer daemon: the new one
 *
 * No step therefore rejects a record that both the old rules and the new rules select. If the kernel rejects its part
 * of the filter, the consumer daemon evaluates the whole filter.
 */
#include "session/kernel/kernel_filter.h"

#include "base/error.h"
#include "base/nearest.h"
#include "ctf/writer.h"
#include "kernel/event/kernel_event.h"
#include "session/kernel/kernel_events.h"
#include "session/kernel/kernel_probes.h"
#include "session/kernel/kernel_rings.h"
#include "session/kernel/kernel_send.h"
#include "session/kernel/kernel_syscalls.h"
#include "session/model/session_report.h"
#include "session/model/session_tracefs.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PIDS_TEXT 1024                   /* length of the list of tracked processes in a filter */
#define NARROWED_MAX (WMK_FILTER_TEXT_MAX + PIDS_TEXT + 16)

/* ── check rules that a client sends ─────────────────────────────────────────────────────────────────── */

struct kernel_filter_rules {
	const struct wmk_tracefs *tracefs;
	const struct wmk_kcatalog *catalog;
	const char *filter;
	const struct wmk_list *rules;
	/* not NULL: check the events of this group instead of the events that rules select */
	const char *group;
};

/*
 * Return the rule's filter; "" if the rule has no filter. For a probe, the result is always "":
 * wmk_kernel_probe_check() checks the filter of a probe against the event of a trial installation.
 */
static const char *filter_of(const struct wmk_ctl_rule *rule)
{
	return rule->filter && !wmk_rule_is_probe(rule) ? rule->filter : "";
}

/* True if a rule with this filter selects the event. */
static bool is_meant(const struct kernel_filter_rules *f, const struct wmk_kentry *entry)
{
	if (f->group)
		return strcmp(entry->system, f->group) == 0;

	const struct wmk_ctl_rule *rules = f->rules->items;

	for (uint32_t i = 0; i < f->rules->n; i++)
		if (strcmp(filter_of(&rules[i]), f->filter) == 0 && wmk_kernel_rule_fits(NULL, &rules[i], entry))
			return true;
	return false;
}

/*
 * Call `one` for the class of the records that BPF makes of a system call. A record of BPF has other fields than a
 * record of the kernel event of the same system call.
 */
static int call_by_bpf(const struct wmk_tracefs *tracefs, const struct wmk_kentry *entry,
		       int (*one)(void *data, const struct wmk_event_class *class), void *data)
{
	struct wmk_event_class *class;
	int ret;

	if (wmk_kernel_syscall_class(tracefs, entry, &class) < 0) {
		wmk_error_clear();
		return 0;
	}
	ret = one(data, class);
	wmk_event_class_free(class);
	return ret;
}

/* Call `one` for each selected event until it returns non-zero. Events with an unknown format are skipped. */
static int each_event(const struct kernel_filter_rules *f, int (*one)(void *data, const struct wmk_event_class *class),
		      void *data)
{
	int ret = 0;

	for (size_t i = 0; i < wmk_kcatalog_size(f->catalog) && ret == 0; i++) {
		const struct wmk_kentry *entry = wmk_kcatalog_at(f->catalog, i);
		struct wmk_kevent *event;

		if (!is_meant(f, entry))
			continue;
		if (wmk_kevent_load(f->tracefs->dir, entry->system, entry->name, &event) < 0) {
			wmk_error_clear();
			continue;
		}
		ret = one(data, event->class);
		wmk_kevent_free(event);
		/* BPF or tracefs may record the system call; the choice is made when the channel starts */
		if (ret == 0 && entry->call)
			ret = call_by_bpf(f->tracefs, entry, one, data);
	}
	return ret;
}

static int try_one(void *data, const struct wmk_event_class *class)
{
	return wmk_filter_fit_try(data, wmk_kfilter_look_up, (void *)(uintptr_t)class, class->name);
}

/* Copies of the field names of the offered classes: the nearest names are reported after the classes were freed. */
struct offering {
	struct wmk_nearest near;
	char **names;
	size_t n;
};

static int offer_one(void *data, const struct wmk_event_class *class)
{
	struct offering *o = data;
	char **more = realloc(o->names, (o->n + class->n_fields + 1) * sizeof(*more));

	if (!more)
		return -ENOMEM;
	o->names = more;
	for (uint32_t i = 0; i < class->n_fields; i++) {
		o->names[o->n] = strdup(class->fields[i].name);
		if (!o->names[o->n])
			return -ENOMEM;
		wmk_nearest_offer(&o->near, o->names[o->n++]);
	}
	return 0;
}

/* Report a name that no selected event has, together with similar names. */
static int no_such_name(const struct kernel_filter_rules *f, const struct wmk_filter_expr *expr, unsigned number)
{
	const struct wmk_filter_name *name = wmk_filter_name_of(expr, number);
	const bool is_field = name->scope == WMK_FILTER_FIELD;
	struct offering o = { .names = NULL };
	char names[80], what[160];

	wmk_nearest_init(&o.near, name->steps[0].name);
	/* if memory is short, only a part of the names is compared */
	if (is_field)
		each_event(f, offer_one, &o);
	for (const struct wmk_ctf_context *c = NULL; !is_field && (c = wmk_ctf_context_next(WMK_CONTEXT_KERNEL, c));)
		wmk_nearest_offer(&o.near, c->field.name);
	wmk_nearest_text(&o.near, names, sizeof(names));
	for (size_t i = 0; i < o.n; i++)
		free(o.names[i]);
	free(o.names);
	snprintf(what, sizeof(what), "%s%s%s",
		 is_field ? "none of the selected kernel events has such a field"
			  : "kernel records have no such context",
		 names[0] ? "; near is " : "", names);
	return wmk_filter_name_wrong(expr, number, what);
}

static int check_one(const struct kernel_filter_rules *f)
{
	struct wmk_filter_expr *expr;
	struct wmk_filter_fit fit;
	int missing, fits, err = wmk_filter_parse(f->filter, &expr);

	if (err >= 0) {
		err = wmk_filter_fit_begin(&fit, expr);
		if (err >= 0)
			err = each_event(f, try_one, &fit);
		fits = wmk_filter_fit_end(&fit, &missing);
		err = err < 0 ? err : missing >= 0 ? no_such_name(f, expr, (unsigned)missing) : fits;
		wmk_filter_expr_free(expr);
	}
	return err < 0 ? wmk_error_add(err, "the filter '%.60s'", f->filter) : 0;
}

/*
 * Open tracefs and the catalog of kernel events, to check filters against the events. *catalog is NULL if no rule has a
 * filter.
 */
static int look(struct wmk_tracing *tracing, const struct wmk_list *rules, struct wmk_tracefs **tracefs,
		struct wmk_kcatalog **catalog)
{
	const struct wmk_ctl_rule *all = rules->items;
	bool any = false;

	*catalog = NULL;
	for (uint32_t i = 0; i < rules->n; i++)
		any |= *filter_of(&all[i]);
	int err = any ? wmk_kernel_tracefs(tracing, tracefs) : 0;

	return err < 0 || !any ? err : wmk_kcatalog_open(*tracefs, catalog);
}

int wmk_kernel_filters_fit(struct wmk_tracing *tracing, const struct wmk_list *rules)
{
	const struct wmk_ctl_rule *all = rules->items;
	struct wmk_tracefs *tracefs;
	struct wmk_kcatalog *catalog;
	int err = look(tracing, rules, &tracefs, &catalog);

	for (uint32_t i = 0; catalog && i < rules->n && err == 0; i++) {
		const struct kernel_filter_rules f = { tracefs, catalog, filter_of(&all[i]), rules, NULL };
		uint32_t first = 0;

		while (strcmp(filter_of(&all[first]), f.filter) != 0)
			first++;
		err = *f.filter && first == i ? check_one(&f) : 0;
	}
	wmk_kcatalog_close(catalog);
	return err;
}

int wmk_kernel_probe_filter_fits(const struct wmk_tracefs *tracefs, const char *group, const char *filter)
{
	struct wmk_kcatalog *catalog;
	int err;

	if (!filter || !*filter)
		return 0;
	err = wmk_kcatalog_open(tracefs, &catalog);
	if (err < 0)
		return err;
	const struct kernel_filter_rules f = { tracefs, catalog, filter, NULL, group };

	err = check_one(&f);
	wmk_kcatalog_close(catalog);
	return err;
}

/* Combine a filter (NULL, "": none) with the list of tracked processes. */
static int narrowed(const struct wmk_session *session, const char *filter, const struct wmk_filter_expr **result)
{
	char text[NARROWED_MAX];
	const uint64_t *pids = session->trackers.kernel_pids.items;
	struct wmk_filter_expr *expr = NULL;
	size_t len = filter && *filter ? (size_t)snprintf(text, sizeof(text), "(%s) && ", filter) : 0;
	int err = 0;

	if (len < sizeof(text) - PIDS_TEXT) {
		/* no process has the number -2: an empty list selects no process */
		len += (size_t)sprintf(text + len, "$ctx.pid in [-2");
		for (uint32_t i = 0; i < session->trackers.kernel_pids.n; i++)
			len += (size_t)sprintf(text + len, ", %" PRIu32, (uint32_t)pids[i]);
		len += (size_t)sprintf(text + len, "]");
	}
	if (len > WMK_FILTER_TEXT_MAX)
		err = wmk_errorx(
			-E2BIG, "the filter '%.60s' is too long together with the list of tracked processes",
			filter);
	if (err == 0)
		err = wmk_filter_parse(text, &expr);

	*result = expr;
	return err;
}

static bool has_context(const struct wmk_session_channel *channel, const struct wmk_filter_name *name)
{
	const struct wmk_ctf_context *context =
		name->n_steps == 1 && name->steps[0].name ? wmk_ctf_context_find(name->steps[0].name) : NULL;

	return context && wmk_kfilter_has_context(channel->contexts, channel->n_contexts, context->number);
}

/* Check the filter of a probe as far as possible without its event, which may not exist yet. */
static int probe_check(const struct wmk_session_channel *channel, const struct wmk_ctl_rule *rule)
{
	struct wmk_filter_expr *expr;
	int err = wmk_filter_parse(rule->filter, &expr);

	if (err < 0)
		return err;
	for (unsigned i = 0; err == 0 && i < wmk_filter_n_names(expr); i++)
		if (wmk_filter_name_of(expr, i)->scope == WMK_FILTER_CONTEXT &&
		    !has_context(channel, wmk_filter_name_of(expr, i)))
			err = wmk_filter_name_wrong(expr, i,
						    "the channel does not record this context (use add-context)");
	wmk_filter_expr_free(expr);
	if (err == 0 && channel->session->trackers.kernel_pid) {
		const struct wmk_filter_expr *both;

		err = narrowed(channel->session, rule->filter, &both);
		if (err == 0)
			wmk_filter_expr_free((struct wmk_filter_expr *)(uintptr_t)both);
	}
	return err < 0 ? wmk_error_add(err, "the filter '%.60s'", rule->filter) : 0;
}

/*
 * Make the filter for records of this event: for records of BPF if BPF is expected to record the event, else for
 * records of tracefs.
 */
static int check_event(const struct wmk_session_channel *channel, const struct wmk_tracefs *tracefs,
		       const struct wmk_kentry *entry, struct wmk_kfilter_made *made)
{
	struct wmk_event_class *class;
	int err;

	if (!entry->call || !wmk_channel_syscalls_expected_by_bpf(channel))
		return wmk_kernel_filter_of(channel, NULL, tracefs, entry, false, made);
	err = wmk_kernel_syscall_class(tracefs, entry, &class);
	if (err < 0)
		return err;
	err = wmk_kernel_syscall_filter_of(channel, entry, class, made);
	wmk_event_class_free(class);
	return err;
}

int wmk_kernel_filters_check(struct wmk_session_channel *channel, const struct wmk_list *rules)
{
	const struct wmk_ctl_rule *added = rules->items;
	struct wmk_kfilter_made made;
	struct wmk_tracefs *tracefs;
	struct wmk_kcatalog *catalog;
	int err = 0;

	for (uint32_t i = 0; i < rules->n && err == 0; i++)
		if (wmk_rule_is_probe(&added[i]) && added[i].filter && *added[i].filter)
			err = probe_check(channel, &added[i]);
	if (err == 0)
		err = look(channel->session->tracing, rules, &tracefs, &catalog);
	if (err < 0)
		return err;

	for (size_t i = 0; catalog && i < wmk_kcatalog_size(catalog) && err == 0; i++) {
		const struct wmk_kentry *entry = wmk_kcatalog_at(catalog, i);
		bool is_new = false;

		for (uint32_t k = 0; k < rules->n; k++)
			is_new |= *filter_of(&added[k]) && wmk_kernel_rule_fits(NULL, &added[k], entry);
		err = is_new ? check_event(channel, tracefs, entry, &made) : 0;
		if (is_new && err == 0)
			wmk_kfilter_made_free(&made);
		/* other errors, such as an unknown format, are reported when the event is recorded */
		if (err < 0 && err != -EINVAL && err != -E2BIG && err != -ENOMEM)
			err = (wmk_error_clear(), 0);
	}
	wmk_kcatalog_close(catalog);
	return err;
}

/* ── make filters ────────────────────────────────────────────────────────────────────────────────────── */

/* The filters of the rules that select an event; if `n` is 0, one rule has no filter, so all records are selected. */
struct asked {
	const struct wmk_filter_expr *exprs[WMK_KFILTER_EXPRS_MAX];
	unsigned n;                      /* may exceed the array; wmk_kfilter_make() rejects that */
	bool own;                        /* asked_free() frees the expressions */
};

static void asked_free(struct asked *asked)
{
	for (unsigned i = 0; asked->own && i < asked->n && i < WMK_KFILTER_EXPRS_MAX; i++)
		wmk_filter_expr_free((struct wmk_filter_expr *)(uintptr_t)asked->exprs[i]);
}

static int ask(const struct wmk_session_channel *channel, const struct wmk_kernel_probes *probes,
	       const struct wmk_kentry *entry, struct asked *asked)
{
	const struct wmk_ctl_rule *rules = channel->is.rules.items;
	int err = 0;

	*asked = (struct asked){ .own = channel->session->trackers.kernel_pid };
	for (uint32_t i = 0; i < channel->is.rules.n && err == 0; i++) {
		if (!rules[i].enabled || !wmk_kernel_rule_fits(probes, &rules[i], entry))
			continue;
		/*
		 * this rule selects all records, or all records of tracked processes if the session tracks kernel
		 * processes
		 */
		if (!channel->exprs[i]) {
			asked_free(asked);
			asked->n = 0;
			err = asked->own ? narrowed(channel->session, NULL, &asked->exprs[0]) : 0;
			asked->n = asked->own && err == 0;
			return err;
		}
		if (asked->n < WMK_KFILTER_EXPRS_MAX && asked->own)
			err = narrowed(channel->session, rules[i].filter, &asked->exprs[asked->n]);
		else if (asked->n < WMK_KFILTER_EXPRS_MAX)
			asked->exprs[asked->n] = channel->exprs[i];
		asked->n += err == 0;
	}
	if (err < 0)
		asked_free(asked);
	return err;
}

static int made_of(const struct wmk_session_channel *channel, const struct wmk_tracefs *tracefs,
		   const struct wmk_kentry *entry, const struct asked *asked, bool refused,
		   struct wmk_kfilter_made *made)
{
	struct wmk_kfilter_event about = { .contexts = channel->contexts, .n_contexts = channel->n_contexts };
	struct wmk_kformat *format;
	struct wmk_kevent *event;
	int err = wmk_kformat_load(tracefs->dir, entry->system, entry->name, &format);

	if (err < 0)
		return err;
	err = wmk_kevent_make(format, &event);
	if (err == 0) {
		about.format = refused ? NULL : format;
		about.class = event->class;
		err = wmk_kfilter_make(&about, asked->exprs, asked->n, made);
		wmk_kevent_free(event);
	}
	free(format);
	return err;
}

int wmk_kernel_filter_of(const struct wmk_session_channel *channel, const struct wmk_kernel_probes *probes,
			 const struct wmk_tracefs *tracefs, const struct wmk_kentry *entry, bool refused,
			 struct wmk_kfilter_made *made)
{
	struct asked asked;
	int err = ask(channel, probes, entry, &asked);

	*made = (struct wmk_kfilter_made){ .never = false };
	if (err == 0 && asked.n) {
		err = made_of(channel, tracefs, entry, &asked, refused, made);
		asked_free(&asked);
	}
	return err < 0 ? wmk_error_add(err, "cannot make the filter of kernel event %.60s", entry->trace) : 0;
}

int wmk_kernel_syscall_filter_of(const struct wmk_session_channel *channel, const struct wmk_kentry *entry,
			      const struct wmk_event_class *class, struct wmk_kfilter_made *made)
{
	const struct wmk_kfilter_event about = { .class = class,
						 .contexts = channel->contexts,
						 .n_contexts = channel->n_contexts };
	struct asked asked;
	int err = ask(channel, NULL, entry, &asked);

	*made = (struct wmk_kfilter_made){ .never = false };
	if (err == 0 && asked.n) {
		err = wmk_kfilter_make(&about, asked.exprs, asked.n, made);
		asked_free(&asked);
	}
	return err < 0 ? wmk_error_add(err, "cannot make the filter of system call %.60s", entry->trace) : 0;
}

/* ── update ──────────────────────────────────────────────────────────────────────────────────────────── */

/* Make the event's filter again. An event that no rule selects keeps its filter, because it is switched off. */
static int look_at(struct rings *rings, const struct wmk_tracefs *tracefs, const struct wmk_kentry *entry,
		   struct kernel_event *event)
{
	struct wmk_kfilter_made made;
	int err;

	if (!wmk_kernel_selects(rings, entry))
		return 0;
	err = wmk_kernel_filter_of(rings->channel, rings->kernel->probes, tracefs, entry, event->refused, &made);
	if (err < 0)
		return err;
	if (wmk_kfilter_made_same(&made, &event->filter)) {
		wmk_kfilter_made_free(&made);
		return 0;
	}
	wmk_kfilter_made_free(&event->filter);
	event->filter = made;
	/* an event that is off needs no message */
	event->todo = made.never ? WMK_KERNEL_DONE : WMK_KERNEL_CHANGE;
	return 0;
}

/* Send the events with a changed filter (`todo` is CHANGE) to the consumer daemon. */
static int send_changed(struct rings *rings, bool changing)
{
	struct wmk_kernel_rings *kernel = rings->kernel;
	struct kernel_event *events[WMK_KERNEL_SEND_MAX];
	unsigned n = 0;
	int err = 0;

	for (unsigned i = 0; i < kernel->n_events && err == 0; i++) {
		if (kernel->events[i].todo == WMK_KERNEL_CHANGE)
			events[n++] = &kernel->events[i];
		if (n == WMK_KERNEL_SEND_MAX) {
			err = wmk_kernel_send_events(rings, events, n, changing);
			n = 0;
		}
	}
	return err < 0 || n == 0 ? err : wmk_kernel_send_events(rings, events, n, changing);
}

/*
 * Write the filter to the kernel. If the kernel rejects the filter, sets *again: the consumer daemon must then evaluate
 * the whole filter.
 */
static int write_one(struct rings *rings, struct kernel_event *event, bool *again)
{
	int err = event->filter.text || event->asked ? wmk_kinstance_filter(rings->kernel->instance, event->system,
									    event->name, event->filter.text)
						     : 0;

	event->asked |= event->filter.text != NULL;
	if (err == 0 && event->todo == WMK_KERNEL_WRITE)
		event->todo = WMK_KERNEL_DONE;
	if (err < 0 && event->filter.text && !event->refused) {
		wmk_error_clear();
		event->refused = *again = true;
		err = 0;
	}
	return err;
}

/* For each filter that the kernel has rejected, make a new filter that the consumer daemon evaluates as a whole. */
static int without_kernel(struct rings *rings, const struct wmk_tracefs *tracefs, const struct wmk_kcatalog *catalog)
{
	int err = 0;

	for (size_t i = 0; i < wmk_kcatalog_size(catalog) && err == 0; i++) {
		const struct wmk_kentry *entry = wmk_kcatalog_at(catalog, i);
		struct kernel_event *event = wmk_kernel_event_find(rings->kernel, entry);

		if (!event || !event->refused || event->todo == WMK_KERNEL_DONE)
			continue;
		wmk_kfilter_made_free(&event->filter);
		event->todo = WMK_KERNEL_CHANGE;
		err = wmk_kernel_filter_of(rings->channel, rings->kernel->probes, tracefs, entry, true, &event->filter);
	}
	return err;
}

static int pass(struct rings *rings, bool *again)
{
	struct wmk_kernel_rings *kernel = rings->kernel;
	int err = send_changed(rings, true);

	*again = false;
	for (unsigned i = 0; i < kernel->n_events && err == 0; i++)
		if (kernel->events[i].todo != WMK_KERNEL_DONE)
			err = write_one(rings, &kernel->events[i], again);
	if (err < 0 || *again)
		return err;
	err = send_changed(rings, false);
	for (unsigned i = 0; i < kernel->n_events && err == 0; i++)
		kernel->events[i].todo = WMK_KERNEL_DONE;
	return err;
}

/*
 * Drop filters that are too large for a message to the consumer daemon. The kernel and the consumer daemon do not
 * receive these filters. The next update makes the filters again from the rules.
 */
static void forget(struct wmk_kernel_rings *kernel)
{
	for (unsigned i = 0; i < kernel->n_events; i++) {
		struct kernel_event *event = &kernel->events[i];

		if (event->todo != WMK_KERNEL_CHANGE)
			continue;
		wmk_kfilter_made_free(&event->filter);
		event->filter = (struct wmk_kfilter_made){ .never = true };
		event->todo = WMK_KERNEL_DONE;
	}
}

int wmk_kernel_filters_update(struct rings *rings, const struct wmk_tracefs *tracefs,
			      const struct wmk_kcatalog *catalog)
{
	bool again = false;
	int err = 0;

	for (size_t i = 0; i < wmk_kcatalog_size(catalog) && err == 0; i++) {
		const struct wmk_kentry *entry = wmk_kcatalog_at(catalog, i);
		struct kernel_event *event = wmk_kernel_event_find(rings->kernel, entry);

		if (!event)
			continue;
		err = look_at(rings, tracefs, entry, event);
		/* an event is not recorded if its filter cannot be made; the other events are recorded */
		if (err < 0 && err != -ENOMEM) {
			wmk_session_report(rings->session, err, NULL);
			wmk_kfilter_made_free(&event->filter);
			event->filter.never = true;
			event->todo = WMK_KERNEL_DONE;
			err = 0;
		}
	}
	if (err == 0)
		err = pass(rings, &again);
	if (err == 0 && again)
		err = without_kernel(rings, tracefs, catalog);
	if (err == 0 && again)
		err = pass(rings, &again);
	if (err == -E2BIG)
		forget(rings->kernel);
	return err;
}
