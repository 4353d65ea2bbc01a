/* SPDX-License-Identifier: MIT */
/*
 * syscalls.c - the analysis `syscalls` (see syscalls.h).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/files.h"
#include "analyze/stats.h"
#include "analyze/syscalls.h"
#include "base/array.h"
#include "base/error.h"

struct syscalls {
	struct wmk_threads *threads;
	struct wmk_texts names;        /* of system calls */
	struct wmk_stats calls, processes, files; /* by name; by process and name; by path and name */
	struct wmk_files paths;
	uint64_t n_unknown;            /* number of exits without a known thread */
};

enum { NAME, COUNT, ERRORS, UNFINISHED, TOTAL, COLUMNS = TOTAL + WMK_DURATION_CELLS };
static const struct wmk_column columns[] = {
	{ "name", "system call", WMK_COLUMN_TEXT, true },
	{ "count", "count", WMK_COLUMN_COUNT, false },
	{ "errors", "errors", WMK_COLUMN_COUNT, false },
	{ "unfinished", "unfinished", WMK_COLUMN_COUNT, false },
	WMK_COLUMNS_DURATIONS,
};
enum { PID, PROCESS, PNAME, PCOUNT, PERRORS, PTOTAL, PCOLUMNS = PTOTAL + WMK_DURATION_CELLS };
static const struct wmk_column process_columns[] = {
	{ "pid", "process", WMK_COLUMN_ID, true },
	{ "process", "name", WMK_COLUMN_TEXT, true },
	{ "name", "system call", WMK_COLUMN_TEXT, true },
	{ "count", "count", WMK_COLUMN_COUNT, false },
	{ "errors", "errors", WMK_COLUMN_COUNT, false },
	WMK_COLUMNS_DURATIONS,
};
enum { FNAME, FCOUNT, FERRORS, FBYTES, FTOTAL, FPATH = FTOTAL + WMK_DURATION_CELLS, FCOLUMNS };
static const struct wmk_column file_columns[] = {
	{ "name", "system call", WMK_COLUMN_TEXT, true },
	{ "count", "count", WMK_COLUMN_COUNT, false },
	{ "errors", "errors", WMK_COLUMN_COUNT, false },
	{ "bytes", "bytes", WMK_COLUMN_BYTES, false },
	WMK_COLUMNS_DURATIONS,
	{ "path", "file", WMK_COLUMN_TEXT, true },
};

static int create(struct wmk_analysis *analysis, void **state)
{
	struct syscalls *made = calloc(1, sizeof(*made));

	*state = made;
	if (!made)
		return wmk_error(-ENOMEM, "no memory for an analysis");
	made->threads = wmk_analysis_threads(analysis);
	wmk_texts_begin(&made->names);
	wmk_stats_begin(&made->calls);
	wmk_stats_begin(&made->processes);
	wmk_stats_begin(&made->files);
	wmk_files_begin(&made->paths);
	return 0;
}

/* ── records ─────────────────────────────────────────────────────────────────────────────────────────── */

static bool is_named(const struct wmk_class *class, const char *const *names)
{
	while (*names && strcmp(class->what, *names))
		names++;
	return *names != NULL;
}

static const char *const opening[] = { "open", "openat", "openat2", "creat", NULL };
static const char *const moving[] = { "read", "write", "pread64", "pwrite64", "readv", "writev", "preadv", "pwritev",
				      "sendto", "recvfrom", "sendmsg", "recvmsg", "sendfile", "splice", NULL };
static const char *const closing[] = { "close", NULL };

/* Set the path of the descriptor, or the path that the system call opens. */
static int enter(struct syscalls *syscalls, struct wmk_analyze_thread *thread, const struct wmk_record *record)
{
	const struct wmk_field_value *name = &record->values[WMK_ENTRY_FILENAME];
	struct wmk_analyze_call *call = &thread->call;

	call->path = WMK_NO_PATH;
	if (call->fd >= 0)
		call->path = wmk_files_path(&syscalls->paths, wmk_threads_process(thread), call->fd);
	if (name->is_text && is_named(record->class, opening))
		return wmk_texts_number(&syscalls->paths.paths, name->text, strnlen(name->text, name->len),
					&call->path);
	return 0;
}

static int count(struct wmk_stats *stats, uint64_t a, uint64_t b, int64_t ret, int64_t ns, uint64_t bytes)
{
	struct wmk_stat *stat = wmk_stats_get(stats, a, b);

	if (!stat)
		return -ENOMEM;
	stat->count++;
	stat->errors += ret < 0 && ret >= -4095;
	stat->bytes += bytes;
	return ns < 0 ? 0 : wmk_histogram_add(&stat->ns, (uint64_t)ns);
}

/* If the system call has opened or closed a descriptor, store the file that the descriptor now refers to. */
static int update_files(struct syscalls *syscalls, const struct wmk_analyze_thread *thread, int64_t ret)
{
	const struct wmk_analyze_call *left = &thread->left;

	if (ret >= 0 && is_named(left->class, opening))
		return wmk_files_opened(&syscalls->paths, wmk_threads_process(thread), ret, left->path);
	if (ret >= 0 && left->fd >= 0 && is_named(left->class, closing))
		return wmk_files_opened(&syscalls->paths, wmk_threads_process(thread), left->fd, WMK_NO_PATH);
	return 0;
}

static int leave(struct syscalls *syscalls, struct wmk_analyze_thread *thread, const struct wmk_record *record)
{
	const int64_t ret = record->values[WMK_EXIT_RET].has ? record->values[WMK_EXIT_RET].number : 0;
	const bool is_matched = wmk_threads_is_paired(syscalls->threads, thread, record);
	const int64_t ns = is_matched ? record->ns - thread->left.since : -1;
	uint32_t name;
	int err = wmk_texts_number(&syscalls->names, record->class->what, record->class->what_len, &name);

	if (err >= 0)
		err = count(&syscalls->calls, name, 0, ret, ns, 0);
	if (err >= 0)
		err = count(&syscalls->processes, (uint64_t)wmk_threads_process(thread), name, ret, ns, 0);
	if (err >= 0 && is_matched && thread->left.path != WMK_NO_PATH)
		err = count(&syscalls->files, thread->left.path, name, ret, ns,
			    ret > 0 && is_named(record->class, moving) ? (uint64_t)ret : 0);
	if (err >= 0 && is_matched)
		err = update_files(syscalls, thread, ret);
	return err;
}

static int record(void *state, const struct wmk_record *record)
{
	struct syscalls *syscalls = state;
	struct wmk_analyze_thread *thread;

	if (record->event == WMK_EV_PROCESS_STATE || record->event == WMK_EV_FILE)
		return wmk_files_dumped(&syscalls->paths, record);
	thread = wmk_threads_of(syscalls->threads, record);
	if (!thread) {
		syscalls->n_unknown++;
		return 0;
	}
	return record->event == WMK_EV_SYSCALL_ENTRY ? enter(syscalls, thread, record)
						     : leave(syscalls, thread, record);
}

/* ── result ──────────────────────────────────────────────────────────────────────────────────────────── */

/* Count the system calls that have not returned at the end of the trace. */
static int unfinished(struct syscalls *syscalls, struct wmk_stats *open)
{
	int err = 0;

	for (struct wmk_analyze_thread *thread = syscalls->threads->first; thread && err >= 0; thread = thread->next) {
		const struct wmk_class *class = thread->call.class;
		uint32_t name;

		if (!wmk_threads_is_in(syscalls->threads, &thread->call))
			continue;
		err = wmk_texts_number(&syscalls->names, class->what, class->what_len, &name);
		if (err >= 0)
			err = count(open, name, 0, 0, -1, 0);
		if (err >= 0)
			err = wmk_stats_get(&syscalls->calls, name, 0) ? 0 : -ENOMEM;
	}
	return err;
}

static void add_calls(struct syscalls *syscalls, const struct wmk_stats *open, struct wmk_result *result)
{
	struct wmk_result_table *table =
		wmk_result_table(result, "syscalls", "System calls", columns, WMK_ARRAY_LEN(columns));

	table->sort = TOTAL;
	for (struct wmk_stat *stat = NULL; (stat = wmk_stats_next(&syscalls->calls, stat));) {
		const struct wmk_stat *left = wmk_read_table_find(&open->table, stat->slot.a, 0);
		struct wmk_cell *row = wmk_result_row(table);

		wmk_cell_text(table, &row[NAME], syscalls->names.texts[stat->slot.a]);
		wmk_cell_number(&row[COUNT], (int64_t)stat->count);
		wmk_cell_number(&row[ERRORS], (int64_t)stat->errors);
		wmk_cell_number(&row[UNFINISHED], left ? (int64_t)left->count : 0);
		wmk_cell_durations(&row[TOTAL], &stat->ns);
	}
}

static void add_processes(const struct syscalls *syscalls, struct wmk_result *result)
{
	struct wmk_result_table *table = wmk_result_table(result, "processes", "By process", process_columns,
							  WMK_ARRAY_LEN(process_columns));

	table->sort = PTOTAL;
	for (struct wmk_stat *stat = NULL; (stat = wmk_stats_next(&syscalls->processes, stat));) {
		const struct wmk_analyze_thread *thread =
			wmk_threads_find(syscalls->threads, (int64_t)stat->slot.a);
		struct wmk_cell *row = wmk_result_row(table);

		wmk_cell_number(&row[PID], (int64_t)stat->slot.a);
		wmk_cell_text(table, &row[PROCESS], thread ? thread->name : "");
		wmk_cell_text(table, &row[PNAME], syscalls->names.texts[stat->slot.b]);
		wmk_cell_number(&row[PCOUNT], (int64_t)stat->count);
		wmk_cell_number(&row[PERRORS], (int64_t)stat->errors);
		wmk_cell_durations(&row[PTOTAL], &stat->ns);
	}
}

static void add_files(const struct syscalls *syscalls, struct wmk_result *result)
{
	struct wmk_result_table *table =
		wmk_result_table(result, "files", "By file", file_columns, WMK_ARRAY_LEN(file_columns));

	table->sort = FTOTAL;
	for (struct wmk_stat *stat = NULL; (stat = wmk_stats_next(&syscalls->files, stat));) {
		struct wmk_cell *row = wmk_result_row(table);

		wmk_cell_text(table, &row[FNAME], syscalls->names.texts[stat->slot.b]);
		wmk_cell_number(&row[FCOUNT], (int64_t)stat->count);
		wmk_cell_number(&row[FERRORS], (int64_t)stat->errors);
		wmk_cell_number(&row[FBYTES], (int64_t)stat->bytes);
		wmk_cell_durations(&row[FTOTAL], &stat->ns);
		wmk_cell_text(table, &row[FPATH], syscalls->paths.paths.texts[stat->slot.a]);
	}
}

static int result(void *state, struct wmk_result *result)
{
	struct syscalls *syscalls = state;
	struct wmk_stats open;
	int err;

	wmk_stats_begin(&open);
	err = unfinished(syscalls, &open);
	if (err >= 0) {
		add_calls(syscalls, &open, result);
		add_processes(syscalls, result);
		add_files(syscalls, result);
	}
	if (syscalls->n_unknown)
		wmk_result_note(result, "the thread of %lu records of system calls is unknown: these records are "
					"left out (record the context tid, or sched_switch)",
				(unsigned long)syscalls->n_unknown);
	wmk_stats_free(&open);
	return err;
}

static void clear(void *state)
{
	struct syscalls *syscalls = state;
	struct wmk_stats *all[] = { &syscalls->calls, &syscalls->processes, &syscalls->files };

	for (unsigned i = 0; i < WMK_ARRAY_LEN(all); i++) {
		wmk_stats_free(all[i]);
		wmk_stats_begin(all[i]);
	}
	syscalls->n_unknown = 0;
}

static void release(void *state)
{
	struct syscalls *syscalls = state;

	wmk_texts_free(&syscalls->names);
	wmk_stats_free(&syscalls->calls);
	wmk_stats_free(&syscalls->processes);
	wmk_stats_free(&syscalls->files);
	wmk_files_free(&syscalls->paths);
	free(syscalls);
}

const struct wmk_analyze_module wmk_analyze_syscalls = {
	.name = "syscalls",
	.summary = "system calls: counts, errors and durations, by call, by process and by file",
	.options = "--preset=syscalls",
	.needs = { { WMK_EV(SYSCALL_EXIT), false, "syscall_exit_*", NULL },
		   { WMK_EV(SYSCALL_ENTRY), true, "entries of system calls", "durations are not known" } },
	.events = WMK_EV(SYSCALL_ENTRY) | WMK_EV(SYSCALL_EXIT) | WMK_EV(PROCESS_STATE) | WMK_EV(FILE),
	.has_threads = true,
	.create = create,
	.record = record,
	.result = result,
	.clear = clear,
	.free = release,
};
