/* SPDX-License-Identifier: MIT */
/*
 * strace.h - private to `waymark strace`: system calls of programs as lines of text, while these run nearly as fast as
 * without.
 *
 *     strace.c           options, the program started or attached to, the end
 *     strace_select.c    -e: which calls, which signals
 *     strace_source.c    records in the order of time, of all CPUs
 *     strace_bpf.c       ... out of the BPF program's rings,
 *     strace_tracefs.c   ... or, where there is no BPF, out of an instance of tracefs
 *     strace_threads.c   threads, each with the call that it is in
 *     strace_lines.c     entries and exits put together by thread, as lines
 *     strace_output.c    where lines go, and how each begins
 *     strace_json.c      the same as JSON
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

/* Everything. */
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
	void (*error)(void);     /* the cause chain */
	void (*warn)(const char *format, ...) __attribute__((format(printf, 1, 2)));
	void (*say)(const char *format, ...) __attribute__((format(printf, 1, 2)));
};

struct wmk_strace_args {
	bool json;               /* as struct wmk_cli_common begins */
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
	uint64_t buffer;         /* bytes for each CPU */
};

/* Where records come from: streams, one for each CPU, each in the order of time. */
struct wmk_strace_source_ops {
	int (*follow)(struct wmk_strace_source *source, pid_t pid);
	int (*start)(struct wmk_strace_source *source);
	/* Nothing new comes from here on; what is there stays. */
	void (*stop)(struct wmk_strace_source *source);
	/* heads[i], if there is something in that stream; its memory stays until the next time. */
	void (*fill)(struct wmk_strace_source *source, unsigned i);
	/* The next exit of this thread, if it is there already: it stays there. */
	bool (*peek)(struct wmk_strace_source *source, uint32_t tid, struct wmk_syscalls_record *record);
	/* Until there is much, or so many milliseconds, or `fd` is readable. */
	void (*wait)(struct wmk_strace_source *source, int fd, int ms);
	void (*stats)(struct wmk_strace_source *source, struct wmk_strace_stats *stats);
	void (*close)(struct wmk_strace_source *source);
};

struct wmk_strace_head {
	bool is_there;
	struct wmk_syscalls_record record;
};

struct wmk_strace_source {
	const struct wmk_strace_source_ops *ops;
	bool has_texts;          /* what arguments point to, signals, how threads ended */
	unsigned n;
	struct wmk_strace_head *heads, *given;
	uint64_t until;
};

/* n streams. -ENOMEM. */
int wmk_strace_source_init(struct wmk_strace_source *source, const struct wmk_strace_source_ops *ops, unsigned n);
/* From here on wmk_strace_source_take() gives what has happened up to now; is_end: all that there is. */
void wmk_strace_source_look(struct wmk_strace_source *source, bool is_end);
/* The earliest record of all streams, until the next time; NULL: no more of what has happened up to then. */
const struct wmk_syscalls_record *wmk_strace_source_take(struct wmk_strace_source *source);
/* Bytes of one stream's buffer: as asked for, or so that all of them are not too much. */
uint64_t wmk_strace_source_bytes(const struct wmk_strace_args *args);

/* `prints`: of every call, for what is copied. */
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
	bool waits_for_exec;     /* is ours until its execve */
	bool has_entry;          /* is in a call: `entry` */
	bool is_begun;           /* whose first part is printed */
	bool was_there;          /* before we were: its first exit may have no entry */
	uint8_t abi;             /* of the latest call */
	uint64_t gone;           /* when it was seen that it had ended; 0: not yet */
	struct wmk_syscalls_record entry;
	uint8_t *bytes;          /* what its pieces are */
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
	int err;                 /* of writing */
	struct wmk_strace_thread *threads;
	size_t n_slots, n_threads;
	struct wmk_strace_thread *latest;
	uint32_t deferred;       /* the thread whose call has begun, and nothing of it is printed; 0: none */
	uint32_t open;           /* the thread whose line is not at its end; 0: none */
	size_t open_column;      /* of what was written of it already */
	size_t begin;            /* in `out`, of the line that is put together */
	uint32_t newborn[64];    /* -f: the latest that were made, perhaps not heard of yet; 0: none */
	unsigned n_newborn;
	uint64_t last;           /* -r */
	int64_t wall;            /* wall clock minus the clock of the records */
	struct wmk_strace_count *counts[WMK_SYSCALLS_ABIS];
};

/* Threads, of strace_threads.c. NULL: it is not followed. */
struct wmk_strace_thread *wmk_strace_thread_find(struct wmk_strace_lines *lines, uint32_t tid);
/* Room for more. False: there is no memory. */
bool wmk_strace_threads_grow(struct wmk_strace_lines *lines);
/* Others may be elsewhere then. */
void wmk_strace_thread_remove(struct wmk_strace_lines *lines, struct wmk_strace_thread *thread);
/* It is in this call: the record, and what its pieces are, since its memory is the ring's. */
bool wmk_strace_thread_keep(struct wmk_strace_thread *thread, const struct wmk_syscalls_record *record);
/* Also one that has ended and that nobody has waited for yet. */
bool wmk_strace_thread_is_gone(uint32_t tid);

int wmk_strace_lines_open(const struct wmk_strace_args *args, const struct wmk_strace_prints *prints,
			  struct wmk_strace_source *source, struct wmk_strace_lines *lines);
void wmk_strace_lines_close(struct wmk_strace_lines *lines);
/* Write what is there. */
void wmk_strace_lines_flush(struct wmk_strace_lines *lines);
/* A line of this thread begins: its number and time, as the options say. */
void wmk_strace_lines_begin(struct wmk_strace_lines *lines, uint32_t tid, uint64_t mono);
/* -f: was one made that lives, and of which nothing has been heard? It may not have run yet. */
bool wmk_strace_lines_awaits(struct wmk_strace_lines *lines);
/* A thread that is traced from its begin, or from now on. */
struct wmk_strace_thread *wmk_strace_lines_add(struct wmk_strace_lines *lines, uint32_t tid, uint32_t pid);
void wmk_strace_lines_record(struct wmk_strace_lines *lines, const struct wmk_syscalls_record *record);
/* Nothing comes for a while: what has begun is shown, and written. */
void wmk_strace_lines_idle(struct wmk_strace_lines *lines);
/*
 * Threads that have ended without our hearing of it are taken out: when all has been taken, and only what happened
 * before `until` may still come.
 */
void wmk_strace_lines_reap(struct wmk_strace_lines *lines);
/* Nothing comes any more. */
void wmk_strace_lines_finish(struct wmk_strace_lines *lines);

/* Objects of strace_json.c, a line each, into lines->out. `exit` NULL: the call has not ended. */
void wmk_strace_json_call(struct wmk_strace_lines *lines, const struct wmk_strace_thread *thread,
			  const struct wmk_syscalls_record *exit);
void wmk_strace_json_other(struct wmk_strace_lines *lines, const struct wmk_syscalls_record *record);

void wmk_strace_summary(struct wmk_strace_lines *lines);

#endif
