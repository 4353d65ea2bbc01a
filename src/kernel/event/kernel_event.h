/* SPDX-License-Identifier: MIT */
/*
 * kernel_event.h - an event of the kernel as an event class of the trace, and its records as those of the trace.
 *
 *     struct wmk_kformat ──wmk_kevent_make()──► struct wmk_kevent: event class (names as lttng-modules has them, see event_names.h) + copy program
 *     record of a page ──wmk_kevent_copy()──► payload of a record in the trace
 *
 * The class has provider "" : the kernel's events have plain names. System calls are `syscall_entry_<name>`,
 * `syscall_exit_<name>`.
 *
 *     number                      INT of its size; ENUM or FLAGS where labels are known; of a system call, as wide as the argument's type
 *     char comm[16]               text of 16 bytes; other char arrays and all other texts: STRING
 *     u8 x[16], long x[6]         ARRAY; a structure: ARRAY of bytes in hex
 *     __data_loc u64[] x          SEQUENCE; of a type that is not known: BLOB
 *
 * One event in memory is constant: any thread.
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
	const char *system, *kernel_name;  /* as tracefs has it: events/<system>/<kernel_name> */
	uint32_t n_copies;
	const struct wmk_kcopy *copies;
	uint32_t min_len;                  /* bytes of a record that is whole */
	/* bytes that the payload takes at most, but for what is in texts and sequences that lie elsewhere */
	uint32_t max_fixed;
};

/* *event is the caller's: wmk_kevent_free(). -ENOTSUP: nothing of it can be shown. */
int wmk_kevent_make(const struct wmk_kformat *format, struct wmk_kevent **event);
/*
 * The same from what tracefs says: of events/<system>/<name> in `dir`, its root or an instance's. -ENOENT: there is no
 * such event.
 */
int wmk_kevent_load(int dir, const char *system, const char *name, struct wmk_kevent **event);
/* Does the class have this field? Those that it has stand there in their order; how this one is shown: *rule. */
bool wmk_kevent_shows(const struct wmk_kformat *format, const struct wmk_kfield *field, struct wmk_kfield_rule *rule);
/* What a filter of the kernel's (filter_split.h) is about: the format too, the caller's to free(). */
int wmk_kformat_load(int dir, const char *system, const char *name, struct wmk_kformat **format);
/* Also one whose class was taken out of it (then `class` is NULL). */
void wmk_kevent_free(struct wmk_kevent *event);
/*
 * The payload, as the class says, packed, at `out`: bytes; -ENOSPC: more than `room`; -EPROTO: the record is too short,
 * or names places outside of it.
 */
long wmk_kevent_copy(const struct wmk_kevent *event, const uint8_t *record, size_t len, uint8_t *out, size_t room);

/* The fields that each record of the kernel begins with. */
struct wmk_kcommon {
	uint16_t type;
	uint8_t flags, preempt_count;
	int32_t tid;
};
#define WMK_KCOMMON_INTERRUPT 0x58u    /* of the flags: in an interrupt of whatever kind (hard, soft, NMI) */
void wmk_kcommon_read(const uint8_t *record, struct wmk_kcommon *common);   /* 8 bytes */

#endif
