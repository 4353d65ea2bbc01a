/* SPDX-License-Identifier: MIT */
/*
 * open_spans.c - the open spans of each thread (see open_spans.h).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/open_spans.h"
#include "base/array.h"
#include "base/error.h"

#define DEEP_MAX 4096u

void wmk_open_spans_begin(struct wmk_open_spans *spans, struct wmk_threads *threads)
{
	*spans = (struct wmk_open_spans){ .threads = threads, .stacks.size = sizeof(struct wmk_span_stack) };
	wmk_texts_begin(&spans->names);
}

struct wmk_span_stack *wmk_open_spans_of(struct wmk_open_spans *spans, int64_t pid, int64_t tid)
{
	struct wmk_span_stack *stack = wmk_read_table_add(&spans->stacks, (uint64_t)pid, (uint64_t)tid);

	if (!stack) {
		wmk_error(-ENOMEM, "no memory for the spans of %zu threads", spans->stacks.n);
		return NULL;
	}
	if (stack->epoch != spans->epoch)
		stack->n = 0;
	stack->epoch = spans->epoch;
	return stack;
}

int wmk_open_spans_push(struct wmk_open_spans *spans, struct wmk_span_stack *stack,
			const struct wmk_analyze_span *span)
{
	struct wmk_analyze_span *all = wmk_array_room(stack->spans, stack->n, &stack->cap, sizeof(*all));

	if (!all)
		return wmk_error(-ENOMEM, "no memory for %u spans", stack->n);
	stack->spans = all;
	if (stack->n < DEEP_MAX)
		all[stack->n++] = *span;
	else
		spans->n_unmatched++;
	return 0;
}

/* Add the times that the thread has spent in each state up to `ns`. `sign` -1: subtract. */
static void add_states(const struct wmk_open_spans *spans, int64_t tid, int64_t ns, int sign, uint64_t *states)
{
	const struct wmk_analyze_thread *thread = wmk_threads_find(spans->threads, tid);

	for (unsigned s = 0; thread && s < WMK_THREAD_STATES; s++) {
		const uint64_t more = s == thread->state && ns > thread->since ? (uint64_t)(ns - thread->since) : 0;

		states[s] += (uint64_t)sign * (thread->ns[s] + more);
	}
}

static int end_span(struct wmk_open_spans *spans, struct wmk_span_stack *stack, int64_t now, uint32_t number,
		    struct wmk_analyze_span *span)
{
	uint32_t i = stack->n;

	while (i && stack->spans[i - 1].number != number)
		i--;
	spans->n_unmatched += i ? stack->n - i : 1;
	if (!i)
		return 0;
	stack->n = i - 1;
	*span = stack->spans[i - 1];
	span->end = now > span->begin ? now : span->begin;
	memcpy(span->who.name, stack->name, sizeof(stack->name));
	add_states(spans, span->who.tid, now, 1, span->states);
	if (stack->n)
		stack->spans[stack->n - 1].inner += wmk_span_ns(span);
	return 1;
}

int wmk_open_spans_record(struct wmk_open_spans *spans, const struct wmk_record *record, int64_t tid,
			  struct wmk_analyze_span *span)
{
	const int64_t pid = record->has_pid ? record->pid : tid;
	struct wmk_span_stack *stack = wmk_open_spans_of(spans, pid, tid);
	uint32_t number;
	int err;

	if (!stack)
		return -ENOMEM;
	if (!stack->name[0])
		wmk_value_text(&record->procname, stack->name, sizeof(stack->name));
	err = wmk_texts_number(&spans->names, record->class->what, record->class->what_len, &number);
	if (err < 0 || number == UINT32_MAX)
		return err;
	if (record->event == WMK_EV_SPAN_END)
		return end_span(spans, stack, record->ns, number, span);
	*span = (struct wmk_analyze_span){ .who = { .pid = pid, .tid = tid }, .number = number, .begin = record->ns };
	add_states(spans, tid, record->ns, -1, span->states);
	return wmk_open_spans_push(spans, stack, span);
}

void wmk_open_spans_lost(struct wmk_open_spans *spans, const struct wmk_loss *loss)
{
	if (loss->events & (WMK_EV(SPAN_BEGIN) | WMK_EV(SPAN_END)))
		spans->epoch++;
}

void wmk_open_spans_free(struct wmk_open_spans *spans)
{
	for (struct wmk_span_stack *stack = NULL; (stack = wmk_read_table_next(&spans->stacks, stack));)
		free(stack->spans);
	wmk_read_table_free(&spans->stacks);
	wmk_texts_free(&spans->names);
}
