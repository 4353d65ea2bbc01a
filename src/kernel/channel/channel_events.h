/* SPDX-License-Identifier: MIT */
/*
 * channel_events.h - shared by channel_reader.c (a channel: its events, its contexts), channel_filter.c (which of their
 * records are wanted) and cpu_stream.c (one CPU of it: pages become packets).
 */
#ifndef WMK_KERNEL_CHANNEL_EVENTS_H
#define WMK_KERNEL_CHANNEL_EVENTS_H

#include "kernel/tracefs/cpu_buffer.h"
#include "kernel/event/kernel_event.h"
#include "kernel/event/filter_split.h"
#include "kernel/channel/channel_reader.h"
#include "kernel/statedump/statedump.h"
#include "kernel/tasks/task_context.h"

#define WMK_KREADER_TYPES 65536u       /* numbers of the kernel's events: 16 bits */

/* A time, and what was wanted in it. */
struct wmk_kreader_span {
	uint64_t until;                        /* of the kernel's clock; UINT64_MAX: it is now */
	struct wmk_kfilter *either[2];         /* NULL: not there */
	bool all;                              /* every record */
};

struct wmk_kreader_filters {
	struct wmk_kreader_span *spans;        /* in their order; none: every record is wanted */
	unsigned n;
	uint8_t *program;                      /* what is wanted from now on: `len` bytes; NULL: all */
	size_t len;
	bool told, changing;
};

/* An event that records are wanted of. */
struct wmk_kreader_event {
	struct wmk_kevent *event;
	uint32_t id;
	bool keeps_own;                  /* also what the tracer's own threads did */
	struct wmk_kreader_filters filters;
	bool of_all;                     /* whoever's it is: of scheduling, which is two threads' */
};

struct wmk_kreader {
	int instance;
	size_t packet_bytes;
	int32_t only_pid;
	unsigned n_cpus;
	bool alone;
	struct wmk_kcontext *who;
	struct wmk_kown own;
	struct wmk_syscall_set *calls;      /* by BPF (syscall_set.h); NULL: none */
	struct wmk_kreader_event *events;
	unsigned n_events, cap_events;
	uint32_t dump_ids[WMK_KSTATEDUMP_EVENTS];      /* 1 + the id in the trace; 0: not known */
	uint32_t by_type[WMK_KREADER_TYPES];   /* 1 + where in `events`; 0: not wanted */
};

/*
 * cpu_stream.c: how many of `read` records the trace, whose last packet has that place and ends at `end_ts`, is behind.
 * The last `again` of them are a page that is there once more, of which each packet has a record; it begins at
 * `begin_ts`. Where it is behind by more than those: any number that is not less.
 */
uint64_t wmk_kplace_behind(uint64_t place, uint64_t end_ts, uint64_t read, uint64_t again, uint64_t begin_ts);

static inline const struct wmk_kreader_event *wmk_kreader_of_type(const struct wmk_kreader *reader, uint16_t type)
{
	return reader->by_type[type] ? &reader->events[reader->by_type[type] - 1] : NULL;
}

/* NULL: there is none. */
struct wmk_kreader_event *wmk_kreader_find(const struct wmk_kreader *reader, const char *system, const char *name);
bool wmk_kreader_asks(const struct wmk_kreader_filters *filters, uint64_t ts, const struct wmk_kfilter_record *record);
/* Is the record wanted? */
static inline bool wmk_kreader_wants(const struct wmk_kreader_event *event, uint64_t ts,
				     const struct wmk_kfilter_record *record)
{
	return event->filters.n == 0 || wmk_kreader_asks(&event->filters, ts, record);
}
/* What wmk_kreader_filter() does, for records of this class, which outlives the filters. */
int wmk_kreader_filters_set(const struct wmk_kreader *reader, const struct wmk_event_class *class,
			    struct wmk_kreader_filters *filters, const void *program, size_t len, bool changing);
void wmk_kreader_filters_free(struct wmk_kreader_filters *filters);

#endif
