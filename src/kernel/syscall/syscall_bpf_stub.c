/* SPDX-License-Identifier: MIT */
/*
 * syscall_bpf_stub.c - syscall_bpf.h in a build without libbpf, clang or bpftool. Opening always fails, so the other
 * functions are never called.
 */
#include <errno.h>

#include "base/error.h"
#include "kernel/syscall/syscall_bpf.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"

int wmk_syscalls_open(const struct wmk_syscalls_options *options, struct wmk_syscalls **calls)
{
	*calls = NULL;
	return wmk_errorx(-ENOTSUP,
			  "the data that arguments of system calls point to cannot be recorded: this Waymark "
			  "was built without BPF (libbpf, clang or bpftool was missing)");
}

void wmk_syscalls_close(struct wmk_syscalls *calls)
{
}

void wmk_syscalls_want(struct wmk_syscalls *calls, enum wmk_kabi abi, unsigned number, bool wanted)
{
}

int wmk_syscalls_follow(struct wmk_syscalls *calls, pid_t pid, bool followed)
{
	return -ENOTSUP;
}

int wmk_syscalls_follow_only(struct wmk_syscalls *calls, const pid_t *pids, unsigned n, bool all)
{
	return -ENOTSUP;
}

int wmk_syscalls_exclude(struct wmk_syscalls *calls, pid_t pid)
{
	return -ENOTSUP;
}

void wmk_syscalls_exclude_only(struct wmk_syscalls *calls, const pid_t *pids, unsigned n)
{
}

int wmk_syscalls_wake(struct wmk_syscalls *calls, bool first)
{
	return -ENOTSUP;
}

uint64_t wmk_syscalls_head(const struct wmk_syscalls *calls, uint32_t ring)
{
	return 0;
}

void wmk_syscalls_describe(struct wmk_syscalls *calls, const struct wmk_syscall *call)
{
}

void wmk_syscalls_copy(struct wmk_syscalls *calls, enum wmk_kabi abi, unsigned number,
		       const struct wmk_syscalls_plan *plan)
{
}

int wmk_syscalls_start(struct wmk_syscalls *calls)
{
	return -ENOTSUP;
}

void wmk_syscalls_stop(struct wmk_syscalls *calls)
{
}

uint32_t wmk_syscalls_rings(const struct wmk_syscalls *calls)
{
	return 0;
}

int wmk_syscalls_fd(const struct wmk_syscalls *calls, uint32_t ring)
{
	return -1;
}

int wmk_syscalls_next(struct wmk_syscalls *calls, uint32_t ring, struct wmk_syscalls_batch *batch)
{
	return 0;
}

int wmk_syscalls_take(struct wmk_syscalls_batch *batch, struct wmk_syscalls_record *record)
{
	return 0;
}

void wmk_syscalls_release(struct wmk_syscalls_batch *batch)
{
}

int wmk_syscalls_stats(struct wmk_syscalls *calls, uint32_t ring, struct wmk_syscalls_stats *stats)
{
	*stats = (struct wmk_syscalls_stats){ .recorded = 0 };
	return 0;
}

struct wmk_kclock *wmk_syscalls_clock(struct wmk_syscalls *calls)
{
	return NULL;
}
