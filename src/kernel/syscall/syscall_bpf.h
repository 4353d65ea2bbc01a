/* SPDX-License-Identifier: MIT */
/*
 * syscall_bpf.h - system calls with the data that their arguments point to: load the BPF program, and read its rings.
 *
 *     wmk_syscalls_open(&options, &calls)            loads the program; nothing is recorded yet
 *     wmk_syscalls_want(calls, abi, number, true)    selects a system call
 *     wmk_syscalls_follow(calls, pid, true)          selects a process, and all children that it has from now on
 *     wmk_syscalls_start(calls)
 *     wmk_syscalls_next(calls, ring, &batch)         the records in a ring: one ring for each CPU, in order of time
 *     wmk_syscalls_take(&batch, &record)             one record after the other, in place
 *     wmk_syscalls_release(&batch)                   frees their space
 *     wmk_syscalls_stats(calls, ring, &stats)        recorded + lost = system calls made
 *
 * All BPF objects belong to descriptors of this process, and no object is pinned. After a crash, the kernel therefore
 * removes all BPF objects. This process is never recorded.
 *
 * One thread at a time. Errors are -errno with a cause chain, which explains what the machine lacks. In a build without
 * libbpf, wmk_syscalls_open() returns -ENOTSUP.
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
	bool is_all;             /* record all processes; false: the processes of wmk_syscalls_follow() */
	bool is_childless;       /* the children of the followed processes are not followed */
	/*
	 * a process number stays in the set when the process has ended, so the next process of that number is recorded
	 * too
	 */
	bool is_kept;
	bool is_told;            /* also records of signals and of ends of threads: is_signal, is_end */
	uint32_t n_rings;        /* 0: one for each CPU; records of CPUs that share a ring are not in order of time */
	uint32_t ring_bytes;     /* of one ring: a power of two from 4096; 0: 1 MiB */
	uint32_t wake_bytes;     /* bytes in a ring that wake poll(); 0: a quarter of the ring */
	uint32_t processes;      /* limit of followed processes; 0: 16384 */
	struct wmk_syscalls_limits limits;   /* 0: the defaults of syscall_info.h */
	enum wmk_clock_kind clock;         /* of the trace */
};

struct wmk_syscalls_stats {
	uint64_t recorded, lost;   /* lost: records that the full ring had no space for */
	/*
	 * not seen: the kernel skipped the BPF program, which was running already; counted over all rings, and for all
	 * system calls, selected or not
	 */
	uint64_t missed;
	uint64_t unreadable;       /* arguments that point to unreadable memory */
	uint64_t unfollowed;       /* children for which the set had no space; counted over all rings */
};

/*
 * The data that one argument points to. The bytes of a text have no NUL; the bytes of a piece of kind TEXTS have
 * `count` texts, each with a NUL.
 */
struct wmk_syscalls_piece {
	uint8_t arg, flags;        /* WMK_SYSCALLS_PART_* */
	uint16_t count;
	uint32_t len;
	const uint8_t *bytes;
};

struct wmk_syscalls_record {
	uint64_t mono, ts;         /* CLOCK_MONOTONIC; in the trace's clock */
	uint32_t pid, tid, cpu;
	uint16_t number;
	uint8_t abi;               /* enum wmk_kabi */
	bool is_exit;
	bool is_signal, is_end;  /* not a system call; values as for WMK_SYSCALLS_IS_SIGNAL, WMK_SYSCALLS_IS_END */
	uint8_t n_values, n_parts;
	uint64_t values[WMK_SYSCALLS_ARGS];   /* the arguments; at exit the result */
	uint64_t other;            /* at the entry of WMK_SYSCALLS_OTHER: the number of the system call */
	struct wmk_syscalls_piece parts[WMK_SYSCALLS_PARTS];
};

struct wmk_syscalls_batch {
	struct wmk_syscalls *calls;
	uint32_t ring;
	uint64_t at, end;          /* positions in the ring, in bytes */
};

/* Load the program. -EPERM, -ENOTSUP, ...: the cause chain has the reason. */
int wmk_syscalls_open(const struct wmk_syscalls_options *options, struct wmk_syscalls **calls);
void wmk_syscalls_close(struct wmk_syscalls *calls);

/* These functions may be called at any time, even while recording. */
void wmk_syscalls_want(struct wmk_syscalls *calls, enum wmk_kabi abi, unsigned number, bool wanted);
int wmk_syscalls_follow(struct wmk_syscalls *calls, pid_t pid, bool followed);
/*
 * Record only these processes; `all`: record every process, regardless of the set. A process that is in the set before
 * and after the call is recorded without a gap.
 */
int wmk_syscalls_follow_only(struct wmk_syscalls *calls, const pid_t *pids, unsigned n, bool all);
/*
 * Never record the process with this number in the initial PID namespace. -ENOSPC: WMK_SYSCALLS_EXCLUDED processes are
 * excluded already.
 */
int wmk_syscalls_exclude(struct wmk_syscalls *calls, pid_t pid);
/*
 * Exclude only these processes; this process itself is always excluded as well. Only the first WMK_SYSCALLS_EXCLUDED -
 * 1 processes are excluded.
 */
void wmk_syscalls_exclude_only(struct wmk_syscalls *calls, const pid_t *pids, unsigned n);
/*
 * Set which data of a system call is copied. For a system call that the table lacks, the caller calls this function
 * after reading the kernel's format.
 */
void wmk_syscalls_describe(struct wmk_syscalls *calls, const struct wmk_syscall *call);
/* Set which data of a system call is copied, by an explicit plan instead of the kinds of the arguments. */
void wmk_syscalls_copy(struct wmk_syscalls *calls, enum wmk_kabi abi, unsigned number,
		       const struct wmk_syscalls_plan *plan);

int wmk_syscalls_start(struct wmk_syscalls *calls);
void wmk_syscalls_stop(struct wmk_syscalls *calls);

uint32_t wmk_syscalls_rings(const struct wmk_syscalls *calls);
/*
 * Return a descriptor for poll(): readable when the ring has records. By default, the ring wakes poll() after
 * `wake_bytes`.
 */
int wmk_syscalls_fd(const struct wmk_syscalls *calls, uint32_t ring);
/*
 * From now on, each record wakes poll() (`first`), or poll() wakes after `wake_bytes`. When the function returns, all
 * BPF programs that began with the earlier setting have ended, and their records are in the rings. -errno: the function
 * cannot wait for them.
 */
int wmk_syscalls_wake(struct wmk_syscalls *calls, bool first);
/* Return the position of the end of the ring's records. */
uint64_t wmk_syscalls_head(const struct wmk_syscalls *calls, uint32_t ring);
/* Take a batch of records. 1: the caller owns *batch until wmk_syscalls_release(); 0: the ring has no records. */
int wmk_syscalls_next(struct wmk_syscalls *calls, uint32_t ring, struct wmk_syscalls_batch *batch);
/*
 * Read the next record. 1: *record, which points into the ring; 0: no more in this batch; -EPROTO: an invalid record,
 * which was skipped.
 */
int wmk_syscalls_take(struct wmk_syscalls_batch *batch, struct wmk_syscalls_record *record);
/* Free the space of the taken records; the next batch begins with the first record that was not taken. */
void wmk_syscalls_release(struct wmk_syscalls_batch *batch);

#define WMK_SYSCALLS_ALL_RINGS UINT32_MAX
int wmk_syscalls_stats(struct wmk_syscalls *calls, uint32_t ring, struct wmk_syscalls_stats *stats);
/*
 * Return the clock that converts the times of records, for wmk_kclock_error(). wmk_syscalls_next() takes a pair of
 * clock values for each batch.
 */
struct wmk_kclock *wmk_syscalls_clock(struct wmk_syscalls *calls);

/* Parse the bytes of one record. -EPROTO. */
int wmk_syscalls_record_parse(const uint8_t *bytes, size_t len, struct wmk_syscalls_record *record);

/* The state of the machine, from which the reason of a failure is derived. Separate for tests. */
struct wmk_syscalls_facts {
	bool is_root, has_btf, has_ringbuf;
	const char *lockdown;      /* content of /sys/kernel/security/lockdown; "" without that file */
	const char *log;           /* messages of libbpf and of the kernel's verifier */
};

int wmk_syscalls_refused(int err, const struct wmk_syscalls_facts *facts);

#endif
