/* SPDX-License-Identifier: MIT */
/*
 * clock.h - the trace clock: which one this machine has, its frequency, and its offset to real time.
 *
 * Each session has one of two clocks, or that of a plug-in (clock_plugin.h): the counter of the processor, where the
 * kernel calls it invariant and uses it as its own clock source, or CLOCK_MONOTONIC. A record holds the raw value;
 * frequency and offset go into the metadata, measured once when a daemon starts.
 */
#ifndef WMK_BASE_CLOCK_H
#define WMK_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Values are those of enum waymark_ring_clock. */
enum wmk_clock_kind { WMK_CLOCK_MONOTONIC = 0, WMK_CLOCK_COUNTER = 1, WMK_CLOCK_PLUGIN = 2 };
#define WMK_CLOCK_KINDS 3

struct wmk_clock {
	enum wmk_clock_kind kind;
	uint64_t freq;        /* Hz: the kernel's own (perf event page), else measured */
	int64_t offset_s;     /* real time at clock value 0: offset_s seconds ... */
	uint64_t offset;      /* ... and offset cycles, 0 <= offset < freq */
	uint64_t precision;   /* cycles: skew between CPUs, measured */
	char uuid[37];        /* identifies the clock across traces: the machine's boot id, or empty */
	char name[32];        /* "tsc", "cntvct", "monotonic", or a plug-in's name */
	char description[96];
};

/* The kind this machine's kernel vouches for. Reads sysfs; falls back to MONOTONIC, never fails. */
enum wmk_clock_kind wmk_clock_detect(void);
/* Only the name and the description of a clock of this machine, and its kind. */
void wmk_clock_label(enum wmk_clock_kind kind, struct wmk_clock *clock);
/*
 * Fill `clock` for `kind`: frequency, offset, precision. Takes a few milliseconds, 50 more when the frequency must be
 * measured. 0, or -errno with a cause chain.
 */
int wmk_clock_measure(enum wmk_clock_kind kind, struct wmk_clock *clock);

/*
 * Set offset_s and offset, given that the clock (freq is set) showed `value` at real time `real_ns`, nanoseconds
 * since 1970.
 */
void wmk_clock_set_offset(struct wmk_clock *clock, uint64_t value, uint64_t real_ns);
/*
 * What the counters of two CPUs may stand apart at most, in cycles, measured between this CPU and up to 8 others that
 * the thread may run on; 0 when there is none, or none that answers in 10 ms. On busy CPUs the bound is wide, but
 * true. Moves the calling thread's affinity and sets it back.
 */
uint64_t wmk_clock_skew(void);

/*
 * How far the clocks of this process's time namespace are ahead of those of the machine, in nanoseconds
 * (time_namespaces(7)); 0 if that is unknown. The CLOCK_MONOTONIC of a trace is that of the machine: the offset is
 * subtracted. Reads /proc each time.
 */
struct wmk_clock_offsets {
	int64_t monotonic, boot;
};
struct wmk_clock_offsets wmk_clock_offsets(void);
/* The offset of a clock ("monotonic", "boottime") in a text of /proc/PID/timens_offsets; 0 without one. */
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

/* As this process's time namespace has it. */
static inline uint64_t wmk_clock_monotonic(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Milliseconds, for deadlines. */
static inline int64_t wmk_clock_ms(void)
{
	return (int64_t)(wmk_clock_monotonic() / 1000000);
}

#endif
