/* SPDX-License-Identifier: MIT */
/*
 * test_life.c - a ring that several processes use: sleeping readers, waits for room, killed claimants, debuggers,
 * timers, guards, and sets that are retired and reused.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "ring_test.h"

static uint64_t drain(struct pair *p, uint64_t *lost)
{
	struct waymark_ring_packet packet;
	uint64_t n = 0;

	*lost = 0;
	for (uint32_t i = 0; i < p->n_rings; i++) {
		int rc;

		while ((rc = waymark_ring_reader_next(p->readers[i], WAYMARK_RING_FLUSH, &packet)) == 1) {
			n += check_u64(&packet, NULL);
			assert_int_equal(waymark_ring_reader_release(p->readers[i], &packet), 0);
		}
		assert_int_equal(rc, 0);
		*lost += waymark_ring_reader_lost(p->readers[i], NULL);
	}
	return n;
}

/* ── waking ──────────────────────────────────────────────────────────────────────────────────────────── */

struct waker {
	struct waymark_ring_set *set;
	unsigned turns;
	unsigned turn;    /* the reader is ready for this turn */
	uint64_t entered; /* time at which the last sub-buffer was entered, ns */
};

static void *enter_sub_buffers(void *arg)
{
	struct waker *w = arg;
	static const unsigned char fill[3900];
	struct waymark_ring_frag f = { fill, sizeof(fill), WAYMARK_FRAG_BYTES };

	for (unsigned i = 0; i < w->turns; i++) {
		while (__atomic_load_n(&w->turn, __ATOMIC_ACQUIRE) <= i)
			sched_yield();
		/* The reader is awake, falls asleep, or sleeps. */
		for (uint64_t until = wmk_clock_monotonic() + i * 7919 % 60000; wmk_clock_monotonic() < until;)
			;
		waymark_ring_record(w->set, 3, &f, 1); /* fills a sub-buffer: each opens a new one */
		__atomic_store_n(&w->entered, wmk_clock_monotonic(), __ATOMIC_RELEASE);
	}
	return NULL;
}

/* A lost wake-up would cost a whole second. */
static void sleeping_reader_is_woken_by_each_new_sub_buffer(void **state)
{
	struct pair p;
	struct waker w = { .turns = rounds(20000) };
	struct waymark_ring_packet packet;
	pthread_t thread;
	unsigned late = 0;

	(void)state;
	pair_open(&p, (struct waymark_ring_options) { .subbuf_size = 4096, .n_subbufs = 4, .prefault = 1 << 30 });
	w.set = p.writer;
	assert_int_equal(waymark_ring_set_wait(p.reader, 1000), 0);
	assert_int_equal(pthread_create(&thread, NULL, enter_sub_buffers, &w), 0);
	for (unsigned i = 0; i < w.turns && late == 0; i++) {
		uint64_t entered, now;

		__atomic_store_n(&w.entered, 0, __ATOMIC_RELEASE);
		__atomic_store_n(&w.turn, i + 1, __ATOMIC_RELEASE);
		assert_int_equal(waymark_ring_set_wait(p.reader, 1000000), 1);
		now = wmk_clock_monotonic();
		entered = __atomic_load_n(&w.entered, __ATOMIC_ACQUIRE);
		late += entered != 0 && entered < now && now - entered > 800000000;
		for (uint32_t k = 0; k < p.n_rings; k++)
			while (waymark_ring_reader_next(p.readers[k], WAYMARK_RING_FLUSH, &packet) == 1)
				waymark_ring_reader_release(p.readers[k], &packet);
	}
	__atomic_store_n(&w.turn, w.turns, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	assert_int_equal(late, 0);
	pair_close(&p);
}

/* ── beacons ─────────────────────────────────────────────────────────────────────────────────────────── */

static int stop;

static void *record_always(void *arg)
{
	struct waymark_ring_set *set = arg;

	for (uint64_t i = 0; !__atomic_load_n(&stop, __ATOMIC_RELAXED); i++)
		record_u64(set, i);
	return NULL;
}

static void sub_buffer_never_begins_before_an_earlier_beacon_time(void **state)
{
	struct pair p;
	struct waymark_ring_packet packet;
	pthread_t thread[2];
	uint64_t floors[512] = { 0 }, behind[512] = { 0 }, checked = 0;

	(void)state;
	pair_open(&p,
		  (struct waymark_ring_options){
			  .subbuf_size = 65536, .n_subbufs = 4, .clock = WAYMARK_CLOCK_COUNTER, .prefault = 1 << 30 });
	assert_int_equal(waymark_ring_reader_beacon(p.readers[p.n_cpus], &floors[0]), -ENOTSUP);
	__atomic_store_n(&stop, 0, __ATOMIC_RELAXED);
	for (int i = 0; i < 2; i++)
		pthread_create(&thread[i], NULL, record_always, p.writer);
	for (unsigned round = 0; round < rounds(3000); round++) {
		for (uint32_t i = 0; i < p.n_cpus; i++) {
			while (waymark_ring_reader_next(p.readers[i], WAYMARK_RING_FLUSH, &packet) == 1) {
				/*
				 * A sub-buffer begins after the beacon, so its first record is not older than the
				 * floor.
				 */
				if (packet.begin_pos > behind[i] && packet.room) {
					assert_true(packet.begin_ts >= floors[i]);
					checked++;
				}
				waymark_ring_reader_release(p.readers[i], &packet);
			}
			if (waymark_ring_reader_beacon(p.readers[i], &floors[i]) == 0)
				behind[i] = waymark_ring_reader_position(p.readers[i]);
		}
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	if (p.writer->seq_cpus != 0)
		assert_true(checked > 0);
	pair_close(&p);
}

/* A floor in the future rejects all older records on each path. Such records go to a claim ring, and none is lost. */
static void records_before_the_minimum_time_go_to_a_claim_ring(void **state)
{
	struct pair p;
	uint64_t lost, before[512], v = 1;
	struct waymark_ring_frag two[2] = { { &v, 4, WAYMARK_FRAG_WORDS }, { &v, 4, WAYMARK_FRAG_BYTES } };

	(void)state;
	pair_open(&p,
		  (struct waymark_ring_options){
			  .subbuf_size = 4096, .n_subbufs = 2, .clock = WAYMARK_CLOCK_COUNTER, .prefault = 1 << 30 });
	for (int i = 0; i < 100; i++)
		assert_int_equal(record_u64(p.writer, 1), 0); /* sub-buffers are open, so the fast path is possible */
	for (uint32_t i = 0; i < p.n_cpus; i++) {
		before[i] = waymark_ring_reader_position(p.readers[i]);
		p.reader->ring[i].ctl->floor_ts = UINT64_MAX;
	}
	assert_int_equal(record_u64(p.writer, 1), 0);
	assert_int_equal(waymark_ring_record(p.writer, 3, two, 2), 0);
	for (uint32_t i = 0; i < p.n_cpus; i++)
		assert_int_equal(waymark_ring_reader_position(p.readers[i]), before[i]);
	assert_int_equal(drain(&p, &lost), 102);
	assert_int_equal(lost, 0);
	pair_close(&p);
}

/* ── waiting for room ────────────────────────────────────────────────────────────────────────────────── */

struct blocked {
	struct waymark_ring_set *set;
	uint64_t n, lost;
	int done;
};

static void *record_n(void *arg)
{
	struct blocked *b = arg;

	for (uint64_t i = 0; i < b->n; i++)
		b->lost += record_u64(b->set, i) != 0;
	__atomic_store_n(&b->done, 1, __ATOMIC_RELEASE);
	return NULL;
}

static void test_blocking_writer_waits_for_the_reader(void **state)
{
	struct pair p;
	struct blocked b = { .n = rounds(200000) };
	pthread_t thread;
	uint64_t read = 0, lost;
	struct timespec ms = { 0, 1000000 };

	(void)state;
	pair_open(&p, (struct waymark_ring_options){
			      .subbuf_size = 4096, .n_subbufs = 2, .block_us = -1, .prefault = 1 << 30 });
	b.set = p.writer;
	waymark_ring_set_heartbeat(p.reader);
	pthread_create(&thread, NULL, record_n, &b);
	while (read < b.n) {
		waymark_ring_set_heartbeat(p.reader);
		read += drain(&p, &lost);
		assert_int_equal(lost, 0);
		if (__atomic_load_n(&b.done, __ATOMIC_ACQUIRE))
			break;
		nanosleep(&ms, NULL);
	}
	pthread_join(thread, NULL);
	read += drain(&p, &lost);
	assert_int_equal(b.lost, 0);
	assert_int_equal(read, b.n);
	pair_close(&p);
}

static void blocked_writer_stops_waiting_at_its_timeout(void **state)
{
	struct pair p;
	struct timespec a, b;
	sigset_t usr1, old;
	uint64_t lost;

	(void)state;
	pair_open(&p, (struct waymark_ring_options){
			      .subbuf_size = 4096, .n_subbufs = 2, .block_us = 20000, .prefault = 1 << 30 });
	waymark_ring_set_heartbeat(p.reader);
	clock_gettime(CLOCK_MONOTONIC, &a);
	while (record_u64(p.writer, 1) == 0)
		;
	clock_gettime(CLOCK_MONOTONIC, &b);
	/* the writer has waited for room */
	assert_true((b.tv_sec - a.tv_sec) * 1000000 + (b.tv_nsec - a.tv_nsec) / 1000 >= 20000);
	/*
	 * The writer does not wait if a signal is blocked (as in a handler), if waiting is not allowed, or if the
	 * reader has no heartbeat.
	 */
	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	for (int how = 0; how < 3; how++) {
		waymark_ring_set_heartbeat(p.reader);
		if (how == 0)
			sigprocmask(SIG_BLOCK, &usr1, &old);
		if (how == 1)
			wmk_ring_set_allow_blocking(p.writer, 0);
		if (how == 2) {
			wmk_ring_set_allow_blocking(p.writer, 1);
			p.reader->header->heartbeat -= 3000000000;
		}
		uint64_t waited = 0;
		assert_int_equal(wmk_ring_wait_room(p.writer, &waited), 0);
		if (how == 0)
			sigprocmask(SIG_SETMASK, &old, NULL);
	}
	drain(&p, &lost);
	assert_true(lost >= 1);
	pair_close(&p);
}

/* ── claims ──────────────────────────────────────────────────────────────────────────────────────────── */

static void claim_rings_store_records_of_writers_without_rseq(void **state)
{
	static const uint64_t zero;
	struct pair p;
	uint64_t v = 7, lost;
	struct waymark_ring_frag f = { &v, 8, WAYMARK_FRAG_WORDS };
	uint32_t first;

	(void)state;
	pair_open(&p, (struct waymark_ring_options) { .subbuf_size = 4096, .n_subbufs = 2, .prefault = 1 << 30 });
	first = p.n_cpus;
	waymark_ring_set_identity(p.writer, 4, 1);
	assert_int_equal(wmk_ring_write_claim(p.writer, &zero, 0, 3, &f, 1, 8), 0);
	for (uint32_t i = 0; i < WAYMARK_RING_CLAIMS; i++)
		assert_int_equal(p.reader->ring[first + i].ctl->claim, WMK_CLAIM_FREE); /* released */
	/* All rings are claimed, by two processes and an anonymous one: the record is lost. */
	for (uint32_t i = 0; i < WAYMARK_RING_CLAIMS; i++)
		p.reader->ring[first + i].ctl->claim = i < 3   ? WMK_CLAIM_NAMED | 1ull << 32 | 4
						       : i < 6 ? WMK_CLAIM_NAMED | 2ull << 32 | 4
							       : WMK_CLAIM_ANONYMOUS;
	assert_int_equal(wmk_ring_write_claim(p.writer, &zero, 0, 3, &f, 1, 8), -ENOSPC);
	assert_int_equal(waymark_ring_reader_lost(p.readers[first], NULL), 1);
	/* The end of (4, 1) frees its three claims, and no others. */
	assert_int_equal(waymark_ring_set_free_claims(p.reader, 0, 0), -EINVAL);
	assert_int_equal(waymark_ring_set_free_claims(p.reader, 4, 1), 3);
	assert_int_equal(waymark_ring_set_free_claims(p.reader, 4, 1), 0);
	assert_int_equal(wmk_ring_write_claim(p.writer, &zero, 0, 3, &f, 1, 8), 0);
	assert_int_equal(waymark_ring_set_free_claims(p.reader, 4, 2), 3);
	/* Anonymous claims are retired if they have not changed between two calls; spare rings replace them. */
	assert_int_equal(waymark_ring_set_retire_claims(p.reader), 0);
	p.reader->ring[first + 6].ctl->claims++;
	assert_int_equal(waymark_ring_set_retire_claims(p.reader), 1);
	assert_int_equal(p.reader->ring[first + 6].ctl->claim, WMK_CLAIM_ANONYMOUS);
	assert_int_equal(p.reader->ring[first + 7].ctl->claim, WMK_CLAIM_RETIRED);
	assert_int_equal(p.reader->header->claims_end, first + WAYMARK_RING_CLAIMS + 1);
	assert_int_equal(waymark_ring_set_retire_claims(p.reader), 1);
	assert_int_equal(waymark_ring_set_back(p.reader), 0);
	assert_int_equal(wmk_ring_write_claim(p.writer, &zero, 0, 3, &f, 1, 8), 0);
	assert_int_equal(drain(&p, &lost), 3);
	assert_int_equal(lost, 1);
	pair_close(&p);
}

/* ── interference ────────────────────────────────────────────────────────────────────────────────────── */

/* A debugger executes a record instruction by instruction: the record goes to a claim ring. */
static void record_that_a_debugger_steps_through_goes_to_a_claim_ring(void **state)
{
	struct pair p;
	int status;
	uint64_t lost, steps = 0;
	pid_t pid;

	(void)state;
#ifdef __SANITIZE_THREAD__
	skip(); /* its run-time library needs millions of steps */
#endif
	pair_open(&p, (struct waymark_ring_options) { .subbuf_size = 4096, .n_subbufs = 2, .prefault = 1 << 30 });
	pid = fork();
	if (pid == 0) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		_exit(record_u64(p.writer, 42) != 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSTOPPED(status));
	while (!WIFEXITED(status)) {
		assert_int_equal(ptrace(PTRACE_SINGLESTEP, pid, 0, 0), 0);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(++steps < 1000000);
	}
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_int_equal(drain(&p, &lost), 1);
	assert_int_equal(lost, 0);
	if (p.writer->seq_cpus != 0)
		for (uint32_t i = 0; i < p.n_cpus; i++)
			assert_int_equal(waymark_ring_reader_position(p.readers[i]), 0);
	pair_close(&p);
}

static volatile unsigned ticks;

static void on_timer(int sig)
{
	(void)sig;
	ticks++;
}

static void long_records_are_complete_under_frequent_timer_signals(void **state)
{
	static unsigned char big[1 << 20];
	struct pair p;
	struct itimerval on = { { 0, 50 }, { 0, 50 } }, off = { { 0, 0 }, { 0, 0 } };
	struct waymark_ring_frag f = { big, sizeof(big), WAYMARK_FRAG_BYTES }, text = { big, 16000, WAYMARK_FRAG_TEXT };
	struct waymark_ring_packet packet;
	unsigned n = 0;

	(void)state;
	memset(big, 'x', sizeof(big));
	pair_open(&p, (struct waymark_ring_options) { .subbuf_size = 4 << 20, .n_subbufs = 2, .prefault = 1 << 30 });
	signal(SIGALRM, on_timer);
	setitimer(ITIMER_REAL, &on, NULL);
	for (int i = 0; i < 40; i++)
		assert_int_equal(waymark_ring_record(p.writer, 3, i % 8 ? &text : &f, 1), 0);
	setitimer(ITIMER_REAL, &off, NULL);
	signal(SIGALRM, SIG_DFL);
	assert_true(ticks > 0);
	for (uint32_t i = 0; i < p.n_rings; i++) {
		while (waymark_ring_reader_next(p.readers[i], WAYMARK_RING_FLUSH, &packet) == 1) {
			const unsigned char *at = packet.data, *end = at + packet.len;
			uint64_t ts = packet.begin_ts;

			for (; at < end; n++) {
				assert_int_equal(record_header(&at, end, &ts), 3);
				size_t len = strnlen((const char *)at, (size_t)(end - at));

				at += len > 16000 ? sizeof(big) : len + 1;
				assert_true(len == 16000 || len >= sizeof(big));
			}
			assert_ptr_equal(at, end);
			waymark_ring_reader_release(p.readers[i], &packet);
		}
	}
	assert_int_equal(n, 40);
	pair_close(&p);
}

static void mlockall_does_not_allocate_ring_memory(void **state)
{
	struct pair p;

	(void)state;
	pair_open(&p, (struct waymark_ring_options) { .subbuf_size = 65536, .n_subbufs = 16 });
	if (mlockall(MCL_CURRENT | MCL_FUTURE) < 0) {
		pair_close(&p);
		skip();
	}
	/* This fills the mapping of the reader; only the mapping of the writer counts. */
	assert_int_equal(mprotect(p.writer->ring[0].data, 65536, PROT_READ), 0);
	FILE *f = fopen("/proc/self/smaps", "r");
	char line[512], start[32];
	long rss = -1;
	int in = 0;

	snprintf(start, sizeof(start), "%lx-", (unsigned long)p.writer->ring[0].data);
	while (fgets(line, sizeof(line), f)) {
		if (strncmp(line, start, strlen(start)) == 0)
			in = 1;
		if (in && sscanf(line, "Rss: %ld", &rss) == 1)
			break;
	}
	fclose(f);
	munlockall();
	assert_int_equal(rss, 0);
	pair_close(&p);
}

static void record_with_a_stale_guard_or_retired_ring_set_is_refused(void **state)
{
	struct pair p;
	uint64_t guard = 5, v[2] = { 1, 2 };
	struct waymark_ring_frag f[2] = { { v, 8, WAYMARK_FRAG_WORDS }, { v, 3, WAYMARK_FRAG_BYTES } };
	struct waymark_ring_set *again;

	(void)state;
	pair_open(&p, (struct waymark_ring_options) { .subbuf_size = 4096, .n_subbufs = 2, .prefault = 1 << 30 });
	pin();
	assert_int_equal(wmk_ring_write(p.writer, &guard, 4, 3, f, 1, 8), -ESTALE);
	assert_int_equal(wmk_ring_write(p.writer, &guard, 5, 3, f, 1, 8), 0);
	assert_int_equal(wmk_ring_write(p.writer, &guard, 5, 3, f, 2, 11), 0);
	guard = 0;
	assert_int_equal(wmk_ring_write(p.writer, &guard, 5, 3, f, 1, 8), -ESTALE);
	assert_int_equal(wmk_ring_write(p.writer, &guard, 5, 3, f, 2, 11), -ESTALE);
	assert_int_equal(wmk_ring_write_claim(p.writer, &guard, 5, 3, f, 2, 11), -ESTALE);
	assert_int_equal(wmk_ring_grace(1000000), 0);
	/* A recorder with a stale pointer finds zeros and a guard that has changed. */
	wmk_ring_set_retire(p.writer);
	assert_int_equal(wmk_ring_write(p.writer, &guard, 5, 3, f, 1, 8), -ESTALE);
	assert_int_equal(wmk_ring_write(p.writer, &guard, 5, 3, f, 2, 11), -ESTALE);
	wmk_ring_count_cut(p.writer, 1);
	/* The next set of the same shape reuses the structure. */
	assert_int_equal(waymark_ring_set_open(waymark_ring_set_fd(p.reader), &again), 0);
	assert_ptr_equal(again, p.writer);
	assert_int_equal(record_u64(again, 9), 0);
	unpin();
	pair_close(&p);
}

struct stale {
	struct waymark_ring_set *set;
	uint64_t guard;
	int stop;
};

/* Use a set that is retired and reused: the thread never accesses unmapped memory, and never records. */
static void *record_stale(void *arg)
{
	struct stale *stale = arg;
	const uint64_t words[2] = { 7, 7 };
	const struct waymark_ring_frag f[] = { { &words[0], 8, WAYMARK_FRAG_WORDS },
					       { "bytes", 5, WAYMARK_FRAG_BYTES } };

	while (!__atomic_load_n(&stale->stop, __ATOMIC_RELAXED)) {
		assert_int_equal(wmk_ring_write(stale->set, &stale->guard, 5, 3, f, 1, 8), -ESTALE);
		assert_int_equal(wmk_ring_write(stale->set, &stale->guard, 5, 3, f, 2, 13), -ESTALE);
		wmk_ring_count_cut(stale->set, 0);
	}
	return NULL;
}

static void stale_recorder_records_nothing_into_a_reopened_ring_set(void **state)
{
	struct waymark_ring_set *again;
	struct stale stale;
	pthread_t thread;
	struct pair p;

	(void)state;
#ifdef __SANITIZE_THREAD__
	skip();                 /* the sanitizer treats a new mapping as a store to all of its memory */
#endif
	pair_open(&p, (struct waymark_ring_options) { .subbuf_size = 4096, .n_subbufs = 4, .prefault = 1 << 30 });
	stale = (struct stale){ .set = p.writer };
	assert_int_equal(pthread_create(&thread, NULL, record_stale, &stale), 0);
	for (unsigned i = 0; i < rounds(50000); i++) {
		wmk_ring_set_retire(p.writer);
		assert_int_equal(waymark_ring_set_open(waymark_ring_set_fd(p.reader), &again), 0);
		assert_ptr_equal(again, p.writer);
	}
	__atomic_store_n(&stale.stop, 1, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	pair_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(record_with_a_stale_guard_or_retired_ring_set_is_refused),
		cmocka_unit_test(stale_recorder_records_nothing_into_a_reopened_ring_set),
		cmocka_unit_test(sleeping_reader_is_woken_by_each_new_sub_buffer),
		cmocka_unit_test(sub_buffer_never_begins_before_an_earlier_beacon_time),
		cmocka_unit_test(records_before_the_minimum_time_go_to_a_claim_ring),
		cmocka_unit_test(test_blocking_writer_waits_for_the_reader),
		cmocka_unit_test(blocked_writer_stops_waiting_at_its_timeout),
		cmocka_unit_test(claim_rings_store_records_of_writers_without_rseq),
		cmocka_unit_test(record_that_a_debugger_steps_through_goes_to_a_claim_ring),
		cmocka_unit_test(long_records_are_complete_under_frequent_timer_signals),
		cmocka_unit_test(mlockall_does_not_allocate_ring_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
