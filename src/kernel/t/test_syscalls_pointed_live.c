/* SPDX-License-Identifier: MIT */
/*
 * test_syscalls_pointed_live.c - what the BPF program copies of the arguments: texts and bytes at any pointer, data
 * that can be read only at exit, 32-bit calls. Skipped with a message if BPF is not available.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cmocka.h>

#include "kernel/syscall/syscall_event.h"
#include "kernel/t/live.h"
#include "kernel/t/narrow.h"

static void assert_piece(const struct wmk_syscalls_record *record, unsigned arg, const void *bytes, size_t len,
			 unsigned flags)
{
	const struct wmk_syscalls_piece *p = live_piece(record, arg);

	assert_int_equal(p->flags, flags);
	assert_int_equal(p->len, len);
	assert_memory_equal(p->bytes, bytes, len);
}

#define PAGE 4096

/* Two pages, followed by one that cannot be read. */
static char *three_pages(void)
{
	char *pages = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	return pages == MAP_FAILED || mprotect(pages + 2 * PAGE, PAGE, PROT_NONE) != 0 ? NULL : pages;
}

static int point_anywhere(void *data)
{
	const int *fds = data;
	char *pages = three_pages(), bytes[100], *argv[] = { bytes, pages + PAGE - 3, NULL },
	     *bad_argv[] = { bytes, pages + 2 * PAGE, NULL };
	const struct iovec vectors[3] = { { bytes, 3 }, { pages + PAGE - 3, 6 }, { bytes, 2 } };
	const struct sockaddr_in to = { .sin_family = AF_INET,
					.sin_port = htons(9),
					.sin_addr.s_addr = htonl(0x7f000002) };

	char program[] = "/nowhere/program";

	if (!pages)
		return 1;
	memset(pages, 'x', 2 * PAGE);
	memcpy(pages + PAGE - 3, "across", 7);
	memcpy(bytes, "name", 5);
	memcpy(pages + 2 * PAGE - 4, "end", 4);
	syscall(SYS_openat, 1, pages + PAGE - 3, 0, 0);          /* spans two pages */
	syscall(SYS_openat, 2, pages + 2 * PAGE - 4, 0, 0);      /* its NUL is the last readable byte */
	pages[2 * PAGE - 1] = 'x';
	syscall(SYS_openat, 3, pages + 2 * PAGE - 4, 0, 0);      /* has no NUL */
	syscall(SYS_openat, 4, pages + 2 * PAGE, 0, 0);
	syscall(SYS_openat, 5, NULL, 0, 0);
	syscall(SYS_openat, 6, -1L, 0, 0);
	syscall(SYS_openat, 7, pages, 0, 0);                     /* longer than the limit */
	syscall(SYS_write, fds[1], pages + PAGE - 3, 6);
	syscall(SYS_write, fds[1], pages + 2 * PAGE - 4, 8);     /* half of it is readable */
	syscall(SYS_write, fds[1], pages + 2 * PAGE, 8);
	syscall(SYS_write, -1, pages, 1ul << 32);                /* its lower half is 0 */
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
	struct wmk_syscalls *calls;
};

static void see_open(const struct wmk_syscalls_record *record)
{
	static char many[WMK_SYSCALLS_TEXT_DEFAULT];

	memset(many, 'x', sizeof(many));
	switch (record->values[0]) {
	case 1:
		assert_piece(record, 1, "across", 6, 0);
		break;
	case 2:
		assert_piece(record, 1, "end", 3, 0);
		break;
	case 5:
		assert_piece(record, 1, "", 0, WMK_SYSCALLS_PART_NULL);
		break;
	case 7:
		assert_piece(record, 1, many, sizeof(many), WMK_SYSCALLS_PART_CUT);
		break;
	default:
		assert_piece(record, 1, "", 0, WMK_SYSCALLS_PART_UNREADABLE);
		break;
	}
}

static void see_large(const struct wmk_syscalls_record *record)
{
	char many[WMK_SYSCALLS_BYTES_DEFAULT];

	memset(many, 'x', sizeof(many));
	assert_piece(record, 1, many, sizeof(many), WMK_SYSCALLS_PART_CUT);
}

/* The buffer of a failed call is not copied. */
static void see_read(struct seen *seen, const struct wmk_syscalls_record *record)
{
	const int64_t got = (int64_t)record->values[0];

	/* One byte: the read that starts the process. */
	if (!record->is_exit || got == 1)
		return;
	seen->reads++;
	if (got < 0)
		assert_int_equal(record->n_parts, 0);
	else
		/*
		 * The content of the pipe: the first write, and the readable part of the second one, if the kernel
		 * accepts that.
		 */
		assert_piece(record, 1, "acrossendx", (size_t)got, 0);
}

static void see_one(void *data, const struct wmk_syscalls_record *record)
{
	struct seen *seen = data;
	uint8_t payload[1024];
	struct wmk_syscall call;

	assert_int_equal(wmk_syscall_describe((enum wmk_kabi)record->abi, record->number, &call), 0);
	assert_true(wmk_syscalls_payload(&call, record, payload, sizeof(payload)) > 0);
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
			assert_piece(record, 1, "endx", 4, WMK_SYSCALLS_PART_UNREADABLE);
		else if (seen->writes == 3)
			see_large(record);
		else
			assert_piece(record, 1, "", 0, WMK_SYSCALLS_PART_UNREADABLE);
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
			assert_piece(record, 1, "name\0", 6, WMK_SYSCALLS_PART_UNREADABLE);
		assert_int_equal(live_piece(record, 1)->count, 2);
		break;
	case SYS_connect:
		seen->connects++;
		assert_int_equal(live_piece(record, 1)->len, sizeof(struct sockaddr_in));
		break;
	default:
		break;
	}
}

static void data_of_pointer_arguments_is_copied_or_marked_unreadable(void **state)
{
	const struct wmk_syscalls_options options = { .n_rings = 1, .clock = wmk_clock_detect() };
	struct wmk_syscalls *calls = live_open(&options);
	struct seen seen = { .calls = calls };
	static const char *const names[] = { "openat", "write", "read", "writev", "execve", "connect" };
	int fds[2];

	(void)state;
	assert_int_equal(pipe2(fds, O_NONBLOCK), 0);
	for (unsigned i = 0; i < 6; i++)
		live_want(calls, WMK_KABI_NATIVE, names[i]);
	const struct wmk_syscalls_stats stats = live_run(calls, point_anywhere, fds, see_one, &seen);

	assert_int_equal(seen.opens, 7);
	assert_int_equal(seen.writes, 4);
	assert_int_equal(seen.reads, 2);
	assert_int_equal(seen.vectors, 1);
	assert_int_equal(seen.execs, 2);
	assert_int_equal(seen.connects, 1);
	/* Three of openat, two of write, the second argv. */
	assert_int_equal(stats.unreadable, 6);
	close(fds[0]);
	close(fds[1]);
	wmk_syscalls_close(calls);
}

/*
 * An argv of one text less than the limit, of as many, of one more; one of texts of maximum length, of which LONG_FIT
 * fill the space; one that cannot be read.
 */
#define MOST WMK_SYSCALLS_STRINGS
#define LONG_TEXT WMK_SYSCALLS_TEXT_DEFAULT
#define LONG_FIT (WMK_SYSCALLS_STRINGS_ROOM / LONG_TEXT)

static int point_many(void *data)
{
	char program[] = "/nowhere/program", text[] = "t", longer[LONG_TEXT + 1], *argv[MOST + 2];

	(void)data;
	for (unsigned n = MOST - 1; n <= MOST + 1; n++) {
		for (unsigned i = 0; i < n; i++)
			argv[i] = text;
		argv[n] = NULL;
		syscall(SYS_execve, program, argv, NULL);
	}
	memset(longer, 'l', LONG_TEXT);
	longer[LONG_TEXT] = 0;
	for (unsigned i = 0; i <= LONG_FIT; i++)
		argv[i] = longer;
	argv[LONG_FIT + 1] = NULL;
	syscall(SYS_execve, program, argv, NULL);
	syscall(SYS_execve, program, -1L, NULL);
	return 0;
}

static void see_many(void *data, const struct wmk_syscalls_record *record)
{
	unsigned *seen = data;
	const struct wmk_syscalls_piece *p;
	static const struct {
		unsigned count, flags, len;
	} wanted[] = { { MOST - 1, 0, 2 * (MOST - 1) },
		       { MOST, 0, 2 * MOST },
		       { MOST, WMK_SYSCALLS_PART_CUT, 2 * MOST },
		       { LONG_FIT, WMK_SYSCALLS_PART_CUT, LONG_FIT * (LONG_TEXT + 1) },
		       { 0, WMK_SYSCALLS_PART_UNREADABLE, 0 } };

	if (record->is_exit)
		return;
	assert_true(*seen < 5);
	p = live_piece(record, 1);
	assert_int_equal(p->count, wanted[*seen].count);
	assert_int_equal(p->flags, wanted[*seen].flags);
	assert_int_equal(p->len, wanted[*seen].len);
	++*seen;
}

static void long_argument_vectors_are_read_up_to_the_limit(void **state)
{
	const struct wmk_syscalls_options options = { .n_rings = 1, .clock = wmk_clock_detect() };
	struct wmk_syscalls *calls = live_open(&options);
	unsigned seen = 0;

	(void)state;
	live_want(calls, WMK_KABI_NATIVE, "execve");
	live_run(calls, point_many, NULL, see_many, &seen);
	assert_int_equal(seen, 5);
	wmk_syscalls_close(calls);
}

/* A page of a file that is mapped but not loaded yet. */
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

static void see_late(void *data, const struct wmk_syscalls_record *record)
{
	struct lates *lates = data;

	if (!record->is_exit) {
		if (lates->entries++ == 1)
			assert_piece(record, 1, "/late", 5, 0);
		else
			assert_piece(record, 1, "", 0, WMK_SYSCALLS_PART_UNREADABLE);
	} else if (lates->exits++ == 0) {
		assert_piece(record, 1, "/late", 5, WMK_SYSCALLS_PART_LATE);
	} else {
		assert_int_equal(record->n_parts, 0);
	}
}

static void arguments_on_unloaded_pages_are_read_at_exit(void **state)
{
	const struct wmk_syscalls_options options = { .n_rings = 1, .clock = wmk_clock_detect() };
	struct wmk_syscalls *calls = live_open(&options);
	struct lates lates = { 0, 0 };
	int file = memfd_create("late", MFD_CLOEXEC);

	(void)state;
	assert_int_equal(write(file, "/late", 6), 6);
	live_want(calls, WMK_KABI_NATIVE, "mkdirat");
	live_run(calls, point_late, &file, see_late, &lates);
	assert_int_equal(lates.entries, 3);
	assert_int_equal(lates.exits, 3);
	close(file);
	wmk_syscalls_close(calls);
}

/* ── 32-bit calls ────────────────────────────────────────────────────────────────────────────────────── */

#ifdef __x86_64__
#define NARROW_OPEN 5
#define NARROW_GETPPID 64

static int narrow_calls(void *data)
{
	char *low = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);

	(void)data;
	if (low == MAP_FAILED)
		return 1;
	strcpy(low, "/nowhere/narrow");
	narrow_call(NARROW_OPEN, (long)low, O_WRONLY, 0600);
	narrow_call(NARROW_GETPPID, 0, 0, 0);
	/* Numbers 5 and 64 of the native table: fstat, semget. */
	syscall(SYS_fstat, -1, low);
	syscall(SYS_semget, 1, 0, 0);
	return 0;
}

static void see_narrow(void *data, const struct wmk_syscalls_record *record)
{
	unsigned *seen = data;

	assert_int_equal(record->abi, WMK_KABI_COMPAT);
	if (record->number == NARROW_OPEN && !record->is_exit) {
		assert_string_equal(wmk_syscall_name(WMK_KABI_COMPAT, NARROW_OPEN), "open");
		assert_piece(record, 0, "/nowhere/narrow", 15, 0);
		assert_int_equal(record->values[1], O_WRONLY);
		assert_int_equal(record->values[2], 0600);
	} else if (record->number == NARROW_OPEN) {
		assert_int_equal((int64_t)record->values[0], -ENOENT);
	}
	seen[record->number == NARROW_OPEN]++;
}

static void text_arguments_of_32_bit_programs_are_copied(void **state)
{
	const struct wmk_syscalls_options options = { .clock = wmk_clock_detect() };
	struct wmk_syscalls *calls = live_open(&options);
	unsigned seen[2] = { 0, 0 };

	(void)state;
	if (!narrow_works()) {
		wmk_syscalls_close(calls);
		print_message("skipped: this machine has no 32-bit system calls\n");
		skip();
	}
	live_want(calls, WMK_KABI_COMPAT, "open");
	live_want(calls, WMK_KABI_COMPAT, "getppid");
	live_run(calls, narrow_calls, NULL, see_narrow, seen);
	assert_int_equal(seen[0], 2);
	assert_int_equal(seen[1], 2);
	wmk_syscalls_close(calls);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(data_of_pointer_arguments_is_copied_or_marked_unreadable),
		cmocka_unit_test(long_argument_vectors_are_read_up_to_the_limit),
		cmocka_unit_test(arguments_on_unloaded_pages_are_read_at_exit),
#ifdef __x86_64__
		cmocka_unit_test(text_arguments_of_32_bit_programs_are_copied),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
