/* SPDX-License-Identifier: MIT */
/*
 * path.c - the analysis `path` (see path.h). When a span that is one of the slowest so far ends, its path is followed
 * immediately, because older states are overwritten (history.h).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/history.h"
#include "analyze/open_spans.h"
#include "analyze/path.h"
#include "base/array.h"
#include "base/error.h"
#include "read/stacks.h"

struct path_span {
	struct wmk_analyze_span is;
	struct wmk_steps steps;
};

struct paths {
	struct wmk_threads *threads;
	struct wmk_history *history;
	struct wmk_open_spans open;
	const char *wanted;            /* NULL: all spans */
	unsigned n_wanted;
	struct path_span slowest[WMK_PATHS_MAX]; /* from the slowest to the fastest */
	unsigned n_slowest;
};

enum { SPAN, SPAN_NAME, SPAN_NS, SPAN_FROM, SPAN_PID, SPAN_TID, SPAN_STEPS, SPAN_UNKNOWN };
static const struct wmk_column span_columns[] = {
	{ "path", "path", WMK_COLUMN_ID, false },
	{ "span", "span", WMK_COLUMN_TEXT, true },
	{ "duration_ns", "duration", WMK_COLUMN_NS, false },
	{ "from", "from", WMK_COLUMN_TIME, true },
	{ "pid", "process", WMK_COLUMN_ID, true },
	{ "tid", "thread", WMK_COLUMN_ID, true },
	{ "steps", "steps", WMK_COLUMN_COUNT, false },
	{ "unknown_ns", "unknown", WMK_COLUMN_NS, false },
};

enum { SUM, SUM_TID, SUM_NAME, SUM_NS, SUM_PERCENT, SUM_RUNNING, SUM_RUNNABLE, SUM_BLOCKED, SUM_UNKNOWN, SUM_PID };
static const struct wmk_column sum_columns[] = {
	{ "path", "path", WMK_COLUMN_ID, false },
	{ "tid", "thread", WMK_COLUMN_ID, true },
	{ "name", "name", WMK_COLUMN_TEXT, true },
	{ "total_ns", "total", WMK_COLUMN_NS, false },
	{ "total_percent", "part", WMK_COLUMN_PERCENT, false },
	{ "running_ns", "running", WMK_COLUMN_NS, false },
	{ "runnable_ns", "runnable", WMK_COLUMN_NS, false },
	{ "blocked_ns", "blocked", WMK_COLUMN_NS, false },
	{ "unknown_ns", "unknown", WMK_COLUMN_NS, false },
	{ "pid", NULL, WMK_COLUMN_ID, false },
};

enum { STEP, START, STEP_NS, STATE, WAIT, TID, NAME, WAKER, WAKER_NAME, PID, FROM };
static const struct wmk_column step_columns[] = {
	{ "path", "path", WMK_COLUMN_ID, false },
	{ "start_ns", "start", WMK_COLUMN_NS, false },
	{ "duration_ns", "duration", WMK_COLUMN_NS, false },
	{ "state", "state", WMK_COLUMN_TEXT, true },
	{ "wait", "waited for", WMK_COLUMN_TEXT, true },
	{ "tid", "thread", WMK_COLUMN_ID, true },
	{ "name", "name", WMK_COLUMN_TEXT, true },
	{ "waker_tid", "woken by", WMK_COLUMN_ID, false },
	{ "waker_name", "name", WMK_COLUMN_TEXT, false },
	{ "pid", NULL, WMK_COLUMN_ID, false },
	{ "from", NULL, WMK_COLUMN_TIME, true },
};

static int create(struct wmk_analysis *analysis, void **state)
{
	struct paths *paths = calloc(1, sizeof(*paths));

	*state = paths;
	if (!paths)
		return wmk_error(-ENOMEM, "no memory for an analysis");
	paths->threads = wmk_analysis_threads(analysis);
	paths->n_wanted = 1;
	wmk_open_spans_begin(&paths->open, paths->threads);
	return wmk_history_create(paths->threads, &paths->history);
}

void wmk_path_choose(struct wmk_analysis *analysis, const char *span, unsigned n)
{
	struct paths *paths = wmk_analysis_state(analysis, 0);

	paths->wanted = span;
	paths->n_wanted = n < 1 ? 1 : n > WMK_PATHS_MAX ? WMK_PATHS_MAX : n;
}

/* ── records ─────────────────────────────────────────────────────────────────────────────────────────── */

/*
 * If the span is one of the slowest, follow its path and keep the span. If the list is full, the new span replaces the
 * fastest span of the list.
 */
static int keep_slow(struct paths *paths, const struct wmk_analyze_span *span)
{
	struct path_span *slowest = paths->slowest, new = { .is = *span };
	unsigned at = paths->n_slowest < paths->n_wanted ? paths->n_slowest : paths->n_wanted - 1;
	int err;

	if (at < paths->n_slowest && wmk_span_ns(&slowest[at].is) >= wmk_span_ns(span))
		return 0;
	new.steps = slowest[at].steps;
	err = wmk_history_follow(paths->history, wmk_threads_find(paths->threads, span->who.tid), span->begin,
				 span->end, &new.steps);
	paths->n_slowest = at < paths->n_slowest ? paths->n_slowest : at + 1;
	for (; at && wmk_span_ns(&slowest[at - 1].is) < wmk_span_ns(span); at--)
		slowest[at] = slowest[at - 1];
	slowest[at] = new;
	return err;
}

static int record(void *state, const struct wmk_record *record)
{
	struct paths *paths = state;
	const struct wmk_analyze_thread *runs = wmk_threads_of(paths->threads, record);
	const int64_t tid = record->has_tid ? record->tid : runs ? runs->tid : -1 - record->cpu;
	struct wmk_analyze_span span;
	int err = wmk_open_spans_record(&paths->open, record, tid, &span);

	if (err <= 0 || (paths->wanted && strcmp(paths->open.names.texts[span.number], paths->wanted) != 0))
		return err;
	return keep_slow(paths, &span);
}

static void lost(void *state, const struct wmk_loss *loss)
{
	struct paths *paths = state;

	wmk_open_spans_lost(&paths->open, loss);
}

/* ── result ──────────────────────────────────────────────────────────────────────────────────────────── */

static const char *const states[WMK_THREAD_STATES] = {
	[WMK_UNKNOWN] = "unknown", [WMK_RUNNING] = "running", [WMK_RUNNABLE] = "runnable", [WMK_BLOCKED] = "blocked",
};

static void set_thread(struct wmk_result_table *table, const struct wmk_analyze_thread *thread, struct wmk_cell *tid,
		       struct wmk_cell *name)
{
	if (!thread)
		return;
	wmk_cell_number(tid, thread->tid);
	wmk_cell_text(table, name, thread->name);
}

static void add_steps(const struct path_span *span, unsigned number, struct wmk_result_table *table)
{
	for (uint32_t i = span->steps.n; i--;) {
		const struct wmk_step *step = &span->steps.steps[i];
		struct wmk_cell *row = wmk_result_row(table);

		wmk_cell_number(&row[STEP], number);
		wmk_cell_number(&row[START], step->from - span->is.begin);
		wmk_cell_number(&row[STEP_NS], step->to - step->from);
		wmk_cell_number(&row[FROM], step->from);
		wmk_cell_text(table, &row[STATE], states[step->state]);
		if (step->wait < WMK_WAITS)
			wmk_cell_text(table, &row[WAIT], wmk_wait_names[step->wait]);
		set_thread(table, step->thread, &row[TID], &row[NAME]);
		set_thread(table, step->waker, &row[WAKER], &row[WAKER_NAME]);
		if (step->thread && step->thread->pid)
			wmk_cell_number(&row[PID], step->thread->pid);
	}
}

struct sum {
	struct wmk_read_slot slot;     /* address of the thread, 0 */
	uint64_t ns[WMK_THREAD_STATES];
};

static void add_sum(const struct sum *sum, const struct path_span *span, unsigned number,
		    struct wmk_result_table *table)
{
	const struct wmk_analyze_thread *thread = (const void *)(uintptr_t)sum->slot.a;
	const uint64_t total = sum->ns[WMK_RUNNING] + sum->ns[WMK_RUNNABLE] + sum->ns[WMK_BLOCKED] +
			       sum->ns[WMK_UNKNOWN];
	struct wmk_cell *row = wmk_result_row(table);

	wmk_cell_number(&row[SUM], number);
	set_thread(table, thread, &row[SUM_TID], &row[SUM_NAME]);
	if (thread && thread->pid)
		wmk_cell_number(&row[SUM_PID], thread->pid);
	wmk_cell_number(&row[SUM_NS], (int64_t)total);
	wmk_cell_real(&row[SUM_PERCENT], 100.0 * (double)total / (double)wmk_span_ns(&span->is));
	wmk_cell_number(&row[SUM_RUNNING], (int64_t)sum->ns[WMK_RUNNING]);
	wmk_cell_number(&row[SUM_RUNNABLE], (int64_t)sum->ns[WMK_RUNNABLE]);
	wmk_cell_number(&row[SUM_BLOCKED], (int64_t)sum->ns[WMK_BLOCKED]);
	wmk_cell_number(&row[SUM_UNKNOWN], (int64_t)sum->ns[WMK_UNKNOWN]);
}

static int add_sums(const struct path_span *span, unsigned number, struct wmk_result_table *table, uint64_t *unknown)
{
	struct wmk_read_table sums = { .size = sizeof(struct sum) };
	int err = 0;

	*unknown = 0;
	for (uint32_t i = 0; i < span->steps.n && err >= 0; i++) {
		const struct wmk_step *step = &span->steps.steps[i];
		struct sum *sum = wmk_read_table_add(&sums, (uint64_t)(uintptr_t)step->thread, 0);

		if (sum)
			sum->ns[step->state] += (uint64_t)(step->to - step->from);
		else
			err = wmk_error(-ENOMEM, "no memory for the threads of a path");
		*unknown += step->state == WMK_UNKNOWN ? (uint64_t)(step->to - step->from) : 0;
	}
	for (struct sum *sum = NULL; err >= 0 && (sum = wmk_read_table_next(&sums, sum));)
		add_sum(sum, span, number, table);
	wmk_read_table_free(&sums);
	return err;
}

static void add_span(const struct paths *paths, const struct path_span *span, unsigned number, uint64_t unknown,
		     struct wmk_result_table *table)
{
	struct wmk_cell *row = wmk_result_row(table);

	wmk_cell_number(&row[SPAN], number);
	wmk_cell_text(table, &row[SPAN_NAME], paths->open.names.texts[span->is.number]);
	wmk_cell_number(&row[SPAN_NS], (int64_t)wmk_span_ns(&span->is));
	wmk_cell_number(&row[SPAN_FROM], span->is.begin);
	if (span->is.who.tid >= 0) {
		wmk_cell_number(&row[SPAN_PID], span->is.who.pid);
		wmk_cell_number(&row[SPAN_TID], span->is.who.tid);
	}
	wmk_cell_number(&row[SPAN_STEPS], span->steps.n);
	wmk_cell_number(&row[SPAN_UNKNOWN], (int64_t)unknown);
}

static int result(void *state, struct wmk_result *result)
{
	const struct paths *paths = state;
	struct wmk_result_table *spans, *sums, *steps;
	uint64_t unknown, all_unknown = 0;
	int err = 0;

	if (!paths->n_slowest && paths->wanted)
		return wmk_errorx(-ENOENT, "no span '%.80s' ends in the trace (`waymark analyze spans` prints the "
					   "names of spans)", paths->wanted);
	spans = wmk_result_table(result, "spans", "Slowest spans", span_columns, WMK_ARRAY_LEN(span_columns));
	sums = wmk_result_table(result, "threads", "Threads on the paths", sum_columns, WMK_ARRAY_LEN(sum_columns));
	steps = wmk_result_table(result, "steps", "Paths, in the order of time", step_columns,
				 WMK_ARRAY_LEN(step_columns));
	spans->sort = SPAN_NS;
	sums->sort = SUM_NS;
	for (unsigned i = 0; i < paths->n_slowest && err >= 0; i++) {
		add_steps(&paths->slowest[i], i + 1, steps);
		err = add_sums(&paths->slowest[i], i + 1, sums, &unknown);
		add_span(paths, &paths->slowest[i], i + 1, unknown, spans);
		all_unknown += unknown;
	}
	if (all_unknown)
		wmk_result_note(result, "parts of the paths are unknown: records were lost, only the last %u state "
					"changes of all threads are kept, or a thread has no earlier records",
				WMK_HISTORY_STATES);
	return err;
}

#define FOLDED_DEEP 256u                /* waits above a step in a stack; the outermost ones beyond it are left out */

/* The name of a thread with its number. */
static const char *thread_frame(const struct wmk_analyze_thread *thread, char *buf, size_t size)
{
	if (!thread)
		return "unknown thread";
	snprintf(buf, size, "%s %ld", thread->name, (long)thread->tid);
	return buf;
}

static const char *state_frame(unsigned state, unsigned wait, char *buf, size_t size)
{
	snprintf(buf, size, "%s%s%s", states[state], state == WMK_BLOCKED && wait < WMK_WAITS ? ": " : "",
		 state == WMK_BLOCKED && wait < WMK_WAITS ? wmk_wait_names[wait] : "");
	return buf;
}

/* Each waiting thread that encloses the step adds two frames to the stack: the thread and its wait. */
static int add_folded(const struct path_span *span, const char *name, const struct wmk_step *step,
		      struct wmk_read_stacks *stacks)
{
	char texts[2 * FOLDED_DEEP][64];
	const char *frames[2 * FOLDED_DEEP + 1] = { name };
	uint32_t above[FOLDED_DEEP], n = 0, n_frames = 1;

	for (uint32_t i = step->inside; i != UINT32_MAX && n + 1 < FOLDED_DEEP; i = span->steps.steps[i].inside)
		above[n++] = i;
	while (n--) {
		const struct wmk_step *waits = &span->steps.steps[above[n]];

		frames[n_frames] = thread_frame(waits->thread, texts[n_frames - 1], sizeof(*texts));
		n_frames++;
		frames[n_frames] = state_frame(WMK_BLOCKED, waits->wait, texts[n_frames - 1], sizeof(*texts));
		n_frames++;
	}
	frames[n_frames] = thread_frame(step->thread, texts[n_frames - 1], sizeof(*texts));
	n_frames++;
	frames[n_frames] = state_frame(step->state, step->wait, texts[n_frames - 1], sizeof(*texts));
	n_frames++;
	return wmk_read_stacks_add(stacks, frames, n_frames, (uint64_t)(step->to - step->from));
}

int wmk_path_folded(struct wmk_analysis *analysis, FILE *out)
{
	const struct paths *paths = wmk_analysis_state(analysis, 0);
	struct wmk_print_text text = { .text = NULL };
	struct wmk_read_stacks stacks;
	int err = 0;

	wmk_read_stacks_begin(&stacks);
	for (unsigned s = 0; s < paths->n_slowest; s++)
		for (uint32_t i = 0; i < paths->slowest[s].steps.n && err >= 0; i++)
			err = add_folded(&paths->slowest[s], paths->open.names.texts[paths->slowest[s].is.number],
					 &paths->slowest[s].steps.steps[i], &stacks);
	if (err >= 0)
		err = wmk_read_stacks_put(&stacks, &text);
	if (err >= 0)
		fwrite(text.text, 1, text.len, out);
	wmk_print_text_free(&text);
	wmk_read_stacks_free(&stacks);
	return err;
}

static void release(void *state)
{
	struct paths *paths = state;

	wmk_open_spans_free(&paths->open);
	for (unsigned i = 0; i < WMK_PATHS_MAX; i++)
		free(paths->slowest[i].steps.steps);
	wmk_history_free(paths->history);
	free(paths);
}

const struct wmk_analyze_module wmk_analyze_path = {
	.name = "path",
	.summary = "critical paths of the slowest spans: which threads had to finish, step by step",
	.options = "-e '*' --preset=sched",
	.needs = { { WMK_EV(SPAN_BEGIN) | WMK_EV(SPAN_END), false, "that begins or ends a span", NULL },
		   { WMK_EV(SWITCH), false, "sched_switch", NULL },
		   { WMK_EV(WAKING) | WMK_EV(WAKEUP), false, "sched_waking or sched_wakeup", NULL },
		   { WMK_EV(SYSCALL_ENTRY), true, "system calls",
		     "the reasons for waits are unknown, so sleeps are not distinguished from other waits" } },
	.events = WMK_EV(SPAN_BEGIN) | WMK_EV(SPAN_END),
	.has_threads = true,
	.create = create,
	.record = record,
	.lost = lost,
	.result = result,
	.free = release,
};
