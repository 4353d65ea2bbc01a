/* SPDX-License-Identifier: MIT */
/*
 * strace_threads.c - hash table of the threads that `waymark strace` follows, each with its current system call (see
 * strace.h).
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "strace/strace.h"
#include "kernel/proc/procfs.h"

#define SLOTS_MIN 64u

static size_t slot_of(const struct wmk_strace_lines *lines, uint32_t tid)
{
	size_t i = (tid * 2654435761u) & (lines->n_slots - 1);

	while (lines->threads[i].is_used && lines->threads[i].tid != tid)
		i = (i + 1) & (lines->n_slots - 1);
	return i;
}

struct wmk_strace_thread *wmk_strace_thread_find(struct wmk_strace_lines *lines, uint32_t tid)
{
	struct wmk_strace_thread *thread;

	if (lines->latest && lines->latest->tid == tid)
		return lines->latest;
	thread = &lines->threads[slot_of(lines, tid)];
	return thread->is_used ? (lines->latest = thread) : NULL;
}

bool wmk_strace_threads_grow(struct wmk_strace_lines *lines)
{
	struct wmk_strace_thread *old = lines->threads;
	const size_t n = lines->n_slots;
	struct wmk_strace_thread *more = calloc(n ? 2 * n : SLOTS_MIN, sizeof(*more));

	if (!more)
		return false;
	lines->threads = more;
	lines->n_slots = n ? 2 * n : SLOTS_MIN;
	lines->latest = NULL;
	for (size_t i = 0; i < n; i++)
		if (old[i].is_used)
			lines->threads[slot_of(lines, old[i].tid)] = old[i];
	free(old);
	return true;
}

struct wmk_strace_thread *wmk_strace_lines_add(struct wmk_strace_lines *lines, uint32_t tid, uint32_t pid)
{
	struct wmk_strace_thread *thread = wmk_strace_thread_find(lines, tid);

	if (thread)
		return thread;
	if (2 * lines->n_threads >= lines->n_slots && !wmk_strace_threads_grow(lines))
		return NULL;
	thread = &lines->threads[slot_of(lines, tid)];
	*thread = (struct wmk_strace_thread){ .tid = tid, .pid = pid, .is_used = true };
	lines->n_threads++;
	return lines->latest = thread;
}

/* Moves later entries of the probe sequence into the free slot, so that look-ups still find these entries. */
void wmk_strace_thread_remove(struct wmk_strace_lines *lines, struct wmk_strace_thread *thread)
{
	size_t hole = (size_t)(thread - lines->threads), i = hole;

	free(thread->bytes);
	if (lines->deferred == thread->tid)
		lines->deferred = 0;
	lines->n_threads--;
	lines->latest = NULL;
	for (;;) {
		lines->threads[hole].is_used = false;
		do {
			size_t home;

			i = (i + 1) & (lines->n_slots - 1);
			if (!lines->threads[i].is_used)
				return;
			home = (lines->threads[i].tid * 2654435761u) & (lines->n_slots - 1);
			/*
			 * An entry keeps its slot if its home slot is between the free slot and its current slot.
			 */
			if (hole <= i ? (hole < home && home <= i) : (hole < home || home <= i))
				continue;
			break;
		} while (true);
		lines->threads[hole] = lines->threads[i];
		hole = i;
	}
}

bool wmk_strace_thread_keep(struct wmk_strace_thread *thread, const struct wmk_syscalls_record *record)
{
	size_t need = 0;

	for (unsigned i = 0; i < record->n_parts; i++)
		need += record->parts[i].len;
	if (need > thread->room) {
		uint8_t *more = realloc(thread->bytes, need + 256);

		if (!more)
			return false;
		thread->bytes = more;
		thread->room = need + 256;
	}
	thread->entry = *record;
	need = 0;
	for (unsigned i = 0; i < record->n_parts; i++) {
		if (record->parts[i].len)
			memcpy(thread->bytes + need, record->parts[i].bytes, record->parts[i].len);
		thread->entry.parts[i].bytes = thread->bytes + need;
		need += record->parts[i].len;
	}
	thread->has_entry = true;
	thread->is_begun = false;
	return true;
}

bool wmk_strace_thread_is_gone(uint32_t tid)
{
	struct wmk_kproc_stat stat;

	return wmk_kproc_stat_of((int32_t)tid, &stat) < 0 || stat.state == 'Z' || stat.state == 'X';
}
