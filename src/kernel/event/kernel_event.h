/* SPDX-License-Identifier: MIT */
/*
 * kernel_event.h - converts a kernel event to an event class of the trace, and its records to records of the trace.
 *
 *     struct wmk_kformat ──wmk_kevent_make()──► struct wmk_kevent: event class (names as in lttng-modules, see
 *                                              event_names.h) + copy program
 *     record of a page ──wmk_kevent_copy()──► payload of a record in the trace
 *
 * The provider of the class is empty, because kernel events have plain names. The events of system calls are named
 * `syscall_entry_<name>` and `syscall_exit_<name>`.
 *
 *     number                      INT of its size; ENUM or FLAGS if labels are known; in a system call, as wide as the
 *                                 argument's type
 *     char comm[16]               text of 16 bytes; other char arrays and all other texts: STRING
 *     u8 x[16], long x[6]         ARRAY; a structure: ARRAY of bytes in hex
 *     __data_loc u64[] x          SEQUENCE; of an unknown type: BLOB
 *
 * An event is constant, so any thread may use it.
 */
#ifndef WMK_KERNEL_KERNEL_EVENT_H
#define WMK_KERNEL_KERNEL_EVENT_H

#include "kernel/event/format_file.h"
#include "schema/schema.h"

struct wmk_kcopy;
struct wmk_kfield_rule;              /* event_names.h */

struct wmk_kevent {
	uint32_t kernel_id;                /* common_type */
	struct wmk_event_class *class;
	const char *system, *kernel_name;  /* tracefs names: events/<system>/<kernel_name> */
	uint32_t n_copies;
	const struct wmk_kcopy *copies;
	uint32_t min_len;                  /* size of the shortest complete record */
	/* maximum size of the payload without the content of texts and sequences outside of the fixed part */
	uint32_t max_fixed;
	/* the payload ends with the numbers of two threads, which are to be replaced by their processes */
	bool has_processes;
};

/* The caller owns *event and calls wmk_kevent_free(). -ENOTSUP: the trace cannot describe the event. */
int wmk_kevent_make(const struct wmk_kformat *format, struct wmk_kevent **event);
/*
 * Makes the event from events/<system>/<name> in `dir`, which is the root of tracefs or a tracefs instance. -ENOENT: no
 * such event.
 */
int wmk_kevent_load(int dir, const char *system, const char *name, struct wmk_kevent **event);
/* Returns whether the class has this field, and fills *rule. The class keeps the order of the fields. */
bool wmk_kevent_shows(const struct wmk_kformat *format, const struct wmk_kfield *field, struct wmk_kfield_rule *rule);
/* Loads the format that a kernel filter needs (filter_split.h); the caller calls free(). */
int wmk_kformat_load(int dir, const char *system, const char *name, struct wmk_kformat **format);
/* Frees the content of the event. `class` may be NULL if the caller has taken over the class. */
void wmk_kevent_free(struct wmk_kevent *event);
/*
 * Writes the payload to `out`, packed as the class describes, and returns its size. -ENOSPC: more than `room` bytes.
 * -EPROTO: the record is too short, or refers to bytes outside of the record.
 */
long wmk_kevent_copy(const struct wmk_kevent *event, const uint8_t *record, size_t len, uint8_t *out, size_t room);

/* The fields at the beginning of each kernel record. */
struct wmk_kcommon {
	uint16_t type;
	uint8_t flags, preempt_count;
	int32_t tid;
};
#define WMK_KCOMMON_INTERRUPT 0x58u    /* flags: in an interrupt of any kind (hard, soft, NMI) */
void wmk_kcommon_read(const uint8_t *record, struct wmk_kcommon *common);   /* reads 8 bytes */

#endif
