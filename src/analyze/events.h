/* SPDX-License-Identifier: MIT */
/*
 * events.h - the events that analyses understand, and their fields, in traces of any tracer.
 *
 *     event class ──wmk_events_resolve(), once──► event, positions of its fields
 *     record ──wmk_events_decode()──► struct wmk_record: time, CPU, thread, fields by index
 *
 * Event names and field names are those of Waymark and LTTng, or those of the kernel. One thread.
 */
#ifndef WMK_ANALYZE_EVENTS_H
#define WMK_ANALYZE_EVENTS_H

#include "read/thread_id.h"
#include "read/trace.h"

enum wmk_known_event {
	WMK_EV_OTHER,
	WMK_EV_SWITCH, WMK_EV_WAKING, WMK_EV_WAKEUP, WMK_EV_WAKEUP_NEW, WMK_EV_FORK, WMK_EV_EXIT, WMK_EV_EXEC,
	WMK_EV_PROCESS_STATE,          /* of a state dump, as the next event */
	WMK_EV_FILE,
	WMK_EV_SYSCALL_ENTRY, WMK_EV_SYSCALL_EXIT, /* of any system call; wmk_class.what is its name */
	WMK_EV_IRQ_ENTRY, WMK_EV_IRQ_EXIT, WMK_EV_SOFTIRQ_RAISE, WMK_EV_SOFTIRQ_ENTRY, WMK_EV_SOFTIRQ_EXIT,
	WMK_EV_BLOCK_INSERT, WMK_EV_BLOCK_ISSUE, WMK_EV_BLOCK_COMPLETE, WMK_EV_BLOCK_MERGE,
	WMK_EV_BLOCK_DEVICE,           /* of a state dump */
	WMK_EV_SPAN_BEGIN, WMK_EV_SPAN_END, /* of applications; wmk_class.what is the name of the span */
	WMK_EV_COUNTER,                /* of applications */
	WMK_EV_PAGE_ALLOC, WMK_EV_PAGE_FREE,
	WMK_EV_BIO_QUEUE, WMK_EV_BIO_COMPLETE,
	WMK_EVENTS,
};
#define WMK_EV(name) (UINT32_C(1) << WMK_EV_##name)
#define WMK_EV_ALL UINT32_MAX

/* Indexes of fields in wmk_record.values. */
enum { WMK_SWITCH_PREV_TID, WMK_SWITCH_PREV_STATE, WMK_SWITCH_NEXT_TID, WMK_SWITCH_NEXT_COMM, WMK_SWITCH_PREV_COMM };
enum { WMK_WAKE_TID, WMK_WAKE_COMM };
enum { WMK_FORK_CHILD_TID, WMK_FORK_CHILD_PID, WMK_FORK_PARENT_TID, WMK_FORK_CHILD_COMM };
enum { WMK_EXIT_TID };
enum { WMK_EXEC_TID, WMK_EXEC_FILENAME };
enum { WMK_STATE_TID, WMK_STATE_PID, WMK_STATE_NAME, WMK_STATE_FILES };
enum { WMK_FILE_TABLE, WMK_FILE_FD, WMK_FILE_NAME };
enum { WMK_ENTRY_FD, WMK_ENTRY_FILENAME, WMK_ENTRY_UADDR, WMK_ENTRY_OP };
enum { WMK_EXIT_RET };
enum { WMK_IRQ_NUMBER, WMK_IRQ_NAME };
enum { WMK_BLOCK_DEV, WMK_BLOCK_SECTOR, WMK_BLOCK_SECTORS, WMK_BLOCK_RWBS, WMK_BLOCK_BYTES, WMK_BLOCK_ERROR = 4 };
enum { WMK_DEVICE_DEV, WMK_DEVICE_NAME };
enum { WMK_PAGE_ORDER };
enum { WMK_COUNTER_VALUE };
#define WMK_EVENT_FIELDS 5u

struct wmk_field_value {
	bool has, is_text;
	int64_t number;
	double real;                   /* `number`, or a number with a fraction */
	const char *text;              /* address in the packet; `len` bytes, without NUL */
	size_t len;
};

struct wmk_field_place {
	uint8_t how;                   /* 0: the class has no such field */
	uint8_t scope;                 /* enum wmk_read_record_scope */
	uint32_t op;
	/* distance in bits from the begin of the scope, if it is the same in all records */
	uint64_t distance;
};

/* An event class of a trace. */
struct wmk_class {
	uint8_t event;                 /* enum wmk_known_event */
	const char *name;
	const char *what;              /* points into `name` */
	size_t what_len;
	bool is_from, is_to;           /* begins, or ends, a span that the user has defined: wmk_analysis_set_span() */
	uint32_t id;                   /* number of the name, from 0: the same for all classes of one name */
	struct wmk_field_place fields[WMK_EVENT_FIELDS], tid, pid, procname;
};

/* A stream has as many classes as its decoder has events (`n_events`). NULL: no memory. */
struct wmk_classes {
	const struct wmk_ctf_stream_decoder *decoder; /* NULL: its trace was closed */
	uint32_t events;               /* WMK_EV() of all classes */
	struct wmk_class *classes;
	struct wmk_classes *next;
};

struct wmk_names {                     /* names of events, by id; classes point to them */
	char **names;
	uint32_t n, cap;
};

struct wmk_record {
	int64_t ns;
	int64_t cpu;                   /* WMK_READ_NOWHERE: unknown */
	uint8_t event;                 /* enum wmk_known_event */
	const struct wmk_class *class;
	struct wmk_read_stream *stream;
	bool has_tid, has_pid;         /* from contexts of the record */
	int64_t tid, pid;
	struct wmk_field_value procname;
	struct wmk_field_value values[WMK_EVENT_FIELDS];
};

/* Resolve the classes of a stream. -ENOMEM with a cause chain. */
int wmk_events_resolve(const struct wmk_ctf_stream_decoder *decoder, struct wmk_names *names,
		       struct wmk_classes **classes);
void wmk_events_free(struct wmk_classes *classes);
void wmk_events_free_names(struct wmk_names *names);
/* After WMK_READ_RECORD: fill all members except `cpu`. Errors of ctf/decode.h. */
int wmk_events_decode(const struct wmk_class *class, struct wmk_read_stream *stream, struct wmk_record *record);
/* Copy a text value into a buffer. */
void wmk_value_text(const struct wmk_field_value *value, char *buf, size_t size);

#endif
