/* SPDX-License-Identifier: MIT */
/*
 * ledger.h - a file in which a test program publishes its progress, so that the harness can compare it with the trace.
 *
 * Every process of a test maps the ledger (WMK_TEST_LEDGER). A *writer* (a thread, a run of a signal handler, a child)
 * takes a slot with writer_new() and makes records with writer_emit(). Its sequence number is published as begun before
 * the call and as returned after it. Each record carries its writer, its number, the clocks read before the call, and a
 * checksum of the first two. So a record with the bytes of another one is detected.
 *
 * Slot 0 belongs to writers without a slot of their own. A process without a ledger (run by hand) records, too.
 */
#ifndef TESTS_LEDGER_H
#define TESTS_LEDGER_H

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#ifndef LEDGER_ONLY   /* for programs that read a ledger and record nothing */
#include <waymark/trace.h>
#endif

#define LEDGER_SLOTS 8192
#define LEDGER_FLAGS 64

struct ledger_slot {
	uint64_t begun, returned;
	uint64_t pad[6];
};

struct ledger {
	uint64_t next;                 /* allocated slots */
	uint64_t flag[LEDGER_FLAGS];    /* their meaning is an agreement between a program and its test */
	uint64_t pad[63];
	struct ledger_slot slot[LEDGER_SLOTS];
};

static struct ledger *ledger;

static inline struct ledger *ledger_map(void)
{
	const char *path = getenv("WMK_TEST_LEDGER");
	void *at = MAP_FAILED;
	if (ledger)
		return ledger;
	if (path) {
		int fd = open(path, O_RDWR | O_CLOEXEC);
		if (fd >= 0) {
			at = mmap(NULL, sizeof(struct ledger), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
			close(fd);
		}
		if (at == MAP_FAILED)
			abort();
	} else {
		at = mmap(NULL, sizeof(struct ledger), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		if (at == MAP_FAILED)
			abort();
	}
	ledger = (struct ledger *)at;
	return ledger;
}

static inline uint64_t clock_counter(void)
{
#if defined(__x86_64__)
	uint32_t lo, hi;
	__asm__ __volatile__("lfence; rdtsc" : "=a"(lo), "=d"(hi) :: "memory");
	return (uint64_t)hi << 32 | lo;
#elif defined(__aarch64__)
	uint64_t v;
	__asm__ __volatile__("isb; mrs %0, cntvct_el0" : "=r"(v) :: "memory");
	return v;
#else
	return 0;
#endif
}

static inline uint64_t clock_nsec(clockid_t id)
{
	struct timespec ts;
	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static inline uint32_t writer_sum(uint32_t writer, uint64_t seq)
{
	uint64_t x = (seq + 1) * 0x9e3779b97f4a7c15ull ^ ((uint64_t)writer + 1) * 0xc2b2ae3d27d4eb4full;
	return (uint32_t)(x ^ x >> 32);
}

static inline uint32_t writer_new(void)
{
	uint64_t w = __atomic_add_fetch(&ledger_map()->next, 1, __ATOMIC_RELAXED);
	if (w >= LEDGER_SLOTS)
		abort();
	return (uint32_t)w;
}

static inline uint64_t writer_begin(uint32_t w)
{
	uint64_t seq = ledger->slot[w].begun + 1;
	__atomic_store_n(&ledger->slot[w].begun, seq, __ATOMIC_RELEASE);
	return seq;
}

static inline void writer_end(uint32_t w, uint64_t seq)
{
	__atomic_store_n(&ledger->slot[w].returned, seq, __ATOMIC_RELEASE);
}

#ifndef LEDGER_ONLY
/* One record of the event test:seq. One writer is one thread of control: slots are not shared. */
static inline void writer_emit(uint32_t writer)
{
	uint64_t seq = writer_begin(writer);
	uint32_t sum = writer_sum(writer, seq);
	uint64_t mono = clock_nsec(CLOCK_MONOTONIC), t0 = clock_counter();
	waymark(test, seq, writer, seq, t0, mono, sum);
	writer_end(writer, seq);
}

/* The same with a string of `len` bytes at its end; the number determines every byte of it. */
static inline void writer_emit_text(uint32_t writer, char *buffer, size_t len)
{
	uint64_t seq = writer_begin(writer);
	uint32_t sum = writer_sum(writer, seq);
	for (size_t i = 0; i < len; i++)
		buffer[i] = (char)('a' + (seq + i) % 26);
	buffer[len] = 0;
	const char *text = buffer;
	uint64_t mono = clock_nsec(CLOCK_MONOTONIC), t0 = clock_counter();
	waymark(test, text, writer, seq, t0, mono, sum, text);
	writer_end(writer, seq);
}

#endif /* LEDGER_ONLY */

#endif
