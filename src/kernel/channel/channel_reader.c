/* SPDX-License-Identifier: MIT */
/*
 * channel_reader.c - the reader of a kernel channel: its events, their ids and its contexts (see channel_reader.h).
 */
#include "kernel/channel/channel_events.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "kernel/channel/syscall_set.h"
#include "kernel/statedump/statedump_source.h"
#include "kernel/tracefs/instance.h"
#include "kernel/proc/namespaces.h"
#include "kernel/tracefs/tracefs.h"

#define PACKET_BYTES (1u << 20)
#define PACKET_BYTES_MIN (64u * 1024)

int wmk_kreader_open(const struct wmk_kreader_options *options, struct wmk_kreader **result)
{
	struct wmk_kreader *reader = calloc(1, sizeof(*reader));
	int err;

	if (!reader)
		return wmk_error(-ENOMEM, "cannot read a kernel channel: no memory");
	reader->packet_bytes = !options->packet_bytes ? PACKET_BYTES :
			       options->packet_bytes < PACKET_BYTES_MIN ? PACKET_BYTES_MIN : options->packet_bytes;
	reader->only_pid = options->only_pid;
	reader->alone = options->alone;
	reader->instance = fcntl(options->instance, F_DUPFD_CLOEXEC, 3);
	err = reader->instance < 0 ? wmk_error(-errno, "cannot duplicate the descriptor of a kernel channel")
	      : !wmk_tracefs_has(reader->instance, "per_cpu") || !wmk_tracefs_has(reader->instance, "events")
		      ? wmk_error(-EINVAL, "cannot read a kernel channel: the directory is not a tracefs instance")
		      : wmk_kcontext_open(reader->instance, options->contexts, options->n_contexts,
					  options->only_pid != 0, &reader->contexts);
	if (err == 0 && (reader->n_cpus = wmk_kinstance_cpus(reader->instance)) == 0)
		err = wmk_error_number();
	if (err < 0) {
		wmk_kreader_close(reader);
		return err;
	}
	wmk_kown_init(&reader->own, options->own_find, options->own_data, wmk_kinstance_is_counter(reader->instance));
	*result = reader;
	return 0;
}

void wmk_kreader_close(struct wmk_kreader *reader)
{
	if (!reader)
		return;
	for (unsigned i = 0; i < reader->n_events; i++) {
		wmk_kreader_filters_free(&reader->events[i].filters);
		wmk_kevent_free(reader->events[i].event);
	}
	free(reader->events);
	wmk_syscall_set_free(reader->calls);
	wmk_kcontext_close(reader->contexts);
	if (reader->instance >= 0)
		close(reader->instance);
	free(reader);
}

struct wmk_kreader_event *wmk_kreader_find(const struct wmk_kreader *reader, const char *system, const char *name)
{
	for (unsigned i = 0; i < reader->n_events; i++)
		if (strcmp(reader->events[i].event->kernel_name, name) == 0 &&
		    strcmp(reader->events[i].event->system, system) == 0)
			return &reader->events[i];
	return NULL;
}

static int dump_event(struct wmk_kreader *reader, const char *name, uint32_t id)
{
	for (unsigned i = 0; i < WMK_KSTATEDUMP_EVENTS; i++) {
		if (strcmp(wmk_kstatedump_classes[i].name, name) != 0)
			continue;
		if (reader->dump_ids[i] && reader->dump_ids[i] != id + 1)
			return wmk_error(-EEXIST, "the event %.60s already has the id %u and cannot get the id %u",
					 name, reader->dump_ids[i] - 1, id);
		reader->dump_ids[i] = id + 1;
		return 0;
	}
	return wmk_error(-ENOENT, "the state dump has no event %.60s", name);
}

static uint64_t counter_now(void *data)
{
	(void)data;
	return wmk_clock_counter();
}

static uint64_t monotonic_now(void *data)
{
	(void)data;
	return wmk_kspaces_monotonic();
}

enum wmk_clock_kind wmk_kreader_clock(const struct wmk_kreader *reader)
{
	return wmk_kinstance_is_counter(reader->instance) ? WMK_CLOCK_COUNTER : WMK_CLOCK_MONOTONIC;
}

uint64_t wmk_kreader_now(const struct wmk_kreader *reader)
{
	return wmk_kinstance_is_counter(reader->instance) ? counter_now(NULL) : monotonic_now(NULL);
}

int wmk_kreader_dumper(const struct wmk_kreader *reader, struct wmk_source **dumper)
{
	struct wmk_kdumper_options options = { .clock = wmk_kinstance_is_counter(reader->instance) ? counter_now
												   : monotonic_now };

	for (unsigned i = 0; i < WMK_KSTATEDUMP_EVENTS; i++) {
		if (!reader->dump_ids[i])
			return wmk_error(-ENOENT, "the event %s of the state dump has no id",
					 wmk_kstatedump_classes[i].name);
		options.ids[i] = reader->dump_ids[i] - 1;
	}
	options.n_contexts = wmk_kcontext_no_task(reader->contexts, options.contexts);
	return wmk_kdumper_open(&options, dumper);
}

int wmk_kreader_event(struct wmk_kreader *reader, const char *system, const char *name, uint32_t id)
{
	const struct wmk_kreader_event *there = wmk_kreader_find(reader, system, name);
	struct wmk_kevent *event;

	if (strcmp(system, WMK_SYSCALLS_SYSTEM) == 0)
		return wmk_syscall_set_event(reader, name, id);
	if (!*system)
		return dump_event(reader, name, id);
	if (there)
		return there->id == id ? 0
				       : wmk_error(-EEXIST,
						   "the kernel event %.60s:%.60s already has the id %u and cannot get "
						   "the id %u",
						   system, name, there->id, id);
	struct wmk_kreader_event *more =
		wmk_array_room(reader->events, reader->n_events, &reader->cap_events, sizeof(*more));

	if (!more)
		return wmk_error(-ENOMEM, "cannot add a kernel event: no memory");
	reader->events = more;
	int err = wmk_kevent_load(reader->instance, system, name, &event);

	if (err == 0 && event->kernel_id >= WMK_KREADER_TYPES) {
		wmk_kevent_free(event);
		err = wmk_error(-EPROTO, "the event number is out of range 0 to 65535");
	}
	if (err < 0)
		return wmk_error_add(err, "cannot read the kernel event %.60s:%.60s", system, name);
	reader->events[reader->n_events++] =
		(struct wmk_kreader_event){ .event = event,
					    .id = id,
					    .of_all = strcmp(system, "sched") == 0,
					    .keeps_own = strcmp(system, "sched") == 0 || strcmp(system, "task") == 0 };
	/*
	 * If a module is unloaded and loaded again, the module's event gets another number. The reader skips records
	 * with the new number until the channel is opened again. If another event gets the old number, the reader
	 * converts the records of this other event as records of the unloaded event.
	 */
	reader->by_type[event->kernel_id] = reader->n_events;
	return 0;
}

unsigned wmk_kreader_cpus(const struct wmk_kreader *reader)
{
	return reader->n_cpus;
}
