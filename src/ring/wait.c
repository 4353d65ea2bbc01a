/* SPDX-License-Identifier: MIT */
/*
 * wait.c - all waits of the ring:
 *
 *     the reader        for a new sub-buffer: a futex, woken by writers
 *     writers           for room: short sleeps, until the reader's heartbeat stops (an idle reader is woken first)
 *     closing a set     for recording threads on the slow path: two counters
 */
#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/testpoint.h"
#include "ring/record_header.h"
#include "ring/request.h"

/* Constants of <linux/futex.h> and <linux/membarrier.h>, two headers that musl's compiler wrapper does not find. */
#define FUTEX_WAIT 0
#define FUTEX_WAKE 1
#define FUTEX_32 2
#define MEMBARRIER_CMD_GLOBAL 1
#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif
/* struct futex_waitv of the kernel: installed headers may be older than the kernel. */
struct futex_word {
	uint64_t value, address;
	uint32_t flags, reserved;
};

#define SLICE_FIRST_NS 50000ull
#define SLICE_MAX_NS 5000000ull
#define HEARTBEAT_NS 2000000000ull /* a reader sleeps for 1 s at most, but may have to wait for a CPU afterwards */
#define WAIT_MAX_US 1000000ull
#define WORDS_MAX 128u

long wmk_ring_syscall(long nr, long a, long b, long c, long d, long e, long f)
{
	long ret;

#if defined(__x86_64__)
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;

	__asm__ __volatile__("syscall" : "=a"(ret) : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			     : "rcx", "r11", "memory");
#elif defined(__aarch64__)
	register long x8 __asm__("x8") = nr;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;

	__asm__ __volatile__("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
	ret = x0;
#endif
	return ret;
}

static void sleep_ns(uint64_t ns)
{
	struct timespec ts = { (time_t)(ns / 1000000000), (long)(ns % 1000000000) };

	wmk_ring_syscall(SYS_nanosleep, (long)&ts, 0, 0, 0, 0, 0);
}

int wmk_ring_wake(struct waymark_ring_set *set)
{
	uint32_t *waiting = &set->header->waiting;

	WMK_TESTPOINT(ring_waking);
	if (set->options.poll_us)
		return 0;
	/*
	 * (G) full fence between the commit, or the id of a request, and the load of the flag; pairs with the reader's
	 * store of the flag, fence, and load of the positions and the id. The fences guarantee at least one of two
	 * results: the writer loads the flag as set, or the reader loads the new position or the new id.
	 */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (wmk_ring_load(waiting) != 0 && __atomic_exchange_n(waiting, 0, __ATOMIC_RELAXED) != 0)
		wmk_ring_syscall(SYS_futex, (long)waiting, FUTEX_WAKE, 1, 0, 0, 0);
	return 0;
}

/* Return the number of sub-buffers that a ring with this write position has entered. */
static uint64_t entered(const struct waymark_ring_set *set, uint64_t pos)
{
	return (pos + set->subbuf_size - 1) / set->subbuf_size;
}

/*
 * True if the next record can end the sleep of the reader. The result is false in overwrite mode, because the reader of
 * an overwrite ring takes whole sub-buffers.
 */
static int wakes_by_record(const struct waymark_ring_set *set)
{
	return set->options.mode == WAYMARK_RING_DISCARD;
}

/* True if `seen` is not the id of the last request for a snapshot. Sets *seen. */
static int is_requested(const struct waymark_ring_set *set, uint64_t *seen)
{
	const uint64_t id = wmk_ring_requested(set);
	const int is_new = id != 0 && id != *seen;

	*seen = id;
	return is_new;
}

/*
 * True if, since the last call, a writer has entered a sub-buffer, a snapshot was requested, or (with `by_record`) a
 * record was committed.
 */
static int moved(struct waymark_ring_set *set, int by_record)
{
	int any = is_requested(set, &set->seen_request);

	by_record = by_record && wakes_by_record(set);
	for (uint32_t i = 0; i < set->n_rings; i++) {
		struct wmk_ring_view *ring = &set->ring[i];
		uint64_t pos = wmk_ring_load(&ring->ctl->write_pos);

		any |= by_record ? pos != ring->seen : entered(set, pos) != entered(set, ring->seen);
		ring->seen = pos;
	}
	return any;
}

void wmk_ring_set_wake_for(struct waymark_ring_set *set)
{
	int any = is_requested(set, &set->looked_request);

	/* separate from the state of moved(): the reader may use the same mapping */
	for (uint32_t i = 0; i < set->n_rings; i++) {
		struct wmk_ring_view *ring = &set->ring[i];
		uint64_t pos = wmk_ring_load(&ring->ctl->write_pos);

		any |= pos != ring->looked;
		ring->looked = pos;
	}
	if (any)
		wmk_ring_wake(set);
}

int waymark_ring_set_wait(struct waymark_ring_set *set, uint64_t timeout_us)
{
	uint32_t *waiting = &set->header->waiting;
	struct timespec ts;
	int any;

	if (timeout_us > WAIT_MAX_US)
		timeout_us = WAIT_MAX_US;
	__atomic_store_n(waiting, 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_SEQ_CST); /* (G) */
	any = moved(set, 0);
	if (!any && timeout_us != 0) {
		ts.tv_sec = (time_t)(timeout_us / 1000000);
		ts.tv_nsec = (long)(timeout_us % 1000000) * 1000;
		any = wmk_ring_syscall(SYS_futex, (long)waiting, FUTEX_WAIT, 1, (long)&ts, 0, 0) == 0;
		any |= moved(set, 0);
	}
	__atomic_store_n(waiting, 0, __ATOMIC_RELAXED);
	return any;
}

static void say_waiting(struct waymark_ring_set *const *sets, unsigned n, uint32_t value)
{
	for (unsigned i = 0; i < n; i++)
		__atomic_store_n(&sets[i]->header->waiting, value, __ATOMIC_RELAXED);
}

static int any_moved(struct waymark_ring_set *const *sets, unsigned n, int by_record)
{
	int any = 0;

	for (unsigned i = 0; i < n; i++)
		any |= moved(sets[i], by_record);
	return any;
}

static void set_armed(struct waymark_ring_set *const *sets, unsigned n, uint64_t value)
{
	for (unsigned i = 0; i < n; i++)
		for (uint32_t ring = 0; ring < sets[i]->n_rings && wakes_by_record(sets[i]); ring++)
			wmk_ring_set_to(&sets[i]->ring[ring].ctl->armed, value);
}

/*
 * (I) After the call, the writer of the next record wakes the reader, or a load of the positions sees that record;
 * pairs with wmk_ring_committed(). Each CPU executes a full barrier during membarrier(). If a commit precedes the
 * barrier of its CPU, the reader sees the commit. If a writer's load of `armed` follows the barrier of its CPU, the
 * load returns 1. 0; -errno if the kernel refuses it, as with nohz_full CPUs.
 */
static long arm(struct waymark_ring_set *const *sets, unsigned n)
{
	set_armed(sets, n, 1);
	return wmk_ring_syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0, 0, 0, 0);
}

/* Sleep until one of the futex words changes. Returns a negative value if the kernel has no futex_waitv(). */
static long sleep_on(struct waymark_ring_set *const *sets, unsigned n, const uint32_t *word, uint32_t value,
		     int64_t timeout_us)
{
	uint64_t end = wmk_clock_monotonic() + (uint64_t)timeout_us * 1000;
	struct timespec ts = { (time_t)(end / 1000000000), (long)(end % 1000000000) };
	struct futex_word words[WORDS_MAX];
	long rc;

	words[0] = (struct futex_word){ value, (uintptr_t)word, FUTEX_32, 0 };
	for (unsigned i = 0; i < n; i++)
		words[i + 1] = (struct futex_word){ 1, (uintptr_t)&sets[i]->header->waiting, FUTEX_32, 0 };
	rc = wmk_ring_syscall(SYS_futex_waitv, (long)words, n + 1, 0, timeout_us < 0 ? 0 : (long)&ts, CLOCK_MONOTONIC,
			      0);
	return rc == -EAGAIN || rc == -EINTR || rc == -ETIMEDOUT ? 0 : rc;
}

static int sets_wait(struct waymark_ring_set *const *sets, unsigned n, const uint32_t *word, uint32_t value,
		     int64_t timeout_us, int by_record)
{
	long rc = 0;
	int any;

	if (n > WAYMARK_RING_WAIT_SETS)
		return -ENOTSUP;
	say_waiting(sets, n, 1);
	__atomic_thread_fence(__ATOMIC_SEQ_CST); /* (G) */
	if (by_record)
		rc = arm(sets, n);
	any = any_moved(sets, n, by_record);
	if (!any && timeout_us != 0 && rc == 0) {
		for (unsigned i = 0; i < n; i++)
			wmk_ring_set_to(&sets[i]->header->heartbeat, WMK_HEART_IDLE);
		rc = sleep_on(sets, n, word, value, timeout_us);
		for (unsigned i = 0; i < n; i++)
			waymark_ring_set_heartbeat(sets[i]);
		any = any_moved(sets, n, by_record);
	}
	if (by_record)
		set_armed(sets, n, 0);
	say_waiting(sets, n, 0);
	return any ? 1 : rc < 0 ? -ENOTSUP : 0;
}

int waymark_ring_sets_wait(struct waymark_ring_set *const *sets, unsigned n, const uint32_t *word, uint32_t value,
			   int64_t timeout_us)
{
	return sets_wait(sets, n, word, value, timeout_us, 0);
}

int waymark_ring_sets_wait_record(struct waymark_ring_set *const *sets, unsigned n, const uint32_t *word,
				  uint32_t value, int64_t timeout_us)
{
	return sets_wait(sets, n, word, value, timeout_us, 1);
}

void waymark_ring_set_wake(struct waymark_ring_set *set)
{
	if (__atomic_exchange_n(&set->header->waiting, 0, __ATOMIC_RELAXED) != 0)
		wmk_ring_syscall(SYS_futex, (long)&set->header->waiting, FUTEX_WAKE, 1, 0, 0, 0);
}

void waymark_ring_set_heartbeat(struct waymark_ring_set *set)
{
	/* Relaxed: the value is only a time, and no other data depends on it. */
	wmk_ring_set_to(&set->header->heartbeat, wmk_clock_monotonic());
}

void wmk_ring_set_allow_blocking(struct waymark_ring_set *set, int allow)
{
	__atomic_store_n(&set->may_block, (uint32_t)(allow != 0), __ATOMIC_RELAXED);
}

/*
 * True if this thread has blocked a signal. A signal handler must not wait for room, and the kernel blocks the
 * handler's signal while the handler runs. Code outside signal handlers normally has no signal blocked. A thread that
 * has any signal blocked does not wait for room, because the thread may be in a signal handler.
 */
static int signals_blocked(void)
{
	uint64_t mask = ~0ull;

	wmk_ring_syscall(SYS_rt_sigprocmask, SIG_BLOCK, 0, (long)&mask, sizeof(mask), 0, 0);
	return mask != 0;
}

int wmk_ring_wait_room(struct waymark_ring_set *set, uint64_t *waited)
{
	int64_t limit_us = set->options.block_us;
	uint64_t slice = *waited / 2, now = wmk_clock_monotonic(), beat;

	if (limit_us == 0 || !wmk_ring_load(&set->may_block))
		return 0;
	beat = wmk_ring_load(&set->header->heartbeat);
	if (beat == WMK_HEART_IDLE) {
		/* Relaxed: the value is only a time, and no other data depends on it. The first writer sets it. */
		__atomic_compare_exchange_n(&set->header->heartbeat, &beat, now, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
		beat = now;
	}
	if (beat > now || now - beat > HEARTBEAT_NS)
		return beat > now &&
		       beat - now < HEARTBEAT_NS; /* the reader may have read its clock after `now` was read */
	if (limit_us > 0 && *waited >= (uint64_t)limit_us * 1000)
		return 0;
	if (*waited == 0 && signals_blocked())
		return 0;
	slice = slice < SLICE_FIRST_NS ? SLICE_FIRST_NS : slice > SLICE_MAX_NS ? SLICE_MAX_NS : slice;
	if (limit_us > 0 && slice > (uint64_t)limit_us * 1000 - *waited)
		slice = (uint64_t)limit_us * 1000 - *waited;
	sleep_ns(slice);
	*waited += wmk_clock_monotonic() - now;
	return 1;
}

/* ── grace ───────────────────────────────────────────────────────────────────────────────────────────── */

/*
 * Each counter holds the number of threads inside the grace period and, in the upper half, the number of forks since
 * the library was loaded. If a signal handler calls fork() inside the grace period, the child also continues inside the
 * grace period. Only the parent's counter includes this thread, so the child must not decrement its own counter.
 */
#define GRACE_FORK (1ull << 32)

static struct {
	uint32_t phase;
	uint32_t old;     /* used by the waiting thread: the counter that it waits for ... */
	int turns;        /* ... and the number of further turns */
	uint64_t inside[2];
} grace;

struct wmk_ring_inside wmk_ring_grace_enter(void)
{
	struct wmk_ring_inside in = { .phase = __atomic_load_n(&grace.phase, __ATOMIC_RELAXED) & 1 };

	/* (E) full, see wmk_ring_enter(). */
	in.fork = (uint32_t)(__atomic_fetch_add(&grace.inside[in.phase], 1, __ATOMIC_SEQ_CST) / GRACE_FORK);
	return in;
}

void wmk_ring_grace_leave(struct wmk_ring_inside in)
{
	uint64_t *inside = &grace.inside[in.phase], now = __atomic_load_n(inside, __ATOMIC_RELAXED);

	/* (E) release: after all accesses inside the grace period; pairs with the acquire in wmk_ring_grace(). */
	while (now / GRACE_FORK == in.fork &&
	       !__atomic_compare_exchange_n(inside, &now, now - 1, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		continue;
}

static void turn(void)
{
	grace.old = __atomic_fetch_add(&grace.phase, 1, __ATOMIC_SEQ_CST) & 1; /* (E) */
	grace.turns--;
}

void wmk_ring_grace_begin(void)
{
	/*
	 * Two changes of the phase are necessary: a recording thread may read the phase before a change, and increment
	 * the counter of the old phase after the change. If both counters were 0 after the change of the guard, all
	 * threads inside have seen the new guard. New threads use the other counter, so the counter on which the
	 * library waits reaches 0 however many threads enter.
	 */
	grace.turns = 2;
	turn();
}

int wmk_ring_grace_over(void)
{
	while (__atomic_load_n(&grace.inside[grace.old], __ATOMIC_SEQ_CST) % GRACE_FORK == 0) { /* (E) */
		if (grace.turns == 0)
			return 1;
		turn();
	}
	return 0;
}

int wmk_ring_grace(uint64_t timeout_us)
{
	uint64_t end = wmk_clock_monotonic() + timeout_us * 1000;

	wmk_ring_grace_begin();
	while (!wmk_ring_grace_over()) {
		if (wmk_clock_monotonic() >= end)
			return -ETIMEDOUT;
		sleep_ns(SLICE_FIRST_NS);
	}
	return 0;
}

void wmk_ring_grace_after_fork(void)
{
	for (int i = 0; i < 2; i++)
		grace.inside[i] = (grace.inside[i] / GRACE_FORK + 1) * GRACE_FORK;
}
