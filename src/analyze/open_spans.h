/* SPDX-License-Identifier: MIT */
/*
 * open_spans.h - the open spans of each thread. An end closes the innermost open span of its name, as in read/spans.h.
 * The end of a span also closes all open spans within this span, because their ends were lost. One thread.
 */
#ifndef WMK_ANALYZE_OPEN_SPANS_H
#define WMK_ANALYZE_OPEN_SPANS_H

#include "analyze/stats.h"
#include "analyze/threads.h"
#include "read/thread_id.h"

struct wmk_analyze_span {
	struct wmk_read_thread_id who;
	uint32_t number;               /* of the name, in wmk_open_spans.names */
	const char *name;              /* of the event class; not NUL-terminated */
	size_t len;
	int64_t begin, end;            /* ns */
	uint64_t inner;                /* ns of the spans within it; the rest of the duration is the span's own time */
	/*
	 * The time that the thread spent in each state during the span, from kernel records. All zeros if the thread is
	 * unknown.
	 */
	uint64_t states[WMK_THREAD_STATES];
};

static inline uint64_t wmk_span_ns(const struct wmk_analyze_span *span)
{
	return (uint64_t)(span->end - span->begin);
}

/* The open spans of a thread. */
struct wmk_span_stack {
	struct wmk_read_slot slot;     /* process, thread */
	struct wmk_analyze_span *spans;        /* from the outermost to the innermost */
	uint32_t n, cap;
	uint64_t epoch;                /* `spans` is valid if this is the epoch of wmk_open_spans */
	char name[32];                 /* of the thread */
};

struct wmk_open_spans {
	struct wmk_threads *threads;
	struct wmk_read_table stacks;  /* struct wmk_span_stack */
	struct wmk_texts names;
	uint64_t epoch;                /* number of losses */
	uint64_t n_unmatched;          /* number of begins and ends without a counterpart */
};

void wmk_open_spans_begin(struct wmk_open_spans *spans, struct wmk_threads *threads);
/* Apply a span's begin record or end record to the thread. 1: *span has ended; 0; -ENOMEM with a cause chain. */
int wmk_open_spans_record(struct wmk_open_spans *spans, const struct wmk_record *record, int64_t tid,
			  struct wmk_analyze_span *span);
/*
 * Drop open spans after a loss: the end of an open span may be lost, and the next end of that name may belong to a
 * later span.
 */
void wmk_open_spans_lost(struct wmk_open_spans *spans, const struct wmk_loss *loss);
void wmk_open_spans_free(struct wmk_open_spans *spans);

/*
 * The functions below serve spans that read/spans.h has classified. wmk_open_spans_of() finds or adds a thread (NULL:
 * no memory), and wmk_open_spans_push() copies a span that begins.
 */
struct wmk_span_stack *wmk_open_spans_of(struct wmk_open_spans *spans, int64_t pid, int64_t tid);
int wmk_open_spans_push(struct wmk_open_spans *spans, struct wmk_span_stack *stack,
			const struct wmk_analyze_span *span);

#endif
