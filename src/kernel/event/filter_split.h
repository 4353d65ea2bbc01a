/* SPDX-License-Identifier: MIT */
/*
 * filter_split.h - splits filters (filter/filter.h) of kernel events between the kernel and the consumer.
 *
 *     expressions, joined by OR + format and class of the event
 *          │ wmk_kfilter_make()
 *          ├──► text     in the kernel's filter language (Documentation/trace/events.rst): the kernel does not record
 *          │             what it rejects
 *          └──► program  the rest; the consumer runs it on each record before it puts the record into a packet
 *
 * The filter text for the kernel never rejects a record that the expressions accept. If the text is equivalent to the
 * expressions, no program is needed. The text has the kernel's names and values (event_names.h): `next_prio < -20`
 * becomes `next_prio < 80 && next_prio >= -2147483548`. The test with `>=` excludes values that wrap around.
 *
 * Contexts: the text contains $ctx.tid, $ctx.cpu_id and $ctx.procname where possible (common_pid, CPU, COMM). A program
 * can read tid and cpu_id in any channel, and another context only in a channel with this context.
 *
 * wmk_kfilter_make() allocates; wmk_kfilter_wants() does not. A filter belongs to one thread. Errors: -errno with a
 * cause chain.
 */
#ifndef WMK_KERNEL_FILTER_SPLIT_H
#define WMK_KERNEL_FILTER_SPLIT_H

#include "filter/filter.h"
#include "kernel/event/kernel_event.h"

#define WMK_KFILTER_TEXT_MAX 3500u     /* the kernel accepts less than a page */
#define WMK_KFILTER_EXPRS_MAX 32u      /* maximum number of expressions of one event in a program */

/*
 * Implements wmk_filter_lookup_fn; `class` is a const struct wmk_event_class *. The function finds the fields of the
 * class and all contexts that are available for kernel records.
 */
void wmk_kfilter_look_up(void *class, const struct wmk_filter_name *name, struct wmk_filter_found *found);

/*
 * Returns whether a filter can read the context with this number in a channel with these contexts. Each kernel record
 * has tid and cpu_id.
 */
bool wmk_kfilter_has_context(const uint8_t *contexts, unsigned n_contexts, unsigned number);

struct wmk_kfilter_made {
	bool never;                      /* the filter accepts no record of the event; the other members are empty */
	char *text;                      /* filter for the kernel; NULL: accepts every record */
	/* `len` bytes (wmk_filter_encode()), padded with zeros to a multiple of 8; NULL: the text is sufficient */
	uint8_t *program;
	uint32_t len;
};

struct wmk_kfilter_event {
	const struct wmk_kformat *format;      /* NULL: no text for the kernel; the program then has the whole filter */
	const struct wmk_event_class *class;   /* the class that was made from `format` */
	const uint8_t *contexts;               /* contexts of the channel: numbers of wmk_ctf_context() */
	unsigned n_contexts;
};
/*
 * Makes the filter of an event: the filter accepts a record if at least one of the `n` expressions accepts the record.
 * The caller calls wmk_kfilter_made_free(). -EINVAL: an expression needs a context that the channel does not have.
 * -E2BIG: more expressions than a program can have.
 */
int wmk_kfilter_make(const struct wmk_kfilter_event *event, const struct wmk_filter_expr *const *exprs, unsigned n,
		     struct wmk_kfilter_made *made);
bool wmk_kfilter_made_same(const struct wmk_kfilter_made *a, const struct wmk_kfilter_made *b);
void wmk_kfilter_made_free(struct wmk_kfilter_made *made);

/* ── in the consumer ─────────────────────────────────────────────────────────────────────────────────── */

struct wmk_kfilter;

/*
 * Opens a filter program from an untrusted source; the program reads payloads of the class. -EPROTO: the program is
 * malformed, or reads fields or contexts that the records do not have.
 */
int wmk_kfilter_open(const struct wmk_event_class *class, const uint8_t *contexts, unsigned n_contexts,
		     const void *program, size_t len, struct wmk_kfilter **filter);
void wmk_kfilter_close(struct wmk_kfilter *filter);

struct wmk_kfilter_record {
	unsigned cpu;
	int32_t tid;
	const uint8_t *contexts;         /* packed, in the channel's order (task_context.h) */
	size_t contexts_len;
	const uint8_t *payload;          /* packed, as the class describes (kernel_event.h) */
	size_t payload_len;
};
/* Runs the program. If a record lacks a value, the filter program treats the input as absent. */
bool wmk_kfilter_wants(struct wmk_kfilter *filter, const struct wmk_kfilter_record *record);

#endif
