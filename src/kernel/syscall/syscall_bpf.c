/* SPDX-License-Identifier: MIT */
/*
 * syscall_bpf.c - load and configure the BPF program for system calls, and read its counts (see syscall_bpf.h).
 * bpf_ring.c reads its rings.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <linux/membarrier.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "kernel/syscall/syscall_bpf.h"
#include "kernel/syscall/bpf_ring.h"
#include "kernel/proc/procfs.h"

/* bpftool generates this header, so the warnings of this project do not apply. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wcast-qual"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wunused-function"
#include "syscalls.skel.h"
#pragma GCC diagnostic pop

#define RING_BYTES (1u << 20)
#define RING_MOST (1u << 30)
#define PROCESSES 16384u

struct wmk_syscalls {
	struct wmk_syscalls_bpf *skel;
	uint32_t n_cpus, n_rings;
	bool is_started, is_all, is_childless;
	uint32_t wake_bytes;
	struct wmk_kring *rings;
	struct wmk_syscalls_limits limits;
	struct wmk_syscalls_counts *per_cpu;   /* buffer for map lookups */
	struct wmk_kclock clock;
};

/* ── messages ────────────────────────────────────────────────────────────────────────────────────────── */

/*
 * libbpf's messages while this thread loads the program: the first messages, and the end of the verifier's log, which
 * has the reason.
 */
static __thread char log_text[8192];

__attribute__((format(printf, 2, 0)))
static int keep_words(enum libbpf_print_level level, const char *format, va_list args)
{
	const size_t used = strlen(log_text);
	char *words = NULL;
	int len;

	if (level != LIBBPF_WARN || (len = vasprintf(&words, format, args)) < 0)
		return 0;
	if ((size_t)len < sizeof(log_text) - used) {
		memcpy(log_text + used, words, (size_t)len + 1);
	} else if (!strstr(log_text, "\nprocessed ")) { /* later messages do not replace the reason */
		const size_t keep = (size_t)len < sizeof(log_text) - 1 ? (size_t)len : sizeof(log_text) - 1;

		memcpy(log_text, words + (size_t)len - keep, keep + 1);
	}
	free(words);
	return 0;
}

static int refused(int err)
{
	char lockdown[128] = "";
	struct wmk_syscalls_facts facts = { .is_root = geteuid() == 0,
					    .has_btf = access("/sys/kernel/btf/vmlinux", R_OK) == 0,
					    .has_ringbuf = libbpf_probe_bpf_map_type(BPF_MAP_TYPE_RINGBUF, NULL) != 0,
					    .lockdown = lockdown,
					    .log = log_text };

	wmk_kproc_read(AT_FDCWD, "/sys/kernel/security/lockdown", lockdown, sizeof(lockdown));
	return wmk_syscalls_refused(err, &facts);
}

/* ── opening ─────────────────────────────────────────────────────────────────────────────────────────── */

static int load(struct wmk_syscalls *calls, const struct wmk_syscalls_options *options)
{
	libbpf_print_fn_t before;
	int err;

	log_text[0] = 0;
	before = libbpf_set_print(keep_words);
	calls->skel = wmk_syscalls_bpf__open();
	err = calls->skel ? 0 : -errno;
	if (!err)
		err = bpf_map__set_max_entries(calls->skel->maps.rings, calls->n_cpus);
	if (!err)
		err = bpf_map__set_max_entries(calls->skel->maps.pids,
					       options->processes ? options->processes : PROCESSES);
	if (!err)
		err = bpf_program__set_autoload(calls->skel->progs.wmk_signal, options->is_told);
	if (!err)
		err = bpf_program__set_autoload(calls->skel->progs.wmk_task_free, options->is_told && !options->is_all);
	if (!err)
		err = wmk_syscalls_bpf__load(calls->skel);
	if (err)
		err = refused(err);
	libbpf_set_print(before);
	return err;
}

static int make_rings(struct wmk_syscalls *calls, uint32_t bytes)
{
	int err;

	for (uint32_t i = 0; i < calls->n_rings; i++) {
		err = wmk_kring_open(&calls->rings[i], bytes);
		if (err)
			return wmk_error_add(err, "cannot create a ring of %u bytes for system calls", bytes);
	}
	for (uint32_t cpu = 0; cpu < calls->n_cpus; cpu++)
		if (bpf_map_update_elem(bpf_map__fd(calls->skel->maps.rings), &cpu,
					&calls->rings[cpu % calls->n_rings].fd, BPF_ANY) != 0)
			return wmk_error(-errno, "cannot assign a ring to CPU %u", cpu);
	return 0;
}

static void configure(struct wmk_syscalls *calls, const struct wmk_syscalls_options *options, uint32_t bytes)
{
	struct wmk_syscalls_config *config = &calls->skel->bss->config;
	struct wmk_syscall call;

	config->is_all = options->is_all;
	config->is_told = options->is_told;
	config->is_kept = options->is_kept;
	calls->wake_bytes = options->wake_bytes ? options->wake_bytes : bytes / 4;
	config->wake_at = calls->wake_bytes;
	config->excluded[0] = (uint32_t)getpid();
	for (unsigned abi = 0; abi < WMK_SYSCALLS_ABIS; abi++)
		for (unsigned number = 0; number < WMK_SYSCALLS_NUMBERS; number++) {
			if (wmk_syscall_describe((enum wmk_kabi)abi, number, &call) < 0)
				wmk_error_clear();
			wmk_syscalls_describe(calls, &call);
		}
}

static int open_all(struct wmk_syscalls *calls, const struct wmk_syscalls_options *options)
{
	const uint32_t bytes = options->ring_bytes ? options->ring_bytes : RING_BYTES;
	const int n_cpus = libbpf_num_possible_cpus();
	int err;

	if (bytes < 4096 || bytes > RING_MOST || (bytes & (bytes - 1)))
		return wmk_error(-EINVAL, "invalid ring size %u: it must be a power of two from 4096 to %u", bytes,
				 RING_MOST);
	if (n_cpus < 1)
		return wmk_error(n_cpus, "cannot determine the number of CPUs");
	calls->n_cpus = (uint32_t)n_cpus;
	calls->n_rings = options->n_rings && options->n_rings < calls->n_cpus ? options->n_rings : calls->n_cpus;
	calls->is_all = options->is_all;
	calls->is_childless = options->is_childless;
	calls->limits.text = options->limits.text ? options->limits.text : WMK_SYSCALLS_TEXT_DEFAULT;
	calls->limits.bytes = options->limits.bytes ? options->limits.bytes : WMK_SYSCALLS_BYTES_DEFAULT;
	calls->rings = calloc(calls->n_rings, sizeof(*calls->rings));
	calls->per_cpu = calloc(calls->n_cpus, sizeof(*calls->per_cpu));
	if (!calls->rings || !calls->per_cpu)
		return wmk_error(-ENOMEM, "no memory for %u rings", calls->n_rings);
	for (uint32_t i = 0; i < calls->n_rings; i++)
		calls->rings[i].fd = -1;
	err = load(calls, options);
	if (!err)
		err = make_rings(calls, bytes);
	if (err)
		return err;
	configure(calls, options, bytes);
	return 0;
}

int wmk_syscalls_open(const struct wmk_syscalls_options *options, struct wmk_syscalls **calls)
{
	struct wmk_syscalls *made = calloc(1, sizeof(*made));
	int err;

	if (!made)
		return wmk_error(-ENOMEM, "no memory");
	err = open_all(made, options);
	if (err) {
		wmk_syscalls_close(made);
		return err;
	}
	wmk_kclock_init(&made->clock, options->clock);
	*calls = made;
	return 0;
}

void wmk_syscalls_close(struct wmk_syscalls *calls)
{
	if (!calls)
		return;
	wmk_syscalls_stop(calls);
	for (uint32_t i = 0; calls->rings && i < calls->n_rings; i++)
		wmk_kring_close(&calls->rings[i]);
	wmk_syscalls_bpf__destroy(calls->skel);
	free(calls->rings);
	free(calls->per_cpu);
	free(calls);
}

/* ── what to record ──────────────────────────────────────────────────────────────────────────────────── */

void wmk_syscalls_want(struct wmk_syscalls *calls, enum wmk_kabi abi, unsigned number, bool wanted)
{
	__u64 *word = &calls->skel->bss->config.wanted[abi][number % WMK_SYSCALLS_NUMBERS / 64];
	const __u64 bit = 1ull << (number % 64);

	if (number >= WMK_SYSCALLS_NUMBERS)
		return;
	if (wanted)
		__atomic_fetch_or(word, bit, __ATOMIC_RELAXED);
	else
		__atomic_fetch_and(word, ~bit, __ATOMIC_RELAXED);
}

int wmk_syscalls_follow(struct wmk_syscalls *calls, pid_t pid, bool followed)
{
	const int fd = bpf_map__fd(calls->skel->maps.pids);
	const uint32_t key = (uint32_t)pid;
	const uint8_t one = 1;

	if (followed && bpf_map_update_elem(fd, &key, &one, BPF_ANY) != 0)
		return wmk_error(-errno, "cannot follow process %d", (int)pid);
	if (!followed && bpf_map_delete_elem(fd, &key) != 0 && errno != ENOENT)
		return wmk_error(-errno, "cannot stop following process %d", (int)pid);
	return 0;
}

static bool is_among(uint32_t pid, const pid_t *pids, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if ((uint32_t)pids[i] == pid)
			return true;
	return false;
}

/*
 * Remove the processes that are not among `pids`. The removal of a key may restart the iteration, so the loop ends when
 * a pass removes nothing.
 */
static int forget_others(struct wmk_syscalls *calls, const pid_t *pids, unsigned n)
{
	const int fd = bpf_map__fd(calls->skel->maps.pids);
	uint32_t key, *from = NULL, next;
	int err = 0;

	while (err == 0 && bpf_map_get_next_key(fd, from, &next) == 0) {
		if (is_among(next, pids, n)) {
			key = next;
			from = &key;
			continue;
		}
		err = wmk_syscalls_follow(calls, (pid_t)next, false);
	}
	return err;
}

int wmk_syscalls_follow_only(struct wmk_syscalls *calls, const pid_t *pids, unsigned n, bool all)
{
	int err = 0;

	if (all)
		__atomic_store_n(&calls->skel->bss->config.is_all, 1, __ATOMIC_RELAXED);
	for (unsigned i = 0; i < n && err == 0; i++)
		err = wmk_syscalls_follow(calls, pids[i], true);
	if (err == 0)
		err = forget_others(calls, pids, n);
	if (err == 0 && !all)
		__atomic_store_n(&calls->skel->bss->config.is_all, 0, __ATOMIC_RELAXED);
	return err;
}

int wmk_syscalls_exclude(struct wmk_syscalls *calls, pid_t pid)
{
	__u32 *excluded = calls->skel->bss->config.excluded;

	for (unsigned i = 0; i < WMK_SYSCALLS_EXCLUDED; i++)
		if (!excluded[i] || excluded[i] == (__u32)pid) {
			__atomic_store_n(&excluded[i], (__u32)pid, __ATOMIC_RELAXED);
			return 0;
		}
	return wmk_error(-ENOSPC, "cannot exclude process %d: %u processes are excluded already", (int)pid,
			 WMK_SYSCALLS_EXCLUDED);
}

void wmk_syscalls_exclude_only(struct wmk_syscalls *calls, const pid_t *pids, unsigned n)
{
	__u32 *excluded = calls->skel->bss->config.excluded;
	unsigned slot = 1;               /* slot 0 is this process */

	for (unsigned i = 0; i < n && slot < WMK_SYSCALLS_EXCLUDED; i++)
		if ((__u32)pids[i] != excluded[0])
			__atomic_store_n(&excluded[slot++], (__u32)pids[i], __ATOMIC_RELAXED);
	while (slot < WMK_SYSCALLS_EXCLUDED)
		__atomic_store_n(&excluded[slot++], 0, __ATOMIC_RELAXED);
}

void wmk_syscalls_describe(struct wmk_syscalls *calls, const struct wmk_syscall *call)
{
	if (call->abi < WMK_SYSCALLS_ABIS && call->number < WMK_SYSCALLS_NUMBERS)
		wmk_syscall_plan(call, &calls->limits, &calls->skel->bss->config.plans[call->abi][call->number]);
}

void wmk_syscalls_copy(struct wmk_syscalls *calls, enum wmk_kabi abi, unsigned number,
		     const struct wmk_syscalls_plan *plan)
{
	if (abi < WMK_SYSCALLS_ABIS && number < WMK_SYSCALLS_NUMBERS)
		calls->skel->bss->config.plans[abi][number] = *plan;
}

static int attach(struct bpf_program *program, struct bpf_link **link)
{
	*link = bpf_program__attach(program);
	return *link ? 0 : wmk_error(-errno, "cannot attach %s to its tracepoint", bpf_program__name(program));
}

/*
 * The fork program is attached first, so that the set gets every child of a recorded process. If all processes are
 * recorded, the fork program is not needed.
 */
int wmk_syscalls_start(struct wmk_syscalls *calls)
{
	struct wmk_syscalls_bpf *skel = calls->skel;
	int err = 0;

	if (calls->is_started)
		return 0;
	calls->is_started = true;
	if (!calls->is_all && !calls->is_childless)
		err = attach(skel->progs.wmk_newtask, &skel->links.wmk_newtask);
	if (!err)
		err = attach(skel->progs.wmk_task_exit, &skel->links.wmk_task_exit);
	if (!err && bpf_program__autoload(skel->progs.wmk_task_free))
		err = attach(skel->progs.wmk_task_free, &skel->links.wmk_task_free);
	if (!err && bpf_program__autoload(skel->progs.wmk_signal))
		err = attach(skel->progs.wmk_signal, &skel->links.wmk_signal);
	if (!err)
		err = attach(skel->progs.wmk_exit, &skel->links.wmk_exit);
	if (!err)
		err = attach(skel->progs.wmk_enter, &skel->links.wmk_enter);
	if (err)
		wmk_syscalls_stop(calls);
	return err;
}

void wmk_syscalls_stop(struct wmk_syscalls *calls)
{
	if (!calls->is_started)
		return;
	wmk_syscalls_bpf__detach(calls->skel);
	calls->is_started = false;
}

/* ── reading ─────────────────────────────────────────────────────────────────────────────────────────── */

uint32_t wmk_syscalls_rings(const struct wmk_syscalls *calls)
{
	return calls->n_rings;
}

int wmk_syscalls_fd(const struct wmk_syscalls *calls, uint32_t ring)
{
	return ring < calls->n_rings ? calls->rings[ring].fd : -1;
}

int wmk_syscalls_wake(struct wmk_syscalls *calls, bool first)
{
	const __u32 wake_at = first ? 0 : calls->wake_bytes;

	if (calls->skel->bss->config.wake_at == wake_at)
		return 0;
	/* relaxed: membarrier() below orders this store before the caller's reads of the rings */
	__atomic_store_n(&calls->skel->bss->config.wake_at, wake_at, __ATOMIC_RELAXED);
	/* Waits until each CPU has left code that may not be preempted; BPF programs are such code. */
	return first && syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) < 0 ? -errno : 0;
}

uint64_t wmk_syscalls_head(const struct wmk_syscalls *calls, uint32_t ring)
{
	return ring < calls->n_rings ? wmk_kring_head(&calls->rings[ring]) : 0;
}

struct wmk_kclock *wmk_syscalls_clock(struct wmk_syscalls *calls)
{
	return &calls->clock;
}

int wmk_syscalls_next(struct wmk_syscalls *calls, uint32_t ring, struct wmk_syscalls_batch *batch)
{
	if (ring >= calls->n_rings)
		return wmk_error(-EINVAL, "no ring %u", ring);
	*batch = (struct wmk_syscalls_batch){ .calls = calls, .ring = ring };
	if (!wmk_kring_peek(&calls->rings[ring], &batch->at, &batch->end))
		return 0;
	/*
	 * This pair of clock values is later than all records of the batch, so each record's time is between two pairs.
	 */
	wmk_kclock_take(&calls->clock);
	return 1;
}

int wmk_syscalls_take(struct wmk_syscalls_batch *batch, struct wmk_syscalls_record *record)
{
	struct wmk_kring *ring = &batch->calls->rings[batch->ring];
	const uint8_t *bytes;
	uint32_t len;
	int got = wmk_kring_step(ring, &batch->at, batch->end, &bytes, &len);

	if (got > 0)
		got = wmk_syscalls_record_parse(bytes, len, record) < 0 ? -EPROTO : 1;
	if (got > 0)
		record->ts = wmk_kclock_map(&batch->calls->clock, record->mono, &ring->last);
	return got;
}

void wmk_syscalls_release(struct wmk_syscalls_batch *batch)
{
	wmk_kring_free(&batch->calls->rings[batch->ring], batch->at);
}

/* ── counts ──────────────────────────────────────────────────────────────────────────────────────────── */

static uint64_t missed_by(const struct bpf_program *program)
{
	struct bpf_prog_info info = { .type = 0 };
	uint32_t len = sizeof(info);

	/* Kernels that do not count recursion misses leave recursion_misses at 0. */
	return bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &len) == 0 ? info.recursion_misses : 0;
}

int wmk_syscalls_stats(struct wmk_syscalls *calls, uint32_t ring, struct wmk_syscalls_stats *stats)
{
	*stats = (struct wmk_syscalls_stats){ .missed = missed_by(calls->skel->progs.wmk_enter) +
							missed_by(calls->skel->progs.wmk_exit) };
	for (uint32_t slot = 0; slot < WMK_SYSCALLS_SLOTS; slot++) {
		if (bpf_map_lookup_elem(bpf_map__fd(calls->skel->maps.counts), &slot, calls->per_cpu) != 0)
			return wmk_error(-errno, "cannot read the counts of system calls");
		for (uint32_t cpu = 0; cpu < calls->n_cpus; cpu++) {
			const struct wmk_syscalls_counts *counts = &calls->per_cpu[cpu];

			stats->unfollowed += counts->unfollowed;
			if (ring != WMK_SYSCALLS_ALL_RINGS && cpu % calls->n_rings != ring)
				continue;
			stats->recorded += counts->recorded;
			stats->lost += counts->lost;
			stats->unreadable += counts->unreadable;
		}
	}
	return 0;
}
