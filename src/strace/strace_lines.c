/* SPDX-License-Identifier: MIT */
/*
 * strace_lines.c - combines entries and exits of system calls of each thread to the lines that strace prints (see
 * strace.h).
 *
 * An entry is printed together with its exit, which is usually in the next record. The entry is printed alone if a
 * record of another thread arrives before the exit, or if no record arrives for a while. The rest then follows after
 * "<... resumed>".
 */
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "strace/strace.h"
#include "kernel/proc/namespaces.h"

#define UNFINISHED " <unfinished ...>\n"

/* ── entries and exits ───────────────────────────────────────────────────────────────────────────────── */

static const struct wmk_kprint *print_of(const struct wmk_strace_lines *lines, const struct wmk_syscalls_record *record)
{
	return &lines->prints->calls[record->abi][record->number];
}

/*
 * Prints an entry alone. An exit record that has already arrived may contain an argument that was unreadable at entry.
 */
static void put_entry(struct wmk_strace_lines *lines, struct wmk_strace_thread *thread)
{
	const struct wmk_syscalls_record *entry = &thread->entry;
	struct wmk_syscalls_record later;
	bool has_later = false;

	for (unsigned i = 0; i < entry->n_parts && !has_later; i++)
		if (entry->parts[i].flags & WMK_SYSCALLS_PART_UNREADABLE)
			has_later = lines->source->ops->peek(lines->source, thread->tid, &later);
	wmk_strace_lines_begin(lines, thread->tid, entry->mono);
	wmk_kprint_entry(print_of(lines, entry), entry, has_later && later.number == entry->number ? &later : NULL,
			 &lines->out);
	thread->is_begun = true;
	if (lines->deferred == thread->tid)
		lines->deferred = 0;
}

/* Finishes the open line before another line begins; the open line may belong to another thread. */
static void finish_open_line(struct wmk_strace_lines *lines)
{
	if (lines->deferred) {
		put_entry(lines, wmk_strace_thread_find(lines, lines->deferred));
		wmk_kline_put(&lines->out, UNFINISHED);
	}
	if (lines->open)
		wmk_kline_put(&lines->out, UNFINISHED);
	lines->open = 0;
}

static void put_end_of_line(struct wmk_strace_lines *lines)
{
	wmk_kline_char(&lines->out, '\n');
	lines->open = 0;
}

/* Prints ")" and spaces, so that the results of all lines are aligned in one column. */
static void put_before_result(struct wmk_strace_lines *lines)
{
	const size_t written = lines->open ? lines->open_column : 0;

	wmk_kline_char(&lines->out, ')');
	if (written < lines->args->columns)
		wmk_kline_pad(&lines->out, lines->begin, (unsigned)lines->args->columns - (unsigned)written);
	if (lines->out.text[lines->out.len - 1] == ')')
		wmk_kline_char(&lines->out, ' ');
	wmk_kline_bytes(&lines->out, "= ", 2);
}

/*
 * Selects the line on which the output of the system call continues: the line of the entry, or a new line with the time
 * `mono`.
 */
static void continue_line(struct wmk_strace_lines *lines, struct wmk_strace_thread *thread, uint64_t mono)
{
	if (lines->deferred == thread->tid) {
		wmk_strace_lines_begin(lines, thread->tid, thread->entry.mono);
		return;
	}
	if (lines->open == thread->tid)
		return;
	finish_open_line(lines);
	wmk_strace_lines_begin(lines, thread->tid, mono);
	wmk_kline_bytes(&lines->out, "<... ", 5);
	wmk_kprint_name(print_of(lines, &thread->entry), &thread->entry, &lines->out);
	wmk_kline_bytes(&lines->out, " resumed>", 9);
}

static void put_call(struct wmk_strace_lines *lines, struct wmk_strace_thread *thread,
		     const struct wmk_syscalls_record *exit)
{
	const struct wmk_kprint *print = print_of(lines, &thread->entry);

	continue_line(lines, thread, exit->mono);
	if (lines->deferred == thread->tid) {
		wmk_kprint_entry(print, &thread->entry, exit, &lines->out);
		lines->deferred = 0;
	}
	wmk_kprint_rest(print, &thread->entry, exit, &lines->out);
	put_before_result(lines);
	wmk_kprint_result(print, &thread->entry, exit, &lines->out);
	if (lines->args->with_durations) {
		wmk_kline_bytes(&lines->out, " <", 2);
		wmk_kline_seconds(&lines->out, exit->mono - thread->entry.mono, 6);
		wmk_kline_char(&lines->out, '>');
	}
	put_end_of_line(lines);
}

/*
 * Prints an exit without an entry; either the system call began before the trace, or the entry record was lost.
 */
static void put_half(struct wmk_strace_lines *lines, const struct wmk_syscalls_record *exit)
{
	const struct wmk_syscalls_record none = { .number = exit->number, .abi = exit->abi };

	finish_open_line(lines);
	wmk_strace_lines_begin(lines, exit->tid, exit->mono);
	wmk_kline_bytes(&lines->out, "<... ", 5);
	wmk_kline_put(&lines->out, print_of(lines, exit)->call.name);
	wmk_kline_bytes(&lines->out, " resumed>", 9);
	put_before_result(lines);
	wmk_kprint_result(print_of(lines, exit), &none, exit, &lines->out);
	put_end_of_line(lines);
}

/*
 * Prints a system call without a result; either its thread exited, or the system call returns from a signal handler.
 */
static void put_unreturned(struct wmk_strace_lines *lines, struct wmk_strace_thread *thread, uint64_t mono)
{
	const struct wmk_kprint *print = print_of(lines, &thread->entry);

	continue_line(lines, thread, mono);
	if (lines->deferred == thread->tid) {
		wmk_kprint_entry(print, &thread->entry, NULL, &lines->out);
		lines->deferred = 0;
		if (print->n_entry < print->n_args)
			wmk_kline_put(&lines->out, " <unfinished ...>");
	}
	put_before_result(lines);
	wmk_kline_char(&lines->out, '?');
	put_end_of_line(lines);
}

/* ── records ─────────────────────────────────────────────────────────────────────────────────────────── */

static bool is_selected(const struct wmk_strace_lines *lines, const struct wmk_syscalls_record *record)
{
	return wmk_strace_selected(&lines->args->select, record->abi, record->number);
}

static void count(struct wmk_strace_lines *lines, const struct wmk_strace_thread *thread,
		  const struct wmk_syscalls_record *exit)
{
	struct wmk_strace_count *here = &lines->counts[exit->abi][exit->number];
	const int64_t value = wmk_kprint_value(exit);

	here->calls++;
	here->errors += value < 0 && value >= -4095;
	here->ns += exit->mono - thread->entry.mono;
}

/* Prints a message about a change of the ABI of the thread. A 64-bit process can also make 32-bit system calls. */
static void print_abi(struct wmk_strace_lines *lines, struct wmk_strace_thread *thread,
		    const struct wmk_syscalls_record *record)
{
	if (thread->abi == record->abi)
		return;
	thread->abi = record->abi;
	if (lines->args->quiet || lines->args->json || lines->args->is_summary || !is_selected(lines, record))
		return;
	finish_open_line(lines);
	wmk_strace_lines_begin(lines, thread->tid, record->mono);
	wmk_kline_put(&lines->out, "[ Process PID=");
	wmk_kline_unsigned(&lines->out, thread->pid);
	wmk_kline_put(&lines->out,
		      record->abi == WMK_KABI_COMPAT ? " runs in 32 bit mode. ]" : " runs in 64 bit mode. ]");
	put_end_of_line(lines);
}

static bool is_lines(const struct wmk_strace_lines *lines)
{
	return !lines->args->json && (!lines->args->is_summary || lines->args->with_summary);
}

static bool is_objects(const struct wmk_strace_lines *lines)
{
	return lines->args->json && (!lines->args->is_summary || lines->args->with_summary);
}

/*
 * Returns whether the exit record of this system call lacks a system call number, because the kernel restores other
 * registers.
 */
static bool never_exits(const struct wmk_strace_lines *lines, const struct wmk_syscalls_record *record)
{
	const char *name = print_of(lines, record)->call.name;

	return strcmp(name, "rt_sigreturn") == 0 || strcmp(name, "sigreturn") == 0;
}

static void end_of_handler(struct wmk_strace_lines *lines, struct wmk_strace_thread *thread)
{
	thread->has_entry = false;
	if (lines->counts[0])
		lines->counts[thread->entry.abi][thread->entry.number].calls++;
	if (is_objects(lines))
		wmk_strace_json_call(lines, thread, NULL);
	if (is_lines(lines))
		put_unreturned(lines, thread, thread->entry.mono);
}

static void on_entry(struct wmk_strace_lines *lines, struct wmk_strace_thread *thread,
		     const struct wmk_syscalls_record *record)
{
	const bool is_shown = is_lines(lines) && is_selected(lines, record);

	print_abi(lines, thread, record);
	/* also finish the thread's own line, if the exit record of the previous system call was lost */
	if (is_shown)
		finish_open_line(lines);
	thread->has_entry = false;
	if (wmk_strace_thread_keep(thread, record) && is_shown)
		lines->deferred = thread->tid;
	if (thread->has_entry && is_selected(lines, record) && never_exits(lines, record))
		end_of_handler(lines, thread);
}

/* Returns whether an exit record of this kind can be the first record of a new thread. */
static bool is_birth(const struct wmk_strace_lines *lines, const struct wmk_syscalls_record *record)
{
	const char *name = print_of(lines, record)->call.name;

	return strncmp(name, "clone", 5) == 0 || strcmp(name, "fork") == 0 || strcmp(name, "vfork") == 0;
}

static bool is_exec(const struct wmk_strace_lines *lines, const struct wmk_syscalls_record *record)
{
	return strncmp(print_of(lines, record)->call.name, "execve", 6) == 0;
}

/*
 * Finds the entry of an execve() that a thread other than the first thread called. At the exit from execve(), the
 * calling thread has the thread number of the first thread.
 */
static void adopt_exec(struct wmk_strace_lines *lines, struct wmk_strace_thread *thread)
{
	for (size_t i = 0; i < lines->n_slots; i++) {
		struct wmk_strace_thread *other = &lines->threads[i];

		if (!other->is_used || other == thread || other->pid != thread->pid || !other->has_entry ||
		    !is_exec(lines, &other->entry))
			continue;
		if (is_lines(lines))
			finish_open_line(lines);
		if (wmk_strace_thread_keep(thread, &other->entry))
			thread->is_begun = true;
		wmk_strace_thread_remove(lines, other);
		return;
	}
}

static void expect(struct wmk_strace_lines *lines, const struct wmk_syscalls_record *record)
{
	const int64_t tid = record->n_values ? (int64_t)record->values[0] : 0;

	if (tid > 0 && tid <= INT32_MAX && !wmk_strace_thread_find(lines, (uint32_t)tid))
		lines->newborn[lines->n_newborn++ % WMK_ARRAY_LEN(lines->newborn)] = (uint32_t)tid;
}

bool wmk_strace_lines_has_newborn(struct wmk_strace_lines *lines)
{
	for (unsigned i = 0; i < WMK_ARRAY_LEN(lines->newborn); i++) {
		if (!lines->newborn[i])
			continue;
		if (!wmk_strace_thread_find(lines, lines->newborn[i]) && !wmk_strace_thread_is_gone(lines->newborn[i]))
			return true;
		lines->newborn[i] = 0;
	}
	return false;
}

static void on_exit_of(struct wmk_strace_lines *lines, struct wmk_strace_thread *thread,
		       const struct wmk_syscalls_record *record)
{
	struct wmk_syscalls_record exec;

	if (lines->args->follow && is_birth(lines, record))
		expect(lines, record);
	if (is_exec(lines, record)) {
		if (!thread->has_entry)
			adopt_exec(lines, thread);
		thread = wmk_strace_thread_find(lines, record->tid);
		/*
		 * On x86, the registers of a new program contain the number of execve() in the program's ABI.
		 * execveat() or a 32-bit system call may have started the program, so the entry record determines the
		 * system call.
		 */
		if (thread->has_entry && is_exec(lines, &thread->entry)) {
			exec = *record;
			exec.number = thread->entry.number;
			exec.abi = thread->entry.abi;
			record = &exec;
		}
	}
	/* The registers at the exit from rt_sigreturn() contain no system call number, so the exit is not printed. */
	if (record->number == WMK_SYSCALLS_OTHER && !(thread->has_entry && thread->entry.number == WMK_SYSCALLS_OTHER))
		return;
	if (!is_selected(lines, record)) {
		thread->has_entry = false;
		return;
	}
	if (thread->has_entry && thread->entry.number == record->number && thread->entry.abi == record->abi) {
		thread->has_entry = false;
		if (lines->counts[0])
			count(lines, thread, record);
		if (is_objects(lines))
			wmk_strace_json_call(lines, thread, record);
		else if (is_lines(lines))
			put_call(lines, thread, record);
	} else if (thread->existed && is_lines(lines)) {
		put_half(lines, record);
	}
	thread->existed = true;
}

static void on_signal(struct wmk_strace_lines *lines, const struct wmk_syscalls_record *record)
{
	const uint32_t number = record->n_values ? (uint32_t)record->values[0] : 0;
	char room[24];

	if (!number || number > 64 || !(lines->args->select.signals >> (number - 1) & 1))
		return;
	if (is_objects(lines))
		wmk_strace_json_other(lines, record);
	if (!is_lines(lines))
		return;
	finish_open_line(lines);
	wmk_strace_lines_begin(lines, record->tid, record->mono);
	wmk_kline_bytes(&lines->out, "--- ", 4);
	wmk_kline_put(&lines->out, wmk_ksignal_name(number, room));
	wmk_kline_char(&lines->out, ' ');
	wmk_kprint_siginfo(record->values, record->n_values, &lines->out);
	wmk_kline_bytes(&lines->out, " ---", 4);
	put_end_of_line(lines);
}

/* If the kernel reported no exit status, the status is derived from the last system call of the thread. */
static void find_status(const struct wmk_strace_lines *lines, const struct wmk_strace_thread *thread,
			struct wmk_syscalls_record *record)
{
	if (record->n_values || !thread->has_entry || !thread->entry.n_values ||
	    print_of(lines, &thread->entry)->ret != WMK_KRETURN_NEVER)
		return;
	record->n_values = 1;
	record->values[0] = (thread->entry.values[0] & 0xff) << 8;
}

static void on_end(struct wmk_strace_lines *lines, struct wmk_strace_thread *thread, struct wmk_syscalls_record *record)
{
	const bool was_selected = thread->has_entry && is_selected(lines, &thread->entry);

	find_status(lines, thread, record);
	if (was_selected && is_objects(lines))
		wmk_strace_json_call(lines, thread, NULL);
	if (was_selected && is_lines(lines))
		put_unreturned(lines, thread, record->mono);
	if (is_objects(lines))
		wmk_strace_json_other(lines, record);
	if (is_lines(lines) && lines->args->quiet < 2) {
		finish_open_line(lines);
		wmk_strace_lines_begin(lines, thread->tid, record->mono);
		wmk_kline_bytes(&lines->out, "+++ ", 4);
		wmk_kprint_end(record, &lines->out);
		wmk_kline_bytes(&lines->out, " +++", 4);
		put_end_of_line(lines);
	}
	wmk_strace_thread_remove(lines, thread);
}

/* Prints the message. If the lines go to the same terminal, the function finishes the open line first. */
static void print_attached(struct wmk_strace_lines *lines, uint32_t tid)
{
	if (!lines->args->output && !lines->args->json) {
		if (lines->open)
			wmk_kline_put(&lines->out, UNFINISHED);
		lines->open = 0;
		wmk_strace_lines_flush(lines);
	}
	lines->args->messages->say("process %u attached", tid);
}

void wmk_strace_lines_record(struct wmk_strace_lines *lines, const struct wmk_syscalls_record *record)
{
	struct wmk_strace_thread *thread = wmk_strace_thread_find(lines, record->tid);

	if (!thread) {
		if (!lines->args->follow || record->is_end)
			return;
		if (!lines->args->quiet)
			print_attached(lines, record->tid);
		thread = wmk_strace_lines_add(lines, record->tid, record->pid);
		if (!thread)
			return;
		/* the thread has been in a system call since before the trace; strace -f -p prints its result */
		thread->existed = record->is_exit && !is_birth(lines, record);
	}
	if (thread->waits_for_exec) {
		if (record->is_end)
			wmk_strace_thread_remove(lines, thread);
		if (record->is_end || record->is_exit || record->is_signal || !is_exec(lines, record))
			return;
		thread->waits_for_exec = false;
	}
	if (record->is_signal)
		on_signal(lines, record);
	else if (record->is_end)
		on_end(lines, thread,
		       &(struct wmk_syscalls_record){ .mono = record->mono,
						      .pid = record->pid,
						      .tid = record->tid,
						      .is_end = true,
						      .n_values = record->n_values,
						      .values = { record->values[0] } });
	else if (record->is_exit)
		on_exit_of(lines, thread, record);
	else
		on_entry(lines, thread, record);
}

void wmk_strace_lines_idle(struct wmk_strace_lines *lines)
{
	struct wmk_strace_thread *thread = lines->deferred ? wmk_strace_thread_find(lines, lines->deferred) : NULL;

	if (thread) {
		put_entry(lines, thread);
		lines->open = thread->tid;
	}
	if (lines->out.len)
		wmk_strace_lines_flush(lines);
}

/*
 * Returns whether all records of an exited thread were taken: the thread must have exited before the time up to which
 * records are taken.
 */
static bool is_over(const struct wmk_strace_lines *lines, struct wmk_strace_thread *thread)
{
	if (!wmk_strace_thread_is_gone(thread->tid)) {
		thread->gone = 0;
		return false;
	}
	if (!thread->gone)
		thread->gone = wmk_kspaces_monotonic();
	return thread->gone < lines->source->until;
}

void wmk_strace_lines_reap(struct wmk_strace_lines *lines)
{
	for (size_t i = 0; i < lines->n_slots; i++) {
		struct wmk_strace_thread *thread = &lines->threads[i];

		if (!thread->is_used || !is_over(lines, thread))
			continue;
		finish_open_line(lines);
		wmk_strace_thread_remove(lines, thread);
		i = (size_t)-1;
	}
}

void wmk_strace_lines_finish(struct wmk_strace_lines *lines)
{
	for (size_t i = 0; is_objects(lines) && i < lines->n_slots; i++)
		if (lines->threads[i].is_used && lines->threads[i].has_entry &&
		    is_selected(lines, &lines->threads[i].entry))
			wmk_strace_json_call(lines, &lines->threads[i], NULL);
	finish_open_line(lines);
	if (lines->args->is_summary)
		wmk_strace_summary(lines);
	wmk_strace_lines_flush(lines);
}
