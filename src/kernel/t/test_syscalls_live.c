/* SPDX-License-Identifier: MIT */
/*
 * test_syscalls_live.c - the BPF program at work: exact counts with and without loss, threads and children, times,
 * missing rights, and what remains after SIGKILL. Skipped with a message if BPF is not available.
 * test_syscalls_pointed_live.c tests what is copied of the arguments.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "kernel/t/live.h"

#define ROUNDS 100000u

/* ── counts ──────────────────────────────────────────────────────────────────────────────────────────── */

static int many_calls(void *data)
{
	const int null = *(int *)data;
	char name[64];

	for (unsigned i = 0; i < ROUNDS; i++) {
		const int len = snprintf(name, sizeof(name), "/nowhere/file-%06u", i);

		syscall(SYS_openat, AT_FDCWD, name, O_RDONLY | O_CLOEXEC, 0);
		syscall(SYS_write, null, name, len);
		syscall(SYS_getppid);
	}
	return 0;
}

struct live_tally {
	uint64_t entries[WMK_SYSCALLS_NUMBERS], exits[WMK_SYSCALLS_NUMBERS], names, last_ts[64];
};

static void tally_one(void *data, const struct wmk_syscalls_record *record)
{
	struct live_tally *tally = data;
	char name[64];

	(record->is_exit ? tally->exits : tally->entries)[record->number]++;
	assert_true(record->cpu < 64 && record->ts >= tally->last_ts[record->cpu]);
	tally->last_ts[record->cpu] = record->ts;
	if (record->is_exit || record->number == SYS_getppid)
		return;
	const struct wmk_syscalls_piece *p = live_piece(record, 1);

	assert_int_equal(p->flags, 0);
	assert_int_equal(p->len, 20);
	memcpy(name, p->bytes, p->len);
	name[p->len] = 0;
	assert_int_equal(strncmp(name, "/nowhere/file-", 14), 0);
	/* The process may change its CPU, and rings have no common order: the sum proves that each record came once. */
	if (record->number == SYS_openat)
		tally->names += (uint64_t)atoi(name + 14);
}

static struct wmk_syscalls *open_for_counts(uint32_t ring_bytes)
{
	const struct wmk_syscalls_options options = { .ring_bytes = ring_bytes, .clock = wmk_clock_detect() };
	struct wmk_syscalls *calls = live_open(&options);

	live_want(calls, WMK_KABI_NATIVE, "openat");
	live_want(calls, WMK_KABI_NATIVE, "write");
	live_want(calls, WMK_KABI_NATIVE, "getppid");
	return calls;
}

/* Everything fits into the rings: each record is read once, with its text. */
static void system_calls_that_fit_into_the_rings_are_all_read(void **state)
{
	struct wmk_syscalls *calls = open_for_counts(128u << 20);
	struct live_tally *tally = calloc(1, sizeof(*tally));
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	const struct wmk_syscalls_stats stats = live_run(calls, many_calls, &null, tally_one, tally);
	static const long numbers[] = { SYS_openat, SYS_write, SYS_getppid };

	(void)state;
	assert_int_equal(stats.lost, 0);
	assert_int_equal(stats.unreadable, 0);
	assert_int_equal(stats.recorded, 6 * ROUNDS);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(tally->entries[numbers[i]], ROUNDS);
		assert_int_equal(tally->exits[numbers[i]], ROUNDS);
	}
	assert_int_equal(tally->names, (uint64_t)ROUNDS * (ROUNDS - 1) / 2);
	close(null);
	wmk_syscalls_close(calls);
	free(tally);
}

/* The rings are read only after the process has ended, and hold a fraction of its records. */
static void system_calls_beyond_the_rings_are_counted_as_lost(void **state)
{
	struct wmk_syscalls *calls = open_for_counts(64u << 10);
	struct live_tally *tally = calloc(1, sizeof(*tally));
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC), go;
	struct wmk_syscalls_stats stats, one, sum = { .recorded = 0 };
	siginfo_t info;
	uint64_t read;

	(void)state;
	const pid_t pid = live_fork(many_calls, &null, &go);

	assert_int_equal(wmk_syscalls_follow(calls, pid, true), 0);
	assert_int_equal(wmk_syscalls_start(calls), 0);
	live_go(go);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	read = live_read(calls, pid, tally_one, tally);
	assert_int_equal(wmk_syscalls_stats(calls, WMK_SYSCALLS_ALL_RINGS, &stats), 0);
	assert_int_equal(stats.recorded, read);
	assert_true(stats.lost > 0 && stats.recorded > 0);
	assert_int_equal(stats.recorded + stats.lost + stats.missed, 6 * ROUNDS);
	for (uint32_t ring = 0; ring < wmk_syscalls_rings(calls); ring++) {
		assert_int_equal(wmk_syscalls_stats(calls, ring, &one), 0);
		sum.recorded += one.recorded;
		sum.lost += one.lost;
	}
	assert_true(sum.recorded == stats.recorded && sum.lost == stats.lost);
	close(null);
	wmk_syscalls_close(calls);
	free(tally);
}

/* ── wakes ───────────────────────────────────────────────────────────────────────────────────────────── */

#define WAKE_FROM 4096u
#define WAKE_TO (WAKE_FROM + 128u)         /* more than the records of one call; records have multiples of 8 bytes */

static int some_calls(void *data)
{
	for (unsigned i = 0; i < 2 * WAKE_TO / sizeof(struct wmk_syscalls_head); i++)
		syscall(SYS_getppid);
	return *(int *)data;
}

/* Whatever the sizes of the records, one of them crosses the threshold and wakes the reader. */
static void reader_is_woken_at_each_threshold(void **state)
{
	int status = 0, go;
	siginfo_t info;

	(void)state;
	for (uint32_t wake = WAKE_FROM; wake < WAKE_TO; wake += 8) {
		const struct wmk_syscalls_options options = { .ring_bytes = 64u << 10, .wake_bytes = wake, .n_rings = 1,
							      .clock = wmk_clock_detect() };
		struct epoll_event event = { .events = EPOLLIN | EPOLLET };
		struct wmk_syscalls *calls = live_open(&options);
		const int epoll = epoll_create1(EPOLL_CLOEXEC);

		live_want(calls, WMK_KABI_NATIVE, "getppid");
		assert_int_equal(epoll_ctl(epoll, EPOLL_CTL_ADD, wmk_syscalls_fd(calls, 0), &event), 0);
		const pid_t pid = live_fork(some_calls, &status, &go);

		assert_int_equal(wmk_syscalls_follow(calls, pid, true), 0);
		assert_int_equal(wmk_syscalls_start(calls), 0);
		live_go(go);
		assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED), 0);
		assert_int_equal(epoll_wait(epoll, &event, 1, 10000), 1);
		close(epoll);
		wmk_syscalls_close(calls);
	}
}

/* ── threads and children ────────────────────────────────────────────────────────────────────────────── */

#define FAMILY 1000

static void *ask(void *data)
{
	for (unsigned i = 0; i < FAMILY; i++)
		syscall(SYS_getppid);
	return data;
}

/* Run a thread, and a child that has a thread and a child. */
static int family(void *data)
{
	const int depth = *(int *)data;
	int next = depth - 1, status = 0;
	pthread_t thread;

	if (pthread_create(&thread, NULL, ask, NULL) != 0 || pthread_join(thread, NULL) != 0)
		return 1;
	ask(NULL);
	if (!depth)
		return 0;
	const pid_t pid = fork();

	if (pid == 0)
		_exit(family(&next));
	return pid < 0 || waitpid(pid, &status, 0) != pid || status != 0;
}

static void count_one(void *data, const struct wmk_syscalls_record *record)
{
	assert_int_equal(record->number, SYS_getppid);
	++*(uint64_t *)data;
}

static void threads_and_children_of_a_followed_process_are_recorded(void **state)
{
	const struct wmk_syscalls_options options = { .clock = wmk_clock_detect() };
	struct wmk_syscalls *calls = live_open(&options);
	int depth = 3, go, status;
	uint64_t n = 0;

	(void)state;
	live_want(calls, WMK_KABI_NATIVE, "getppid");
	/* A process that is not followed has no records. */
	const pid_t other = live_fork(family, &depth, &go);

	live_go(go);
	live_run(calls, family, &depth, count_one, &n);
	assert_int_equal(n, 2 * 2 * FAMILY * (unsigned)(depth + 1));
	assert_int_equal(waitpid(other, &status, 0), other);
	assert_int_equal(status, 0);
	wmk_syscalls_close(calls);
}

/* A set for two processes: an end frees a place; a third process at the same time is counted as not followed. */
static void children_beyond_the_process_limit_are_counted_as_unfollowed(void **state)
{
	const struct wmk_syscalls_options options = { .processes = 2, .clock = wmk_clock_detect() };
	struct wmk_syscalls *calls = live_open(&options);
	struct wmk_syscalls_stats stats;
	uint64_t n = 0;
	int depth = 2;

	(void)state;
	live_want(calls, WMK_KABI_NATIVE, "getppid");
	stats = live_run(calls, family, &depth, count_one, &n);
	assert_int_equal(stats.unfollowed, 1);
	assert_int_equal(n, 2 * 2 * FAMILY * 2);
	/* The processes have left the set. */
	depth = 1;
	n = 0;
	stats = live_run(calls, family, &depth, count_one, &n);
	assert_int_equal(stats.unfollowed, 1);
	wmk_syscalls_close(calls);
}

/* ── times ───────────────────────────────────────────────────────────────────────────────────────────── */

#define TIMED 20000u

static int timed_calls(void *data)
{
	uint64_t (*brackets)[2] = data;

	for (unsigned i = 0; i < TIMED; i++) {
		brackets[i][0] = wmk_clock_counter();
		syscall(SYS_lseek, -1, (long)i, 0);
		brackets[i][1] = wmk_clock_counter();
	}
	return 0;
}

struct timing {
	uint64_t (*brackets)[2];
	uint64_t *at;
	unsigned n;
};

static void time_one(void *data, const struct wmk_syscalls_record *record)
{
	struct timing *timing = data;

	if (record->is_exit)
		return;
	assert_true(record->values[1] < TIMED);
	timing->at[record->values[1]] = record->ts;
	timing->n++;
}

static void mapped_times_of_live_syscalls_are_within_the_stated_error(void **state)
{
	const struct wmk_syscalls_options options = { .clock = wmk_clock_detect(), .ring_bytes = 16u << 20 };
	struct timing timing = { .n = 0 };
	uint64_t error, off, worst = 0;

	(void)state;
	if (options.clock != WMK_CLOCK_COUNTER) {
		print_message("this machine's clock is not its counter: nothing is mapped\n");
		skip();
	}
	struct wmk_syscalls *calls = live_open(&options);

	timing.brackets =
		mmap(NULL, TIMED * 16, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	timing.at = calloc(TIMED, sizeof(*timing.at));
	live_want(calls, WMK_KABI_NATIVE, "lseek");
	live_run(calls, timed_calls, timing.brackets, time_one, &timing);
	assert_int_equal(timing.n, TIMED);
	error = wmk_kclock_error(wmk_syscalls_clock(calls));
	for (unsigned i = 0; i < TIMED; i++) {
		const uint64_t ts = timing.at[i], *b = timing.brackets[i];

		off = ts < b[0] ? b[0] - ts : ts > b[1] ? ts - b[1] : 0;
		worst = off > worst ? off : worst;
	}
	print_message("%u times: at most %llu outside of the counter's bracket; reported error: %llu, by %llu pairs\n",
		      TIMED, (unsigned long long)worst, (unsigned long long)error,
		      (unsigned long long)wmk_syscalls_clock(calls)->taken);
	assert_true(worst <= error);
	munmap(timing.brackets, TIMED * 16);
	free(timing.at);
	wmk_syscalls_close(calls);
}

/* ── missing rights; what remains ────────────────────────────────────────────────────────────────────── */

/* Run `work` in another process and return its exit status. */
static int run_apart(int (*work)(void))
{
	int status;
	const pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(work());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static int as_nobody(void)
{
	const struct wmk_syscalls_options options = { .is_all = true };
	struct wmk_syscalls *calls;
	char words[512];

	if (setuid(65534) != 0)
		return 1;
	if (wmk_syscalls_open(&options, &calls) != -EPERM)
		return 2;
	return strstr(wmk_error_text(words, sizeof(words)), "needs root") ? 0 : 3;
}

static void unprivileged_process_is_refused_with_reason(void **state)
{
	const struct wmk_syscalls_options options = { .is_all = true };

	(void)state;
	wmk_syscalls_close(live_open(&options));
	assert_int_equal(run_apart(as_nobody), 0);
}

#define HELD 8

/* Find the ids of the BPF programs that this process holds. */
static unsigned held_programs(uint32_t ids[HELD])
{
	unsigned n = 0;
	char name[64], line[128];

	for (int fd = 0; fd < 256; fd++) {
		FILE *info;

		snprintf(name, sizeof(name), "/proc/self/fdinfo/%d", fd);
		info = fopen(name, "r");
		while (info && fgets(line, sizeof(line), info))
			if (n < HELD && sscanf(line, "prog_id: %u", &ids[n]) == 1)
				n++;
		if (info)
			fclose(info);
	}
	return n;
}

struct held {
	unsigned n;
	uint32_t ids[HELD];
};

static struct held *held;

static int open_and_die(void)
{
	const struct wmk_syscalls_options options = { .clock = wmk_clock_detect() };
	struct wmk_syscalls *calls;

	if (wmk_syscalls_open(&options, &calls) != 0)
		return 1;
	wmk_syscalls_want(calls, WMK_KABI_NATIVE, SYS_getppid, true);
	if (wmk_syscalls_start(calls) != 0)
		return 2;
	held->n = held_programs(held->ids);
	raise(SIGKILL);
	return 3;
}

/* The kernel frees a program some time after its last holder has ended. */
static bool is_gone(uint32_t id)
{
	for (unsigned i = 0; i < 1000; i++) {
		const int fd = bpf_prog_get_fd_by_id(id);

		if (fd < 0)
			return errno == ENOENT;
		close(fd);
		poll(NULL, 0, 10);
	}
	return false;
}

static void killed_process_leaves_no_bpf_program(void **state)
{
	const struct wmk_syscalls_options options = { .clock = wmk_clock_detect() };

	(void)state;
	wmk_syscalls_close(live_open(&options));
	held = mmap(NULL, sizeof(*held), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_int_equal(run_apart(open_and_die), -SIGKILL);
	/* Four programs, each held by its own descriptor and by its link. */
	assert_int_equal(held->n, 8);
	for (unsigned i = 0; i < held->n; i++)
		assert_true(is_gone(held->ids[i]));
	munmap(held, sizeof(*held));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(system_calls_that_fit_into_the_rings_are_all_read),
		cmocka_unit_test(system_calls_beyond_the_rings_are_counted_as_lost),
		cmocka_unit_test(reader_is_woken_at_each_threshold),
		cmocka_unit_test(threads_and_children_of_a_followed_process_are_recorded),
		cmocka_unit_test(children_beyond_the_process_limit_are_counted_as_unfollowed),
		cmocka_unit_test(mapped_times_of_live_syscalls_are_within_the_stated_error),
		cmocka_unit_test(unprivileged_process_is_refused_with_reason),
		cmocka_unit_test(killed_process_leaves_no_bpf_program),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
