/* SPDX-License-Identifier: MIT */
/*
 * clock.h - the trace clock: kind, frequency, and offset to real time.
 *
 * A session uses the processor's counter, CLOCK_MONOTONIC, or the clock of a plug-in (clock_plugin.h). The counter is
 * available if it is invariant and the kernel uses it as its own clock source. A record holds the raw clock value. The
 * daemon measures frequency and offset once when it starts, and writes them to the metadata.
 */
#ifndef WMK_BASE_CLOCK_H
#define WMK_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* The values equal those of enum waymark_ring_clock. */
enum wmk_clock_kind { WMK_CLOCK_MONOTONIC = 0, WMK_CLOCK_COUNTER = 1, WMK_CLOCK_PLUGIN = 2 };
#define WMK_CLOCK_KINDS 3

struct wmk_clock {
	enum wmk_clock_kind kind;
	uint64_t freq;        /* Hz: from the kernel (perf event page), else measured */
	int64_t offset_s;     /* real time at clock value 0: offset_s seconds ... */
	uint64_t offset;      /* ... and offset cycles, 0 <= offset < freq */
	uint64_t precision;   /* cycles: skew between CPUs, measured */
	char uuid[37];        /* identifies the clock across traces: the machine's boot id, or empty */
	char name[32];        /* "tsc", "cntvct", "monotonic", or a plug-in's name */
	char description[96];
};

/*
 * Return WMK_CLOCK_COUNTER if the counter is invariant and the kernel's current clock source, else WMK_CLOCK_MONOTONIC.
 * Reads sysfs. Never fails.
 */
enum wmk_clock_kind wmk_clock_detect(void);
/* Set only the kind, the name and the description of a clock of this machine. */
void wmk_clock_label(enum wmk_clock_kind kind, struct wmk_clock *clock);
/*
 * Fill `clock` for `kind`: frequency, offset, precision. The measurement takes a few milliseconds, and 50 more if the
 * frequency must be measured. Returns 0, or -errno with a cause chain.
 */
int wmk_clock_measure(enum wmk_clock_kind kind, struct wmk_clock *clock);

/*
 * Set offset_s and offset from one pair of values: the clock had `value` at `real_ns` ns since 1970. The caller has set
 * freq.
 */
void wmk_clock_set_offset(struct wmk_clock *clock, uint64_t value, uint64_t real_ns);
/*
 * Return an upper bound of the skew between the counters of two CPUs, in cycles. The function measures this CPU against
 * up to 8 other CPUs of the thread's affinity mask. Returns 0 if the affinity mask has no other CPU, or if no other CPU
 * replies within 10 ms. On a busy machine, the bound is larger but still valid. The function temporarily changes the
 * affinity of the calling thread.
 */
uint64_t wmk_clock_skew(void);

/*
 * Offsets of this process's time namespace to the machine's clocks, in nanoseconds (time_namespaces(7)); 0 if unknown.
 * Traces contain the machine's CLOCK_MONOTONIC, so the process subtracts the offset from its own CLOCK_MONOTONIC. Reads
 * /proc at each call.
 */
struct wmk_clock_offsets {
	int64_t monotonic, boot;
};
struct wmk_clock_offsets wmk_clock_offsets(void);
/* Return the offset of `clock` ("monotonic", "boottime") in the text of /proc/PID/timens_offsets; 0 if absent. */
int64_t wmk_clock_offset_parse(const char *text, const char *clock);

static inline uint64_t wmk_clock_counter(void)
{
#if defined(__x86_64__)
	uint32_t lo, hi;
	__asm__ __volatile__("rdtsc" : "=a"(lo), "=d"(hi));
	return (uint64_t)hi << 32 | lo;
#elif defined(__aarch64__)
	uint64_t v;
	__asm__ __volatile__("mrs %0, cntvct_el0" : "=r"(v));
	return v;
#else
	return 0;
#endif
}

/* CLOCK_MONOTONIC in nanoseconds, as in this process's time namespace. */
static inline uint64_t wmk_clock_monotonic(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* CLOCK_MONOTONIC in milliseconds, for deadlines. */
static inline int64_t wmk_clock_ms(void)
{
	return (int64_t)(wmk_clock_monotonic() / 1000000);
}

#endif
