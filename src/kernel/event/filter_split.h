/* SPDX-License-Identifier: MIT */
/*
 * filter_split.h - filters (filter/filter.h) of the kernel's events where they are recorded.
 *
 *     expressions, one of which is enough + format and class of the event
 *          │ wmk_kfilter_make()
 *          ├──► text     in the kernel's own language (Documentation/trace/events.rst): what it refuses is never written into the buffer
 *          └──► program  what the kernel's language cannot say; run by the consumer on each record, before it is put into a packet
 *
 * The kernel's text never refuses what the expressions want. Where it says all that they say, there is no program. It
 * is about the kernel's own names and values (event_names.h): `next_prio < -20` becomes `next_prio < 80 && next_prio >=
 * -2147483548` and the little that wraps around.
 *
 * Contexts: $ctx.tid, $ctx.cpu_id and $ctx.procname are given to the kernel where they can be (common_pid, CPU, COMM).
 * The consumer knows of tid and cpu_id, and of the others those that the channel has.
 *
 * make allocates; wants does not. One thread for a filter. -errno with a cause chain.
 */
#ifndef WMK_KERNEL_FILTER_SPLIT_H
#define WMK_KERNEL_FILTER_SPLIT_H

#include "filter/filter.h"
#include "kernel/event/kernel_event.h"

#define WMK_KFILTER_TEXT_MAX 3500u     /* the kernel takes less than a page */
#define WMK_KFILTER_EXPRS_MAX 32u      /* of one event: more are more than a program can have */

/*
 * A wmk_filter_lookup_fn; `class`: const struct wmk_event_class *. Finds the fields of the class and all contexts of
 * the kernel's records.
 */
void wmk_kfilter_look_up(void *class, const struct wmk_filter_name *name, struct wmk_filter_found *found);

/*
 * Is that context, by its number, told of each record of a channel with these? Some are in every record of the
 * kernel's.
 */
bool wmk_kfilter_has_context(const uint8_t *contexts, unsigned n_contexts, unsigned number);

struct wmk_kfilter_made {
	bool never;                      /* no record of the event is wanted: then the rest is empty */
	char *text;                      /* for the kernel; NULL: every record */
	/* `len` bytes (wmk_filter_encode()), zeros up to a multiple of 8; NULL: nothing is left to ask */
	uint8_t *program;
	uint32_t len;
};

struct wmk_kfilter_event {
	const struct wmk_kformat *format;      /* NULL: the kernel is not asked, and all is left to the program */
	const struct wmk_event_class *class;   /* made of it */
	const uint8_t *contexts;               /* of the channel: numbers of wmk_ctf_context() */
	unsigned n_contexts;
};
/*
 * A record is wanted if one of the `n` expressions wants it. -EINVAL: a context is needed that the channel does not
 * have, and where. -E2BIG: more than a program can have. *made: wmk_kfilter_made_free().
 */
int wmk_kfilter_make(const struct wmk_kfilter_event *event, const struct wmk_filter_expr *const *exprs, unsigned n,
		     struct wmk_kfilter_made *made);
bool wmk_kfilter_made_same(const struct wmk_kfilter_made *a, const struct wmk_kfilter_made *b);
void wmk_kfilter_made_free(struct wmk_kfilter_made *made);

/* ── the consumer's ──────────────────────────────────────────────────────────────────────────────────── */

struct wmk_kfilter;

/*
 * A program that may have come from anywhere, for payloads of the class. -EPROTO: it is none, or reads what is not
 * there.
 */
int wmk_kfilter_open(const struct wmk_event_class *class, const uint8_t *contexts, unsigned n_contexts,
		     const void *program, size_t len, struct wmk_kfilter **filter);
void wmk_kfilter_close(struct wmk_kfilter *filter);

struct wmk_kfilter_record {
	unsigned cpu;
	int32_t tid;
	const uint8_t *contexts;         /* packed, in the channel's order (task_context.h) */
	size_t contexts_len;
	const uint8_t *payload;          /* packed, as the class says (kernel_event.h) */
	size_t payload_len;
};
/* What a record should have and has not counts as lacking. */
bool wmk_kfilter_wants(struct wmk_kfilter *filter, const struct wmk_kfilter_record *record);

#endif
