/* SPDX-License-Identifier: MIT */
/*
 * derived_syscalls.c - the table `syscalls`: a row for each system call, from its entry and its exit.
 *
 * The row of an entry without an exit has no duration. The row of an exit without an entry has no time and no duration.
 * An entry before a loss of system calls is not matched with an exit after the loss.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/query/derived.h"
#include "base/array.h"
#include "base/error.h"

struct calls {
	struct wmk_query_rows rows;    /* first */
	struct wmk_threads *threads;
};

enum { TIME, DURATION, CPU, TID, PID, PROCESS, NAME, FD, RET, ERROR };
static const struct wmk_query_derived_column columns[] = {
	[TIME] = { "time", WMK_QUERY_OF_INTEGER }, [DURATION] = { "duration", WMK_QUERY_OF_INTEGER },
	[CPU] = { "cpu", WMK_QUERY_OF_INTEGER },   [TID] = { "tid", WMK_QUERY_OF_INTEGER },
	[PID] = { "pid", WMK_QUERY_OF_INTEGER },   [PROCESS] = { "process", WMK_QUERY_OF_TEXT },
	[NAME] = { "name", WMK_QUERY_OF_TEXT },	   [FD] = { "fd", WMK_QUERY_OF_INTEGER },
	[RET] = { "ret", WMK_QUERY_OF_INTEGER },   [ERROR] = { "error", WMK_QUERY_OF_TEXT },
};

static int create(struct wmk_analysis *analysis, void **state)
{
	struct calls *made = calloc(1, sizeof(*made));

	*state = made;
	if (!made)
		return wmk_error(-ENOMEM, "no memory for a query");
	made->threads = wmk_analysis_threads(analysis);
	return 0;
}

/* Add a row with the values that an entry and an exit have in common. */
static struct wmk_query_row *add_row(struct calls *calls, const struct wmk_analyze_thread *thread,
				     const struct wmk_class *class)
{
	struct wmk_query_row *row = wmk_query_rows_add(&calls->rows);

	if (!row)
		return NULL;
	if (thread) {
		row->values[TID] = wmk_query_integer(thread->tid);
		if (thread->pid)
			row->values[PID] = wmk_query_integer(thread->pid);
		wmk_query_row_text(row, PROCESS, 0, thread->name, strlen(thread->name));
	}
	wmk_query_row_lasting(row, NAME, 1, class->what, class->what_len);
	return row;
}

/* Set the columns that get their values from the entry record. `to` is the time of the exit record. */
static void set_entry(const struct calls *calls, struct wmk_query_row *row,
		      const struct wmk_analyze_call *entered, int64_t to)
{
	wmk_query_row_times(&calls->rows, row, TIME, entered->since, to);
	if (entered->cpu != WMK_READ_NOWHERE)
		row->values[CPU] = wmk_query_integer(entered->cpu);
	if (entered->fd >= 0)
		row->values[FD] = wmk_query_integer(entered->fd);
}

/* Add the row of a system call without a known exit. */
static int add_unfinished(struct calls *calls, const struct wmk_analyze_thread *thread,
			  const struct wmk_analyze_call *entered)
{
	struct wmk_query_row *row;

	if (!entered->class)
		return 0;
	row = add_row(calls, thread, entered->class);
	if (!row)
		return -ENOMEM;
	set_entry(calls, row, entered, entered->since);
	row->values[DURATION].kind = WMK_QUERY_NULL;
	return 0;
}

static int leave(struct calls *calls, const struct wmk_analyze_thread *thread, const struct wmk_record *record)
{
	const struct wmk_field_value *ret = &record->values[WMK_EXIT_RET];
	const bool is_matched = thread && wmk_threads_is_paired(calls->threads, thread, record);
	struct wmk_query_row *row;
	int err = thread && !is_matched ? add_unfinished(calls, thread, &thread->left) : 0;

	row = err < 0 ? NULL : add_row(calls, thread, record->class);
	if (!row)
		return -ENOMEM;
	if (is_matched)
		set_entry(calls, row, &thread->left, record->ns);
	if (ret->has) {
		const bool is_error = ret->number < 0 && ret->number >= -4095;
		const char *error = is_error ? strerrorname_np((int)-ret->number) : NULL;

		row->values[RET] = wmk_query_integer(ret->number);
		row->values[ERROR] = wmk_query_lasting(error);
	}
	return 0;
}

static int record(void *state, const struct wmk_record *record)
{
	struct calls *calls = state;
	struct wmk_analyze_thread *thread = wmk_threads_of(calls->threads, record);

	if (record->event == WMK_EV_SYSCALL_EXIT)
		return leave(calls, thread, record);
	return thread ? add_unfinished(calls, thread, &thread->left) : 0;
}

static int result(void *state, struct wmk_result *result)
{
	struct calls *calls = state;
	int err = 0;

	(void)result;
	for (struct wmk_analyze_thread *thread = calls->threads->first; thread && err >= 0; thread = thread->next)
		err = add_unfinished(calls, thread, &thread->call);
	return err;
}

static void release(void *state)
{
	struct calls *calls = state;

	wmk_query_rows_free(&calls->rows);
	free(calls);
}

static const struct wmk_analyze_module module = {
	.name = "syscalls",
	.options = "-k 'syscall:*'",
	.needs = { { WMK_EV(SYSCALL_EXIT), false, "of system calls", NULL } },
	.events = WMK_EV(SYSCALL_ENTRY) | WMK_EV(SYSCALL_EXIT),
	.has_threads = true,
	.create = create,
	.record = record,
	.result = result,
	.free = release,
};

const struct wmk_query_derived wmk_query_syscalls = {
	.name = "syscalls",
	.columns = columns,
	.n_columns = WMK_ARRAY_LEN(columns),
	.module = &module,
};
