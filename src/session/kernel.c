/* SPDX-License-Identifier: MIT */
/*
 * kernel.c - the kernel brought in line with a session's kernel channels (see kernel.h).
 */
#include "session/kernel_inside.h"

#include "base/error.h"
#include "kernel/event.h"
#include "kernel/tracefs.h"
#include "kernel/who.h"
#include "session/kernel_calls.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#define TELL_BYTES (1u << 20)        /* of filters that the consumer is told of at a time, about */
#define KERNEL_SUBBUF (16u * 1024)   /* of the kernel's own sub-buffers: more cost less, and keep interrupts off for longer when they are read mapped */

/* ── the kernel's tracers ────────────────────────────────────────────────────────────────────────────── */

int wmk_kernel_tracefs(struct wmk_tracing *tracing, struct wmk_tracefs **tracefs)
{
	int err = 0;

	*tracefs = NULL;
	if (!tracing->kernel_owner[0])
		return wmk_error_said(-ENOTSUP, "the kernel is not traced here");
	pthread_mutex_lock(&tracing->lock);
	if (!tracing->tracefs)
		err = wmk_tracefs_open(NULL, &tracing->tracefs);
	*tracefs = tracing->tracefs;
	pthread_mutex_unlock(&tracing->lock);
	return err;
}

int wmk_kernel_catalog(struct wmk_tracing *tracing, struct wmk_kcatalog **catalog)
{
	struct wmk_tracefs *tracefs;
	int err = wmk_kernel_tracefs(tracing, &tracefs);

	return err < 0 ? err : wmk_kcatalog_open(tracefs, catalog);
}

/* ── what the kernel cannot do ───────────────────────────────────────────────────────────────────────── */

int wmk_kernel_channel_check(const struct wmk_ctl_channel *is)
{
	if (is->buffers == WMK_BUFFERS_PID)
		return wmk_error_said(-EINVAL, "the kernel has one buffer for each CPU, not for each process");
	if (is->blocking_us)
		return wmk_error_said(-EINVAL, "the kernel does not wait for room in a buffer: no blocking timeout");
	return 0;
}

bool wmk_kernel_rule_fits(const struct wmk_ctl_rule *rule, const struct wmk_kentry *entry)
{
	if (wmk_rule_is_probe(rule) || wmk_kentry_is_probe(entry) || !wmk_kentry_fits(entry, rule->pattern))
		return false;
	for (uint32_t i = 0; i < rule->exclusions.n; i++)
		if (wmk_kentry_fits(entry, ((const char *const *)rule->exclusions.items)[i]))
			return false;
	return true;
}

int wmk_kernel_rule_check(struct wmk_tracing *tracing, const struct wmk_ctl_rule *rule, char *note, size_t size)
{
	struct wmk_kcatalog *catalog;
	struct wmk_tracefs *tracefs;
	int err;

	note[0] = '\0';
	if (rule->level_op != WMK_LEVEL_ANY)
		return wmk_error_said(-EINVAL, "the kernel's events have no log levels");
	if (rule->filter && *rule->filter && wmk_rule_is_probe(rule))
		return wmk_error_said(-ENOTSUP, "the event of a probe is not filtered where it is recorded: waymark view --filter does it where it is read");
	err = wmk_kernel_tracefs(tracing, &tracefs);
	if (err == 0 && wmk_rule_is_probe(rule))
		return wmk_kernel_probe_check(tracefs, rule, note, size);
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
		n += wmk_kernel_rule_fits(rule, wmk_kcatalog_at(catalog, i));
	return n;
}

/* ── events ──────────────────────────────────────────────────────────────────────────────────────────── */

struct kernel_event *wmk_kernel_event_find(const struct wmk_kernel_rings *kernel, const struct wmk_kentry *entry)
{
	for (unsigned i = 0; i < kernel->n_events; i++)
		if (strcmp(kernel->events[i].name, entry->name) == 0 && strcmp(kernel->events[i].system, entry->system) == 0)
			return &kernel->events[i];
	return NULL;
}

/* The class that the kernel's own description of the event makes. NULL with a cause chain. */
static struct class *class_of(struct wmk_tracing *tracing, const struct wmk_tracefs *tracefs, const struct wmk_kentry *entry)
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

static void event_free(struct kernel_event *event)
{
	free(event->system);
	free(event->name);
	wmk_kfilter_made_free(&event->filter);
}

static int event_room(struct wmk_kernel_rings *kernel, const struct wmk_kentry *entry, const struct class *class)
{
	if (!class)
		return wmk_error_add(wmk_error_number() < 0 ? wmk_error_number() : -ENOMEM, "the kernel's event %s:%s is not understood", entry->system,
				     entry->name);
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

/* `filter` is taken, also when it fails. What the kernel is to be told of it is done before the event is enabled; of one that may be on, in the order of a change. */
static int event_add(struct rings *rings, const struct wmk_kentry *entry, struct class *class, struct wmk_kfilter_made filter)
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
		event_free(&made);
		return err;
	}
	kernel->events[kernel->n_events++] = made;
	return 0;
}

/* With what the rules want of it. One of which no record is wanted is none. */
static int event_new(struct rings *rings, const struct wmk_tracefs *tracefs, const struct wmk_kentry *entry)
{
	struct wmk_kfilter_made filter;
	int err = wmk_kernel_filter_of(rings->channel, tracefs, entry, false, &filter);

	return err < 0 || filter.never ? err : event_add(rings, entry, class_of(rings->session->tracing, tracefs, entry), filter);
}

bool wmk_kernel_rules_want(const struct wmk_session_channel *channel, const struct wmk_kentry *entry, bool all)
{
	const struct wmk_list *list = &channel->is.rules;
	const struct wmk_ctl_rule *rules = list->items;

	for (uint32_t i = 0; i < list->n; i++)
		if (rules[i].enabled && !(all && channel->exprs[i]) && wmk_kernel_rule_fits(&rules[i], entry))
			return true;
	return false;
}

bool wmk_kernel_wants(const struct rings *rings, const struct wmk_kentry *entry)
{
	const struct wmk_session_channel *channel = rings->channel;
	const bool by_bpf = entry->call && wmk_channel_calls_by_bpf(channel) && wmk_kernel_rules_want(channel, entry, true) &&
			    !wmk_kernel_event_find(rings->kernel, entry);

	if (!by_bpf && wmk_kernel_rules_want(channel, entry, false))
		return true;
	return wmk_kernel_probes_want(rings->kernel->probes, rings, entry);
}

/* ── an instance ─────────────────────────────────────────────────────────────────────────────────────── */

static struct wmk_kernel_rings *kernel_alloc(const struct rings *rings)
{
	struct wmk_kernel_rings *kernel = calloc(1, sizeof(*kernel));
	char channel[WMK_RINGS_NAME];

	if (!kernel) {
		wmk_error(-ENOMEM, "no memory for a kernel channel");
		return NULL;
	}
	kernel->instance = -1;
	wmk_rings_name(rings->channel, rings->stream_id, channel);
	if (wmk_kinstance_name(rings->session->tracing->kernel_owner, rings->session->name, channel, kernel->name) == 0)
		return kernel;
	free(kernel);
	return NULL;
}

static int instance_make(struct rings *rings)
{
	const struct wmk_tracing *tracing = rings->session->tracing;
	const struct wmk_ctl_channel *is = &rings->channel->is;
	const struct wmk_kinstance_options options = {
		.clock = tracing->clock.kind, .cpu_bytes = is->subbuf_size * is->n_subbufs,
		.subbuf_bytes = is->subbuf_size < KERNEL_SUBBUF ? is->subbuf_size : KERNEL_SUBBUF, .overwrite = is->mode == WMK_MODE_OVERWRITE,
	};
	int err;

	rings->kernel = kernel_alloc(rings);
	if (!rings->kernel)
		return wmk_error_number() < 0 ? wmk_error_number() : -ENOMEM;
	/* one of that name that nobody has: a session's that was not ended well */
	err = wmk_kinstance_remove(tracing->tracefs, rings->kernel->name);
	if (err == 0)
		err = wmk_kinstance_make(tracing->tracefs, rings->kernel->name, &options, &rings->kernel->instance);
	return err;
}

void wmk_kernel_info_fill(const struct rings *rings, struct wmk_rings_info *info, char name[WMK_RINGS_NAME], uint64_t *contexts,
			  struct wmk_kernel_info *kernel)
{
	wmk_rings_name(rings->channel, rings->stream_id, name);
	*info = (struct wmk_rings_info){ .id = rings->id, .channel = name, .stream_id = rings->stream_id, .options = &rings->channel->is,
					 .start_ts = wmk_tracing_now(rings->session->tracing) };
	for (unsigned i = 0; i < rings->n_contexts; i++)
		contexts[i] = rings->contexts[i];
	*kernel = (struct wmk_kernel_info){ .instance = rings->kernel->instance, .contexts = contexts, .n_contexts = rings->n_contexts,
					    .only_pid = rings->channel->is.domain.follow ? 0 : rings->channel->is.domain.pid };
}

int wmk_kernel_say(struct rings *rings, const struct wmk_kernel_info *about)
{
	uint64_t contexts[WMK_WIRE_CONTEXTS_MAX];
	struct wmk_kernel_info kernel;
	char name[WMK_RINGS_NAME];
	struct wmk_rings_info info;

	wmk_kernel_info_fill(rings, &info, name, contexts, &kernel);
	kernel.events = about->events;
	kernel.n_events = about->n_events;
	kernel.calls = about->calls;
	kernel.n_calls = about->n_calls;
	kernel.calls_bytes = about->calls_bytes;
	kernel.statedump = about->statedump;
	return rings->session->tracing->options.outlet->kernel_events(rings->outlet, &info, &kernel);
}

/* At the outlet: what it records of these events is consumed. */
static int consumed(struct rings *rings, struct wmk_consumerd_event *events, unsigned n)
{
	const struct wmk_outlet_ops *outlet = rings->session->tracing->options.outlet;
	uint64_t contexts[WMK_WIRE_CONTEXTS_MAX];
	char name[WMK_RINGS_NAME];
	struct wmk_kernel_info kernel;
	struct wmk_rings_info info;

	if (!outlet->kernel_open)
		return wmk_error_said(-ENOTSUP, "the kernel is not traced here");
	wmk_kernel_info_fill(rings, &info, name, contexts, &kernel);
	info.restored = rings->restored;
	kernel.events = events;
	kernel.n_events = n;
	return outlet->kernel_open(rings->trace->outlet, &info, &kernel, &rings->outlet);
}

/* All threads of the process; those that it starts follow by themselves. */
static int narrow(const struct rings *rings)
{
	const uint64_t pid = rings->channel->is.domain.pid;
	int32_t *tids = NULL;
	char path[40];
	unsigned n = 0;
	int err = 0;

	if (!pid)
		return 0;
	snprintf(path, sizeof(path), "/proc/%" PRIu64 "/task", pid);
	DIR *dir = opendir(path);
	struct dirent *entry;

	while (dir && err == 0 && (entry = readdir(dir))) {
		int32_t *more = *entry->d_name == '.' ? tids : realloc(tids, (n + 1) * sizeof(*tids));

		if (*entry->d_name == '.')
			continue;
		if (!more)
			err = wmk_error(-ENOMEM, "no memory for the threads of process %" PRIu64, pid);
		else
			(tids = more)[n++] = (int32_t)strtol(entry->d_name, NULL, 10);
	}
	if (dir)
		closedir(dir);
	if (err == 0)
		err = n ? wmk_kinstance_pids(rings->kernel->instance, tids, n) : wmk_error(-ESRCH, "there is no process %" PRIu64, pid);
	free(tids);
	return err;
}

static int rings_fill(struct rings *rings)
{
	struct wmk_tracing *tracing = rings->session->tracing;
	int err = instance_make(rings);

	if (err == 0)
		err = narrow(rings);

	/* relaxed: only that no two are alike */
	rings->id = atomic_fetch_add_explicit(&tracing->rings_made, 1, memory_order_relaxed) + 1;
	if (err == 0)
		err = wmk_rings_uuid(rings);
	if (err == 0)
		err = wmk_rings_declare_stream(rings);
	return err < 0 ? err : consumed(rings, NULL, 0);
}

static struct rings *rings_current(const struct wmk_session_channel *channel)
{
	for (struct rings *rings = channel->session->rings; rings; rings = rings->next)
		if (rings->channel == channel && rings->kernel && wmk_rings_current(rings))
			return rings;
	return NULL;
}

/* A channel's buffers in the kernel, made. NULL with a cause chain. */
static struct rings *rings_make(struct wmk_session_channel *channel)
{
	struct wmk_session *session = channel->session;
	const uint64_t bytes = wmk_rings_bytes(&channel->is);
	struct trace *trace;
	struct rings *rings = NULL;

	if (wmk_owner_rings_take(session->tracing, session->uid, bytes, false) < 0)
		return NULL;
	trace = wmk_trace_of_kernel(session);
	if (trace)
		rings = wmk_rings_alloc(channel, trace, wmk_rings_stream_new(channel, trace));
	if (rings && rings_fill(rings) < 0) {
		if (rings->stream_id > channel->spent_stream)
			channel->spent_stream = rings->stream_id;
		wmk_rings_put(rings);
		rings = NULL;
	}
	if (!rings) {
		wmk_owner_rings_give(session->tracing, session->uid, bytes);
		return NULL;
	}
	rings->bytes = bytes;
	wmk_rings_link(&session->rings, rings);
	return rings;
}

/* ── brought in line ─────────────────────────────────────────────────────────────────────────────────── */

static struct wmk_consumerd_event told_as(const struct rings *rings, const struct kernel_event *event, bool changing)
{
	return (struct wmk_consumerd_event){
		.system = event->system, .name = event->name, .id = rings->ids[event->class->kin], .filter_len = event->filter.len,
		.filter = { event->filter.program, (event->filter.len + 7) / 8 }, .changing = changing,
	};
}

static int tell_some(struct rings *rings, struct wmk_consumerd_event *tell, unsigned n)
{
	const struct wmk_kernel_info about = { .events = tell, .n_events = n };

	return wmk_kernel_say(rings, &about);
}

int wmk_kernel_tell(struct rings *rings, struct kernel_event *const *events, unsigned n, bool changing)
{
	struct wmk_consumerd_event tell[WMK_KERNEL_TELL_MAX];
	unsigned told = 0;
	size_t bytes = 0;
	int err = 0;

	for (unsigned i = 0; i < n && err == 0; i++) {
		tell[told++] = told_as(rings, events[i], changing);
		bytes += events[i]->filter.len;
		if (bytes < TELL_BYTES && i + 1 < n)
			continue;
		err = tell_some(rings, tell, told);
		told = 0;
		bytes = 0;
	}
	return err;
}

/* Those that are new: known by the channel, declared, told to the consumer. Then they can be enabled. */
static int introduce(struct rings *rings, const struct wmk_tracefs *tracefs, const struct wmk_kentry *const *entries, unsigned n)
{
	struct wmk_kernel_rings *kernel = rings->kernel;
	const unsigned before = kernel->n_events;
	struct kernel_event *events[WMK_KERNEL_TELL_MAX];
	struct class *classes[WMK_KERNEL_TELL_MAX];
	int err = 0;

	/* one that is not understood is told, and the others are recorded */
	for (unsigned i = 0; i < n && err != -ENOMEM; i++) {
		err = event_new(rings, tracefs, entries[i]);
		if (err < 0)
			wmk_session_worry(rings->session, err, NULL);
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
		err = wmk_kernel_tell(rings, events, n, rings->restored);
	/* what nobody was told of is not there */
	for (; err < 0 && kernel->n_events > before; kernel->n_events--)
		event_free(&kernel->events[kernel->n_events - 1]);
	return err;
}

static int introduce_all(struct rings *rings, const struct wmk_tracefs *tracefs, const struct wmk_kcatalog *catalog)
{
	const struct wmk_kentry *fresh[WMK_KERNEL_TELL_MAX];
	unsigned n = 0;
	int err = 0;

	for (size_t i = 0; i < wmk_kcatalog_size(catalog) && err == 0; i++) {
		const struct wmk_kentry *entry = wmk_kcatalog_at(catalog, i);

		if (wmk_kernel_wants(rings, entry) && !wmk_kernel_event_find(rings->kernel, entry))
			fresh[n++] = entry;
		if (n == WMK_KERNEL_TELL_MAX) {
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
		const bool on = event && !event->filter.never && wmk_kernel_wants(rings, entry);

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

static int rings_switch(struct rings *rings, bool on)
{
	int err = rings->kernel->on == on ? 0 : wmk_kinstance_switch(rings->kernel->instance, on);

	if (err == 0)
		rings->kernel->on = on;
	return err < 0 ? err : wmk_kernel_calls_switch(rings, rings->kernel->calls, on);
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
			if (rules[k].enabled && wmk_kernel_rule_fits(&rules[k], entry))
				return true;
	}
	return false;
}

static int channel_update(struct wmk_session_channel *channel)
{
	const bool records = channel_records(channel);
	struct wmk_tracefs *tracefs;
	struct wmk_kcatalog *catalog;
	struct rings *current;
	int err = 0;

	for (struct rings *rings = channel->session->rings; rings; rings = rings->next)
		if (rings->channel == channel && rings->kernel && (!records || !wmk_rings_current(rings)) && rings_switch(rings, false) < 0)
			err = wmk_error_number();
	if (!records || err < 0)
		return err;
	err = wmk_kernel_tracefs(channel->session->tracing, &tracefs);
	if (err < 0)
		return err;
	current = rings_current(channel);
	if (!current)
		current = rings_make(channel);
	if (!current)
		return wmk_error_number() < 0 ? wmk_error_number() : -ENOMEM;
	/* (before the list is read: then it has them) */
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
		err = wmk_kernel_calls_update(tracefs, current, &current->kernel->calls);
	if (err == 0)
		err = rings_switch(current, true);
	if (err < 0) {
		wmk_error_drop(why);
		return err;
	}
	wmk_kernel_dump(current);
	wmk_error_give(why);
	return probes;
}

int wmk_session_kernel_update(struct wmk_session *session)
{
	int first = 0;

	for (unsigned i = 0; i < session->n_channels; i++) {
		int err = wmk_channel_is_kernel(session->channels[i]) ? channel_update(session->channels[i]) : 0;

		if (err < 0 && first == 0)
			first = wmk_error_add(err, "the kernel channel '%.60s' does not record as it should", session->channels[i]->is.name);
	}
	return first;
}

/* ── ended, restored ─────────────────────────────────────────────────────────────────────────────────── */

void wmk_kernel_halt(const struct rings *rings)
{
	if (!rings->kernel || rings->session->tracing->leaving)
		return;
	if (wmk_kinstance_switch(rings->kernel->instance, false) < 0)
		wmk_error_clear();       /* then it goes with the instance */
}

/* Whoever reads them still lets them go at his end; the next sweep removes them. */
static void instances_remove(const struct wmk_tracefs *tracefs, const char *name)
{
	char tasks[WMK_KINSTANCE_NAME + sizeof(WMK_KWHO_SUFFIX)];

	snprintf(tasks, sizeof(tasks), "%s" WMK_KWHO_SUFFIX, name);
	if (wmk_kinstance_remove(tracefs, name) < 0)
		wmk_error_clear();
	if (strlen(tasks) < WMK_KINSTANCE_NAME && wmk_kinstance_remove(tracefs, tasks) < 0)
		wmk_error_clear();
}

void wmk_kernel_free(struct rings *rings)
{
	struct wmk_kernel_rings *kernel = rings->kernel;
	const struct wmk_tracing *tracing = rings->session->tracing;

	if (!kernel)
		return;
	if (kernel->instance >= 0)
		close(kernel->instance);
	if (kernel->instance >= 0 && !tracing->leaving)
		instances_remove(tracing->tracefs, kernel->name);
	wmk_kernel_probes_close(tracing->tracefs, kernel->probes, tracing->leaving);
	for (unsigned i = 0; i < kernel->n_events; i++)
		event_free(&kernel->events[i]);
	free(kernel->events);
	free(kernel->calls);
	free(kernel);
	rings->kernel = NULL;
}

int wmk_kernel_restore(struct rings *rings)
{
	struct wmk_tracing *tracing = rings->session->tracing;
	const uint64_t bytes = wmk_rings_bytes(&rings->channel->is);
	struct wmk_tracefs *tracefs;
	int err = wmk_kernel_tracefs(tracing, &tracefs);

	if (err < 0)
		return err;
	rings->kernel = kernel_alloc(rings);
	err = rings->kernel ? wmk_tracefs_instance_open(tracefs, rings->kernel->name, &rings->kernel->instance) : -ENOMEM;
	if (err == 0)
		err = wmk_owner_rings_take(tracing, rings->session->uid, bytes, true);
	if (err < 0)
		return err;
	rings->bytes = bytes;
	rings->restored = true;
	rings->session->kernel_dumps += rings->session->kernel_dumps == 0;
	rings->kernel->on = true;        /* as far as we know: said again, it does no harm */
	return wmk_trace_ready(rings->trace);
}

/* A system call of which BPF has recorded all, as far as can be seen: the kernel's own event is off. (The classes of both may be the same.) */
static bool was_by_bpf(const struct rings *rings, const struct wmk_kentry *entry)
{
	char path[200], *text;
	size_t len;

	if (!entry->call || !wmk_channel_calls_by_bpf(rings->channel) || !wmk_kernel_rules_want(rings->channel, entry, true))
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

/* What of it may still be in its buffers: events that any rule is for, or was, and that have an id in it. */
static int events_known(struct rings *rings, const struct wmk_tracefs *tracefs, const struct wmk_kcatalog *catalog)
{
	const struct wmk_ctl_rule *rules = rings->channel->is.rules.items;
	int err = 0;

	for (size_t i = 0; i < wmk_kcatalog_size(catalog) && err == 0; i++) {
		const struct wmk_kentry *entry = wmk_kcatalog_at(catalog, i);
		struct wmk_kfilter_made filter;
		struct class *class = NULL;

		for (uint32_t r = 0; r < rings->channel->is.rules.n && !class; r++)
			if (wmk_kernel_rule_fits(&rules[r], entry) || wmk_kernel_probes_want(rings->kernel->probes, rings, entry))
				class = class_of(rings->session->tracing, tracefs, entry);
		if (!class || !wmk_rings_has_id(rings, class) || was_by_bpf(rings, entry))
			continue;
		err = wmk_kernel_filter_of(rings->channel, tracefs, entry, false, &filter);
		if (err == 0)
			err = event_add(rings, entry, class, filter);
	}
	return err;
}

/* All at once: the record of an event that the consumer hears of later would be none that is wanted. */
static int consumed_on(struct rings *rings)
{
	const struct wmk_tracefs *tracefs = rings->session->tracing->tracefs;
	struct wmk_consumerd_event *tell = NULL;
	struct wmk_kcatalog *catalog;
	int err;

	/* those of the daemon before, by the same names */
	if (wmk_kernel_probes_install(tracefs, rings, &rings->kernel->probes) < 0)
		wmk_session_worry(rings->session, wmk_error_number(), "a probe is not gone on with");
	err = wmk_kcatalog_open(tracefs, &catalog);
	if (err < 0)
		return err;
	err = events_known(rings, tracefs, catalog);
	wmk_kcatalog_close(catalog);
	if (err == 0 && !(tell = calloc(rings->kernel->n_events + 1, sizeof(*tell))))
		err = wmk_error(-ENOMEM, "no memory for the events of a kernel channel");
	if (err == 0) {
		for (unsigned i = 0; i < rings->kernel->n_events; i++)
			tell[i] = told_as(rings, &rings->kernel->events[i], true);
		err = consumed(rings, tell, rings->kernel->n_events);
	}
	free(tell);
	return err;
}

void wmk_session_kernel_restored(struct wmk_session *session)
{
	for (struct rings **at = &session->rings; *at;) {
		struct rings *rings = *at;

		if (!rings->kernel || rings->outlet || consumed_on(rings) == 0) {
			at = &rings->next;
			continue;
		}
		wmk_session_worry(session, wmk_error_number(), "a kernel channel could not be gone on with");
		*at = rings->next;
		wmk_rings_put(rings);
	}
}

/* ── what nobody has ─────────────────────────────────────────────────────────────────────────────────── */

/* Has a session rings of which that is true? */
static bool any_rings(struct wmk_tracing *tracing, bool (*is)(const struct rings *rings, const char *name), const char *name)
{
	struct wmk_session **all = NULL;
	int n = wmk_session_get_all(tracing, &all);
	bool found = n < 0;              /* (without memory to look, it stays) */

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

/* Its own, or that of who is who, which is called after it. */
static bool is_instance(const struct rings *rings, const char *name)
{
	const size_t len = strlen(rings->kernel->name);

	return strncmp(rings->kernel->name, name, len) == 0 && (!name[len] || strcmp(name + len, WMK_KWHO_SUFFIX) == 0);
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

	/* who could not make any has none; and a file system that is not mounted holds none that records */
	if (!tracing->kernel_owner[0] || geteuid() != 0 || !wmk_tracefs_is_mounted())
		return;
	if (wmk_kernel_tracefs(tracing, &tracefs) < 0 || wmk_kinstance_sweep(tracefs, tracing->kernel_owner, is_ours, tracing) < 0) {
		wmk_error_clear();
		return;
	}
	wmk_kernel_probes_sweep(tracefs, tracing->kernel_owner, has_group, tracing);
}
