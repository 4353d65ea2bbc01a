/* SPDX-License-Identifier: MIT */
/*
 * spans.c - the analysis `spans` (see spans.h). As in read/spans.h, an end closes the innermost open span of its name.
 * Open spans within that span are left out, because their ends were lost.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/spans.h"
#include "analyze/stats.h"
#include "base/array.h"
#include "base/error.h"

#define DEEP_MAX 4096u
#define SLOWEST 20u

struct open_span {
	uint32_t name;
	int64_t since;
	uint64_t inner;                /* ns of the spans within it */
	uint64_t states[WMK_THREAD_STATES]; /* times of the thread's states when the span began */
};

/* A thread with spans. */
struct span_thread {
	struct wmk_read_slot slot;     /* process, thread */
	struct open_span *open;        /* the outermost first */
	uint32_t n, cap;
	uint64_t epoch;                /* number of losses; `open` is valid if it was filled since the latest loss */
	char name[32];
};

struct slow_span {
	uint32_t name;
	int64_t since, pid, tid;
	uint64_t ns, states[WMK_THREAD_STATES];
	char thread[32];
};

struct spans {
	struct wmk_threads *threads;
	struct wmk_texts names;
	struct wmk_read_table open;    /* struct span_thread */
	struct wmk_stats spans, self;  /* by name */
	struct slow_span slowest[SLOWEST]; /* sorted, the slowest first */
	unsigned n_slowest;
	uint64_t epoch, n_unmatched;
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
	spans->threads = wmk_analysis_threads(analysis);
	spans->open.size = sizeof(struct span_thread);
	wmk_texts_begin(&spans->names);
	wmk_stats_begin(&spans->spans);
	wmk_stats_begin(&spans->self);
	return 0;
}

/* ── records ─────────────────────────────────────────────────────────────────────────────────────────── */

/* Get the time of each state of the thread up to `ns`, from kernel records. Zeros if the thread is unknown. */
static void states_at(const struct spans *spans, int64_t tid, int64_t ns, uint64_t *states)
{
	const struct wmk_analyze_thread *thread = wmk_threads_find(spans->threads, tid);

	memset(states, 0, WMK_THREAD_STATES * sizeof(*states));
	if (!thread)
		return;
	memcpy(states, thread->ns, WMK_THREAD_STATES * sizeof(*states));
	if (ns > thread->since)
		states[thread->state] += (uint64_t)(ns - thread->since);
}

static int begin_span(struct spans *spans, struct span_thread *thread, const struct wmk_record *record, uint32_t name)
{
	struct open_span *open = wmk_array_room(thread->open, thread->n, &thread->cap, sizeof(*open));

	if (!open)
		return wmk_error(-ENOMEM, "no memory for %u spans", thread->n);
	thread->open = open;
	if (thread->n == DEEP_MAX) {
		spans->n_unmatched++;
		return 0;
	}
	open += thread->n++;
	*open = (struct open_span){ .name = name, .since = record->ns };
	states_at(spans, (int64_t)thread->slot.b, record->ns, open->states);
	return 0;
}

/* Keep the slowest spans, sorted. */
static void keep_slow(struct spans *spans, const struct slow_span *slow)
{
	unsigned at = spans->n_slowest;

	if (at == SLOWEST && spans->slowest[SLOWEST - 1].ns >= slow->ns)
		return;
	if (at == SLOWEST)
		at--;
	else
		spans->n_slowest++;
	for (; at && spans->slowest[at - 1].ns < slow->ns; at--)
		spans->slowest[at] = spans->slowest[at - 1];
	spans->slowest[at] = *slow;
}

static int count(struct wmk_stats *stats, uint32_t name, uint64_t ns)
{
	struct wmk_stat *stat = wmk_stats_get(stats, name, 0);

	if (!stat)
		return -ENOMEM;
	stat->count++;
	return wmk_histogram_add(&stat->ns, ns);
}

static int end_span(struct spans *spans, struct span_thread *thread, const struct wmk_record *record, uint32_t name)
{
	uint32_t i = thread->n;
	int err;

	while (i && thread->open[i - 1].name != name)
		i--;
	if (!i) {
		spans->n_unmatched++;
		return 0;
	}
	spans->n_unmatched += thread->n - i;
	const struct open_span *open = &thread->open[i - 1];
	struct slow_span slow = { .name = name, .since = open->since, .pid = (int64_t)thread->slot.a,
				  .tid = (int64_t)thread->slot.b,
				  .ns = record->ns > open->since ? (uint64_t)(record->ns - open->since) : 0 };

	states_at(spans, slow.tid, record->ns, slow.states);
	for (unsigned s = 0; s < WMK_THREAD_STATES; s++)
		slow.states[s] -= open->states[s];
	memcpy(slow.thread, thread->name, sizeof(slow.thread));
	keep_slow(spans, &slow);
	err = count(&spans->spans, name, slow.ns);
	if (err >= 0)
		err = count(&spans->self, name, slow.ns > open->inner ? slow.ns - open->inner : 0);
	thread->n = i - 1;
	if (thread->n)
		thread->open[thread->n - 1].inner += slow.ns;
	return err;
}

static int record(void *state, const struct wmk_record *record)
{
	const int64_t tid = record->has_tid ? record->tid : -1 - record->cpu;
	struct spans *spans = state;
	struct span_thread *thread = wmk_read_table_add(
		&spans->open, (uint64_t)(record->has_pid ? record->pid : tid), (uint64_t)tid);
	uint32_t name;
	int err;

	if (!thread)
		return wmk_error(-ENOMEM, "no memory for the spans of %zu threads", spans->open.n);
	if (thread->epoch != spans->epoch)
		thread->n = 0;
	thread->epoch = spans->epoch;
	if (!thread->name[0])
		wmk_value_text(&record->procname, thread->name, sizeof(thread->name));
	err = wmk_texts_number(&spans->names, record->class->what, record->class->what_len, &name);
	if (err < 0 || name == UINT32_MAX)
		return err;
	return record->event == WMK_EV_SPAN_BEGIN ? begin_span(spans, thread, record, name)
						  : end_span(spans, thread, record, name);
}

/* Leave out all open spans: an end may be lost, and the next end of the same name may belong to a later span. */
static void lost(void *state, const struct wmk_loss *loss)
{
	struct spans *spans = state;

	if (loss->events & (WMK_EV(SPAN_BEGIN) | WMK_EV(SPAN_END)))
		spans->epoch++;
}

/* ── result ──────────────────────────────────────────────────────────────────────────────────────────── */

static void add_slow(const struct spans *spans, struct wmk_result *result)
{
	struct wmk_result_table *table = wmk_result_table(result, "slowest", "Slowest spans", slow_columns,
							  WMK_ARRAY_LEN(slow_columns));

	table->sort = SLOW_NS;
	for (unsigned i = 0; i < spans->n_slowest; i++) {
		const struct slow_span *slow = &spans->slowest[i];
		struct wmk_cell *row = wmk_result_row(table);

		wmk_cell_text(table, &row[SLOW_NAME], spans->names.texts[slow->name]);
		wmk_cell_number(&row[SLOW_NS], (int64_t)slow->ns);
		wmk_cell_number(&row[SLOW_FROM], slow->since);
		if (slow->tid >= 0) {
			wmk_cell_number(&row[SLOW_PID], slow->pid);
			wmk_cell_number(&row[SLOW_TID], slow->tid);
		}
		wmk_cell_text(table, &row[SLOW_THREAD], slow->thread);
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

		wmk_cell_text(table, &row[NAME], spans->names.texts[stat->slot.a]);
		wmk_cell_number(&row[COUNT], (int64_t)stat->count);
		wmk_cell_durations(&row[TOTAL], &stat->ns);
		wmk_cell_number(&row[SELF], self ? (int64_t)self->ns.sum : 0);
	}
	add_slow(spans, result);
	if (spans->n_unmatched)
		wmk_result_note(result, "%lu begins or ends of spans have no counterpart, and are left out",
				(unsigned long)spans->n_unmatched);
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
	spans->n_unmatched = 0;
}

static void release(void *state)
{
	struct spans *spans = state;

	for (struct span_thread *thread = NULL; (thread = wmk_read_table_next(&spans->open, thread));)
		free(thread->open);
	wmk_read_table_free(&spans->open);
	wmk_texts_free(&spans->names);
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
