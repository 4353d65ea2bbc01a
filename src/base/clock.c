/* SPDX-License-Identifier: MIT */
/*
 * clock.c - select the trace clock of this machine, and measure its frequency and offset to real time (see clock.h).
 */
#include "base/clock.h"
#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#define COUNTER_SOURCE "tsc"
#define COUNTER_NAME "tsc"
#else
#define COUNTER_SOURCE "arch_sys_counter"
#define COUNTER_NAME "cntvct"
#endif

#define COUNTER_WORDS "Counter of the processor (" COUNTER_NAME ")"
#define NSEC 1000000000u
#define MEASURE_NS 50000000u     /* duration of a frequency measurement: 50 ns of error at each end are 2 ppm */

/* Read the first line of a small file, without its newline. Returns its length or -errno. */
static int read_line(const char *path, char *buf, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = read(fd, buf, size - 1);
	int err = n < 0 ? -errno : 0;
	close(fd);
	if (err < 0)
		return err;
	buf[n] = '\0';
	buf[strcspn(buf, "\n")] = '\0';
	return (int)strlen(buf);
}

/* Return true if the processor's counter runs at a constant rate in all sleep and frequency states of the processor. */
static bool counter_invariant(void)
{
#if defined(__x86_64__)
	unsigned a, b, c, d;

	return __get_cpuid(0x80000007u, &a, &b, &c, &d) && (d & 1u << 8);
#else
	return true;      /* guaranteed by the architecture */
#endif
}

enum wmk_clock_kind wmk_clock_detect(void)
{
	char source[64];

	if (read_line("/sys/devices/system/clocksource/clocksource0/current_clocksource", source, sizeof(source)) < 0)
		return WMK_CLOCK_MONOTONIC;
	return strcmp(source, COUNTER_SOURCE) == 0 && counter_invariant() ? WMK_CLOCK_COUNTER : WMK_CLOCK_MONOTONIC;
}

/*
 * Return the frequency that the kernel uses to convert the counter, from the page of a perf event that counts nothing.
 * Returns 0 if perf_event_open(2) fails or the kernel does not publish the conversion.
 */
static uint64_t freq_from_perf(void)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE,
					.size = sizeof(attr),
					.config = PERF_COUNT_SW_DUMMY };
	long page = sysconf(_SC_PAGESIZE);
	uint64_t freq = 0;

	attr.exclude_kernel = 1;
	attr.exclude_hv = 1;
	attr.disabled = 1;
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return 0;
	const struct perf_event_mmap_page *pc = mmap(NULL, (size_t)page, PROT_READ, MAP_SHARED, fd, 0);
	if (pc != MAP_FAILED) {
		/* nanoseconds = cycles * mult >> shift */
		if (pc->cap_user_time && pc->time_mult)
			freq = (uint64_t)(((unsigned __int128)NSEC << pc->time_shift) / pc->time_mult);
		munmap((void *)(uintptr_t)pc, (size_t)page);
	}
	close(fd);
	return freq;
}

static uint64_t clock_now(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * NSEC + (uint64_t)ts.tv_nsec;
}

/*
 * Read the counter and clock `id` as close together as possible. The function makes 100 attempts, and uses the attempt
 * with the shortest time between two readings of the counter.
 */
static void bracket(clockid_t id, uint64_t *counter, uint64_t *ns)
{
	uint64_t best = UINT64_MAX;

	*counter = *ns = 0;
	for (int i = 0; i < 100; i++) {
		uint64_t before = wmk_clock_counter();
		uint64_t now = clock_now(id);
		uint64_t width = wmk_clock_counter() - before;

		if (width < best) {
			best = width;
			*counter = before + width / 2;
			*ns = now;
		}
	}
}

static uint64_t freq_measure(void)
{
	uint64_t c0, c1, n0, n1;
	const struct timespec pause = { 0, MEASURE_NS };

	bracket(CLOCK_MONOTONIC_RAW, &c0, &n0);
	nanosleep(&pause, NULL);
	bracket(CLOCK_MONOTONIC_RAW, &c1, &n1);
	if (n1 <= n0 || c1 <= c0)
		return 0;
	return (uint64_t)((unsigned __int128)(c1 - c0) * NSEC / (n1 - n0));
}

void wmk_clock_set_offset(struct wmk_clock *clock, uint64_t value, uint64_t real_ns)
{
	__int128 freq = clock->freq;
	__int128 cycles = (__int128)(real_ns / NSEC) * freq + (__int128)(real_ns % NSEC) * freq / NSEC - value;
	__int128 s = cycles / freq;

	if (cycles % freq < 0)
		s--;
	clock->offset_s = (int64_t)s;
	clock->offset = (uint64_t)(cycles - s * freq);
}

static int measure_counter(struct wmk_clock *clock)
{
	uint64_t counter = 0, real = 0;

	clock->freq = freq_from_perf();
	const char *how = "the kernel's own rate";
	if (clock->freq == 0) {
		clock->freq = freq_measure();
		how = "rate measured against CLOCK_MONOTONIC_RAW";
	}
	if (clock->freq == 0)
		return wmk_error(-ENOTSUP, "cannot measure the frequency of the counter %s: it does not advance",
				 COUNTER_NAME);
	bracket(CLOCK_REALTIME, &counter, &real);
	wmk_clock_set_offset(clock, counter, real);
	clock->precision = wmk_clock_skew();
	snprintf(clock->description, sizeof(clock->description), COUNTER_WORDS ", %s", how);
	return 0;
}

static int measure_monotonic(struct wmk_clock *clock)
{
	uint64_t best = UINT64_MAX, mono = 0, real = 0;
	const uint64_t ahead = (uint64_t)wmk_clock_offsets().monotonic;

	for (int i = 0; i < 100; i++) {
		uint64_t before = wmk_clock_monotonic(), now = clock_now(CLOCK_REALTIME),
			 width = wmk_clock_monotonic() - before;

		if (width < best) {
			best = width;
			mono = before + width / 2;
			real = now;
		}
	}
	clock->freq = NSEC;
	wmk_clock_set_offset(clock, mono - ahead, real);
	clock->precision = 1;
	return 0;
}

void wmk_clock_label(enum wmk_clock_kind kind, struct wmk_clock *clock)
{
	const bool counter = kind == WMK_CLOCK_COUNTER;

	clock->kind = kind;
	snprintf(clock->name, sizeof(clock->name), "%s", counter ? COUNTER_NAME : "monotonic");
	snprintf(clock->description, sizeof(clock->description), "%s",
		 counter ? COUNTER_WORDS : "Monotonic clock of the kernel (CLOCK_MONOTONIC)");
}

int wmk_clock_measure(enum wmk_clock_kind kind, struct wmk_clock *clock)
{
	char id[64];

	memset(clock, 0, sizeof(*clock));
	wmk_clock_label(kind, clock);
	if (read_line("/proc/sys/kernel/random/boot_id", id, sizeof(id)) == 36)
		memcpy(clock->uuid, id, 37);
	switch (kind) {
	case WMK_CLOCK_COUNTER:
		return measure_counter(clock);
	case WMK_CLOCK_MONOTONIC:
		return measure_monotonic(clock);
	default:
		return wmk_error(-EINVAL, "cannot measure the clock of a plug-in: the plug-in reports its frequency");
	}
}
