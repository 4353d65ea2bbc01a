/* SPDX-License-Identifier: MIT */
/*
 * test_cpu_buffer.c - counted system calls through buffers that are too small, in all modes. Records that are read and
 * records that are counted as lost add up to those that were made; each record comes once, in order, with a time within
 * its system call. Further tests: a crash while a page is held, cleared buffers, exclusive access.
 *
 * Needs root, a tracefs, and the clock x86-tsc; exits with 77 otherwise.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "counted.h"

#define RECORD_MAX 200         /* upper bound for the size of the records here */

static uint64_t seed;
static uint64_t calls = 100000;
static const char *const mode_names[] = { "best", "map", "splice", "read" };

static uint64_t random_below(uint64_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % n;
}

static bool same_part(const struct wmk_kpart *a, const struct wmk_kpart *b)
{
	return a->bytes == b->bytes && a->size == b->size && a->from == b->from && a->until == b->until &&
	       a->again == b->again;
}

struct lane {
	struct wmk_kcpu *buffer;
	struct tally tally;
	bool cut;                      /* the latest part was of a page with free space: the next part can be its
				        * rest */
};

/* Reads one part, if any; sometimes takes it twice. */
static bool read_one(struct lane *lane, bool flush)
{
	const struct wmk_kpage_layout *layout = wmk_kcpu_layout(lane->buffer);
	struct wmk_kpart part, same;
	const uint32_t room = layout->page_size - layout->data_at;
	const int got = wmk_kcpu_next(lane->buffer, flush, &part);

	assert_true(got == 0 || got == 1);
	if (got == 0)
		return false;
	assert_true(part.size == layout->page_size && part.until > part.from && !part.again);
	if (random_below(4) == 0) {
		assert_int_equal(wmk_kcpu_next(lane->buffer, flush, &same), 1);
		assert_true(same_part(&part, &same));
	}
	/* Without a flush, a page is returned once and has no space for another record. */
	if (!flush && !lane->cut)
		assert_true(part.until + RECORD_MAX > room && part.from == 0);
	lane->cut = flush && part.until + 8 <= room;
	tally_part(&lane->tally, lane->buffer, &part, part.from);
	wmk_kcpu_release(lane->buffer);
	return true;
}

static bool set_sizes(const struct instance *made, unsigned page_kb, unsigned buffer_kb)
{
	char text[32];

	snprintf(text, sizeof(text), "%u", page_kb);
	if (instance_has(made, "buffer_subbuf_size_kb") ? !instance_set(made, "buffer_subbuf_size_kb", text)
							: page_kb != (unsigned)sysconf(_SC_PAGESIZE) / 1024)
		return false;
	snprintf(text, sizeof(text), "%u", buffer_kb);
	return instance_set(made, "buffer_size_kb", text);
}

static void open_lanes(const struct instance *made, struct writers *w, enum wmk_kcpu_mode mode, struct lane *lanes)
{
	for (unsigned i = 0; i < w->n; i++) {
		lanes[i] = (struct lane){ .tally = { .calls = w->calls, .pid = w->pid[i] } };
		assert_int_equal(wmk_kcpu_open(made->dir, w->cpu[i], mode, &lanes[i].buffer), 0);
		assert_int_equal(wmk_kcpu_mode(lanes[i].buffer), mode);
	}
}

/* Reads until the writers have exited and the buffers are empty. */
static void read_all(struct writers *w, struct lane *lanes)
{
	bool is_over, any = true;

	while (any) {
		is_over = writers_ended(w);
		any = !is_over;
		for (unsigned i = 0; i < w->n; i++) {
			const bool flush = is_over || random_below(8) == 0;

			for (uint64_t n = is_over ? UINT64_MAX : random_below(20); n && read_one(&lanes[i], flush); n--)
				any = true;
		}
		sched_yield();
	}
}

static bool can_map(void)
{
	struct instance made;
	struct wmk_kcpu *buffer;
	int err;

	instance_make(&made);
	err = wmk_kcpu_open(made.dir, 0, WMK_KCPU_MAP, &buffer);
	if (err == 0)
		wmk_kcpu_close(buffer);
	instance_remove(&made);
	wmk_error_clear();
	return err == 0;
}

/* Buffers of a few pages: they are full before the first read and most of the time after it. */
static void run_small(enum wmk_kcpu_mode mode, bool overwrite, unsigned page_kb)
{
	struct lane lanes[WRITERS_MAX];
	struct instance made;
	struct writers w;

	instance_make(&made);
	if (!set_sizes(&made, page_kb, page_kb * 5)) {
		print_message("the kernel does not support pages of %u KiB\n", page_kb);
		instance_remove(&made);
		return;
	}
	assert_true(instance_set(&made, "options/overwrite", overwrite ? "1" : "0"));
	writers_start(&w, &made, calls);
	open_lanes(&made, &w, mode, lanes);
	writers_go(&w);
	for (unsigned i = 0; i < w.n; i++) {
		lanes[i].tally.overwrite = overwrite;
		/* More records than fit: each has more than 64 bytes. */
		writers_wait(&w, i, page_kb * 1024 * 7 / 64);
		/*
		 * Full pages are returned without a flush, also those that the kernel shortens to store a loss count.
		 */
		for (unsigned n = 0; n < 3; n++)
			assert_true(read_one(&lanes[i], false));
	}
	read_all(&w, lanes);
	for (unsigned i = 0; i < w.n; i++) {
		const struct tally *t = &lanes[i].tally;

		tally_end(t, lanes[i].buffer, &w, i);
		assert_true(t->read < t->calls);
		print_message("%s %s %u KiB, CPU %u: %llu read in %llu parts, %llu missing (%llu reported)\n",
			      mode_names[mode], overwrite ? "overwrite" : "discard", page_kb, w.cpu[i],
			      (unsigned long long)t->read, (unsigned long long)t->parts,
			      (unsigned long long)(t->calls - t->read), (unsigned long long)t->reported);
		wmk_kcpu_close(lanes[i].buffer);
	}
	writers_stop(&w);
	instance_remove(&made);
}

static void run_mode(enum wmk_kcpu_mode mode)
{
	static const unsigned pages_kb[] = { 4, 16, 64 };

	if (mode == WMK_KCPU_MAP && !can_map()) {
		print_message("this kernel cannot map its buffers\n");
		skip();
	}
	for (unsigned i = 0; i < sizeof(pages_kb) / sizeof(*pages_kb); i++)
		for (unsigned overwrite = 0; overwrite < 2; overwrite++)
			run_small(mode, overwrite, pages_kb[i]);
}

static void each_kernel_record_is_read_or_counted_as_lost_in_map_mode(void **state)
{
	(void)state;
	run_mode(WMK_KCPU_MAP);
}

static void each_kernel_record_is_read_or_counted_as_lost_in_splice_mode(void **state)
{
	(void)state;
	run_mode(WMK_KCPU_SPLICE);
}

static void each_kernel_record_is_read_or_counted_as_lost_in_read_mode(void **state)
{
	(void)state;
	run_mode(WMK_KCPU_READ);
}

/* Interrupts make records while system calls are recorded: no record is missing, and times never decrease. */
static void records_of_interrupts_among_system_calls_keep_order(void **state)
{
	static const char *const more[] = { "events/irq_vectors/enable", "events/timer/enable", "events/irq/enable",
					    "events/sched/enable" };
	struct lane lanes[WRITERS_MAX];
	struct instance made;
	struct writers w;

	(void)state;
	for (enum wmk_kcpu_mode mode = can_map() ? WMK_KCPU_MAP : WMK_KCPU_SPLICE; mode <= WMK_KCPU_READ; mode++) {
		instance_make(&made);
		assert_true(set_sizes(&made, 4, (unsigned)(calls * 100 / 1024)));
		writers_start(&w, &made, calls / 2);
		for (unsigned i = 0; i < sizeof(more) / sizeof(*more); i++)
			if (instance_has(&made, more[i]))
				assert_true(instance_set(&made, more[i], "1"));
		open_lanes(&made, &w, mode, lanes);
		writers_go(&w);
		while (!writers_ended(&w))
			for (unsigned i = 0; i < w.n; i++)
				read_one(&lanes[i], random_below(8) == 0);
		assert_true(instance_set(&made, "tracing_on", "0"));
		read_all(&w, lanes);
		for (unsigned i = 0; i < w.n; i++) {
			assert_int_equal(lanes[i].tally.read, w.calls);
			assert_true(lanes[i].tally.others > 0);
			tally_end(&lanes[i].tally, lanes[i].buffer, &w, i);
			wmk_kcpu_close(lanes[i].buffer);
		}
		writers_stop(&w);
		instance_remove(&made);
	}
}

/* ── crashes of the reader ───────────────────────────────────────────────────────────────────────────── */

/* What the reader holds when it is killed, in shared memory. */
struct hand {
	struct tally tally;            /* of what it released */
	uint64_t begin_ts;             /* of the page of the last released part */
	uint32_t until;
	uint64_t held_ts;              /* of the page that it holds; 0: none */
	uint32_t held_until;
	_Atomic bool ready;
};

static uint64_t begin_of(const struct wmk_kpart *part)
{
	uint64_t ts;

	memcpy(&ts, part->bytes, sizeof(ts));
	return ts;
}

static void one_part(struct hand *hand, struct wmk_kcpu *buffer, const struct wmk_kpart *part)
{
	uint32_t from = part->from;

	/* What the previous reader released of this page is not new. */
	if (part->again && begin_of(part) == hand->begin_ts) {
		assert_true(hand->until <= part->until);
		from = hand->until;
	}
	tally_part(&hand->tally, buffer, part, from);
	hand->begin_ts = begin_of(part);
	hand->until = part->until;
	wmk_kcpu_release(buffer);
}

/* Reads `n` parts, takes one more if `holds`, and waits to be killed. */
static _Noreturn void read_and_wait(struct hand *hand, const struct instance *made, unsigned cpu, unsigned n,
				    bool holds)
{
	struct wmk_kcpu *buffer;
	struct wmk_kpart part;

	assert_int_equal(wmk_kcpu_open(made->dir, cpu, WMK_KCPU_MAP, &buffer), 0);
	for (unsigned i = 0; i < n && wmk_kcpu_next(buffer, random_below(2), &part) == 1; i++)
		one_part(hand, buffer, &part);
	hand->held_ts = 0;
	if (holds && wmk_kcpu_next(buffer, true, &part) == 1) {
		hand->held_ts = begin_of(&part);
		hand->held_until = part.until;
	}
	hand->ready = true;
	for (;;)
		pause();
}

static void crash_once(struct hand *hand, const struct instance *made, unsigned cpu, bool holds)
{
	const unsigned n = (unsigned)random_below(30);
	pid_t pid;
	int status;

	hand->ready = false;
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		read_and_wait(hand, made, cpu, n, holds);
	while (!hand->ready) {
		assert_int_equal(waitpid(pid, &status, WNOHANG), 0);
		sched_yield();
	}
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
}

static void buffer_reopened_after_a_crash_loses_nothing(void **state)
{
	struct hand *hand = mmap(NULL, sizeof(*hand), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct instance made;
	struct wmk_kcpu *buffer;
	struct wmk_kpart part;
	struct writers w;

	(void)state;
	assert_true(hand != MAP_FAILED);
	if (!can_map())
		skip();
	instance_make(&made);
	/* A buffer that is large enough for all records. */
	assert_true(set_sizes(&made, 4, (unsigned)(calls * 100 / 1024)));
	writers_start(&w, &made, calls);
	hand->tally = (struct tally){ .calls = w.calls, .pid = w.pid[0] };
	writers_go(&w);
	for (unsigned i = 0; i < 40; i++) {
		crash_once(hand, &made, w.cpu[0], i % 2);
		assert_int_equal(wmk_kcpu_open(made.dir, w.cpu[0], WMK_KCPU_MAP, &buffer), 0);
		if (wmk_kcpu_next(buffer, true, &part) == 1) {
			const bool had_any = hand->tally.parts > 0 || hand->held_ts;

			assert_true(part.from == 0 && part.again == had_any);
			/* The same page that the killed reader held, with at least the same records. */
			if (hand->held_ts)
				assert_true(begin_of(&part) == hand->held_ts && part.until >= hand->held_until);
			one_part(hand, buffer, &part);
		}
		wmk_kcpu_close(buffer);
	}
	writers_wait(&w, 0, w.calls);
	assert_int_equal(wmk_kcpu_open(made.dir, w.cpu[0], WMK_KCPU_MAP, &buffer), 0);
	while (wmk_kcpu_next(buffer, true, &part) == 1)
		one_part(hand, buffer, &part);
	assert_int_equal(hand->tally.read, w.calls);
	tally_end(&hand->tally, buffer, &w, 0);
	wmk_kcpu_close(buffer);
	writers_stop(&w);
	instance_remove(&made);
	munmap(hand, sizeof(*hand));
}

/* ── other tests ─────────────────────────────────────────────────────────────────────────────────────── */

/* A reader that does not use this library. */
static void expect_refused_where_mapped(const struct instance *made)
{
	const int fd = openat(made->dir, "per_cpu/cpu0/trace_pipe_raw", O_RDONLY | O_CLOEXEC);
	const size_t size = (size_t)sysconf(_SC_PAGESIZE);
	struct wmk_kcpu *buffer;
	void *map;

	assert_true(fd >= 0);
	map = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
	assert_true(map != MAP_FAILED);
	assert_int_equal(wmk_kcpu_open(made->dir, 0, WMK_KCPU_MAP, &buffer), -EBUSY);
	assert_int_equal(wmk_kcpu_open(made->dir, 0, WMK_KCPU_BEST, &buffer), -EBUSY);
	munmap(map, size);
	close(fd);
}

static void buffer_opens_once_in_each_mode_and_is_busy_for_a_second_reader(void **state)
{
	struct wmk_kcpu *buffer, *other;
	struct instance made;
	char text[512];

	(void)state;
	instance_make(&made);
	assert_int_equal(wmk_kcpu_open(made.dir, 99999, WMK_KCPU_BEST, &buffer), -ENOENT);
	for (enum wmk_kcpu_mode mode = WMK_KCPU_BEST; mode <= WMK_KCPU_READ; mode++) {
		if (mode == WMK_KCPU_MAP && !can_map())
			continue;
		assert_int_equal(wmk_kcpu_open(made.dir, 0, mode, &buffer), 0);
		if (mode == WMK_KCPU_BEST)
			assert_int_equal(wmk_kcpu_mode(buffer), can_map() ? WMK_KCPU_MAP : WMK_KCPU_SPLICE);
		for (enum wmk_kcpu_mode second = WMK_KCPU_BEST; second <= WMK_KCPU_READ; second++)
			assert_int_equal(wmk_kcpu_open(made.dir, 0, second, &other), -EBUSY);
		assert_non_null(strstr(wmk_error_text(text, sizeof(text)), "another process"));
		wmk_kcpu_close(buffer);
	}
	if (can_map())
		expect_refused_where_mapped(&made);
	instance_remove(&made);
	wmk_error_clear();
}

static bool is_readable(const struct wmk_kcpu *buffer)
{
	struct pollfd fd = { .fd = wmk_kcpu_fd(buffer), .events = POLLIN };

	assert_true(poll(&fd, 1, 0) >= 0);
	return fd.revents & POLLIN;
}

/*
 * A few records: a waiting reader is woken, a partial page is returned only with a flush, in parts, and clearing
 * removes the old records but not the new ones.
 */
static void partial_page_is_returned_only_with_flush(void **state)
{
	struct instance made;
	struct wmk_kpart part;
	struct writers w;

	(void)state;
	for (enum wmk_kcpu_mode mode = can_map() ? WMK_KCPU_MAP : WMK_KCPU_SPLICE; mode <= WMK_KCPU_READ; mode++) {
		struct lane lanes[WRITERS_MAX];
		struct wmk_kcpu_stats stats;

		instance_make(&made);
		assert_true(instance_set(&made, "buffer_percent", "0"));
		for (unsigned turn = 0; turn < 3; turn++) {
			uint64_t read = 0;

			writers_start(&w, &made, 3 + turn);
			if (turn == 0)
				open_lanes(&made, &w, mode, lanes);
			for (unsigned i = 0; i < w.n; i++) {
				lanes[i].tally = (struct tally){ .calls = w.calls, .pid = w.pid[i] };
				assert_false(is_readable(lanes[i].buffer));
				assert_int_equal(wmk_kcpu_next(lanes[i].buffer, true, &part), 0);
			}
			writers_go(&w);
			for (unsigned i = 0; i < w.n; i++) {
				writers_wait(&w, i, w.calls);
				assert_true(is_readable(lanes[i].buffer));
				assert_int_equal(wmk_kcpu_next(lanes[i].buffer, false, &part), 0);
			}
			if (turn == 1)
				assert_true(instance_set(&made, "trace", ""));
			for (unsigned i = 0; i < w.n; i++) {
				if (turn == 1) {
					assert_int_equal(wmk_kcpu_next(lanes[i].buffer, true, &part), 0);
					assert_int_equal(wmk_kcpu_stats(lanes[i].buffer, &stats), 0);
					assert_int_equal(stats.read + stats.entries, 0);
					continue;
				}
				read = lanes[i].tally.read;
				while (read_one(&lanes[i], true))
					assert_true(lanes[i].tally.read > read);
				assert_int_equal(lanes[i].tally.read, w.calls);
				tally_end(&lanes[i].tally, lanes[i].buffer, &w, i);
			}
			writers_stop(&w);
		}
		for (unsigned i = 0; i < w.n; i++)
			wmk_kcpu_close(lanes[i].buffer);
		instance_remove(&made);
	}
}

/* A waiting reader is woken when the configured part of the buffer is full, not before, and not after it was read. */
static void reader_is_woken_only_when_buffer_is_filled_to_the_threshold(void **state)
{
	const uint64_t few = 10, many = 60 * 8;
	struct lane lanes[WRITERS_MAX];
	struct instance made;
	struct writers w;

	(void)state;
	for (enum wmk_kcpu_mode mode = can_map() ? WMK_KCPU_MAP : WMK_KCPU_SPLICE; mode <= WMK_KCPU_READ; mode++) {
		instance_make(&made);
		assert_true(set_sizes(&made, 4, 40) && instance_set(&made, "buffer_percent", "50"));
		for (unsigned turn = 0; turn < 4; turn++) {
			const bool is_many = turn % 2;

			writers_start(&w, &made, is_many ? many : few);
			if (turn == 0)
				open_lanes(&made, &w, mode, lanes);
			writers_go(&w);
			for (unsigned i = 0; i < w.n; i++) {
				lanes[i].tally = (struct tally){ .calls = w.calls, .pid = w.pid[i] };
				writers_wait(&w, i, w.calls);
				assert_int_equal(is_readable(lanes[i].buffer), is_many);
				while (read_one(&lanes[i], false))
					;
				assert_false(is_readable(lanes[i].buffer));
				while (read_one(&lanes[i], true))
					;
				assert_int_equal(lanes[i].tally.read, w.calls);
			}
			writers_stop(&w);
		}
		for (unsigned i = 0; i < w.n; i++)
			wmk_kcpu_close(lanes[i].buffer);
		instance_remove(&made);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(buffer_opens_once_in_each_mode_and_is_busy_for_a_second_reader),
		cmocka_unit_test(partial_page_is_returned_only_with_flush),
		cmocka_unit_test(reader_is_woken_only_when_buffer_is_filled_to_the_threshold),
		cmocka_unit_test(each_kernel_record_is_read_or_counted_as_lost_in_map_mode),
		cmocka_unit_test(each_kernel_record_is_read_or_counted_as_lost_in_splice_mode),
		cmocka_unit_test(each_kernel_record_is_read_or_counted_as_lost_in_read_mode),
		cmocka_unit_test(records_of_interrupts_among_system_calls_keep_order),
		cmocka_unit_test(buffer_reopened_after_a_crash_loses_nothing),
	};
	const char *percent = getenv("WMK_ROUNDS_PERCENT"), *wanted = getenv("WMK_SEED"), *missing = instance_missing();
	int failed;

	if (missing) {
		printf("%s: not tested\n", missing);
		return 77;
	}
	seed = (wanted ? strtoull(wanted, NULL, 0) : (uint64_t)getpid() * 2654435761u) | 1;
	printf("seed %llu\n", (unsigned long long)seed);
	if (percent)
		calls = strtoull(percent, NULL, 10) * 10000;
	if (calls < 20000)
		calls = 20000;
	instances_sweep();
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	instances_sweep();
	return failed;
}
