/* SPDX-License-Identifier: MIT */
/*
 * locks.c - the analysis `locks` (see locks.h).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/locks.h"
#include "analyze/stats.h"
#include "base/array.h"
#include "base/error.h"

/* The operation bits of a futex(2) call, without the flags for private futexes and for the clock. */
#define OP_MASK 0x7f
#define WAITS_OPS (1u << 0 | 1u << 6 | 1u << 9 | 1u << 11 | 1u << 13)  /* WAIT, LOCK_PI, WAIT_BITSET, ... */
#define WAKES_OPS (1u << 1 | 1u << 3 | 1u << 4 | 1u << 5 | 1u << 7 | 1u << 10 | 1u << 12)
#define PI_OPS (1u << 6 | 1u << 7 | 1u << 8 | 1u << 11 | 1u << 12 | 1u << 13)
#define ERROR_TIMEDOUT (-110)
#define ERROR_AGAIN (-11)

/* A thread in futex(). */
struct waiting {
	bool is_waiting;
	uint64_t epoch;
	int64_t since, pid;
	uint64_t address;
};

struct futex {
	struct wmk_read_slot slot;     /* process, address */
	struct wmk_histogram ns;
	uint64_t timeouts, n_again;    /* n_again: the value of the futex had changed, so the thread did not wait */
	uint64_t wakes;
	uint32_t waiters, most_waiters;
	int64_t waker;                 /* thread of the latest wake; -1: unknown */
	bool is_pi;
};

struct locks {
	struct wmk_threads *threads;
	unsigned slot;                 /* of wmk_analyze_thread.data: struct waiting */
	struct wmk_read_table futexes;
	const struct wmk_read_symbolizer *symbolizer; /* NULL: no symbols */
};

enum { PID, NAME, ADDRESS, COUNT, TIMEOUTS, AGAIN, MOST, TOTAL, WAKES = TOTAL + WMK_DURATION_CELLS, WAKER, WAKER_NAME };
static const struct wmk_column columns[] = {
	{ "pid", "process", WMK_COLUMN_ID, true },
	{ "process", "name", WMK_COLUMN_TEXT, true },
	{ "address", "futex", WMK_COLUMN_TEXT, false },
	{ "waits", "waits", WMK_COLUMN_COUNT, false },
	{ "timeouts", "timeouts", WMK_COLUMN_COUNT, false },
	{ "not_waited", NULL, WMK_COLUMN_COUNT, false },
	{ "most_waiters", "waiters", WMK_COLUMN_COUNT, false },
	WMK_COLUMNS_DURATIONS,
	{ "wakes", "wakes", WMK_COLUMN_COUNT, false },
	{ "last_waker_tid", "last waker", WMK_COLUMN_ID, false },
	{ "last_waker_name", "name", WMK_COLUMN_TEXT, false },
};

static int create(struct wmk_analysis *analysis, void **state)
{
	struct locks *locks = calloc(1, sizeof(*locks));

	*state = locks;
	if (!locks)
		return wmk_error(-ENOMEM, "no memory for an analysis");
	locks->threads = wmk_analysis_threads(analysis);
	locks->slot = wmk_threads_slot(locks->threads);
	locks->futexes.size = sizeof(struct futex);
	return 0;
}

void wmk_locks_symbols(struct wmk_analysis *analysis, const struct wmk_read_symbolizer *symbolizer)
{
	struct locks *locks = wmk_analysis_state(analysis, 0);

	locks->symbolizer = symbolizer;
}

/* NULL: no memory. */
static struct futex *futex_of(struct locks *locks, int64_t pid, uint64_t address)
{
	const size_t before = locks->futexes.n;
	struct futex *futex = wmk_read_table_add(&locks->futexes, (uint64_t)pid, address);

	if (!futex)
		wmk_error(-ENOMEM, "no memory for %zu futexes", locks->futexes.n);
	else if (locks->futexes.n > before)
		futex->waker = -1;
	return futex;
}

static int enter(struct locks *locks, struct wmk_analyze_thread *thread, const struct wmk_record *record)
{
	const uint32_t op = UINT32_C(1) << (record->values[WMK_ENTRY_OP].number & OP_MASK & 31);
	const uint64_t address = (uint64_t)record->values[WMK_ENTRY_UADDR].number;
	struct waiting *waiting = wmk_threads_data(thread, locks->slot, sizeof(*waiting));
	struct futex *futex = futex_of(locks, wmk_threads_process(thread), address);

	if (!waiting || !futex)
		return -ENOMEM;
	futex->is_pi |= (op & PI_OPS) != 0;
	if (op & WAKES_OPS) {
		futex->wakes++;
		futex->waker = thread->tid;
	}
	waiting->is_waiting = (op & WAITS_OPS) != 0;
	if (!waiting->is_waiting)
		return 0;
	waiting->since = record->ns;
	waiting->epoch = locks->threads->epoch;
	waiting->pid = wmk_threads_process(thread);
	waiting->address = address;
	futex->waiters++;
	futex->most_waiters = futex->waiters > futex->most_waiters ? futex->waiters : futex->most_waiters;
	return 0;
}

static int leave(struct locks *locks, const struct wmk_analyze_thread *thread, const struct wmk_record *record)
{
	struct waiting *waiting = thread->data[locks->slot];
	const int64_t ret = record->values[WMK_EXIT_RET].number;
	struct futex *futex;

	if (!waiting || !waiting->is_waiting)
		return 0;
	waiting->is_waiting = false;
	futex = futex_of(locks, waiting->pid, waiting->address);
	if (!futex)
		return -ENOMEM;
	futex->waiters -= futex->waiters > 0;
	if (waiting->epoch != locks->threads->epoch)
		return 0;
	futex->timeouts += ret == ERROR_TIMEDOUT;
	if (ret == ERROR_AGAIN) {
		futex->n_again++;
		return 0;
	}
	return wmk_histogram_add(&futex->ns, (uint64_t)(record->ns - waiting->since));
}

static int record(void *state, const struct wmk_record *record)
{
	struct locks *locks = state;
	struct wmk_analyze_thread *thread = wmk_threads_of(locks->threads, record);

	if (!thread || strcmp(record->class->what, "futex") != 0)
		return 0;
	return record->event == WMK_EV_SYSCALL_ENTRY ? enter(locks, thread, record) : leave(locks, thread, record);
}

/* ── result ──────────────────────────────────────────────────────────────────────────────────────────── */

static void put_address(const struct locks *locks, const struct futex *futex, int64_t ns, char *buf, size_t size)
{
	const int len = snprintf(buf, size, "0x%lx%s", (unsigned long)futex->slot.b, futex->is_pi ? " (PI)" : "");
	struct wmk_read_frame frames[WMK_READ_FRAMES_MAX];
	const unsigned n = locks->symbolizer ? locks->symbolizer->find(locks->symbolizer->data,
								       (int64_t)futex->slot.a, ns, futex->slot.b,
								       frames, WMK_READ_FRAMES_MAX)
					     : 0;

	if (n) {
		buf[len] = ' ';
		wmk_read_frame_text(&frames[n - 1], buf + len + 1, size - (size_t)len - 1);
	}
}

static int result(void *state, struct wmk_result *result)
{
	const struct locks *locks = state;
	struct wmk_result_table *table =
		wmk_result_table(result, "futexes", "Futexes", columns, WMK_ARRAY_LEN(columns));

	table->sort = TOTAL;
	for (struct futex *futex = NULL; (futex = wmk_read_table_next(&locks->futexes, futex));) {
		const struct wmk_analyze_thread *thread = wmk_threads_find(locks->threads, (int64_t)futex->slot.a),
						*waker = wmk_threads_find(locks->threads, futex->waker);
		struct wmk_cell *row = wmk_result_row(table);
		char text[512];

		put_address(locks, futex, result->end, text, sizeof(text));
		wmk_cell_number(&row[PID], (int64_t)futex->slot.a);
		wmk_cell_text(table, &row[NAME], thread ? thread->name : "");
		wmk_cell_text(table, &row[ADDRESS], text);
		wmk_cell_number(&row[COUNT], (int64_t)futex->ns.n);
		wmk_cell_number(&row[TIMEOUTS], (int64_t)futex->timeouts);
		wmk_cell_number(&row[AGAIN], (int64_t)futex->n_again);
		wmk_cell_number(&row[MOST], futex->most_waiters);
		wmk_cell_durations(&row[TOTAL], &futex->ns);
		wmk_cell_number(&row[WAKES], (int64_t)futex->wakes);
		if (futex->waker >= 0)
			wmk_cell_number(&row[WAKER], futex->waker);
		if (waker)
			wmk_cell_text(table, &row[WAKER_NAME], waker->name);
	}
	return 0;
}

static void release(void *state)
{
	struct locks *locks = state;

	for (struct futex *futex = NULL; (futex = wmk_read_table_next(&locks->futexes, futex));)
		wmk_histogram_free(&futex->ns);
	wmk_read_table_free(&locks->futexes);
	free(locks);
}

const struct wmk_analyze_module wmk_analyze_locks = {
	.name = "locks",
	.summary = "futexes that threads wait for: process, address, waits, time, last waker",
	.options = "--preset=sched",
	.needs = { { WMK_EV(SYSCALL_ENTRY), false, "syscall_entry_futex", NULL } },
	.events = WMK_EV(SYSCALL_ENTRY) | WMK_EV(SYSCALL_EXIT),
	.has_threads = true,
	.create = create,
	.record = record,
	.result = result,
	.free = release,
};
