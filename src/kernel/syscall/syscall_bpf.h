/* SPDX-License-Identifier: MIT */
/*
 * syscall_bpf.h - system calls with what their arguments point to: the BPF program loaded, its rings read.
 *
 *     wmk_syscalls_open(&options, &calls)            loaded, nothing is recorded yet; words for what the machine lacks
 *     wmk_syscalls_want(calls, abi, number, true)    which calls; wmk_syscalls_follow(calls, pid, true): whose, with all children from then on
 *     wmk_syscalls_start(calls)
 *     wmk_syscalls_next(calls, ring, &batch)         what a ring has now: one ring for each CPU, in the order of time
 *     wmk_syscalls_take(&batch, &record)             record by record, in place
 *     wmk_syscalls_release(&batch)                   its room is free again
 *     wmk_syscalls_stats(calls, ring, &stats)        recorded + lost = made
 *
 * Everything hangs on this process's descriptors: nothing is pinned, nothing is left when it is killed. This process
 * itself is never recorded.
 *
 * One thread at a time. -errno with a cause chain. A build without libbpf has these functions too: wmk_syscalls_open()
 * says so (-ENOTSUP).
 */
#ifndef WMK_KERNEL_SYSCALL_BPF_H
#define WMK_KERNEL_SYSCALL_BPF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "kernel/syscall/syscall_info.h"
#include "kernel/syscall/syscall_clock.h"

struct wmk_syscalls;

struct wmk_syscalls_options {
	bool is_all;             /* all processes; else those of wmk_syscalls_follow() */
	bool is_childless;       /* without the children of those */
	/* a number stays in the set when its process has ended: its next process is recorded too */
	bool is_kept;
	bool is_told;            /* with records of signals and of the ends of threads: is_signal, is_end */
	uint32_t n_rings;        /* 0: one for each CPU; CPUs that share one are not in the order of time */
	uint32_t ring_bytes;     /* of one: a power of two from 4096; 0: 1 MiB */
	uint32_t wake_bytes;     /* so much in a ring wakes who polls; 0: a quarter of it */
	uint32_t processes;      /* that can be followed at a time; 0: 16384 */
	struct wmk_syscalls_limits limits;   /* 0: the defaults of syscall_info.h */
	enum wmk_clock_kind clock;         /* of the trace */
};

struct wmk_syscalls_stats {
	uint64_t recorded, lost;   /* lost: there was no room in the ring */
	/*
	 * the kernel did not run the program, since it ran already: has not been seen; of all rings, and of calls not
	 * wanted too
	 */
	uint64_t missed;
	uint64_t unreadable;       /* arguments that point to what could not be read */
	uint64_t unfollowed;       /* children for whom there was no room in the set; of all rings */
};

/* What one argument points to. A text has no NUL; TEXTS: `count` of them, each with one. */
struct wmk_syscalls_piece {
	uint8_t arg, flags;        /* WMK_SYSCALLS_PART_* */
	uint16_t count;
	uint32_t len;
	const uint8_t *bytes;
};

struct wmk_syscalls_record {
	uint64_t mono, ts;         /* CLOCK_MONOTONIC; on the trace's clock */
	uint32_t pid, tid, cpu;
	uint16_t number;
	uint8_t abi;               /* enum wmk_kabi */
	bool is_exit;
	bool is_signal, is_end;  /* no call; see WMK_SYSCALLS_IS_SIGNAL, WMK_SYSCALLS_IS_END for the values */
	uint8_t n_values, n_parts;
	uint64_t values[WMK_SYSCALLS_ARGS];   /* arguments, or at exit the result */
	uint64_t other;            /* at the entry of WMK_SYSCALLS_OTHER: the number of the call */
	struct wmk_syscalls_piece parts[WMK_SYSCALLS_PARTS];
};

struct wmk_syscalls_batch {
	struct wmk_syscalls *calls;
	uint32_t ring;
	uint64_t at, end;          /* positions in the ring */
};

/* -EPERM, -ENOTSUP, ...: see the words. */
int wmk_syscalls_open(const struct wmk_syscalls_options *options, struct wmk_syscalls **calls);
void wmk_syscalls_close(struct wmk_syscalls *calls);

/* These at any time, also while it records. */
void wmk_syscalls_want(struct wmk_syscalls *calls, enum wmk_kabi abi, unsigned number, bool wanted);
int wmk_syscalls_follow(struct wmk_syscalls *calls, pid_t pid, bool followed);
/*
 * Record these processes and no others; `all`: record every process, whatever the set holds. A process that stays
 * in the set is recorded throughout.
 */
int wmk_syscalls_follow_only(struct wmk_syscalls *calls, const pid_t *pids, unsigned n, bool all);
/* A process (as the first pid namespace has it) that is never recorded. -ENOSPC: there are WMK_SYSCALLS_EXCLUDED. */
int wmk_syscalls_exclude(struct wmk_syscalls *calls, pid_t pid);
/*
 * These and no others, but this process, which always is: WMK_SYSCALLS_EXCLUDED - 1 of them at most, the rest is
 * recorded.
 */
void wmk_syscalls_exclude_only(struct wmk_syscalls *calls, const pid_t *pids, unsigned n);
/* What is copied of a call, if the table does not know it and the kernel's format has told more. */
void wmk_syscalls_describe(struct wmk_syscalls *calls, const struct wmk_syscall *call);

/* The same with what is to be copied instead of what the kinds say. */
void wmk_syscalls_copy(struct wmk_syscalls *calls, enum wmk_kabi abi, unsigned number,
		       const struct wmk_syscalls_plan *plan);

int wmk_syscalls_start(struct wmk_syscalls *calls);
void wmk_syscalls_stop(struct wmk_syscalls *calls);

uint32_t wmk_syscalls_rings(const struct wmk_syscalls *calls);
/* For poll(): readable when there is something; sleeps until there are `wake_bytes`. */
int wmk_syscalls_fd(const struct wmk_syscalls *calls, uint32_t ring);
/* Position in the ring up to which there are records now. */
uint64_t wmk_syscalls_head(const struct wmk_syscalls *calls, uint32_t ring);
/* 1: *batch is filled, the caller's until wmk_syscalls_release(); 0: nothing is there. */
int wmk_syscalls_next(struct wmk_syscalls *calls, uint32_t ring, struct wmk_syscalls_batch *batch);
/*
 * 1: *record, which points into the ring; 0: no more in this batch; -EPROTO: this record is none and has been passed
 * over.
 */
int wmk_syscalls_take(struct wmk_syscalls_batch *batch, struct wmk_syscalls_record *record);
/* What was taken goes; what was not comes again. */
void wmk_syscalls_release(struct wmk_syscalls_batch *batch);

#define WMK_SYSCALLS_ALL_RINGS UINT32_MAX
int wmk_syscalls_stats(struct wmk_syscalls *calls, uint32_t ring, struct wmk_syscalls_stats *stats);
/* Take a pair now and then where nothing is recorded for seconds; its error is to be told. */
struct wmk_kclock *wmk_syscalls_clock(struct wmk_syscalls *calls);

/* The bytes of one record. -EPROTO. */
int wmk_syscalls_record_parse(const uint8_t *bytes, size_t len, struct wmk_syscalls_record *record);

/* Why it does not work, as words: what was seen on the machine. For tests apart from it. */
struct wmk_syscalls_facts {
	bool is_root, has_btf, has_ringbuf;
	const char *lockdown;      /* of /sys/kernel/security/lockdown; "" where there is none */
	const char *log;           /* what libbpf and the kernel's verifier said */
};

int wmk_syscalls_refused(int err, const struct wmk_syscalls_facts *facts);

#endif
