/* SPDX-License-Identifier: MIT */
/*
 * derived_states.c - the tables `threads`, `slices` and `wakeups`: states of threads (analyze/threads.h).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/query/derived.h"
#include "base/array.h"
#include "base/error.h"

struct states {
	struct wmk_query_rows rows;    /* first */
	struct wmk_threads *threads;
	int err;
};

static void *states_create(struct wmk_analysis *analysis)
{
	struct states *made = calloc(1, sizeof(*made));

	if (made)
		made->threads = wmk_analysis_threads(analysis);
	else
		wmk_error(-ENOMEM, "no memory for a query");
	return made;
}

static int states_record(void *state, const struct wmk_record *record)
{
	const struct states *states = state;

	(void)record;
	return states->err;
}

static void states_free(void *state)
{
	wmk_query_rows_free(state);
	free(state);
}

/* ── slices: parts of the time in which a thread runs ────────────────────────────────────────────────── */

enum { SLICE_TIME, SLICE_DURATION, SLICE_CPU, SLICE_TID, SLICE_PID, SLICE_NAME, SLICE_THEN };
static const struct wmk_query_derived_column slice_columns[] = {
	[SLICE_TIME] = { "time", WMK_QUERY_OF_INTEGER }, [SLICE_DURATION] = { "duration", WMK_QUERY_OF_INTEGER },
	[SLICE_CPU] = { "cpu", WMK_QUERY_OF_INTEGER },	 [SLICE_TID] = { "tid", WMK_QUERY_OF_INTEGER },
	[SLICE_PID] = { "pid", WMK_QUERY_OF_INTEGER },	 [SLICE_NAME] = { "name", WMK_QUERY_OF_TEXT },
	[SLICE_THEN] = { "then", WMK_QUERY_OF_TEXT },
};
static const char *const state_names[WMK_THREAD_STATES] = { "unknown", "absent", "running", "runnable", "blocked" };

static void add_slice(void *data, struct wmk_analyze_thread *thread, unsigned was, int64_t now)
{
	struct states *states = data;
	struct wmk_query_row *row;

	if (was != WMK_RUNNING)
		return;
	row = wmk_query_rows_add(&states->rows);
	if (!row) {
		states->err = -ENOMEM;
		return;
	}
	wmk_query_row_times(&states->rows, row, SLICE_TIME, thread->since, now);
	if (thread->cpu >= 0)
		row->values[SLICE_CPU] = wmk_query_integer(thread->cpu);
	row->values[SLICE_TID] = wmk_query_integer(thread->tid);
	if (thread->pid)
		row->values[SLICE_PID] = wmk_query_integer(thread->pid);
	wmk_query_row_text(row, SLICE_NAME, 0, thread->name, strlen(thread->name));
	row->values[SLICE_THEN] = wmk_query_lasting(state_names[thread->state]);
}

static int changes_create(struct wmk_analysis *analysis, void **state,
			  void (*changed)(void *data, struct wmk_analyze_thread *thread, unsigned was, int64_t now))
{
	struct states *states = states_create(analysis);

	*state = states;
	if (!states)
		return -ENOMEM;
	states->threads->changed = changed;
	states->threads->data = states;
	return 0;
}

static int slices_create(struct wmk_analysis *analysis, void **state)
{
	return changes_create(analysis, state, add_slice);
}

static int changes_result(void *state, struct wmk_result *result)
{
	(void)result;
	return ((struct states *)state)->err;
}

#define NEEDS_SWITCH { { WMK_EV(SWITCH), false, "sched_switch", NULL } }

static const struct wmk_analyze_module slices_module = {
	.name = "slices",
	.options = "-k 'sched_*'",
	.needs = NEEDS_SWITCH,
	.events = WMK_EV(SWITCH),
	.has_threads = true,
	.create = slices_create,
	.record = states_record,
	.result = changes_result,
	.free = states_free,
};

const struct wmk_query_derived wmk_query_slices = {
	.name = "slices",
	.columns = slice_columns,
	.n_columns = WMK_ARRAY_LEN(slice_columns),
	.module = &slices_module,
};

/* ── wakeups: from the begin of a wake-up until the thread runs ──────────────────────────────────────── */

enum { WAKE_TIME, WAKE_DURATION, WAKE_CPU, WAKE_TID, WAKE_PID, WAKE_NAME, WAKE_WAKER, WAKE_WAKER_NAME };
static const struct wmk_query_derived_column wakeup_columns[] = {
	[WAKE_TIME] = { "time", WMK_QUERY_OF_INTEGER },	  [WAKE_DURATION] = { "duration", WMK_QUERY_OF_INTEGER },
	[WAKE_CPU] = { "cpu", WMK_QUERY_OF_INTEGER },	  [WAKE_TID] = { "tid", WMK_QUERY_OF_INTEGER },
	[WAKE_PID] = { "pid", WMK_QUERY_OF_INTEGER },	  [WAKE_NAME] = { "name", WMK_QUERY_OF_TEXT },
	[WAKE_WAKER] = { "waker_tid", WMK_QUERY_OF_INTEGER }, [WAKE_WAKER_NAME] = { "waker", WMK_QUERY_OF_TEXT },
};

static void add_wakeup(void *data, struct wmk_analyze_thread *thread, unsigned was, int64_t now)
{
	struct states *states = data;
	const struct wmk_analyze_thread *waker;
	struct wmk_query_row *row;

	if (!wmk_threads_has_latency(thread, was))
		return;
	row = wmk_query_rows_add(&states->rows);
	if (!row) {
		states->err = -ENOMEM;
		return;
	}
	wmk_query_row_times(&states->rows, row, WAKE_TIME, thread->woken, now > thread->woken ? now : thread->woken);
	row->values[WAKE_CPU] = wmk_query_integer(thread->cpu);
	row->values[WAKE_TID] = wmk_query_integer(thread->tid);
	if (thread->pid)
		row->values[WAKE_PID] = wmk_query_integer(thread->pid);
	wmk_query_row_text(row, WAKE_NAME, 0, thread->name, strlen(thread->name));
	if (thread->waker < 0)
		return;
	row->values[WAKE_WAKER] = wmk_query_integer(thread->waker);
	waker = wmk_threads_find(states->threads, thread->waker);
	if (waker)
		wmk_query_row_text(row, WAKE_WAKER_NAME, 1, waker->name, strlen(waker->name));
}

static int wakeups_create(struct wmk_analysis *analysis, void **state)
{
	return changes_create(analysis, state, add_wakeup);
}

static const struct wmk_analyze_module wakeups_module = {
	.name = "wakeups",
	.options = "--preset=sched",
	.needs = { { WMK_EV(WAKEUP) | WMK_EV(WAKING), false, "sched_wakeup or sched_waking", NULL },
		   { WMK_EV(SWITCH), false, "sched_switch", NULL } },
	.events = WMK_EV(SWITCH),
	.has_threads = true,
	.create = wakeups_create,
	.record = states_record,
	.result = changes_result,
	.free = states_free,
};

const struct wmk_query_derived wmk_query_wakeups = {
	.name = "wakeups",
	.columns = wakeup_columns,
	.n_columns = WMK_ARRAY_LEN(wakeup_columns),
	.module = &wakeups_module,
};

/* ── threads: the sums of each thread ────────────────────────────────────────────────────────────────── */

enum { TID, PID, NAME, RUNNING, RUNNABLE, BLOCKED, UNKNOWN, ABSENT, SWITCHES, MIGRATIONS, WAKEUPS, WAITS };
static const struct wmk_query_derived_column thread_columns[WAITS + WMK_WAITS] = {
	[TID] = { "tid", WMK_QUERY_OF_INTEGER },
	[PID] = { "pid", WMK_QUERY_OF_INTEGER },
	[NAME] = { "name", WMK_QUERY_OF_TEXT },
	[RUNNING] = { "running", WMK_QUERY_OF_INTEGER },
	[RUNNABLE] = { "runnable", WMK_QUERY_OF_INTEGER },
	[BLOCKED] = { "blocked", WMK_QUERY_OF_INTEGER },
	[UNKNOWN] = { "unknown", WMK_QUERY_OF_INTEGER },
	[ABSENT] = { "absent", WMK_QUERY_OF_INTEGER },
	[SWITCHES] = { "switches", WMK_QUERY_OF_INTEGER },
	[MIGRATIONS] = { "migrations", WMK_QUERY_OF_INTEGER },
	[WAKEUPS] = { "wakeups", WMK_QUERY_OF_INTEGER },
	[WAITS + WMK_WAIT_FUTEX] = { "futex", WMK_QUERY_OF_INTEGER },
	[WAITS + WMK_WAIT_SLEEP] = { "sleep", WMK_QUERY_OF_INTEGER },
	[WAITS + WMK_WAIT_POLL] = { "poll", WMK_QUERY_OF_INTEGER },
	[WAITS + WMK_WAIT_NETWORK] = { "network", WMK_QUERY_OF_INTEGER },
	[WAITS + WMK_WAIT_DISK] = { "disk", WMK_QUERY_OF_INTEGER },
	[WAITS + WMK_WAIT_READ] = { "read_write", WMK_QUERY_OF_INTEGER },
	[WAITS + WMK_WAIT_CHILD] = { "child", WMK_QUERY_OF_INTEGER },
	[WAITS + WMK_WAIT_SYSCALL] = { "other_syscall", WMK_QUERY_OF_INTEGER },
	[WAITS + WMK_WAIT_UNINTERRUPTIBLE] = { "uninterruptible", WMK_QUERY_OF_INTEGER },
	[WAITS + WMK_WAIT_INTERRUPTIBLE] = { "interruptible", WMK_QUERY_OF_INTEGER },
	[WAITS + WMK_WAIT_STOPPED] = { "stopped", WMK_QUERY_OF_INTEGER },
};

static int threads_create(struct wmk_analysis *analysis, void **state)
{
	*state = states_create(analysis);
	return *state ? 0 : -ENOMEM;
}

static int threads_result(void *state, struct wmk_result *result)
{
	struct states *states = state;

	(void)result;
	for (struct wmk_analyze_thread *thread = states->threads->first; thread; thread = thread->next) {
		struct wmk_query_row *row = wmk_query_rows_add(&states->rows);

		if (!row)
			return -ENOMEM;
		row->values[TID] = wmk_query_integer(thread->tid);
		if (thread->pid)
			row->values[PID] = wmk_query_integer(thread->pid);
		wmk_query_row_text(row, NAME, 0, thread->name, strlen(thread->name));
		row->values[RUNNING] = wmk_query_integer((int64_t)thread->ns[WMK_RUNNING]);
		row->values[RUNNABLE] = wmk_query_integer((int64_t)thread->ns[WMK_RUNNABLE]);
		row->values[BLOCKED] = wmk_query_integer((int64_t)thread->ns[WMK_BLOCKED]);
		row->values[UNKNOWN] = wmk_query_integer((int64_t)(thread->ns[WMK_UNKNOWN] +
								   thread->ns[WMK_ABSENT]));
		row->values[ABSENT] = wmk_query_integer((int64_t)thread->ns[WMK_ABSENT]);
		row->values[SWITCHES] = wmk_query_integer((int64_t)thread->switches);
		row->values[MIGRATIONS] = wmk_query_integer((int64_t)thread->migrations);
		row->values[WAKEUPS] = wmk_query_integer((int64_t)thread->wakeups);
		for (unsigned i = 0; i < WMK_WAITS; i++)
			row->values[WAITS + i] = wmk_query_integer((int64_t)thread->waits[i]);
	}
	return 0;
}

static const struct wmk_analyze_module threads_module = {
	.name = "threads",
	.options = "-k 'sched_*' -k 'syscall:*'",
	.needs = NEEDS_SWITCH,
	.events = WMK_EV(SWITCH),
	.has_threads = true,
	.create = threads_create,
	.record = states_record,
	.result = threads_result,
	.free = states_free,
};

const struct wmk_query_derived wmk_query_threads = {
	.name = "threads",
	.columns = thread_columns,
	.n_columns = WMK_ARRAY_LEN(thread_columns),
	.module = &threads_module,
};
