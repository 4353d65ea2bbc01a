/* SPDX-License-Identifier: MIT */
/*
 * strace_bpf.c - reads records from the BPF program's rings, one for each CPU (see strace.h).
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/container.h"
#include "base/error.h"
#include "strace/strace.h"

/* The number of bytes that the reader takes from a ring before it returns the space to the kernel. */
#define RELEASE_BYTES 65536u
/* System calls that are recorded even if they are not selected, because they determine the identity of threads. */
static const char *const always[] = { "execve", "execveat", "clone", "clone3", "fork", "vfork" };

struct slot {
	struct wmk_syscalls_batch batch;
	bool has_batch;
	uint64_t released;       /* position up to which the space is released */
};

struct bpf_source {
	struct wmk_strace_source base;
	struct wmk_syscalls *calls;
	uint64_t ring_bytes;
	struct slot *slots;
	/*
	 * epoll descriptor of the rings, edge-triggered. With a level trigger, a wait would return whenever a ring
	 * contains data. With an edge trigger, a wait returns only when a ring has become a quarter full.
	 */
	int epoll;
};

static struct bpf_source *of(struct wmk_strace_source *source)
{
	return wmk_container_of(source, struct bpf_source, base);
}

static int bpf_follow(struct wmk_strace_source *source, pid_t pid)
{
	return wmk_syscalls_follow(of(source)->calls, pid, true);
}

static int bpf_start(struct wmk_strace_source *source)
{
	return wmk_syscalls_start(of(source)->calls);
}

static void bpf_stop(struct wmk_strace_source *source)
{
	wmk_syscalls_stop(of(source)->calls);
}

static void bpf_fill(struct wmk_strace_source *source, unsigned ring)
{
	struct bpf_source *bpf = of(source);
	struct slot *slot = &bpf->slots[ring];
	struct wmk_strace_head *head = &source->heads[ring];

	for (;;) {
		int got;

		if (!slot->has_batch) {
			slot->has_batch = wmk_syscalls_next(bpf->calls, ring, &slot->batch) > 0;
			if (!slot->has_batch)
				return;
			slot->released = slot->batch.at;
		}
		if (slot->batch.at - slot->released > RELEASE_BYTES) {
			wmk_syscalls_release(&slot->batch);
			slot->released = slot->batch.at;
		}
		got = wmk_syscalls_take(&slot->batch, &head->record);
		if (got > 0) {
			head->has_record = true;
			return;
		}
		if (got < 0) {
			wmk_error_clear();
			continue;
		}
		wmk_syscalls_release(&slot->batch);
		slot->has_batch = false;
		/* The kernel is still writing the record, so the reader tries again later. */
		if (slot->batch.at < slot->batch.end)
			return;
	}
}

#define PEEK_MOST 4096u

static bool peek_ring(const struct slot *slot, const struct wmk_strace_head *head, uint32_t tid,
		      struct wmk_syscalls_record *record)
{
	struct wmk_syscalls_batch batch = slot->batch;

	if (!slot->has_batch)
		return false;
	*record = head->record;
	for (unsigned i = 0; i < PEEK_MOST; i++) {
		if ((i || head->has_record) && record->tid == tid && record->is_exit)
			return true;
		if (wmk_syscalls_take(&batch, record) <= 0)
			return false;
	}
	return false;
}

static bool bpf_peek(struct wmk_strace_source *source, uint32_t tid, struct wmk_syscalls_record *record)
{
	const struct bpf_source *bpf = of(source);

	for (unsigned i = 0; i < source->n; i++)
		if (peek_ring(&bpf->slots[i], &source->heads[i], tid, record))
			return true;
	wmk_error_clear();
	return false;
}

static void bpf_wait(struct wmk_strace_source *source, int fd, int ms)
{
	struct pollfd fds[] = { { .fd = of(source)->epoll, .events = POLLIN }, { .fd = fd, .events = POLLIN } };
	struct epoll_event events[16];

	if (poll(fds, 2, ms) > 0 && fds[0].revents)
		while (epoll_wait(of(source)->epoll, events, 16, 0) == 16)
			;
}

static void bpf_stats(struct wmk_strace_source *source, struct wmk_strace_stats *stats)
{
	struct bpf_source *bpf = of(source);
	struct wmk_syscalls_stats now = { .lost = 0 };

	if (wmk_syscalls_stats(bpf->calls, WMK_SYSCALLS_ALL_RINGS, &now) < 0)
		wmk_error_clear();
	*stats = (struct wmk_strace_stats){ .lost = now.lost, .missed = now.missed,
					     .unfollowed = now.unfollowed, .buffer = bpf->ring_bytes };
}

static void bpf_close(struct wmk_strace_source *source)
{
	struct bpf_source *bpf = of(source);

	wmk_syscalls_close(bpf->calls);
	free(bpf->slots);
	free(bpf->base.heads);
	if (bpf->epoll >= 0)
		close(bpf->epoll);
	free(bpf);
}

static const struct wmk_strace_source_ops bpf_ops = {
	.follow = bpf_follow,
	.start = bpf_start,
	.stop = bpf_stop,
	.fill = bpf_fill,
	.peek = bpf_peek,
	.wait = bpf_wait,
	.stats = bpf_stats,
	.close = bpf_close,
};

static void want(struct bpf_source *bpf, const struct wmk_strace_args *args, const struct wmk_strace_prints *prints)
{
	for (unsigned abi = 0; abi < WMK_SYSCALLS_ABIS; abi++)
		for (unsigned number = 0; number < WMK_SYSCALLS_NUMBERS; number++) {
			wmk_syscalls_copy(bpf->calls, (enum wmk_kabi)abi, number, &prints->calls[abi][number].plan);
			wmk_syscalls_want(bpf->calls, (enum wmk_kabi)abi, number,
					  wmk_strace_selected(&args->select, abi, number));
		}
	for (unsigned abi = 0; abi < WMK_SYSCALLS_ABIS; abi++)
		for (size_t i = 0; i < WMK_ARRAY_LEN(always); i++) {
			const int number = wmk_syscall_find((enum wmk_kabi)abi, always[i]);

			if (number >= 0)
				wmk_syscalls_want(bpf->calls, (enum wmk_kabi)abi, (unsigned)number, true);
		}
	wmk_error_clear();
}

int wmk_strace_bpf_open(const struct wmk_strace_args *args, const struct wmk_strace_prints *prints,
			struct wmk_strace_source **source)
{
	struct wmk_syscalls_options options = { .is_childless = !args->follow,
						.is_told = true,
						.ring_bytes = (uint32_t)wmk_strace_source_bytes(args),
						.clock = WMK_CLOCK_MONOTONIC };
	struct bpf_source *bpf = calloc(1, sizeof(*bpf));
	int err = bpf ? 0 : wmk_error(-ENOMEM, "no memory");

	if (!err)
		err = wmk_syscalls_open(&options, &bpf->calls);
	if (err < 0) {
		free(bpf);
		return err;
	}
	err = wmk_strace_source_init(&bpf->base, &bpf_ops, wmk_syscalls_rings(bpf->calls));
	bpf->base.has_texts = true;
	bpf->ring_bytes = options.ring_bytes;
	bpf->slots = calloc(wmk_syscalls_rings(bpf->calls), sizeof(*bpf->slots));
	bpf->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (err == 0 && (!bpf->slots || bpf->epoll < 0))
		err = wmk_error(bpf->slots ? -errno : -ENOMEM, "cannot wait for records of %u rings", bpf->base.n);
	if (err < 0) {
		bpf_close(&bpf->base);
		return err;
	}
	for (unsigned i = 0; i < bpf->base.n; i++) {
		struct epoll_event event = { .events = EPOLLIN | EPOLLET };

		(void)!epoll_ctl(bpf->epoll, EPOLL_CTL_ADD, wmk_syscalls_fd(bpf->calls, i), &event);
	}
	want(bpf, args, prints);
	*source = &bpf->base;
	return 0;
}
