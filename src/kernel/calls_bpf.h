/* SPDX-License-Identifier: MIT */
/*
 * calls_bpf.h - system calls with what their arguments point to: the BPF program loaded, its rings read.
 *
 *     wmk_kcalls_open(&options, &calls)            loaded, nothing is recorded yet; words for what the machine lacks
 *     wmk_kcalls_want(calls, abi, number, true)    which calls; wmk_kcalls_follow(calls, pid, true): whose, with all children from then on
 *     wmk_kcalls_start(calls)
 *     wmk_kcalls_next(calls, ring, &batch)         what a ring has now: one ring for each CPU, in the order of time
 *     wmk_kcalls_take(&batch, &record)             record by record, in place
 *     wmk_kcalls_release(&batch)                   its room is free again
 *     wmk_kcalls_stats(calls, ring, &stats)        recorded + lost = made
 *
 * Everything hangs on this process's descriptors: nothing is pinned, nothing is left when it is killed. This process itself is never recorded.
 *
 * One thread at a time. -errno with a cause chain. A build without libbpf has these functions too: wmk_kcalls_open() says so (-ENOTSUP).
 */
#ifndef WMK_KERNEL_CALLS_BPF_H
#define WMK_KERNEL_CALLS_BPF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "kernel/calls.h"
#include "kernel/calls_clock.h"

struct wmk_kcalls;

struct wmk_kcalls_options {
	bool is_all;             /* all processes; else those of wmk_kcalls_follow() */
	bool is_childless;       /* without the children of those */
	/* a number stays in the set when its process has ended: its next process is recorded too */
	bool is_kept;
	bool is_told;            /* with records of signals and of the ends of threads: is_signal, is_end */
	uint32_t n_rings;        /* 0: one for each CPU; CPUs that share one are not in the order of time */
	uint32_t ring_bytes;     /* of one: a power of two from 4096; 0: 1 MiB */
	uint32_t wake_bytes;     /* so much in a ring wakes who polls; 0: a quarter of it */
	uint32_t processes;      /* that can be followed at a time; 0: 16384 */
	struct wmk_kcalls_limits limits;   /* 0: the defaults of calls.h */
	enum wmk_clock_kind clock;         /* of the trace */
};

struct wmk_kcalls_stats {
	uint64_t recorded, lost;   /* lost: there was no room in the ring */
	uint64_t missed;           /* the kernel did not run the program, since it ran already: has not been seen; of all rings, and of calls not wanted too */
	uint64_t unreadable;       /* arguments that point to what could not be read */
	uint64_t unfollowed;       /* children for whom there was no room in the set; of all rings */
};

/* What one argument points to. A text has no NUL; TEXTS: `count` of them, each with one. */
struct wmk_kcalls_piece {
	uint8_t arg, flags;        /* WMK_KCALLS_PART_* */
	uint16_t count;
	uint32_t len;
	const uint8_t *bytes;
};

struct wmk_kcalls_record {
	uint64_t mono, ts;         /* CLOCK_MONOTONIC; on the trace's clock */
	uint32_t pid, tid, cpu;
	uint16_t number;
	uint8_t abi;               /* enum wmk_kabi */
	bool is_exit;
	bool is_signal, is_end;  /* no call; see WMK_KCALLS_IS_SIGNAL, WMK_KCALLS_IS_END for the values */
	uint8_t n_values, n_parts;
	uint64_t values[WMK_KCALLS_ARGS];   /* arguments, or at exit the result */
	struct wmk_kcalls_piece parts[WMK_KCALLS_PARTS];
};

struct wmk_kcalls_batch {
	struct wmk_kcalls *calls;
	uint32_t ring;
	uint64_t at, end;          /* positions in the ring */
};

/* -EPERM, -ENOTSUP, ...: see the words. */
int wmk_kcalls_open(const struct wmk_kcalls_options *options, struct wmk_kcalls **calls);
void wmk_kcalls_close(struct wmk_kcalls *calls);

/* These at any time, also while it records. */
void wmk_kcalls_want(struct wmk_kcalls *calls, enum wmk_kabi abi, unsigned number, bool wanted);
int wmk_kcalls_follow(struct wmk_kcalls *calls, pid_t pid, bool followed);
/*
 * Record these processes and no others; `all`: record every process, whatever the set holds. A process that stays
 * in the set is recorded throughout.
 */
int wmk_kcalls_follow_only(struct wmk_kcalls *calls, const pid_t *pids, unsigned n, bool all);
/* A process (as the first pid namespace has it) that is never recorded. -ENOSPC: there are WMK_KCALLS_EXCLUDED. */
int wmk_kcalls_exclude(struct wmk_kcalls *calls, pid_t pid);
/* These and no others, but this process, which always is: WMK_KCALLS_EXCLUDED - 1 of them at most, the rest is recorded. */
void wmk_kcalls_exclude_only(struct wmk_kcalls *calls, const pid_t *pids, unsigned n);
/* What is copied of a call, if the table does not know it and the kernel's format has told more. */
void wmk_kcalls_describe(struct wmk_kcalls *calls, const struct wmk_kcall *call);

/* The same with what is to be copied instead of what the kinds say. */
void wmk_kcalls_copy(struct wmk_kcalls *calls, enum wmk_kabi abi, unsigned number, const struct wmk_kcalls_plan *plan);

int wmk_kcalls_start(struct wmk_kcalls *calls);
void wmk_kcalls_stop(struct wmk_kcalls *calls);

uint32_t wmk_kcalls_rings(const struct wmk_kcalls *calls);
/* For poll(): readable when there is something; sleeps until there are `wake_bytes`. */
int wmk_kcalls_fd(const struct wmk_kcalls *calls, uint32_t ring);
/* Position in the ring up to which there are records now. */
uint64_t wmk_kcalls_head(const struct wmk_kcalls *calls, uint32_t ring);
/* 1: *batch is filled, the caller's until wmk_kcalls_release(); 0: nothing is there. */
int wmk_kcalls_next(struct wmk_kcalls *calls, uint32_t ring, struct wmk_kcalls_batch *batch);
/* 1: *record, which points into the ring; 0: no more in this batch; -EPROTO: this record is none and has been passed over. */
int wmk_kcalls_take(struct wmk_kcalls_batch *batch, struct wmk_kcalls_record *record);
/* What was taken goes; what was not comes again. */
void wmk_kcalls_release(struct wmk_kcalls_batch *batch);

#define WMK_KCALLS_ALL_RINGS UINT32_MAX
int wmk_kcalls_stats(struct wmk_kcalls *calls, uint32_t ring, struct wmk_kcalls_stats *stats);
/* Take a pair now and then where nothing is recorded for seconds; its error is to be told. */
struct wmk_kclock *wmk_kcalls_clock(struct wmk_kcalls *calls);

/* The bytes of one record. -EPROTO. */
int wmk_kcalls_record_parse(const uint8_t *bytes, size_t len, struct wmk_kcalls_record *record);

/* Why it does not work, as words: what was seen on the machine. For tests apart from it. */
struct wmk_kcalls_facts {
	bool is_root, has_btf, has_ringbuf;
	const char *lockdown;      /* of /sys/kernel/security/lockdown; "" where there is none */
	const char *log;           /* what libbpf and the kernel's verifier said */
};

int wmk_kcalls_refused(int err, const struct wmk_kcalls_facts *facts);

#endif
