/* SPDX-License-Identifier: MIT */
/*
 * strace.h - private to `waymark strace`: prints system calls of programs as lines of text, at a low cost for the
 * programs.
 *
 *     strace.c           options; starts a program or attaches to it; the end
 *     strace_select.c    -e: selection of system calls and signals
 *     strace_source.c    records of all CPUs, ordered by time
 *     strace_bpf.c       ... from the BPF program's rings,
 *     strace_tracefs.c   ... or, without BPF, from a tracefs instance
 *     strace_threads.c   threads, each with its current system call
 *     strace_lines.c     combines entries and exits of each thread to lines
 *     strace_output.c    the output file, and the beginning of each line
 *     strace_json.c      JSON output
 *     strace_summary.c   -c
 *
 * One thread.
 */
#ifndef WMK_STRACE_STRACE_H
#define WMK_STRACE_STRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "strace/print_syscall.h"

#define WMK_STRACE_PIDS 64u

/* ── -e ──────────────────────────────────────────────────────────────────────────────────────────────── */

struct wmk_strace_select {
	uint64_t calls[WMK_SYSCALLS_ABIS][WMK_SYSCALLS_NUMBERS / 64];
	uint64_t signals;        /* number n: bit n - 1 */
};

/* Selects everything. */
void wmk_strace_select_init(struct wmk_strace_select *select);
/* "trace=LIST", "signal=LIST", "LIST". -EINVAL, -ENOENT with a cause chain. */
int wmk_strace_select_add(struct wmk_strace_select *select, const char *expression);

static inline bool wmk_strace_selected(const struct wmk_strace_select *select, unsigned abi, unsigned number)
{
	return number < WMK_SYSCALLS_NUMBERS && abi < WMK_SYSCALLS_ABIS &&
	       (select->calls[abi][number / 64] >> (number % 64) & 1);
}

/* ── options ─────────────────────────────────────────────────────────────────────────────────────────── */

/* How the command prints messages. */
struct wmk_strace_messages {
	void (*error)(void);     /* prints the cause chain */
	void (*warn)(const char *format, ...) __attribute__((format(printf, 1, 2)));
	void (*say)(const char *format, ...) __attribute__((format(printf, 1, 2)));
};

struct wmk_strace_args {
	bool json;               /* first member, as in struct wmk_cli_common */
	bool has_select, has_strings, has_columns, no_bpf, is_relative, with_durations, is_summary, with_summary;
	unsigned follow, times, quiet;
	uint64_t strings, columns, buffer;
	const char *output;
	pid_t pids[WMK_STRACE_PIDS];
	unsigned n_pids;
	struct wmk_strace_select select;
	const struct wmk_strace_messages *messages;
};

/* ── records ─────────────────────────────────────────────────────────────────────────────────────────── */

struct wmk_strace_source;

struct wmk_strace_stats {
	uint64_t lost, missed, unfollowed;
	uint64_t buffer;         /* bytes of the buffer of each CPU */
};

/* A source of records, which has one stream for each CPU; each stream is ordered by time. */
struct wmk_strace_source_ops {
	int (*follow)(struct wmk_strace_source *source, pid_t pid);
	int (*start)(struct wmk_strace_source *source);
	/* After the call of stop(), no new records arrive; existing records are still readable. */
	void (*stop)(struct wmk_strace_source *source);
	/*
	 * Sets heads[i] to the next record of stream `i`, if the stream has a record. The memory of the record is valid
	 * until the next call of fill() for this stream.
	 */
	void (*fill)(struct wmk_strace_source *source, unsigned i);
	/*
	 * Finds the next exit record of this thread, if the record has already arrived. The function does not remove
	 * the record from the stream.
	 */
	bool (*peek)(struct wmk_strace_source *source, uint32_t tid, struct wmk_syscalls_record *record);
	/* Waits until many records have arrived, `ms` milliseconds have passed, or `fd` is readable. */
	void (*wait)(struct wmk_strace_source *source, int fd, int ms);
	void (*stats)(struct wmk_strace_source *source, struct wmk_strace_stats *stats);
	void (*close)(struct wmk_strace_source *source);
};

struct wmk_strace_head {
	bool has_record;
	struct wmk_syscalls_record record;
};

struct wmk_strace_source {
	const struct wmk_strace_source_ops *ops;
	bool has_texts;          /* the source has data that arguments point to, signals, and the status of exits */
	unsigned n;
	struct wmk_strace_head *heads, *given;
	uint64_t until;
};

/* Initializes a source of n streams. -ENOMEM. */
int wmk_strace_source_init(struct wmk_strace_source *source, const struct wmk_strace_source_ops *ops, unsigned n);
/*
 * Sets the time limit of wmk_strace_source_take() to a time shortly before now; with is_end, there is no limit.
 */
void wmk_strace_source_refill(struct wmk_strace_source *source, bool is_end);
/*
 * Returns the earliest record of all streams, valid until the next call; NULL: no further record up to the time that
 * wmk_strace_source_refill() has set.
 */
const struct wmk_syscalls_record *wmk_strace_source_take(struct wmk_strace_source *source);
/*
 * Returns the buffer size of one stream in bytes: the requested size, or a smaller size that keeps the sum for all CPUs
 * below a limit.
 */
uint64_t wmk_strace_source_bytes(const struct wmk_strace_args *args);

/* `prints` contains the form of each system call; the form selects the data to copy. */
struct wmk_strace_prints {
	struct wmk_kprint *calls[WMK_SYSCALLS_ABIS];
};
int wmk_strace_bpf_open(const struct wmk_strace_args *args, const struct wmk_strace_prints *prints,
			struct wmk_strace_source **source);
int wmk_strace_tracefs_open(const struct wmk_strace_args *args, struct wmk_strace_source **source);

/* ── lines ───────────────────────────────────────────────────────────────────────────────────────────── */

struct wmk_strace_thread {
	uint32_t tid, pid;
	bool is_used;
	bool waits_for_exec;     /* records of the thread are ignored until its execve */
	bool has_entry;          /* the thread is in a system call; its entry record is `entry` */
	bool is_begun;           /* the first part of the line is printed */
	bool existed;            /* the thread existed before the trace, so its first exit may have no entry */
	uint8_t abi;             /* ABI of the latest system call */
	uint64_t gone;           /* time when the exit of the thread was noticed; 0: not noticed */
	struct wmk_syscalls_record entry;
	uint8_t *bytes;          /* copies of the pieces of `entry` */
	size_t room;
};

struct wmk_strace_count {
	uint64_t calls, errors, ns;
};

struct wmk_strace_lines {
	const struct wmk_strace_args *args;
	const struct wmk_strace_prints *prints;
	struct wmk_strace_source *source;
	struct wmk_kline out;
	int fd;
	int err;                 /* error of write() */
	struct wmk_strace_thread *threads;
	size_t n_slots, n_threads;
	struct wmk_strace_thread *latest;
	uint32_t deferred;       /* thread with an entry that is not printed yet; 0: no such thread */
	uint32_t open;           /* thread with an unfinished line; 0: no such thread */
	size_t open_column;      /* columns of the unfinished line that are written already */
	size_t begin;            /* position in `out` where the current line begins */
	uint32_t newborn[64];    /* -f: latest new threads, which may have no record yet; 0: none */
	unsigned n_newborn;
	uint64_t last;           /* -r */
	int64_t wall;            /* wall clock minus the clock of the records */
	struct wmk_strace_count *counts[WMK_SYSCALLS_ABIS];
};

/* Functions of strace_threads.c. Returns NULL if the tracer does not follow the thread. */
struct wmk_strace_thread *wmk_strace_thread_find(struct wmk_strace_lines *lines, uint32_t tid);
/* Doubles the table. Returns false without memory. */
bool wmk_strace_threads_grow(struct wmk_strace_lines *lines);
/* Invalidates pointers to other threads. */
void wmk_strace_thread_remove(struct wmk_strace_lines *lines, struct wmk_strace_thread *thread);
/* Stores a copy of the entry record and of its pieces, because the original memory belongs to the ring. */
bool wmk_strace_thread_keep(struct wmk_strace_thread *thread, const struct wmk_syscalls_record *record);
/* Returns whether the thread has exited; a zombie counts as exited. */
bool wmk_strace_thread_is_gone(uint32_t tid);

int wmk_strace_lines_open(const struct wmk_strace_args *args, const struct wmk_strace_prints *prints,
			  struct wmk_strace_source *source, struct wmk_strace_lines *lines);
void wmk_strace_lines_close(struct wmk_strace_lines *lines);
/* Writes the buffered text. */
void wmk_strace_lines_flush(struct wmk_strace_lines *lines);
/* Begins a line of this thread with the thread number and the time, if the options request them. */
void wmk_strace_lines_begin(struct wmk_strace_lines *lines, uint32_t tid, uint64_t mono);
/* -f: returns whether a new thread has no record yet. A new thread without a record may not have run yet. */
bool wmk_strace_lines_has_newborn(struct wmk_strace_lines *lines);
/* Adds a thread when its first record arrives: a new thread, or a thread that started before the trace. */
struct wmk_strace_thread *wmk_strace_lines_add(struct wmk_strace_lines *lines, uint32_t tid, uint32_t pid);
void wmk_strace_lines_record(struct wmk_strace_lines *lines, const struct wmk_syscalls_record *record);
/*
 * Prints the deferred entry line and writes the buffered text. The caller calls this function when no records have
 * arrived for a while.
 */
void wmk_strace_lines_idle(struct wmk_strace_lines *lines);
/*
 * Removes the threads that exited without a record of their exit. The caller must first take all records up to the time
 * `until` of the source, so that only later records can follow.
 */
void wmk_strace_lines_reap(struct wmk_strace_lines *lines);
/* The caller calls this function after the last record. */
void wmk_strace_lines_finish(struct wmk_strace_lines *lines);

/* strace_json.c: append an object in a line to lines->out. `exit` is NULL if the system call has not returned. */
void wmk_strace_json_call(struct wmk_strace_lines *lines, const struct wmk_strace_thread *thread,
			  const struct wmk_syscalls_record *exit);
void wmk_strace_json_other(struct wmk_strace_lines *lines, const struct wmk_syscalls_record *record);

void wmk_strace_summary(struct wmk_strace_lines *lines);

#endif
