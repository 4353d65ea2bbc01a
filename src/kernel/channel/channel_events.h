/* SPDX-License-Identifier: MIT */
/*
 * channel_events.h - structures that three files share: channel_reader.c (events and contexts of a channel),
 * channel_filter.c (filters of events) and cpu_stream.c (pages of one CPU become packets).
 */
#ifndef WMK_KERNEL_CHANNEL_EVENTS_H
#define WMK_KERNEL_CHANNEL_EVENTS_H

#include "kernel/tracefs/cpu_buffer.h"
#include "kernel/event/kernel_event.h"
#include "kernel/event/filter_split.h"
#include "kernel/channel/channel_reader.h"
#include "kernel/statedump/statedump.h"
#include "kernel/tasks/task_context.h"

#define WMK_KREADER_TYPES 65536u       /* event numbers of the kernel have 16 bits */

/* A time span and its filters: the reader keeps a record of this span if at least one filter accepts the record. */
struct wmk_kreader_span {
	uint64_t until;                        /* in the kernel's clock; UINT64_MAX: the current span */
	struct wmk_kfilter *either[2];         /* NULL: unused */
	bool all;                              /* every record is kept */
};

struct wmk_kreader_filters {
	struct wmk_kreader_span *spans;        /* ordered by time; without spans, every record is kept */
	unsigned n;
	uint8_t *program;                      /* current filter program of `len` bytes; NULL: keeps all records */
	size_t len;
	bool is_set, changing;
};

/* A declared event: the reader converts records of this event. */
struct wmk_kreader_event {
	struct wmk_kevent *event;
	uint32_t id;
	bool keeps_own;                  /* also records of the tracer's own threads */
	struct wmk_kreader_filters filters;
	bool of_all;                     /* records of all processes: a scheduling event concerns two threads */
};

struct wmk_kreader {
	int instance;
	size_t packet_bytes;
	int32_t only_pid;
	unsigned n_cpus;
	bool alone;
	/* wmk_kinstance_wake() */
	enum { WMK_KREADER_WAKE_UNKNOWN, WMK_KREADER_WAKE_LATE, WMK_KREADER_WAKE_FIRST } wake;
	struct wmk_kcontext *contexts;
	struct wmk_kown own;
	struct wmk_syscall_set *calls;      /* system calls that BPF records (syscall_set.h); NULL: none */
	struct wmk_kreader_event *events;
	unsigned n_events, cap_events;
	uint32_t dump_ids[WMK_KSTATEDUMP_EVENTS];      /* 1 + the id in the trace; 0: unknown */
	uint32_t by_type[WMK_KREADER_TYPES];   /* 1 + index in `events`; 0: records of this type are skipped */
};

/*
 * cpu_stream.c: returns how many records the trace lags behind the `read` records of the kernel. The last packet of the
 * trace has position `place` and ends at `end_ts`. The kernel returns the last page again: this returned page has the
 * last `again` of the `read` records, and begins at the time `begin_ts`. If the trace lags by more than `again`
 * records, the result is at least `again`, but can be less than the lag.
 */
uint64_t wmk_kplace_behind(uint64_t place, uint64_t end_ts, uint64_t read, uint64_t again, uint64_t begin_ts);

static inline const struct wmk_kreader_event *wmk_kreader_of_type(const struct wmk_kreader *reader, uint16_t type)
{
	return reader->by_type[type] ? &reader->events[reader->by_type[type] - 1] : NULL;
}

/* Returns NULL if the channel has no such event. */
struct wmk_kreader_event *wmk_kreader_find(const struct wmk_kreader *reader, const char *system, const char *name);
bool wmk_kreader_filters_accept(const struct wmk_kreader_filters *filters, uint64_t ts,
				const struct wmk_kfilter_record *record);
/* Returns whether the filters of the event keep the record. */
static inline bool wmk_kreader_event_accepts(const struct wmk_kreader_event *event, uint64_t ts,
				     const struct wmk_kfilter_record *record)
{
	return event->filters.n == 0 || wmk_kreader_filters_accept(&event->filters, ts, record);
}
/* Implements wmk_kreader_filter() for records of this class. The class must outlive the filters. */
int wmk_kreader_filters_set(const struct wmk_kreader *reader, const struct wmk_event_class *class,
			    struct wmk_kreader_filters *filters, const void *program, size_t len, bool changing);
void wmk_kreader_filters_free(struct wmk_kreader_filters *filters);

#endif
