/* SPDX-License-Identifier: MIT */
/*
 * sched.c - the analysis `sched` (see sched.h).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyze/sched.h"
#include "base/array.h"
#include "base/error.h"

#define PAIRS_MAX 65536u               /* of waker and woken thread */

struct pair {
	struct wmk_read_slot slot;     /* waker, woken */
	struct wmk_histogram latency;
};

struct sched {
	struct wmk_threads *threads;
	unsigned slot;                 /* of wmk_analyze_thread.data: the latencies, a struct wmk_histogram */
	struct wmk_read_table pairs;
	struct wmk_histogram latency;  /* of all threads */
	uint64_t n_other;              /* number of wake-ups of pairs beyond PAIRS_MAX */
	int err;
};

enum {
	TID, PID, NAME, RUNNING, LOAD, RUNNABLE, BLOCKED, WAITS, TOP = WAITS + WMK_WAITS, UNKNOWN, ABSENT, SWITCHES,
	MIGRATIONS, WAKEUPS, MEDIAN, COLUMNS = MEDIAN + 4
};
static const struct wmk_column columns[COLUMNS] = {
	[TID] = { "tid", "thread", WMK_COLUMN_ID, true },
	[PID] = { "pid", "process", WMK_COLUMN_ID, true },
	[NAME] = { "name", "name", WMK_COLUMN_TEXT, true },
	[RUNNING] = { "running_ns", "running", WMK_COLUMN_NS, false },
	[LOAD] = { "running_percent", "CPU", WMK_COLUMN_PERCENT, false },
	[RUNNABLE] = { "runnable_ns", "runnable", WMK_COLUMN_NS, false },
	[BLOCKED] = { "blocked_ns", "blocked", WMK_COLUMN_NS, false },
	[WAITS + WMK_WAIT_FUTEX] = { "futex_ns", NULL, WMK_COLUMN_NS, false },
	[WAITS + WMK_WAIT_SLEEP] = { "sleep_ns", NULL, WMK_COLUMN_NS, false },
	[WAITS + WMK_WAIT_POLL] = { "poll_ns", NULL, WMK_COLUMN_NS, false },
	[WAITS + WMK_WAIT_NETWORK] = { "network_ns", NULL, WMK_COLUMN_NS, false },
	[WAITS + WMK_WAIT_DISK] = { "disk_ns", NULL, WMK_COLUMN_NS, false },
	[WAITS + WMK_WAIT_READ] = { "read_write_ns", NULL, WMK_COLUMN_NS, false },
	[WAITS + WMK_WAIT_CHILD] = { "child_ns", NULL, WMK_COLUMN_NS, false },
	[WAITS + WMK_WAIT_SYSCALL] = { "other_syscall_ns", NULL, WMK_COLUMN_NS, false },
	[WAITS + WMK_WAIT_UNINTERRUPTIBLE] = { "uninterruptible_ns", NULL, WMK_COLUMN_NS, false },
	[WAITS + WMK_WAIT_INTERRUPTIBLE] = { "interruptible_ns", NULL, WMK_COLUMN_NS, false },
	[WAITS + WMK_WAIT_STOPPED] = { "stopped_ns", NULL, WMK_COLUMN_NS, false },
	[TOP] = { "blocked_mostly_on", "mostly on", WMK_COLUMN_TEXT, false },
	[UNKNOWN] = { "unknown_ns", "unknown", WMK_COLUMN_NS, false },
	[ABSENT] = { "absent_ns", NULL, WMK_COLUMN_NS, false },
	[SWITCHES] = { "switches", "switches", WMK_COLUMN_COUNT, false },
	[MIGRATIONS] = { "migrations", "migr.", WMK_COLUMN_COUNT, false },
	[WAKEUPS] = { "wakeups", "wake-ups", WMK_COLUMN_COUNT, false },
	[MEDIAN] = WMK_COLUMNS_QUANTILES("latency_", "latency"),
};

enum { CPU, BUSY, CPU_LOAD, IDLE, CPU_UNKNOWN, CPU_SWITCHES, CPU_COLUMNS };
static const struct wmk_column cpu_columns[CPU_COLUMNS] = {
	[CPU] = { "cpu", "CPU", WMK_COLUMN_ID, true },
	[BUSY] = { "busy_ns", "busy", WMK_COLUMN_NS, false },
	[CPU_LOAD] = { "busy_percent", "use", WMK_COLUMN_PERCENT, false },
	[IDLE] = { "idle_ns", "idle", WMK_COLUMN_NS, false },
	[CPU_UNKNOWN] = { "unknown_ns", "unknown", WMK_COLUMN_NS, false },
	[CPU_SWITCHES] = { "switches", "switches", WMK_COLUMN_COUNT, false },
};

enum { WAKER, WAKER_NAME, WOKEN, WOKEN_NAME, PAIR_N, PAIR_MEDIAN, PAIR_COLUMNS = PAIR_MEDIAN + 4 };
static const struct wmk_column pair_columns[PAIR_COLUMNS] = {
	[WAKER] = { "waker_tid", "waker", WMK_COLUMN_ID, true },
	[WAKER_NAME] = { "waker_name", "name", WMK_COLUMN_TEXT, true },
	[WOKEN] = { "woken_tid", "woken", WMK_COLUMN_ID, true },
	[WOKEN_NAME] = { "woken_name", "name", WMK_COLUMN_TEXT, true },
	[PAIR_N] = { "wakeups", "wake-ups", WMK_COLUMN_COUNT, false },
	[PAIR_MEDIAN] = WMK_COLUMNS_QUANTILES("latency_", "latency"),
};

/* ── records ─────────────────────────────────────────────────────────────────────────────────────────── */

static int count_pair(struct sched *sched, const struct wmk_analyze_thread *thread, uint64_t ns)
{
	struct pair *pair = wmk_read_table_find(&sched->pairs, (uint64_t)thread->waker, (uint64_t)thread->tid);

	if (!pair && sched->pairs.n >= PAIRS_MAX) {
		sched->n_other++;
		return 0;
	}
	if (!pair)
		pair = wmk_read_table_add(&sched->pairs, (uint64_t)thread->waker, (uint64_t)thread->tid);
	return pair ? wmk_histogram_add(&pair->latency, ns) : wmk_error(-ENOMEM, "no memory for wake-ups");
}

/* If a woken thread begins to run, add its wake-up latency: the time from the start of the wake-up to `now`. */
static void changed(void *data, struct wmk_analyze_thread *thread, unsigned was, int64_t now)
{
	struct sched *sched = data;
	struct wmk_histogram *latency;
	int err;

	if (!wmk_threads_has_latency(thread, was))
		return;
	latency = wmk_threads_data(thread, sched->slot, sizeof(*latency));
	const uint64_t ns = now > thread->woken ? (uint64_t)(now - thread->woken) : 0;

	err = latency ? wmk_histogram_add(latency, ns) : -ENOMEM;
	if (err >= 0)
		err = wmk_histogram_add(&sched->latency, ns);
	if (err >= 0 && thread->waker >= 0)
		err = count_pair(sched, thread, ns);
	sched->err = err < 0 ? err : sched->err;
}

static int create(struct wmk_analysis *analysis, void **state)
{
	struct sched *sched = calloc(1, sizeof(*sched));

	*state = sched;
	if (!sched)
		return wmk_error(-ENOMEM, "no memory for an analysis");
	sched->threads = wmk_analysis_threads(analysis);
	sched->slot = wmk_threads_slot(sched->threads);
	sched->pairs.size = sizeof(struct pair);
	sched->threads->changed = changed;
	sched->threads->data = sched;
	return 0;
}

static int record(void *state, const struct wmk_record *record)
{
	const struct sched *sched = state;

	(void)record;
	return sched->err;
}

/* ── result ──────────────────────────────────────────────────────────────────────────────────────────── */

static void set_percent(struct wmk_cell *cell, uint64_t part, int64_t whole)
{
	if (whole > 0)
		wmk_cell_real(cell, 100.0 * (double)part / (double)whole);
}

static void set_waits(struct wmk_result_table *table, struct wmk_cell *row, const struct wmk_analyze_thread *thread)
{
	unsigned most = 0;

	for (unsigned i = 0; i < WMK_WAITS; i++) {
		wmk_cell_number(&row[WAITS + i], (int64_t)thread->waits[i]);
		most = thread->waits[i] > thread->waits[most] ? i : most;
	}
	if (thread->waits[most])
		wmk_cell_text(table, &row[TOP], wmk_wait_names[most]);
}

static void add_thread(const struct sched *sched, struct wmk_result_table *table,
		       const struct wmk_analyze_thread *thread, int64_t length)
{
	struct wmk_cell *row = wmk_result_row(table);

	wmk_cell_number(&row[TID], thread->tid);
	if (thread->pid)
		wmk_cell_number(&row[PID], thread->pid);
	wmk_cell_text(table, &row[NAME], thread->name);
	wmk_cell_number(&row[RUNNING], (int64_t)thread->ns[WMK_RUNNING]);
	set_percent(&row[LOAD], thread->ns[WMK_RUNNING], length);
	wmk_cell_number(&row[RUNNABLE], (int64_t)thread->ns[WMK_RUNNABLE]);
	wmk_cell_number(&row[BLOCKED], (int64_t)thread->ns[WMK_BLOCKED]);
	set_waits(table, row, thread);
	wmk_cell_number(&row[UNKNOWN], (int64_t)(thread->ns[WMK_UNKNOWN] + thread->ns[WMK_ABSENT]));
	wmk_cell_number(&row[ABSENT], (int64_t)thread->ns[WMK_ABSENT]);
	wmk_cell_number(&row[SWITCHES], (int64_t)thread->switches);
	wmk_cell_number(&row[MIGRATIONS], (int64_t)thread->migrations);
	wmk_cell_number(&row[WAKEUPS], (int64_t)thread->wakeups);
	if (thread->data[sched->slot])
		wmk_cell_quantiles(&row[MEDIAN], thread->data[sched->slot]);
}

static void add_cpus(const struct wmk_threads *threads, struct wmk_result *result)
{
	struct wmk_result_table *table = wmk_result_table(result, "cpus", "CPUs", cpu_columns, CPU_COLUMNS);

	for (uint32_t i = 0; i < threads->n_cpus; i++) {
		const struct wmk_analyze_cpu *cpu = &threads->cpus[i];
		struct wmk_cell *row;

		if (!cpu->switches)
			continue;
		row = wmk_result_row(table);
		wmk_cell_number(&row[CPU], i);
		wmk_cell_number(&row[BUSY], (int64_t)cpu->busy);
		set_percent(&row[CPU_LOAD], cpu->busy, result->end - result->begin);
		wmk_cell_number(&row[IDLE], (int64_t)cpu->idle);
		wmk_cell_number(&row[CPU_UNKNOWN], (int64_t)cpu->unknown);
		wmk_cell_number(&row[CPU_SWITCHES], (int64_t)cpu->switches);
	}
}

static void set_thread(const struct sched *sched, struct wmk_result_table *table, struct wmk_cell *cells, int64_t tid)
{
	const struct wmk_analyze_thread *thread = wmk_threads_find(sched->threads, tid);

	wmk_cell_number(&cells[0], tid);
	wmk_cell_text(table, &cells[1], thread ? thread->name : "");
}

static void add_pairs(const struct sched *sched, struct wmk_result *result)
{
	struct wmk_result_table *table =
		wmk_result_table(result, "wakers", "Wake-ups, by waker and woken thread", pair_columns, PAIR_COLUMNS);

	table->sort = PAIR_N;
	for (const struct pair *pair = NULL; (pair = wmk_read_table_next(&sched->pairs, pair));) {
		struct wmk_cell *row = wmk_result_row(table);

		set_thread(sched, table, &row[WAKER], (int64_t)pair->slot.a);
		set_thread(sched, table, &row[WOKEN], (int64_t)pair->slot.b);
		wmk_cell_number(&row[PAIR_N], (int64_t)pair->latency.n);
		wmk_cell_quantiles(&row[PAIR_MEDIAN], &pair->latency);
	}
	if (sched->n_other)
		wmk_result_note(result, "%u pairs of threads are listed; %lu wake-ups of other pairs are not listed",
				PAIRS_MAX, (unsigned long)sched->n_other);
}

static int result(void *state, struct wmk_result *result)
{
	const struct sched *sched = state;
	struct wmk_result_table *table = wmk_result_table(result, "threads", "Threads", columns, COLUMNS);
	const struct wmk_analyze_thread *thread = sched->threads->first;

	table->sort = RUNNING;
	for (; thread; thread = thread->next)
		add_thread(sched, table, thread, result->end - result->begin);
	add_cpus(sched->threads, result);
	add_pairs(sched, result);
	return sched->err;
}

static void clear(void *state)
{
	struct sched *sched = state;

	for (struct wmk_analyze_thread *thread = sched->threads->first; thread; thread = thread->next)
		if (thread->data[sched->slot])
			wmk_histogram_free(thread->data[sched->slot]);
	for (struct pair *pair = NULL; (pair = wmk_read_table_next(&sched->pairs, pair));)
		wmk_histogram_free(&pair->latency);
	wmk_read_table_free(&sched->pairs);
	sched->pairs = (struct wmk_read_table){ .size = sizeof(struct pair) };
	wmk_histogram_free(&sched->latency);
	sched->n_other = 0;
}

static void release(void *state)
{
	struct sched *sched = state;

	clear(sched);
	free(sched);
}

const struct wmk_analyze_module wmk_analyze_sched = {
	.name = "sched",
	.summary = "threads (running, runnable, blocked and on what, wake-up latency, migrations), CPUs, wake-ups",
	.options = "--preset=sched",
	.needs = { { WMK_EV(SWITCH), false, "sched_switch", NULL },
		   { WMK_EV(WAKEUP) | WMK_EV(WAKING), false, "sched_wakeup or sched_waking", NULL },
		   { WMK_EV(SYSCALL_ENTRY), true, "system calls",
		     "the reasons why threads are blocked are unknown: the trace has no system calls" } },
	.events = WMK_EV(SWITCH),
	.has_threads = true,
	.create = create,
	.record = record,
	.result = result,
	.clear = clear,
	.free = release,
};
