/* SPDX-License-Identifier: MIT */
/*
 * calls_none.c - calls_bpf.h in a build without libbpf, clang or bpftool. Nothing can be opened, so the rest is not reached.
 */
#include <errno.h>

#include "base/error.h"
#include "kernel/calls_bpf.h"

int wmk_kcalls_open(const struct wmk_kcalls_options *options, struct wmk_kcalls **calls)
{
	(void)options;
	*calls = NULL;
	return wmk_error_said(-ENOTSUP, "what system calls' arguments point to cannot be recorded: this Waymark was built without BPF (libbpf, clang or "
					"bpftool was missing)");
}

void wmk_kcalls_close(struct wmk_kcalls *calls)
{
	(void)calls;
}

void wmk_kcalls_want(struct wmk_kcalls *calls, enum wmk_kabi abi, unsigned number, bool wanted)
{
	(void)calls;
	(void)abi;
	(void)number;
	(void)wanted;
}

int wmk_kcalls_follow(struct wmk_kcalls *calls, pid_t pid, bool followed)
{
	(void)calls;
	(void)pid;
	(void)followed;
	return -ENOTSUP;
}

int wmk_kcalls_follow_only(struct wmk_kcalls *calls, const pid_t *pids, unsigned n, bool all)
{
	(void)calls;
	(void)pids;
	(void)n;
	(void)all;
	return -ENOTSUP;
}

int wmk_kcalls_exclude(struct wmk_kcalls *calls, pid_t pid)
{
	(void)calls;
	(void)pid;
	return -ENOTSUP;
}

void wmk_kcalls_exclude_only(struct wmk_kcalls *calls, const pid_t *pids, unsigned n)
{
	(void)calls;
	(void)pids;
	(void)n;
}

uint64_t wmk_kcalls_head(const struct wmk_kcalls *calls, uint32_t ring)
{
	(void)calls;
	(void)ring;
	return 0;
}

void wmk_kcalls_describe(struct wmk_kcalls *calls, const struct wmk_kcall *call)
{
	(void)calls;
	(void)call;
}

void wmk_kcalls_copy(struct wmk_kcalls *calls, enum wmk_kabi abi, unsigned number, const struct wmk_kcalls_plan *plan)
{
	(void)calls;
	(void)abi;
	(void)number;
	(void)plan;
}

int wmk_kcalls_start(struct wmk_kcalls *calls)
{
	(void)calls;
	return -ENOTSUP;
}

void wmk_kcalls_stop(struct wmk_kcalls *calls)
{
	(void)calls;
}

uint32_t wmk_kcalls_rings(const struct wmk_kcalls *calls)
{
	(void)calls;
	return 0;
}

int wmk_kcalls_fd(const struct wmk_kcalls *calls, uint32_t ring)
{
	(void)calls;
	(void)ring;
	return -1;
}

int wmk_kcalls_next(struct wmk_kcalls *calls, uint32_t ring, struct wmk_kcalls_batch *batch)
{
	(void)calls;
	(void)ring;
	(void)batch;
	return 0;
}

int wmk_kcalls_take(struct wmk_kcalls_batch *batch, struct wmk_kcalls_record *record)
{
	(void)batch;
	(void)record;
	return 0;
}

void wmk_kcalls_release(struct wmk_kcalls_batch *batch)
{
	(void)batch;
}

int wmk_kcalls_stats(struct wmk_kcalls *calls, uint32_t ring, struct wmk_kcalls_stats *stats)
{
	(void)calls;
	(void)ring;
	*stats = (struct wmk_kcalls_stats){ .recorded = 0 };
	return 0;
}

struct wmk_kclock *wmk_kcalls_clock(struct wmk_kcalls *calls)
{
	(void)calls;
	return NULL;
}
