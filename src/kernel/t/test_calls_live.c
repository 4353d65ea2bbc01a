/* SPDX-License-Identifier: MIT */
/*
 * test_calls_live.c - the BPF program at work: exact counts with and without loss, texts whatever they point to, 32-bit calls, threads and
 * children, times, who may not, and what is left after SIGKILL. Skipped in words where BPF cannot be had.
 */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "kernel/calls_event.h"
#include "kernel/t/live.h"

#define ROUNDS 100000u

static const struct wmk_kcalls_piece *piece(const struct wmk_kcalls_record *record, unsigned arg)
{
	for (unsigned i = 0; i < record->n_parts; i++)
		if (record->parts[i].arg == arg)
			return &record->parts[i];
	fail_msg("call %u has no part for argument %u", record->number, arg);
	return NULL;
}

static void assert_piece(const struct wmk_kcalls_record *record, unsigned arg, const void *bytes, size_t len, unsigned flags)
{
	const struct wmk_kcalls_piece *p = piece(record, arg);

	assert_int_equal(p->flags, flags);
	assert_int_equal(p->len, len);
	assert_memory_equal(p->bytes, bytes, len);
}

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

struct tally {
	uint64_t entries[WMK_KCALLS_NUMBERS], exits[WMK_KCALLS_NUMBERS], names, last_ts[64];
};

static void tally_one(void *data, const struct wmk_kcalls_record *record)
{
	struct tally *tally = data;
	char name[64];

	(record->is_exit ? tally->exits : tally->entries)[record->number]++;
	assert_true(record->cpu < 64 && record->ts >= tally->last_ts[record->cpu]);
	tally->last_ts[record->cpu] = record->ts;
	if (record->is_exit || record->number == SYS_getppid)
		return;
	const struct wmk_kcalls_piece *p = piece(record, 1);

	assert_int_equal(p->flags, 0);
	assert_int_equal(p->len, 20);
	memcpy(name, p->bytes, p->len);
	name[p->len] = 0;
	assert_int_equal(strncmp(name, "/nowhere/file-", 14), 0);
	/* The process may change its CPU, and rings have no common order: the sum says that each came once. */
	if (record->number == SYS_openat)
		tally->names += (uint64_t)atoi(name + 14);
}

static struct wmk_kcalls *open_for_counts(uint32_t ring_bytes)
{
	const struct wmk_kcalls_options options = { .ring_bytes = ring_bytes, .clock = wmk_clock_detect() };
	struct wmk_kcalls *calls = live_open(&options);

	live_want(calls, WMK_KABI_NATIVE, "openat");
	live_want(calls, WMK_KABI_NATIVE, "write");
	live_want(calls, WMK_KABI_NATIVE, "getppid");
	return calls;
}

/* All of it fits into the rings: what is read is what was made, text by text. */
static void test_whole(void **state)
{
	struct wmk_kcalls *calls = open_for_counts(128u << 20);
	struct tally *tally = calloc(1, sizeof(*tally));
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	const struct wmk_kcalls_stats stats = live_run(calls, many_calls, &null, tally_one, tally);
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
	wmk_kcalls_close(calls);
	free(tally);
}

/* Read only when all is done, from rings that hold little of it. */
static void test_lost(void **state)
{
	struct wmk_kcalls *calls = open_for_counts(64u << 10);
	struct tally *tally = calloc(1, sizeof(*tally));
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC), go;
	struct wmk_kcalls_stats stats, one, sum = { .recorded = 0 };
	siginfo_t info;
	uint64_t read;

	(void)state;
	const pid_t pid = live_fork(many_calls, &null, &go);

	assert_int_equal(wmk_kcalls_follow(calls, pid, true), 0);
	assert_int_equal(wmk_kcalls_start(calls), 0);
	live_go(go);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	read = live_read(calls, pid, tally_one, tally);
	assert_int_equal(wmk_kcalls_stats(calls, WMK_KCALLS_ALL_RINGS, &stats), 0);
	assert_int_equal(stats.recorded, read);
	assert_true(stats.lost > 0 && stats.recorded > 0);
	assert_int_equal(stats.recorded + stats.lost + stats.missed, 6 * ROUNDS);
	for (uint32_t ring = 0; ring < wmk_kcalls_rings(calls); ring++) {
		assert_int_equal(wmk_kcalls_stats(calls, ring, &one), 0);
		sum.recorded += one.recorded;
		sum.lost += one.lost;
	}
	assert_true(sum.recorded == stats.recorded && sum.lost == stats.lost);
	close(null);
	wmk_kcalls_close(calls);
	free(tally);
}

/* ── what pointers point to ──────────────────────────────────────────────────────────────────────────── */

#define PAGE 4096

/* Two pages, and behind them one that cannot be read. */
static char *three_pages(void)
{
	char *pages = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	return pages == MAP_FAILED || mprotect(pages + 2 * PAGE, PAGE, PROT_NONE) != 0 ? NULL : pages;
}

static int point_anywhere(void *data)
{
	const int *fds = data;
	char *pages = three_pages(), bytes[100], *argv[] = { bytes, pages + PAGE - 3, NULL }, *bad_argv[] = { bytes, pages + 2 * PAGE, NULL };
	const struct iovec vectors[3] = { { bytes, 3 }, { pages + PAGE - 3, 6 }, { bytes, 2 } };
	const struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(9), .sin_addr.s_addr = htonl(0x7f000002) };

	char program[] = "/nowhere/program";

	if (!pages)
		return 1;
	memset(pages, 'x', 2 * PAGE);
	memcpy(pages + PAGE - 3, "across", 7);
	memcpy(bytes, "name", 5);
	memcpy(pages + 2 * PAGE - 4, "end", 4);
	syscall(SYS_openat, 1, pages + PAGE - 3, 0, 0);          /* lies in two pages */
	syscall(SYS_openat, 2, pages + 2 * PAGE - 4, 0, 0);      /* its NUL is the last byte that can be read */
	pages[2 * PAGE - 1] = 'x';
	syscall(SYS_openat, 3, pages + 2 * PAGE - 4, 0, 0);      /* has none */
	syscall(SYS_openat, 4, pages + 2 * PAGE, 0, 0);
	syscall(SYS_openat, 5, NULL, 0, 0);
	syscall(SYS_openat, 6, -1L, 0, 0);
	syscall(SYS_openat, 7, pages, 0, 0);                     /* longer than what is copied */
	syscall(SYS_write, fds[1], pages + PAGE - 3, 6);
	syscall(SYS_write, fds[1], pages + 2 * PAGE - 4, 8);     /* the half of it can be read */
	syscall(SYS_write, fds[1], pages + 2 * PAGE, 8);
	syscall(SYS_read, fds[0], bytes, sizeof(bytes));
	syscall(SYS_read, -1, bytes, sizeof(bytes));             /* fails: nothing is copied */
	memcpy(bytes, "name", 5);
	syscall(SYS_writev, fds[1], vectors, 3);
	syscall(SYS_execve, program, argv, NULL);
	syscall(SYS_execve, program, bad_argv, NULL);
	syscall(SYS_connect, -1, &to, sizeof(to));
	return 0;
}

struct seen {
	unsigned opens, writes, reads, vectors, execs, connects;
	struct wmk_kcalls *calls;
};

static void see_open(const struct wmk_kcalls_record *record)
{
	static char many[WMK_KCALLS_TEXT_DEFAULT];

	memset(many, 'x', sizeof(many));
	switch (record->values[0]) {
	case 1:
		assert_piece(record, 1, "across", 6, 0);
		break;
	case 2:
		assert_piece(record, 1, "end", 3, 0);
		break;
	case 5:
		assert_piece(record, 1, "", 0, WMK_KCALLS_PART_NULL);
		break;
	case 7:
		assert_piece(record, 1, many, sizeof(many), WMK_KCALLS_PART_CUT);
		break;
	default:
		assert_piece(record, 1, "", 0, WMK_KCALLS_PART_UNREADABLE);
		break;
	}
}

/* Of a call that failed, nothing that it was to fill. */
static void see_read(struct seen *seen, const struct wmk_kcalls_record *record)
{
	const int64_t got = (int64_t)record->values[0];

	/* One byte: how the process was let go. */
	if (!record->is_exit || got == 1)
		return;
	seen->reads++;
	if (got < 0)
		assert_int_equal(record->n_parts, 0);
	else
		/* What stands in the pipe: the first write, and of the second what could be read, if the kernel takes that. */
		assert_piece(record, 1, "acrossendx", (size_t)got, 0);
}

static void see_one(void *data, const struct wmk_kcalls_record *record)
{
	struct seen *seen = data;
	uint8_t payload[1024];
	struct wmk_kcall call;

	assert_int_equal(wmk_kcall_describe((enum wmk_kabi)record->abi, record->number, &call), 0);
	assert_true(wmk_kcalls_payload(&call, record, payload, sizeof(payload)) > 0);
	if (record->number == SYS_read)
		see_read(seen, record);
	if (record->is_exit)
		return;
	switch (record->number) {
	case SYS_openat:
		seen->opens++;
		see_open(record);
		break;
	case SYS_write:
		if (seen->writes == 0)
			assert_piece(record, 1, "across", 6, 0);
		else if (seen->writes == 1)
			assert_piece(record, 1, "endx", 4, WMK_KCALLS_PART_UNREADABLE);
		else
			assert_piece(record, 1, "", 0, WMK_KCALLS_PART_UNREADABLE);
		seen->writes++;
		break;
	case SYS_writev:
		seen->vectors++;
		assert_piece(record, 1, "namacrossna", 11, 0);
		break;
	case SYS_execve:
		assert_piece(record, 0, "/nowhere/program", 16, 0);
		if (seen->execs++ == 0)
			assert_piece(record, 1, "name\0across", 12, 0);
		else
			assert_piece(record, 1, "name\0", 6, WMK_KCALLS_PART_UNREADABLE);
		assert_int_equal(piece(record, 1)->count, 2);
		break;
	case SYS_connect:
		seen->connects++;
		assert_int_equal(piece(record, 1)->len, sizeof(struct sockaddr_in));
		break;
	default:
		break;
	}
}

static void test_pointed(void **state)
{
	const struct wmk_kcalls_options options = { .n_rings = 1, .clock = wmk_clock_detect() };
	struct wmk_kcalls *calls = live_open(&options);
	struct seen seen = { .calls = calls };
	static const char *const names[] = { "openat", "write", "read", "writev", "execve", "connect" };
	int fds[2];

	(void)state;
	assert_int_equal(pipe2(fds, O_NONBLOCK), 0);
	for (unsigned i = 0; i < 6; i++)
		live_want(calls, WMK_KABI_NATIVE, names[i]);
	const struct wmk_kcalls_stats stats = live_run(calls, point_anywhere, fds, see_one, &seen);

	assert_int_equal(seen.opens, 7);
	assert_int_equal(seen.writes, 3);
	assert_int_equal(seen.reads, 2);
	assert_int_equal(seen.vectors, 1);
	assert_int_equal(seen.execs, 2);
	assert_int_equal(seen.connects, 1);
	/* Three of openat, two of write, the second argv. */
	assert_int_equal(stats.unreadable, 6);
	close(fds[0]);
	close(fds[1]);
	wmk_kcalls_close(calls);
}

/* A page of a file that this process has mapped, but not touched. */
static int point_late(void *data)
{
	const char *name = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, *(int *)data, 0);

	if (name == MAP_FAILED)
		return 1;
	syscall(SYS_mkdirat, -1, name, 0);
	syscall(SYS_mkdirat, -1, name, 0);
	syscall(SYS_mkdirat, -1, -1L, 0);
	return 0;
}

struct lates {
	unsigned entries, exits;
};

static void see_late(void *data, const struct wmk_kcalls_record *record)
{
	struct lates *lates = data;

	if (!record->is_exit) {
		if (lates->entries++ == 1)
			assert_piece(record, 1, "/late", 5, 0);
		else
			assert_piece(record, 1, "", 0, WMK_KCALLS_PART_UNREADABLE);
	} else if (lates->exits++ == 0) {
		assert_piece(record, 1, "/late", 5, WMK_KCALLS_PART_LATE);
	} else {
		assert_int_equal(record->n_parts, 0);
	}
}

static void test_late(void **state)
{
	const struct wmk_kcalls_options options = { .n_rings = 1, .clock = wmk_clock_detect() };
	struct wmk_kcalls *calls = live_open(&options);
	struct lates lates = { 0, 0 };
	int file = memfd_create("late", MFD_CLOEXEC);

	(void)state;
	assert_int_equal(write(file, "/late", 6), 6);
	live_want(calls, WMK_KABI_NATIVE, "mkdirat");
	live_run(calls, point_late, &file, see_late, &lates);
	assert_int_equal(lates.entries, 3);
	assert_int_equal(lates.exits, 3);
	close(file);
	wmk_kcalls_close(calls);
}

/* ── 32-bit calls ────────────────────────────────────────────────────────────────────────────────────── */

#ifdef __x86_64__
#define NARROW_OPEN 5
#define NARROW_GETPPID 64

static long narrow_call(long number, long a, long b, long c)
{
	long ret;

	__asm__ volatile("int $0x80" : "=a"(ret) : "a"(number), "b"(a), "c"(b), "d"(c) : "memory", "r8", "r9", "r10", "r11");
	return ret;
}

static int narrow_calls(void *data)
{
	char *low = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);

	(void)data;
	if (low == MAP_FAILED)
		return 1;
	strcpy(low, "/nowhere/narrow");
	narrow_call(NARROW_OPEN, (long)low, O_WRONLY, 0600);
	narrow_call(NARROW_GETPPID, 0, 0, 0);
	/* Numbers 5 and 64 of the other table: fstat, semget. */
	syscall(SYS_fstat, -1, low);
	syscall(SYS_semget, 1, 0, 0);
	return 0;
}

static void see_narrow(void *data, const struct wmk_kcalls_record *record)
{
	unsigned *seen = data;

	assert_int_equal(record->abi, WMK_KABI_COMPAT);
	if (record->number == NARROW_OPEN && !record->is_exit) {
		assert_string_equal(wmk_kcall_name(WMK_KABI_COMPAT, NARROW_OPEN), "open");
		assert_piece(record, 0, "/nowhere/narrow", 15, 0);
		assert_int_equal(record->values[1], O_WRONLY);
		assert_int_equal(record->values[2], 0600);
	} else if (record->number == NARROW_OPEN) {
		assert_int_equal((int64_t)record->values[0], -ENOENT);
	}
	seen[record->number == NARROW_OPEN]++;
}

static void test_narrow(void **state)
{
	const struct wmk_kcalls_options options = { .clock = wmk_clock_detect() };
	struct wmk_kcalls *calls = live_open(&options);
	unsigned seen[2] = { 0, 0 };

	(void)state;
	if (narrow_call(NARROW_GETPPID, 0, 0, 0) != getppid()) {
		wmk_kcalls_close(calls);
		print_message("this kernel has no 32-bit calls\n");
		skip();
	}
	live_want(calls, WMK_KABI_COMPAT, "open");
	live_want(calls, WMK_KABI_COMPAT, "getppid");
	live_run(calls, narrow_calls, NULL, see_narrow, seen);
	assert_int_equal(seen[0], 2);
	assert_int_equal(seen[1], 2);
	wmk_kcalls_close(calls);
}
#endif

/* ── threads and children ────────────────────────────────────────────────────────────────────────────── */

#define FAMILY 1000

static void *ask(void *data)
{
	for (unsigned i = 0; i < FAMILY; i++)
		syscall(SYS_getppid);
	return data;
}

/* A thread, and a child that has a thread and a child. */
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

static void count_one(void *data, const struct wmk_kcalls_record *record)
{
	assert_int_equal(record->number, SYS_getppid);
	++*(uint64_t *)data;
}

static void test_family(void **state)
{
	const struct wmk_kcalls_options options = { .clock = wmk_clock_detect() };
	struct wmk_kcalls *calls = live_open(&options);
	int depth = 3, go, status;
	uint64_t n = 0;

	(void)state;
	live_want(calls, WMK_KABI_NATIVE, "getppid");
	/* Of one that is not followed, nothing. */
	const pid_t other = live_fork(family, &depth, &go);

	live_go(go);
	live_run(calls, family, &depth, count_one, &n);
	assert_int_equal(n, 2 * 2 * FAMILY * (unsigned)(depth + 1));
	assert_int_equal(waitpid(other, &status, 0), other);
	assert_int_equal(status, 0);
	wmk_kcalls_close(calls);
}

/* Room for two at a time: who ends makes room, and the third generation at once is counted as not followed. */
static void test_family_small(void **state)
{
	const struct wmk_kcalls_options options = { .processes = 2, .clock = wmk_clock_detect() };
	struct wmk_kcalls *calls = live_open(&options);
	struct wmk_kcalls_stats stats;
	uint64_t n = 0;
	int depth = 2;

	(void)state;
	live_want(calls, WMK_KABI_NATIVE, "getppid");
	stats = live_run(calls, family, &depth, count_one, &n);
	assert_int_equal(stats.unfollowed, 1);
	assert_int_equal(n, 2 * 2 * FAMILY * 2);
	/* They have left the set. */
	depth = 1;
	n = 0;
	stats = live_run(calls, family, &depth, count_one, &n);
	assert_int_equal(stats.unfollowed, 1);
	wmk_kcalls_close(calls);
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

static void time_one(void *data, const struct wmk_kcalls_record *record)
{
	struct timing *timing = data;

	if (record->is_exit)
		return;
	assert_true(record->values[1] < TIMED);
	timing->at[record->values[1]] = record->ts;
	timing->n++;
}

static void test_times(void **state)
{
	const struct wmk_kcalls_options options = { .clock = wmk_clock_detect(), .ring_bytes = 16u << 20 };
	struct timing timing = { .n = 0 };
	uint64_t error, off, worst = 0;

	(void)state;
	if (options.clock != WMK_CLOCK_COUNTER) {
		print_message("this machine's clock is not its counter: nothing is mapped\n");
		skip();
	}
	struct wmk_kcalls *calls = live_open(&options);

	timing.brackets = mmap(NULL, TIMED * 16, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	timing.at = calloc(TIMED, sizeof(*timing.at));
	live_want(calls, WMK_KABI_NATIVE, "lseek");
	live_run(calls, timed_calls, timing.brackets, time_one, &timing);
	assert_int_equal(timing.n, TIMED);
	error = wmk_kclock_error(wmk_kcalls_clock(calls));
	for (unsigned i = 0; i < TIMED; i++) {
		const uint64_t ts = timing.at[i], *b = timing.brackets[i];

		off = ts < b[0] ? b[0] - ts : ts > b[1] ? ts - b[1] : 0;
		worst = off > worst ? off : worst;
	}
	print_message("%u times: worst %llu outside of the counter's bracket; error told: %llu, by %llu pairs\n", TIMED, (unsigned long long)worst,
		      (unsigned long long)error, (unsigned long long)wmk_kcalls_clock(calls)->taken);
	assert_true(worst <= error);
	munmap(timing.brackets, TIMED * 16);
	free(timing.at);
	wmk_kcalls_close(calls);
}

/* ── who may not; what is left ───────────────────────────────────────────────────────────────────────── */

/* What the other process found out, by its exit status. */
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
	const struct wmk_kcalls_options options = { .is_all = true };
	struct wmk_kcalls *calls;
	char words[512];

	if (setuid(65534) != 0)
		return 1;
	if (wmk_kcalls_open(&options, &calls) != -EPERM)
		return 2;
	return strstr(wmk_error_text(words, sizeof(words)), "needs root") ? 0 : 3;
}

static void test_nobody(void **state)
{
	const struct wmk_kcalls_options options = { .is_all = true };

	(void)state;
	wmk_kcalls_close(live_open(&options));
	assert_int_equal(run_apart(as_nobody), 0);
}

#define HELD 8

/* Numbers of the BPF programs that this process holds. */
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
	const struct wmk_kcalls_options options = { .clock = wmk_clock_detect() };
	struct wmk_kcalls *calls;

	if (wmk_kcalls_open(&options, &calls) != 0)
		return 1;
	wmk_kcalls_want(calls, WMK_KABI_NATIVE, SYS_getppid, true);
	if (wmk_kcalls_start(calls) != 0)
		return 2;
	held->n = held_programs(held->ids);
	raise(SIGKILL);
	return 3;
}

/* The kernel lets a program go some time after its last holder is gone. */
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

static void test_killed(void **state)
{
	const struct wmk_kcalls_options options = { .clock = wmk_clock_detect() };

	(void)state;
	wmk_kcalls_close(live_open(&options));
	held = mmap(NULL, sizeof(*held), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_int_equal(run_apart(open_and_die), -SIGKILL);
	/* Four programs, each held as itself and by its link. */
	assert_int_equal(held->n, 8);
	for (unsigned i = 0; i < held->n; i++)
		assert_true(is_gone(held->ids[i]));
	munmap(held, sizeof(*held));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole),   cmocka_unit_test(test_lost),         cmocka_unit_test(test_pointed),
		cmocka_unit_test(test_late),
#ifdef __x86_64__
		cmocka_unit_test(test_narrow),
#endif
		cmocka_unit_test(test_family),  cmocka_unit_test(test_family_small), cmocka_unit_test(test_times),
		cmocka_unit_test(test_nobody),  cmocka_unit_test(test_killed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
