/* SPDX-License-Identifier: MIT */
/*
 * spans.c - the analysis `spans` (see spans.h). Spans without an end are left out.
 */
#include <errno.h>
#include <stdlib.h>

#include "analyze/open_spans.h"
#include "analyze/spans.h"
#include "base/array.h"
#include "base/error.h"

#define SLOWEST 20u

struct spans {
	struct wmk_open_spans open;
	struct wmk_stats spans, self;  /* by name */
	struct wmk_analyze_span slowest[SLOWEST]; /* sorted, the slowest first */
	unsigned n_slowest;
};

enum { NAME, COUNT, TOTAL, SELF = TOTAL + WMK_DURATION_CELLS };
static const struct wmk_column columns[] = {
	{ "span", "span", WMK_COLUMN_TEXT, true },
	{ "count", "count", WMK_COLUMN_COUNT, false },
	WMK_COLUMNS_DURATIONS,
	{ "self_ns", "self", WMK_COLUMN_NS, false },
};
enum { SLOW_NAME, SLOW_NS, SLOW_FROM, SLOW_PID, SLOW_TID, SLOW_THREAD, RUNNING, RUNNABLE, BLOCKED, UNKNOWN };
static const struct wmk_column slow_columns[] = {
	{ "span", "span", WMK_COLUMN_TEXT, true },
	{ "duration_ns", "duration", WMK_COLUMN_NS, false },
	{ "from", "from", WMK_COLUMN_TIME, true },
	{ "pid", "process", WMK_COLUMN_ID, true },
	{ "tid", "thread", WMK_COLUMN_ID, true },
	{ "name", "name", WMK_COLUMN_TEXT, true },
	{ "running_ns", "running", WMK_COLUMN_NS, false },
	{ "runnable_ns", "runnable", WMK_COLUMN_NS, false },
	{ "blocked_ns", "blocked", WMK_COLUMN_NS, false },
	{ "unknown_ns", NULL, WMK_COLUMN_NS, false },
};

static int create(struct wmk_analysis *analysis, void **state)
{
	struct spans *spans = calloc(1, sizeof(*spans));

	*state = spans;
	if (!spans)
		return wmk_error(-ENOMEM, "no memory for an analysis");
	wmk_open_spans_begin(&spans->open, wmk_analysis_threads(analysis));
	wmk_stats_begin(&spans->spans);
	wmk_stats_begin(&spans->self);
	return 0;
}

/* ── records ─────────────────────────────────────────────────────────────────────────────────────────── */

/* Keep the slowest spans, sorted. */
static void keep_slow(struct spans *spans, const struct wmk_analyze_span *span)
{
	unsigned at = spans->n_slowest;

	if (at == SLOWEST && wmk_span_ns(&spans->slowest[SLOWEST - 1]) >= wmk_span_ns(span))
		return;
	if (at == SLOWEST)
		at--;
	else
		spans->n_slowest++;
	for (; at && wmk_span_ns(&spans->slowest[at - 1]) < wmk_span_ns(span); at--)
		spans->slowest[at] = spans->slowest[at - 1];
	spans->slowest[at] = *span;
}

static int count(struct wmk_stats *stats, uint32_t name, uint64_t ns)
{
	struct wmk_stat *stat = wmk_stats_get(stats, name, 0);

	if (!stat)
		return -ENOMEM;
	stat->count++;
	return wmk_histogram_add(&stat->ns, ns);
}

static int record(void *state, const struct wmk_record *record)
{
	struct spans *spans = state;
	struct wmk_analyze_span span;
	int err = wmk_open_spans_record(&spans->open, record, record->has_tid ? record->tid : -1 - record->cpu, &span);

	if (err <= 0)
		return err;
	keep_slow(spans, &span);
	const uint64_t ns = wmk_span_ns(&span);

	err = count(&spans->spans, span.number, ns);
	if (err >= 0)
		err = count(&spans->self, span.number, ns > span.inner ? ns - span.inner : 0);
	return err;
}

static void lost(void *state, const struct wmk_loss *loss)
{
	struct spans *spans = state;

	wmk_open_spans_lost(&spans->open, loss);
}

/* ── result ──────────────────────────────────────────────────────────────────────────────────────────── */

static void add_slow(const struct spans *spans, struct wmk_result *result)
{
	struct wmk_result_table *table = wmk_result_table(result, "slowest", "Slowest spans", slow_columns,
							  WMK_ARRAY_LEN(slow_columns));

	table->sort = SLOW_NS;
	for (unsigned i = 0; i < spans->n_slowest; i++) {
		const struct wmk_analyze_span *slow = &spans->slowest[i];
		struct wmk_cell *row = wmk_result_row(table);

		wmk_cell_text(table, &row[SLOW_NAME], spans->open.names.texts[slow->number]);
		wmk_cell_number(&row[SLOW_NS], slow->end - slow->begin);
		wmk_cell_number(&row[SLOW_FROM], slow->begin);
		if (slow->who.tid >= 0) {
			wmk_cell_number(&row[SLOW_PID], slow->who.pid);
			wmk_cell_number(&row[SLOW_TID], slow->who.tid);
		}
		wmk_cell_text(table, &row[SLOW_THREAD], slow->who.name);
		if (!(slow->states[WMK_RUNNING] | slow->states[WMK_RUNNABLE] | slow->states[WMK_BLOCKED]))
			continue;
		wmk_cell_number(&row[RUNNING], (int64_t)slow->states[WMK_RUNNING]);
		wmk_cell_number(&row[RUNNABLE], (int64_t)slow->states[WMK_RUNNABLE]);
		wmk_cell_number(&row[BLOCKED], (int64_t)slow->states[WMK_BLOCKED]);
		wmk_cell_number(&row[UNKNOWN], (int64_t)(slow->states[WMK_UNKNOWN] + slow->states[WMK_ABSENT]));
	}
}

static int result(void *state, struct wmk_result *result)
{
	const struct spans *spans = state;
	struct wmk_result_table *table =
		wmk_result_table(result, "spans", "Spans", columns, WMK_ARRAY_LEN(columns));

	table->sort = TOTAL;
	for (struct wmk_stat *stat = NULL; (stat = wmk_stats_next(&spans->spans, stat));) {
		const struct wmk_stat *self = wmk_read_table_find(&spans->self.table, stat->slot.a, 0);
		struct wmk_cell *row = wmk_result_row(table);

		wmk_cell_text(table, &row[NAME], spans->open.names.texts[stat->slot.a]);
		wmk_cell_number(&row[COUNT], (int64_t)stat->count);
		wmk_cell_durations(&row[TOTAL], &stat->ns);
		wmk_cell_number(&row[SELF], self ? (int64_t)self->ns.sum : 0);
	}
	add_slow(spans, result);
	if (spans->open.n_unmatched)
		wmk_result_note(result, "%lu begin or end records of spans have no matching record and are ignored",
				(unsigned long)spans->open.n_unmatched);
	return 0;
}

static void clear(void *state)
{
	struct spans *spans = state;

	wmk_stats_free(&spans->spans);
	wmk_stats_free(&spans->self);
	wmk_stats_begin(&spans->spans);
	wmk_stats_begin(&spans->self);
	spans->n_slowest = 0;
	spans->open.n_unmatched = 0;
}

static void release(void *state)
{
	struct spans *spans = state;

	wmk_open_spans_free(&spans->open);
	wmk_stats_free(&spans->spans);
	wmk_stats_free(&spans->self);
	free(spans);
}

const struct wmk_analyze_module wmk_analyze_spans = {
	.name = "spans",
	.summary = "spans of applications: count, total and self time; the slowest, with states of their threads",
	.options = "-e '*' --preset=sched",
	.needs = { { WMK_EV(SPAN_BEGIN) | WMK_EV(SPAN_END), false, "that begins or ends a span", NULL },
		   { WMK_EV(SWITCH), true, "sched_switch and sched_wakeup too",
		     "the states of the threads during spans are not known" } },
	.events = WMK_EV(SPAN_BEGIN) | WMK_EV(SPAN_END),
	.has_threads = true,
	.create = create,
	.record = record,
	.lost = lost,
	.result = result,
	.clear = clear,
	.free = release,
};
