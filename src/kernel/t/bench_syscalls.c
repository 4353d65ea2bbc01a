/* SPDX-License-Identifier: MIT */
/*
 * bench_syscalls.c - the overhead of recording a system call: not recorded; by the kernel's tracer (raw_syscalls in an
 * instance of its own); by the BPF program; on one CPU, and on two at the same time. Run it as root, by hand. It prints
 * nanoseconds per call: of the best few hundred calls in a row, and the mean over the CPU time of the process, which
 * other load does not affect.
 */
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "kernel/syscall/syscall_bpf.h"

#define CALLS 400u           /* in a row */
#define ROWS 100u
#define ROUNDS 10u
#define INSTANCE "/sys/kernel/tracing/instances/wmkt-calls-bench"

/* Shared by the processes that measure. */
struct bench_counts {
	unsigned ready, go, done;
	double best[2], mean[2];
};

static struct bench_counts *board;

static void one_row(bool is_open)
{
	static char name[] = "/nowhere/file-of-some-length";

	for (unsigned i = 0; i < CALLS; i++)
		if (is_open)
			syscall(SYS_openat, AT_FDCWD, name, O_RDONLY);
		else
			syscall(SYS_getppid);
}

static double now(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static void one_round(unsigned cpu, bool is_open)
{
	const double begin = now(CLOCK_THREAD_CPUTIME_ID);

	for (unsigned row = 0; row < ROWS; row++) {
		const double at = now(CLOCK_MONOTONIC);
		double ns;

		one_row(is_open);
		ns = (now(CLOCK_MONOTONIC) - at) / CALLS;
		if (ns < board->best[cpu])
			board->best[cpu] = ns;
	}
	board->mean[cpu] += (now(CLOCK_THREAD_CPUTIME_ID) - begin) / (CALLS * ROWS * ROUNDS);
}

/* One process for each CPU; each round begins on all CPUs at the same time. */
static void worker(unsigned cpu, unsigned n, bool is_open)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
	board->best[cpu] = 1e9;
	for (unsigned round = 1; round <= ROUNDS; round++) {
		__atomic_add_fetch(&board->ready, 1, __ATOMIC_SEQ_CST);
		while (__atomic_load_n(&board->go, __ATOMIC_SEQ_CST) < round)
			sched_yield();
		one_round(cpu, is_open);
		__atomic_add_fetch(&board->done, 1, __ATOMIC_SEQ_CST);
		while (__atomic_load_n(&board->done, __ATOMIC_SEQ_CST) < round * n)
			sched_yield();
	}
	_exit(0);
}

static void empty(struct wmk_syscalls *calls)
{
	for (uint32_t ring = 0; calls && ring < wmk_syscalls_rings(calls); ring++) {
		struct wmk_syscalls_batch batch;
		struct wmk_syscalls_record record;

		if (!wmk_syscalls_next(calls, ring, &batch))
			continue;
		while (wmk_syscalls_take(&batch, &record) > 0)
			;
		wmk_syscalls_release(&batch);
	}
}

static void measure(const char *what, unsigned n, bool is_open, struct wmk_syscalls *calls)
{
	struct wmk_syscalls_stats stats = { .recorded = 0 };

	memset(board, 0, sizeof(*board));
	fflush(stdout);
	for (unsigned cpu = 0; cpu < n; cpu++)
		if (fork() == 0)
			worker(cpu, n, is_open);
	for (unsigned round = 1; round <= ROUNDS; round++) {
		while (__atomic_load_n(&board->ready, __ATOMIC_SEQ_CST) < round * n)
			usleep(1000);
		empty(calls);
		__atomic_store_n(&board->go, round, __ATOMIC_SEQ_CST);
		while (__atomic_load_n(&board->done, __ATOMIC_SEQ_CST) < round * n)
			usleep(1000);
	}
	while (wait(NULL) > 0)
		;
	empty(calls);
	if (calls)
		wmk_syscalls_stats(calls, WMK_SYSCALLS_ALL_RINGS, &stats);
	printf("%-36s %-8s %u CPU%s best %7.1f  mean %7.1f ns", what, is_open ? "openat" : "getppid", n,
	       n > 1 ? "s" : " ", (board->best[0] + board->best[n - 1]) / 2, (board->mean[0] + board->mean[n - 1]) / 2);
	printf(calls ? "   %llu recorded, %llu lost\n" : "\n", (unsigned long long)stats.recorded,
	       (unsigned long long)stats.lost);
}

static void measure_all(const char *what, struct wmk_syscalls *calls)
{
	for (unsigned n = 1; n <= 2; n++)
		for (unsigned is_open = 0; is_open < 2; is_open++)
			measure(what, n, is_open, calls);
}

static void put(const char *file, const char *text)
{
	char path[256];

	snprintf(path, sizeof(path), INSTANCE "/%s", file);
	const int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		fprintf(stderr, "cannot write to %s\n", path);
	if (fd >= 0)
		close(fd);
}

static void by_tracefs(const char *clock)
{
	char what[64];

	snprintf(what, sizeof(what), "raw_syscalls in an instance, %s", clock);
	if (mkdir(INSTANCE, 0700) != 0) {
		printf("%s: no tracefs\n", what);
		return;
	}
	put("trace_clock", clock);
	put("buffer_size_kb", "16384");
	put("events/raw_syscalls/enable", "1");
	measure_all(what, NULL);
	put("events/raw_syscalls/enable", "0");
	rmdir(INSTANCE);
}

static void by_bpf(const char *what, uint32_t n_rings, bool is_wanted)
{
	const struct wmk_syscalls_options options = {
		.is_all = true, .n_rings = n_rings, .ring_bytes = 64u << 20, .clock = wmk_clock_detect()
	};
	struct wmk_syscalls *calls;
	char words[512];

	if (wmk_syscalls_open(&options, &calls) < 0 || wmk_syscalls_start(calls) < 0) {
		printf("%s: %s\n", what, wmk_error_text(words, sizeof(words)));
		return;
	}
	wmk_syscalls_want(calls, WMK_KABI_NATIVE, SYS_getppid, is_wanted);
	wmk_syscalls_want(calls, WMK_KABI_NATIVE, SYS_openat, is_wanted);
	measure_all(what, calls);
	wmk_syscalls_close(calls);
}

int main(void)
{
	board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	measure_all("nothing", NULL);
	by_tracefs("x86-tsc");
	by_tracefs("mono");
	by_bpf("BPF, other calls only", 0, false);
	by_bpf("BPF, a ring for each CPU", 0, true);
	by_bpf("BPF, one ring", 1, true);
	measure_all("nothing, again", NULL);
	return 0;
}
