/* SPDX-License-Identifier: MIT */
/*
 * derived_spans.c - the table `spans`: a row for each span of an application (read/spans.h).
 *
 * A span without an end has no duration: either the span is open at the end of the trace, or the end record of the span
 * was lost.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/open_spans.h"
#include "analyze/query/derived.h"
#include "base/array.h"
#include "base/error.h"
#include "read/spans.h"
#include "schema/schema.h"

struct span_rows {
	struct wmk_query_rows rows;    /* first */
	struct wmk_read_spans spans;
	struct wmk_open_spans open;    /* the spans of `spans`, with their times */
};

enum { TIME, DURATION, SELF, CPU, TID, PID, PROCESS, NAME, DEPTH };
static const struct wmk_query_derived_column columns[] = {
	[TIME] = { "time", WMK_QUERY_OF_INTEGER },    [DURATION] = { "duration", WMK_QUERY_OF_INTEGER },
	[SELF] = { "self", WMK_QUERY_OF_INTEGER },    [CPU] = { "cpu", WMK_QUERY_OF_INTEGER },
	[TID] = { "tid", WMK_QUERY_OF_INTEGER },      [PID] = { "pid", WMK_QUERY_OF_INTEGER },
	[PROCESS] = { "process", WMK_QUERY_OF_TEXT }, [NAME] = { "name", WMK_QUERY_OF_TEXT },
	[DEPTH] = { "depth", WMK_QUERY_OF_INTEGER },
};

static int create(struct wmk_analysis *analysis, void **state)
{
	struct span_rows *made = calloc(1, sizeof(*made));

	(void)analysis;
	*state = made;
	if (!made)
		return wmk_error(-ENOMEM, "no memory for a query");
	wmk_read_spans_begin(&made->spans);
	wmk_open_spans_begin(&made->open, NULL);
	return 0;
}

/* Add a row. `to`: the end; NULL: unknown. */
static int add_row(struct span_rows *spans, const struct wmk_analyze_span *open, uint32_t depth, const int64_t *to)
{
	struct wmk_query_row *row = wmk_query_rows_add(&spans->rows);

	if (!row)
		return -ENOMEM;
	wmk_query_row_times(&spans->rows, row, TIME, open->begin, to ? *to : open->begin);
	if (to)
		row->values[SELF] = wmk_query_integer(row->values[DURATION].integer - (int64_t)open->inner);
	else
		row->values[DURATION].kind = WMK_QUERY_NULL;
	if (open->who.cpu != WMK_READ_NOWHERE)
		row->values[CPU] = wmk_query_integer(open->who.cpu);
	if (open->who.has_tid) {
		row->values[TID] = wmk_query_integer(open->who.tid);
		row->values[PID] = wmk_query_integer(open->who.pid);
	}
	wmk_query_row_text(row, PROCESS, 0, open->who.name, strlen(open->who.name));
	row->values[DEPTH] = wmk_query_integer(depth);
	wmk_query_row_lasting(row, NAME, 1, open->name, open->len);
	return 0;
}

/* Remove the `n` innermost open spans: the outermost of these spans has ended, and the ends of the others were lost. */
static int pop(struct span_rows *spans, struct wmk_span_stack *stack, unsigned n, int64_t now)
{
	int err = 0;

	for (; n && stack->n && err >= 0; n--) {
		const struct wmk_analyze_span *open = &stack->spans[--stack->n];

		err = add_row(spans, open, stack->n, n == 1 ? &now : NULL);
		if (n == 1 && stack->n)
			stack->spans[stack->n - 1].inner += (uint64_t)now - (uint64_t)open->begin;
	}
	return err;
}

static int record(void *state, const struct wmk_record *record)
{
	struct wmk_read_thread_id who = { .cpu = record->cpu };
	struct wmk_read_drawing drawing;
	struct span_rows *spans = state;
	struct wmk_span_stack *stack;
	int err = wmk_read_thread_id_of_record(&who, record->stream);

	if (err >= 0)
		err = wmk_read_spans_classify(&spans->spans, &who, record->stream, &drawing);
	if (err < 0 || (drawing.kind != WAYMARK_KIND_BEGIN && drawing.kind != WAYMARK_KIND_END)) {
		if (err >= 0)
			wmk_read_spans_drawn(&spans->spans, &who, &drawing);
		return err;
	}
	stack = wmk_open_spans_of(&spans->open, who.has_tid ? who.pid : -1, who.has_tid ? who.tid : who.cpu);
	if (!stack)
		return -ENOMEM;
	const struct wmk_analyze_span span = { .who = who, .begin = record->ns,
					       .name = drawing.name, .len = drawing.len };

	err = drawing.kind == WAYMARK_KIND_BEGIN ? wmk_open_spans_push(&spans->open, stack, &span)
						 : pop(spans, stack, drawing.closes, record->ns);
	if (err >= 0)
		wmk_read_spans_drawn(&spans->spans, &who, &drawing);
	return err;
}

static int result(void *state, struct wmk_result *result)
{
	struct span_rows *spans = state;
	int err = 0;

	(void)result;
	for (struct wmk_span_stack *stack = NULL;
	     err >= 0 && (stack = wmk_read_table_next(&spans->open.stacks, stack));)
		err = pop(spans, stack, stack->n + 1, 0);
	return err;
}

static void release(void *state)
{
	struct span_rows *spans = state;

	wmk_open_spans_free(&spans->open);
	wmk_read_spans_free(&spans->spans);
	wmk_query_rows_free(&spans->rows);
	free(spans);
}

static const struct wmk_analyze_module module = {
	.name = "spans",
	.options = "-e '*'",
	.needs = { { WMK_EV(SPAN_BEGIN), false, "of waymark_span()", NULL } },
	.events = WMK_EV(SPAN_BEGIN) | WMK_EV(SPAN_END),
	.create = create,
	.record = record,
	.result = result,
	.free = release,
};

const struct wmk_query_derived wmk_query_spans = {
	.name = "spans",
	.columns = columns,
	.n_columns = WMK_ARRAY_LEN(columns),
	.module = &module,
};
