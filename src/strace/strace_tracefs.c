/* SPDX-License-Identifier: MIT */
/*
 * strace_tracefs.c - reads system calls without BPF, from events of a tracefs instance. This source prints pointers as
 * numbers (see strace.h).
 *
 * raw_syscalls does not mark system calls of 32-bit programs. The number of a 32-bit system call is printed with the
 * name that it has among the machine's own system calls.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/container.h"
#include "base/error.h"
#include "strace/strace.h"
#include "kernel/tracefs/cpu_buffer.h"
#include "kernel/event/kernel_event.h"
#include "kernel/tracefs/instance.h"

#define THREADS_MAX 4096u
#define SUBBUF_BYTES (64u << 10)
#define CPUS_MAX 8192u

/*
 * An event: its number, and the positions of the system call number and of the values in records of the event.
 */
struct event {
	uint16_t type;
	uint32_t id_at, values_at, n_values;
};

enum { ENTER, EXIT, END, N_EVENTS };

static const struct {
	const char *system, *name, *values;
} names[N_EVENTS] = {
	[ENTER] = { "raw_syscalls", "sys_enter", "args" },
	[EXIT] = { "raw_syscalls", "sys_exit", "ret" },
	[END] = { "sched", "sched_process_exit", NULL },
};

struct slot {
	struct wmk_kcpu *buffer;
	struct wmk_kpage page;
	bool has_page;
};

struct tracefs_source {
	struct wmk_strace_source base;
	struct wmk_tracefs *tracefs;
	char name[WMK_KINSTANCE_NAME];
	int instance;
	uint64_t bytes;
	struct event events[N_EVENTS];
	struct slot *slots;
	int32_t pids[THREADS_MAX];       /* threads; their children are followed automatically */
	unsigned n_pids;
	const struct wmk_strace_messages *messages;
};

static struct tracefs_source *of(struct wmk_strace_source *source)
{
	return wmk_container_of(source, struct tracefs_source, base);
}

static int tracefs_follow(struct wmk_strace_source *source, pid_t pid)
{
	struct tracefs_source *it = of(source);

	if (it->n_pids == THREADS_MAX)
		return wmk_error(-E2BIG, "cannot follow more than %u threads", THREADS_MAX);
	it->pids[it->n_pids++] = pid;
	return wmk_kinstance_pids(it->instance, it->pids, it->n_pids);
}

static int tracefs_start(struct wmk_strace_source *source)
{
	int err = 0;

	for (unsigned i = 0; i < N_EVENTS && err == 0; i++)
		err = wmk_kinstance_event(of(source)->instance, names[i].system, names[i].name, true);
	return err < 0 ? err : wmk_kinstance_switch(of(source)->instance, true);
}

static void tracefs_stop(struct wmk_strace_source *source)
{
	if (wmk_kinstance_switch(of(source)->instance, false) < 0)
		wmk_error_clear();
}

static uint64_t long_at(const struct wmk_krecord *record, uint32_t at)
{
	uint64_t value = 0;

	if (at + sizeof(long) <= record->len)
		memcpy(&value, record->data + at, sizeof(long));
	return value;
}

/* Returns false for other events. */
static bool convert(const struct tracefs_source *it, unsigned cpu, const struct wmk_krecord *from,
		    struct wmk_syscalls_record *to)
{
	struct wmk_kcommon common;
	unsigned which = 0;

	while (which < N_EVENTS && it->events[which].type != from->type)
		which++;
	if (which == N_EVENTS || from->len < 8)
		return false;
	wmk_kcommon_read(from->data, &common);
	*to = (struct wmk_syscalls_record){ .mono = from->ts, .ts = from->ts, .pid = (uint32_t)common.tid,
					    .tid = (uint32_t)common.tid, .cpu = cpu, .is_exit = which == EXIT,
					    .is_end = which == END };
	if (which == END)
		return true;
	to->other = long_at(from, it->events[which].id_at);
	to->number = (uint16_t)(to->other < WMK_SYSCALLS_NUMBERS ? to->other : WMK_SYSCALLS_OTHER);
	to->n_values = (uint8_t)it->events[which].n_values;
	for (unsigned i = 0; i < to->n_values; i++)
		to->values[i] = long_at(from, it->events[which].values_at + i * (uint32_t)sizeof(long));
	return true;
}

static void tracefs_fill(struct wmk_strace_source *source, unsigned cpu)
{
	struct tracefs_source *it = of(source);
	struct slot *slot = &it->slots[cpu];
	struct wmk_krecord record;
	struct wmk_kpart part;

	while (slot->buffer) {
		if (slot->has_page && wmk_kpage_next(&slot->page, &record) > 0) {
			if (!convert(it, cpu, &record, &source->heads[cpu].record))
				continue;
			source->heads[cpu].has_record = true;
			return;
		}
		if (slot->has_page)
			wmk_kcpu_release(slot->buffer);
		slot->has_page = false;
		if (wmk_kcpu_next(slot->buffer, true, &part) <= 0)
			break;
		slot->has_page = wmk_kpart_open(slot->buffer, &part, &slot->page) >= 0;
		if (!slot->has_page)
			wmk_kcpu_release(slot->buffer);
	}
	wmk_error_clear();
}

/* Returns false, because records of tracefs contain no copied data and therefore no late data. */
static bool tracefs_peek(struct wmk_strace_source *source, uint32_t tid, struct wmk_syscalls_record *record)
{
	(void)source;
	(void)tid;
	(void)record;
	return false;
}

static void tracefs_wait(struct wmk_strace_source *source, int fd, int ms)
{
	struct pollfd one = { .fd = fd, .events = POLLIN };

	(void)source;
	poll(&one, 1, ms);
}

static void tracefs_stats(struct wmk_strace_source *source, struct wmk_strace_stats *stats)
{
	struct tracefs_source *it = of(source);

	*stats = (struct wmk_strace_stats){ .buffer = it->bytes };
	for (unsigned i = 0; i < source->n; i++) {
		struct wmk_kcpu_stats now;

		if (it->slots[i].buffer && wmk_kcpu_stats(it->slots[i].buffer, &now) >= 0)
			stats->lost += now.overrun + now.dropped + now.commit_overrun;
	}
	wmk_error_clear();
}

static void tracefs_close(struct wmk_strace_source *source)
{
	struct tracefs_source *it = of(source);
	char words[8 * WMK_ERROR_LEN];

	for (unsigned i = 0; it->slots && i < source->n; i++)
		if (it->slots[i].buffer)
			wmk_kcpu_close(it->slots[i].buffer);
	if (it->instance >= 0)
		close(it->instance);
	if (it->name[0] && wmk_kinstance_remove(it->tracefs, it->name) < 0)
		it->messages->warn("%s", wmk_error_text(words, sizeof(words)));
	wmk_tracefs_close(it->tracefs);
	free(it->slots);
	free(source->heads);
	free(it);
}

static const struct wmk_strace_source_ops tracefs_ops = {
	.follow = tracefs_follow,
	.start = tracefs_start,
	.stop = tracefs_stop,
	.fill = tracefs_fill,
	.peek = tracefs_peek,
	.wait = tracefs_wait,
	.stats = tracefs_stats,
	.close = tracefs_close,
};

/* Reads the positions of the fields from the format file of the event. */
static int read_layout(struct tracefs_source *it, unsigned which)
{
	struct event *event = &it->events[which];
	struct wmk_kformat *format;
	int err = wmk_kformat_load(it->instance, names[which].system, names[which].name, &format);

	if (err < 0)
		return wmk_error_add(err, "this kernel cannot trace system calls (CONFIG_FTRACE_SYSCALLS)");
	event->type = (uint16_t)format->id;
	for (uint32_t i = 0; i < format->n_common + format->n_fields; i++) {
		const struct wmk_kfield *field = &format->fields[i];

		if (strcmp(field->name, "id") == 0)
			event->id_at = field->offset;
		if (names[which].values && strcmp(field->name, names[which].values) == 0) {
			event->values_at = field->offset;
			event->n_values = field->shape == WMK_KSHAPE_ARRAY ? WMK_SYSCALLS_ARGS : 1;
		}
	}
	free(format);
	return names[which].values && (!event->values_at || !event->id_at)
		       ? wmk_error(-EPROTO, "unexpected fields in events/%s/%s/format",
				   names[which].system, names[which].name)
		       : 0;
}

static int make(struct tracefs_source *it)
{
	const struct wmk_kinstance_options options = { .clock = WMK_CLOCK_MONOTONIC,
						       .cpu_bytes = it->bytes,
						       .subbuf_bytes = SUBBUF_BYTES };
	char owner[WMK_KINSTANCE_OWNER], name[WMK_KINSTANCE_NAME];
	int err = wmk_tracefs_open(NULL, &it->tracefs);

	if (err < 0)
		return err;
	wmk_kinstance_owner_self(owner);
	err = wmk_kinstance_name(owner, "strace", "calls", name);
	if (err == 0)
		err = wmk_kinstance_make(it->tracefs, name, &options, &it->instance);
	if (err < 0)
		return err;
	memcpy(it->name, name, sizeof(it->name));
	for (unsigned i = 0; i < N_EVENTS && err == 0; i++)
		err = read_layout(it, i);
	return err;
}

int wmk_strace_tracefs_open(const struct wmk_strace_args *args, struct wmk_strace_source **source)
{
	const long n = sysconf(_SC_NPROCESSORS_CONF);
	struct tracefs_source *it = calloc(1, sizeof(*it));
	int err;

	if (!it)
		return wmk_error(-ENOMEM, "no memory");
	it->instance = -1;
	it->bytes = wmk_strace_source_bytes(args);
	it->messages = args->messages;
	err = wmk_strace_source_init(&it->base, &tracefs_ops,
				     n > 0 && (unsigned long)n < CPUS_MAX ? (unsigned)n : CPUS_MAX);
	it->slots = calloc(it->base.n, sizeof(*it->slots));
	if (err == 0 && !it->slots)
		err = wmk_error(-ENOMEM, "no memory");
	if (err == 0)
		err = make(it);
	for (unsigned i = 0; i < it->base.n && err == 0; i++) {
		err = wmk_kcpu_open(it->instance, i, WMK_KCPU_BEST, &it->slots[i].buffer);
		if (err == -ENOENT)
			err = 0;         /* no such CPU */
	}
	if (err < 0) {
		tracefs_close(&it->base);
		return err;
	}
	*source = &it->base;
	return 0;
}
