/* SPDX-License-Identifier: MIT */
/*
 * threads.c - states of threads and CPUs (see threads.h).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/threads.h"
#include "base/array.h"
#include "base/error.h"

#define CPUS_MAX 65536
/* Bits of prev_state. */
#define STATE_DEAD 0x30                /* the thread has exited: zombie, or being removed */
#define STATE_PREEMPTED 0x100

struct thread_slot {
	struct wmk_read_slot slot;
	struct wmk_analyze_thread *thread;
};

/* ── threads ─────────────────────────────────────────────────────────────────────────────────────────── */

static void leave_doubt(struct wmk_analyze_thread *thread)
{
	if (!thread->doubt_at)
		return;
	*thread->doubt_at = thread->doubt_next;
	if (thread->doubt_next)
		thread->doubt_next->doubt_at = thread->doubt_at;
	thread->doubt_at = NULL;
}

static void enter_doubt(struct wmk_threads *threads, struct wmk_analyze_thread *thread)
{
	thread->doubt_next = threads->doubted;
	thread->doubt_at = &threads->doubted;
	if (thread->doubt_next)
		thread->doubt_next->doubt_at = &thread->doubt_next;
	threads->doubted = thread;
}

/* The state of the thread was `was` until now, and is `is` from now on. */
static void change(struct wmk_threads *threads, struct wmk_analyze_thread *thread, int64_t now, unsigned was,
		   unsigned is)
{
	now = now < thread->since ? thread->since : now;
	const uint64_t ns = (uint64_t)now - (uint64_t)thread->since;

	/* (while records are lost, a thread that does not run may be woken, run and block) */
	if ((is == WMK_RUNNABLE || is == WMK_BLOCKED) && now < threads->doubt_until)
		is = WMK_UNKNOWN;
	thread->ns[was] += ns;
	if (was == WMK_BLOCKED)
		thread->waits[thread->wait] += ns;
	thread->state = (uint8_t)is;
	if (threads->changed)
		threads->changed(threads->data, thread, was, now);
	thread->since = now;
	leave_doubt(thread);
	if (is == WMK_RUNNABLE || is == WMK_BLOCKED)
		enter_doubt(threads, thread);
}

static struct wmk_analyze_thread *create(struct wmk_threads *threads, struct thread_slot *slot, int64_t tid)
{
	struct wmk_analyze_thread *thread = calloc(1, sizeof(*thread));

	if (!thread) {
		wmk_error(-ENOMEM, "no memory for %u threads", threads->n_threads);
		return NULL;
	}
	thread->tid = tid;
	thread->cpu = thread->waker = -1;
	thread->since = threads->begin;
	thread->woken = INT64_MIN;
	*threads->last = thread;
	threads->last = &thread->next;
	threads->n_threads++;
	slot->thread = thread;
	return thread;
}

static struct thread_slot *slot_of(struct wmk_threads *threads, int64_t tid)
{
	struct thread_slot *slot = wmk_read_table_add(&threads->table, (uint64_t)tid, 0);

	if (!slot)
		wmk_error(-ENOMEM, "no memory for %u threads", threads->n_threads);
	return slot;
}

/* NULL: no memory. */
static struct wmk_analyze_thread *get(struct wmk_threads *threads, int64_t tid)
{
	struct thread_slot *slot = slot_of(threads, tid);

	return !slot ? NULL : slot->thread ? slot->thread : create(threads, slot, tid);
}

struct wmk_analyze_thread *wmk_threads_find(const struct wmk_threads *threads, int64_t tid)
{
	const struct thread_slot *slot = wmk_read_table_find(&threads->table, (uint64_t)tid, 0);

	return slot ? slot->thread : NULL;
}

static void set_name(struct wmk_analyze_thread *thread, const struct wmk_field_value *name)
{
	const size_t len = strlen(thread->name);

	if (name->has && name->is_text && name->len && (len != name->len || memcmp(thread->name, name->text, len)))
		wmk_value_text(name, thread->name, sizeof(thread->name));
}

struct wmk_analyze_cpu *wmk_threads_cpu(struct wmk_threads *threads, int64_t cpu)
{
	const uint32_t before = threads->n_cpus;
	struct wmk_analyze_cpu *cpus;

	if (cpu < 0 || cpu >= CPUS_MAX)
		return NULL;
	cpus = wmk_array_reach(threads->cpus, (uint32_t)cpu, &threads->n_cpus, sizeof(*cpus));
	if (!cpus)
		return NULL;
	threads->cpus = cpus;
	for (uint32_t i = before; i < threads->n_cpus; i++)
		cpus[i] = (struct wmk_analyze_cpu){ .since = threads->begin, .doubt_until = INT64_MIN };
	return &cpus[cpu];
}

struct wmk_analyze_thread *wmk_threads_of(struct wmk_threads *threads, const struct wmk_record *record)
{
	const struct wmk_analyze_cpu *cpu;

	if (record->has_tid)
		return record->tid > 0 ? wmk_threads_find(threads, record->tid) : NULL;
	cpu = record->cpu < threads->n_cpus ? wmk_threads_cpu(threads, record->cpu) : NULL;
	return cpu && cpu->is_known ? cpu->running : NULL;
}

/* ── records ─────────────────────────────────────────────────────────────────────────────────────────── */

static void account_cpu(struct wmk_analyze_cpu *cpu, int64_t now)
{
	const uint64_t ns = now > cpu->since ? (uint64_t)now - (uint64_t)cpu->since : 0;

	*(!cpu->is_known ? &cpu->unknown : cpu->running ? &cpu->busy : &cpu->idle) += ns;
	cpu->since = now > cpu->since ? now : cpu->since;
}

static void switch_from(struct wmk_threads *threads, struct wmk_analyze_thread *thread,
			const struct wmk_record *record)
{
	const int64_t state = record->values[WMK_SWITCH_PREV_STATE].number;
	const bool ran = thread->state == WMK_RUNNING && thread->cpu == record->cpu;

	thread->has_ended |= (state & STATE_DEAD) != 0;
	thread->woken = INT64_MIN;
	thread->cpu = record->cpu;
	set_name(thread, &record->values[WMK_SWITCH_PREV_COMM]);
	if (record->has_pid && record->has_tid && record->tid == thread->tid)
		thread->pid = record->pid;
	change(threads, thread, record->ns, ran ? WMK_RUNNING : WMK_UNKNOWN,
	       thread->has_ended		 ? WMK_ABSENT
	       : (state & ~STATE_PREEMPTED) == 0 ? WMK_RUNNABLE
						 : WMK_BLOCKED);
	thread->wait = (uint8_t)wmk_wait_of(wmk_threads_is_in(threads, &thread->call) ? thread->call.class : NULL,
					    state);
}

static void switch_to(struct wmk_threads *threads, struct wmk_analyze_thread *thread, const struct wmk_record *record,
		      bool is_known)
{
	const unsigned was = thread->state == WMK_RUNNABLE ? WMK_RUNNABLE : WMK_UNKNOWN;

	set_name(thread, &record->values[WMK_SWITCH_NEXT_COMM]);
	thread->switches++;
	thread->migrations += thread->cpu >= 0 && thread->cpu != record->cpu;
	thread->cpu = record->cpu;
	thread->has_ended = false;
	change(threads, thread, record->ns, was, is_known ? WMK_RUNNING : WMK_UNKNOWN);
	thread->woken = INT64_MIN;
}

static int switched(struct wmk_threads *threads, const struct wmk_record *record)
{
	const int64_t prev = record->values[WMK_SWITCH_PREV_TID].number,
		      next = record->values[WMK_SWITCH_NEXT_TID].number;
	struct wmk_analyze_cpu *cpu = wmk_threads_cpu(threads, record->cpu);
	struct wmk_analyze_thread *from = prev > 0 ? get(threads, prev) : NULL,
				  *to = next > 0 ? get(threads, next) : NULL;

	if ((prev > 0 && !from) || (next > 0 && !to))
		return -ENOMEM;
	if (!cpu)
		return 0;
	account_cpu(cpu, record->ns);
	/*
	 * The trace lacks a sched_switch record of this CPU, although no stream reported a loss. The state of the
	 * thread that ran before on this CPU is therefore UNKNOWN.
	 */
	if (cpu->running && cpu->running != from && cpu->running->state == WMK_RUNNING)
		change(threads, cpu->running, record->ns, WMK_UNKNOWN, WMK_UNKNOWN);
	cpu->switches++;
	cpu->is_known = record->ns >= cpu->doubt_until;
	cpu->running = cpu->is_known ? to : NULL;
	if (from)
		switch_from(threads, from, record);
	if (to)
		switch_to(threads, to, record, cpu->is_known);
	return 0;
}

static int woken(struct wmk_threads *threads, const struct wmk_record *record)
{
	const int64_t tid = record->values[WMK_WAKE_TID].number;
	struct wmk_analyze_thread *thread = tid > 0 ? get(threads, tid) : NULL;
	const struct wmk_analyze_thread *waker;

	if (!thread)
		return tid > 0 ? -ENOMEM : 0;
	if (!thread->name[0])
		set_name(thread, &record->values[WMK_WAKE_COMM]);
	if (thread->state == WMK_RUNNING || thread->state == WMK_RUNNABLE)
		return 0;
	if (thread->woken == INT64_MIN) {
		waker = wmk_threads_of(threads, record);
		thread->woken = record->ns;
		thread->waker = waker ? waker->tid : -1;
	}
	if (record->event == WMK_EV_WAKING && threads->has_wakeup)
		return 0;
	thread->wakeups++;
	if (record->event == WMK_EV_WAKEUP_NEW && thread->state == WMK_UNKNOWN && thread->since == threads->begin)
		change(threads, thread, record->ns, WMK_ABSENT, WMK_RUNNABLE);
	else
		change(threads, thread, record->ns, thread->state, WMK_RUNNABLE);
	return 0;
}

/*
 * The kernel may reuse the tid of a thread that has ended, so this function creates a new structure for the new thread.
 */
static int forked(struct wmk_threads *threads, const struct wmk_record *record)
{
	const struct wmk_field_value *values = record->values;
	const int64_t tid = values[WMK_FORK_CHILD_TID].number;
	struct thread_slot *slot = tid > 0 ? slot_of(threads, tid) : NULL;
	struct wmk_analyze_thread *old = slot ? slot->thread : NULL, *thread = slot ? create(threads, slot, tid) : NULL;

	if (!thread)
		return tid > 0 ? -ENOMEM : 0;
	if (old && old->state != WMK_ABSENT)
		change(threads, old, record->ns, old->state == WMK_RUNNING ? WMK_UNKNOWN : old->state, WMK_ABSENT);
	set_name(thread, &values[WMK_FORK_CHILD_COMM]);
	if (values[WMK_FORK_CHILD_PID].has && values[WMK_FORK_PARENT_TID].has)
		thread->pid = values[WMK_FORK_CHILD_PID].number;
	change(threads, thread, record->ns, WMK_ABSENT, WMK_UNKNOWN);
	return 0;
}

static int described(struct wmk_threads *threads, const struct wmk_record *record)
{
	const int64_t tid = record->values[WMK_STATE_TID].number;
	struct wmk_analyze_thread *thread = tid > 0 ? get(threads, tid) : NULL;

	if (!thread)
		return tid > 0 ? -ENOMEM : 0;
	thread->pid = record->values[WMK_STATE_PID].number;
	if (!thread->name[0])
		set_name(thread, &record->values[WMK_STATE_NAME]);
	return 0;
}

int wmk_threads_note(struct wmk_threads *threads, const struct wmk_record *record, struct wmk_analyze_thread **thread)
{
	if (!record->has_tid || record->tid <= 0) {
		*thread = record->has_tid ? NULL : wmk_threads_of(threads, record);
		return 0;
	}
	*thread = get(threads, record->tid);
	if (!*thread)
		return -ENOMEM;
	if (record->has_pid)
		(*thread)->pid = record->pid;
	if (!(*thread)->name[0])
		set_name(*thread, &record->procname);
	return 0;
}

bool wmk_threads_is_in(const struct wmk_threads *threads, const struct wmk_analyze_call *call)
{
	return call->class && call->epoch == threads->epoch;
}

bool wmk_threads_is_paired(const struct wmk_threads *threads, const struct wmk_analyze_thread *thread,
			   const struct wmk_record *exit)
{
	return wmk_threads_is_in(threads, &thread->left) && !strcmp(thread->left.class->what, exit->class->what);
}

static int in_syscall(struct wmk_threads *threads, const struct wmk_record *record)
{
	const struct wmk_field_value *fd = &record->values[WMK_ENTRY_FD];
	struct wmk_analyze_thread *thread;
	int err = wmk_threads_note(threads, record, &thread);

	if (!thread)
		return err;
	thread->left = thread->call;
	thread->call.class = NULL;
	if (record->event == WMK_EV_SYSCALL_ENTRY)
		thread->call = (struct wmk_analyze_call){ .class = record->class, .since = record->ns,
							  .cpu = record->cpu, .epoch = threads->epoch,
							  .fd = fd->has ? (int32_t)fd->number : -1 };
	return 0;
}

int wmk_threads_record(struct wmk_threads *threads, const struct wmk_record *record)
{
	struct wmk_analyze_thread *thread;

	switch (record->event) {
	case WMK_EV_SWITCH:
		return switched(threads, record);
	case WMK_EV_WAKING:
	case WMK_EV_WAKEUP:
	case WMK_EV_WAKEUP_NEW:
		return woken(threads, record);
	case WMK_EV_FORK:
		return forked(threads, record);
	case WMK_EV_EXIT:
		thread = wmk_threads_find(threads, record->values[WMK_EXIT_TID].number);
		if (thread)
			thread->has_ended = true;
		return 0;
	case WMK_EV_PROCESS_STATE:
		return described(threads, record);
	case WMK_EV_SYSCALL_ENTRY:
	case WMK_EV_SYSCALL_EXIT:
		return in_syscall(threads, record);
	default:
		return 0;
	}
}

/* ── losses ──────────────────────────────────────────────────────────────────────────────────────────── */

static void lose_cpu(struct wmk_threads *threads, struct wmk_analyze_cpu *cpu, const struct wmk_loss *loss)
{
	account_cpu(cpu, loss->from);
	if (cpu->running && cpu->running->state == WMK_RUNNING)
		change(threads, cpu->running, loss->from, WMK_RUNNING, WMK_UNKNOWN);
	cpu->running = NULL;
	cpu->is_known = false;
	cpu->doubt_until = loss->to > cpu->doubt_until ? loss->to : cpu->doubt_until;
}

void wmk_threads_lost(struct wmk_threads *threads, const struct wmk_loss *loss)
{
	struct wmk_analyze_cpu *cpu;

	if (loss->events & (WMK_EV(SYSCALL_ENTRY) | WMK_EV(SYSCALL_EXIT)))
		threads->epoch++;
	if (!(loss->events & WMK_THREADS_LOSS))
		return;
	threads->doubt_until = loss->to > threads->doubt_until ? loss->to : threads->doubt_until;
	cpu = wmk_threads_cpu(threads, loss->cpu);
	for (uint32_t i = 0; i < threads->n_cpus; i++)
		if (cpu ? &threads->cpus[i] == cpu : true)
			lose_cpu(threads, &threads->cpus[i], loss);
	while (threads->doubted)
		change(threads, threads->doubted, loss->from, threads->doubted->state, WMK_UNKNOWN);
}

/* ── begin, end ──────────────────────────────────────────────────────────────────────────────────────── */

void wmk_threads_begin(struct wmk_threads *threads)
{
	*threads = (struct wmk_threads){ .table.size = sizeof(struct thread_slot), .doubt_until = INT64_MIN };
	threads->last = &threads->first;
}

unsigned wmk_threads_slot(struct wmk_threads *threads)
{
	return threads->n_slots++;
}

void *wmk_threads_data(struct wmk_analyze_thread *thread, unsigned slot, size_t size)
{
	if (!thread->data[slot])
		thread->data[slot] = calloc(1, size);
	if (!thread->data[slot])
		wmk_error(-ENOMEM, "no memory for a thread");
	return thread->data[slot];
}

int64_t wmk_threads_process(const struct wmk_analyze_thread *thread)
{
	return thread->pid ? thread->pid : thread->tid;
}

void wmk_threads_origin(struct wmk_threads *threads, int64_t ns)
{
	threads->begin = ns;
	threads->has_begun = true;
}

void wmk_threads_end(struct wmk_threads *threads, int64_t ns)
{
	for (struct wmk_analyze_thread *thread = threads->first; thread; thread = thread->next)
		change(threads, thread, ns, thread->state, thread->state);
	for (uint32_t i = 0; i < threads->n_cpus; i++)
		account_cpu(&threads->cpus[i], ns);
}

void wmk_threads_clear(struct wmk_threads *threads)
{
	for (struct wmk_analyze_thread *thread = threads->first; thread; thread = thread->next) {
		memset(thread->ns, 0, sizeof(thread->ns));
		memset(thread->waits, 0, sizeof(thread->waits));
		thread->switches = thread->migrations = thread->wakeups = 0;
	}
	for (uint32_t i = 0; i < threads->n_cpus; i++) {
		struct wmk_analyze_cpu *cpu = &threads->cpus[i];

		cpu->busy = cpu->idle = cpu->unknown = cpu->switches = 0;
	}
}

void wmk_threads_free(struct wmk_threads *threads)
{
	while (threads->first) {
		struct wmk_analyze_thread *thread = threads->first;

		threads->first = thread->next;
		for (unsigned i = 0; i < WMK_THREAD_DATA; i++)
			free(thread->data[i]);
		free(thread);
	}
	wmk_read_table_free(&threads->table);
	free(threads->cpus);
}
