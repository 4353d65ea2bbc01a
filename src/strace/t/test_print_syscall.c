/* SPDX-License-Identifier: MIT */
/*
 * test_print_syscall.c - prints system calls from hand-made records: each row of the table, each kind of argument,
 * results, cut and missing data. tests/cases/t_strace.py compares with strace itself on this machine's kernel.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include <cmocka.h>

#include "base/error.h"
#include "strace/arg_format.h"

static char room[WMK_KPRINT_ROOM];

/* ── records ─────────────────────────────────────────────────────────────────────────────────────────── */

struct made {
	struct wmk_kprint print;
	struct wmk_syscalls_record entry, exit;
};

static void make(struct made *made, const char *name, uint32_t strings, const uint64_t *values, unsigned n)
{
	const int number = wmk_syscall_find(WMK_KABI_NATIVE, name);

	assert_true(number >= 0);
	memset(made, 0, sizeof(*made));
	wmk_kprint_make(WMK_KABI_NATIVE, (unsigned)number, strings, &made->print);
	made->entry.number = made->exit.number = (uint16_t)number;
	made->entry.n_values = WMK_SYSCALLS_ARGS;
	for (unsigned i = 0; i < n; i++)
		made->entry.values[i] = values[i];
	made->exit.n_values = 1;
	made->exit.is_exit = true;
}

#define MAKE(made, name, ...) \
	make(made, name, 32, (const uint64_t[]){ __VA_ARGS__ }, sizeof((const uint64_t[]){ __VA_ARGS__ }) / 8)

static void piece(struct wmk_syscalls_record *record, unsigned arg, unsigned flags, const void *bytes, size_t len)
{
	record->parts[record->n_parts++] = (struct wmk_syscalls_piece){
		.arg = (uint8_t)arg, .flags = (uint8_t)flags, .len = (uint32_t)len, .bytes = bytes
	};
}

static void check_line(const struct made *made, const char *wanted)
{
	struct wmk_kline line = { .text = room, .room = sizeof(room) - 1 };

	wmk_kprint_entry(&made->print, &made->entry, &made->exit, &line);
	wmk_kprint_rest(&made->print, &made->entry, &made->exit, &line);
	wmk_kline_put(&line, ") = ");
	wmk_kprint_result(&made->print, &made->entry, &made->exit, &line);
	room[line.len] = '\0';
	assert_string_equal(room, wanted);
	assert_false(line.is_cut);
}

static void result(struct made *made, int64_t value)
{
	made->exit.values[0] = (uint64_t)value;
}

/* ── the table ───────────────────────────────────────────────────────────────────────────────────────── */

static void strace_table_has_known_calls_with_complete_copy_plans(void **state)
{
	(void)state;
	for (unsigned i = 0; i < wmk_kprint_rows_n; i++) {
		const char *row = wmk_kprint_rows[i], *begin = row + (*row == '*' || *row == '-');
		const enum wmk_kabi abi = *row == '*' ? WMK_KABI_COMPAT : WMK_KABI_NATIVE;
		unsigned words = 0;
		struct wmk_kprint print;
		char name[64];
		int number;

		snprintf(name, sizeof(name), "%.*s", (int)strcspn(begin, "("), begin);
		number = wmk_syscall_find(abi, name);
#ifndef __x86_64__
		if (number < 0)
			continue;
#endif
		if (number < 0)
			fail_msg("no such system call: %s", name);
		wmk_kprint_make(abi, (unsigned)number, 32, &print);
		for (const char *at = begin + strlen(name); *at && *at != ')'; at++)
			words += (*at == '(' && at[1] != ')') || *at == ' ';
		if (print.n_args != words)
			fail_msg("cannot parse the row \"%s\"", row);
	}
	wmk_error_clear();
}

static unsigned copies_of(const struct wmk_kprint *print, unsigned when)
{
	unsigned n = 0;

	for (unsigned i = 0; i < print->n_args; i++) {
		const uint8_t op = print->forms[i]->op;

		if (op != WMK_SYSCALLS_NOTHING && (print->forms[i]->when & when) &&
		    !(print->forms[i]->is_wide && print->call.abi == WMK_KABI_COMPAT))
			n += op == WMK_SYSCALLS_VECTORS_IN || op == WMK_SYSCALLS_VECTORS_RETURNED ? 2 : 1;
	}
	return n;
}

static void copy_plan_of_each_system_call_copies_all_its_pointers(void **state)
{
	(void)state;
	for (unsigned abi = 0; abi < WMK_SYSCALLS_ABIS; abi++)
		for (unsigned number = 0; number < WMK_SYSCALLS_NUMBERS; number++) {
			unsigned entry = 0, exit = 0;
			struct wmk_kprint print;

			wmk_kprint_make((enum wmk_kabi)abi, number, 4096, &print);
			for (unsigned i = 0; i < WMK_SYSCALLS_PARTS; i++) {
				entry += print.plan.at_entry[i].op != WMK_SYSCALLS_NOTHING;
				exit += print.plan.at_exit[i].op != WMK_SYSCALLS_NOTHING;
				assert_true(print.plan.at_entry[i].max <= WMK_SYSCALLS_PART_MAX &&
					    print.plan.at_exit[i].max <= WMK_SYSCALLS_PART_MAX);
			}
			if (entry != copies_of(&print, WMK_KFORM_IN) || exit != copies_of(&print, WMK_KFORM_OUT))
				fail_msg("%s: %u, %u parts are copied", print.call.name, entry, exit);
		}
}

/* ── lines ───────────────────────────────────────────────────────────────────────────────────────────── */

static void numbers_and_results_are_printed_as_by_strace(void **state)
{
	struct made made;

	(void)state;
	MAKE(&made, "close", 3);
	check_line(&made, "close(3) = 0");
	MAKE(&made, "close", (uint32_t)-1);
	result(&made, -EBADF);
	check_line(&made, "close(-1) = -1 EBADF (Bad file descriptor)");
	MAKE(&made, "munmap", 0x1000, 4096);
	check_line(&made, "munmap(0x1000, 4096) = 0");
	MAKE(&made, "brk", 0);
	result(&made, 0x7f0000001000);
	check_line(&made, "brk(NULL) = 0x7f0000001000");
	MAKE(&made, "lseek", 3, (uint64_t)-5, SEEK_END);
	result(&made, -4096);
	check_line(&made, "lseek(3, -5, SEEK_END) = -4096");
	MAKE(&made, "setresuid", UINT32_MAX, 0, 1000);
	check_line(&made, "setresuid(-1, 0, 1000) = 0");
	MAKE(&made, "umask", 027);
	result(&made, 022);
	check_line(&made, "umask(027) = 022");
	MAKE(&made, "getppid", 0);
	result(&made, -512);
	check_line(&made, "getppid() = ? ERESTARTSYS (To be restarted if SA_RESTART is set)");
	result(&made, -4000);
	check_line(&made, "getppid() = -1 ERRNO_4000 (Unknown error 4000)");
	result(&made, INT64_MIN);
	check_line(&made, "getppid() = -9223372036854775808");
	/* A system call of which nothing is known. */
	MAKE(&made, "kexec_load", 1, 2, 0, 16, 0, 0);
	check_line(&made, "kexec_load(0x1, 0x2, 0, 0x10, 0, 0) = 0");
}

static void known_flags_are_printed_by_name_and_unknown_ones_in_hex(void **state)
{
	struct made made;

	(void)state;
	MAKE(&made, "openat", (uint32_t)AT_FDCWD, 0x10, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	piece(&made.entry, 1, 0, "a", 1);
	check_line(&made, "openat(AT_FDCWD, \"a\", O_RDWR|O_CREAT|O_CLOEXEC, 0644) = 0");
	MAKE(&made, "openat", 7, 0x10, O_RDONLY, 0644);
	check_line(&made, "openat(7, 0x10, O_RDONLY) = 0");
	MAKE(&made, "openat", 7, 0x10, 3u | 0x80000000u, 0644);
	check_line(&made, "openat(7, 0x10, O_ACCMODE|0x80000000) = 0");
	MAKE(&made, "mprotect", 0x1000, 1, 0);
	check_line(&made, "mprotect(0x1000, 1, PROT_NONE) = 0");
	MAKE(&made, "mprotect", 0x1000, 1, 0x100);
	check_line(&made, "mprotect(0x1000, 1, 0x100 /* PROT_??? */) = 0");
	MAKE(&made, "lseek", 1, 0, 77);
	check_line(&made, "lseek(1, 0, 0x4d /* SEEK_??? */) = 0");
	MAKE(&made, "kill", 1, 34);
	check_line(&made, "kill(1, SIGRT_2) = 0");
	MAKE(&made, "fcntl", 1, F_GETFL, 99);
	result(&made, O_WRONLY | O_APPEND);
	check_line(&made, "fcntl(1, F_GETFL) = 0x401 (flags O_WRONLY|O_APPEND)");
	MAKE(&made, "socket", 2, 1 | 02000000, 6);
	check_line(&made, "socket(AF_INET, SOCK_STREAM|SOCK_CLOEXEC, IPPROTO_TCP) = 0");
	MAKE(&made, "futex", 0x1000, 128 + 9, 3, 0, 0, UINT32_MAX);
	check_line(&made, "futex(0x1000, FUTEX_WAIT_BITSET_PRIVATE, 3, NULL, FUTEX_BITSET_MATCH_ANY) = 0");
	MAKE(&made, "futex", 0x1000, 1, 3, 4, 5, 6);
	check_line(&made, "futex(0x1000, FUTEX_WAKE, 3) = 0");
}

static void texts_are_escaped_and_cut_at_the_limit(void **state)
{
	static const char text[] = "a\n\t\"\\\0011\1\200\377~";
	char many[64];
	struct made made;

	(void)state;
	memset(many, 'y', sizeof(many));
	MAKE(&made, "write", 1, 0x10, sizeof(text) - 1);
	piece(&made.entry, 1, 0, text, sizeof(text) - 1);
	check_line(&made, "write(1, \"a\\n\\t\\\"\\\\\\0011\\1\\200\\377~\", 11) = 0");
	MAKE(&made, "write", 1, 0x10, 64);
	piece(&made.entry, 1, WMK_SYSCALLS_PART_CUT, many, 32);
	check_line(&made, "write(1, \"yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\"..., 64) = 0");
	make(&made, "write", 3, (const uint64_t[]){ 1, 0x10, 64 }, 3);
	piece(&made.entry, 1, 0, many, 32);
	check_line(&made, "write(1, \"yyy\"..., 64) = 0");
	MAKE(&made, "write", 1, 0x10, 64);
	piece(&made.entry, 1, WMK_SYSCALLS_PART_UNREADABLE, many, 0);
	check_line(&made, "write(1, 0x10, 64) = 0");
	/* Data that was unreadable at entry arrives at exit. */
	piece(&made.exit, 1, WMK_SYSCALLS_PART_LATE, "late", 4);
	check_line(&made, "write(1, \"late\", 64) = 0");
	MAKE(&made, "write", 1, 0, 64);
	piece(&made.entry, 1, WMK_SYSCALLS_PART_NULL, many, 0);
	check_line(&made, "write(1, NULL, 64) = 0");
	MAKE(&made, "read", 1, 0x10, 64);
	piece(&made.exit, 1, 0, "abc", 3);
	result(&made, 3);
	check_line(&made, "read(1, \"abc\", 64) = 3");
	result(&made, -EINTR);
	check_line(&made, "read(1, 0x10, 64) = -1 EINTR (Interrupted system call)");
	MAKE(&made, "execve", 0x10, 0x20, 0x30);
	piece(&made.entry, 0, 0, "/bin/ls", 7);
	piece(&made.entry, 1, 0, "ls\0-l", 6);
	made.entry.parts[1].count = 2;
	piece(&made.entry, 2, 0, "\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16);
	check_line(&made, "execve(\"/bin/ls\", [\"ls\", \"-l\"], 0x30 /* 1 var */) = 0");
	/* A count above the number of texts in the record. */
	made.entry.parts[1].count = 9;
	made.entry.parts[1].len = 4;
	made.entry.parts[2].len = 9;
	check_line(&made, "execve(\"/bin/ls\", [\"ls\", ...], 0x30) = 0");
}

static void structures_are_printed_by_member_or_as_address_if_incomplete(void **state)
{
	static const int pair[2] = { 3, 4 };
	static const int64_t time[2] = { 1, 5 };
	static const uint32_t killed = SIGKILL, exited = 7 << 8;
	static const uint64_t action[4] = { 1, 0x14000000, 0x5000, 1 << 1 };
	static const struct {
		int32_t fd;
		int16_t events, revents;
	} polls[2] = { { 3, 1, 1 }, { -1, 4, 0 } };
	struct made made;

	(void)state;
	MAKE(&made, "pipe2", 0x10, 02000000);
	piece(&made.exit, 0, 0, pair, sizeof(pair));
	check_line(&made, "pipe2([3, 4], O_CLOEXEC) = 0");
	made.exit.parts[0].len = 7;      /* incomplete */
	check_line(&made, "pipe2(0x10, O_CLOEXEC) = 0");
	MAKE(&made, "nanosleep", 0x10, 0);
	piece(&made.entry, 0, 0, time, sizeof(time));
	check_line(&made, "nanosleep({tv_sec=1, tv_nsec=5}, NULL) = 0");
	MAKE(&made, "wait4", (uint32_t)-1, 0x10, 1, 0);
	piece(&made.exit, 1, 0, &killed, 4);
	result(&made, 9);
	check_line(&made, "wait4(-1, [{WIFSIGNALED(s) && WTERMSIG(s) == SIGKILL}], WNOHANG, NULL) = 9");
	made.exit.parts[0].bytes = (const uint8_t *)&exited;
	check_line(&made, "wait4(-1, [{WIFEXITED(s) && WEXITSTATUS(s) == 7}], WNOHANG, NULL) = 9");
	result(&made, 0);
	check_line(&made, "wait4(-1, 0x10, WNOHANG, NULL) = 0");
	MAKE(&made, "rt_sigaction", SIGINT, 0x10, 0, 8);
	piece(&made.entry, 1, 0, action, sizeof(action));
	check_line(&made, "rt_sigaction(SIGINT, {sa_handler=SIG_IGN, sa_mask=[INT], sa_flags=SA_RESTORER|SA_RESTART, "
			  "sa_restorer=0x5000}, NULL, 8) = 0");
	MAKE(&made, "poll", 0x10, 2, 5);
	piece(&made.entry, 0, 0, polls, sizeof(polls));
	check_line(&made, "poll([{fd=3, events=POLLIN}, {fd=-1}], 2, 5) = 0 (Timeout)");
	piece(&made.exit, 0, 0, polls, sizeof(polls));
	result(&made, 1);
	check_line(&made, "poll([{fd=3, events=POLLIN}, {fd=-1}], 2, 5) = 1 ([{fd=3, revents=POLLIN}])");
}

static void socket_addresses_are_printed_by_family_or_as_bytes_if_short(void **state)
{
	static const uint8_t in[16] = { 2, 0, 0, 80, 127, 0, 0, 1 }, un[8] = { 1, 0, 0, 'n', 'a', 'm', 'e', 0 };
	struct made made;

	(void)state;
	MAKE(&made, "connect", 3, 0x10, 16);
	piece(&made.entry, 1, 0, in, sizeof(in));
	check_line(&made,
		   "connect(3, {sa_family=AF_INET, sin_port=htons(80), sin_addr=inet_addr(\"127.0.0.1\")}, 16) = 0");
	made.entry.parts[0].len = 6;
	check_line(&made, "connect(3, {sa_family=AF_INET, sa_data=\"\\0P\\177\\0\"}, 16) = 0");
	made.entry.parts[0].len = 1;
	check_line(&made, "connect(3, 0x10, 16) = 0");
	made.entry.parts[0].bytes = un;
	made.entry.parts[0].len = 7;
	check_line(&made, "connect(3, {sa_family=AF_UNIX, sun_path=@\"name\"}, 16) = 0");
}

static void vectors_are_printed_with_the_bytes_that_were_copied(void **state)
{
	static const uint64_t vectors[4] = { 0x1000, 3, 0x2000, 60 };
	struct made made;

	(void)state;
	MAKE(&made, "writev", 1, 0x10, 2);
	piece(&made.entry, 1, 0, vectors, sizeof(vectors));
	piece(&made.entry, 1, WMK_SYSCALLS_PART_CUT, "abcdefg", 7);
	check_line(&made, "writev(1, [{iov_base=\"abc\", iov_len=3}, {iov_base=\"defg\"..., iov_len=60}], 2) = 0");
	made.entry.n_parts = 1;
	check_line(&made, "writev(1, [{iov_base=0x1000, iov_len=3}, {iov_base=0x2000, iov_len=60}], 2) = 0");
	MAKE(&made, "readv", 1, 0x10, 2);
	piece(&made.exit, 1, 0, vectors, sizeof(vectors));
	piece(&made.exit, 1, 0, "abcdefg", 7);
	result(&made, 5);
	check_line(&made, "readv(1, [{iov_base=\"abc\", iov_len=3}, {iov_base=\"de\", iov_len=60}], 2) = 5");
}

static void text_of_siginfo(const uint64_t *values, unsigned n, const char *wanted)
{
	struct wmk_kline line = { .text = room, .room = sizeof(room) - 1 };

	wmk_kprint_siginfo(values, n, &line);
	room[line.len] = '\0';
	assert_string_equal(room, wanted);
}

static void signals_and_exits_are_printed_with_their_cause(void **state)
{
	siginfo_t info = { .si_signo = SIGSEGV, .si_code = SEGV_MAPERR };
	struct wmk_syscalls_record end = { .n_values = 1, .values = { SIGABRT | 0x80 } };
	struct wmk_kline line = { .text = room, .room = sizeof(room) };
	uint64_t values[WMK_SYSCALLS_ARGS];

	(void)state;
	info.si_addr = (void *)0x10;
	memcpy(values, &info, sizeof(values));
	text_of_siginfo(values, 6, "{si_signo=SIGSEGV, si_code=SEGV_MAPERR, si_addr=0x10}");
	info = (siginfo_t){ .si_signo = SIGCHLD, .si_code = CLD_EXITED };
	info.si_pid = 5;
	info.si_status = 7;
	memcpy(values, &info, sizeof(values));
	text_of_siginfo(values, 6,
			"{si_signo=SIGCHLD, si_code=CLD_EXITED, si_pid=5, si_uid=0, si_status=7, si_utime=0, "
			"si_stime=0}");
	text_of_siginfo(values, 0, "{si_signo=0, si_code=SI_USER, si_pid=0, si_uid=0}");
	wmk_kprint_end(&end, &line);
	end.values[0] = 3 << 8;
	wmk_kprint_end(&end, &line);
	end.n_values = 0;
	wmk_kprint_end(&end, &line);
	assert_int_equal(line.len, strlen("killed by SIGABRT (core dumped)exited with 3ended"));
	assert_memory_equal(room, "killed by SIGABRT (core dumped)exited with 3ended", line.len);
}

static void line_longer_than_its_buffer_keeps_the_beginning(void **state)
{
	struct made made;
	char small[64];
	struct wmk_kline whole = { .text = room, .room = sizeof(room) };

	(void)state;
	MAKE(&made, "write", 1, 0x10, 20);
	piece(&made.entry, 1, 0, "twenty bytes of text", 20);
	wmk_kprint_entry(&made.print, &made.entry, NULL, &whole);
	for (size_t n = 0; n < sizeof(small); n++) {
		struct wmk_kline line = { .text = small, .room = n };

		wmk_kprint_entry(&made.print, &made.entry, NULL, &line);
		assert_int_equal(line.len, n < whole.len ? n : whole.len);
		assert_memory_equal(small, room, line.len);
		assert_int_equal(line.is_cut, n < whole.len);
	}
}

static void system_call_line_consists_of_entry_and_exit_parts(void **state)
{
	struct made made;
	struct wmk_kline line = { .text = room, .room = sizeof(room) - 1 };

	(void)state;
	MAKE(&made, "read", 3, 0x10, 9);
	wmk_kprint_entry(&made.print, &made.entry, NULL, &line);
	room[line.len] = '\0';
	assert_string_equal(room, "read(3, ");
	line.len = 0;
	wmk_kprint_rest(&made.print, &made.entry, &made.exit, &line);
	room[line.len] = '\0';
	assert_string_equal(room, "0x10, 9");
	MAKE(&made, "close", 3);
	line.len = 0;
	wmk_kprint_entry(&made.print, &made.entry, NULL, &line);
	wmk_kprint_rest(&made.print, &made.entry, &made.exit, &line);
	room[line.len] = '\0';
	assert_string_equal(room, "close(3");
}

/* 32-bit programs have results and numbers of 32 bits, and other structures, which are not copied. */
static void calls_of_32_bit_programs_are_printed_without_structures(void **state)
{
#ifdef __x86_64__
	struct made made;
	const int number = wmk_syscall_find(WMK_KABI_COMPAT, "lseek");

	(void)state;
	MAKE(&made, "close", 0xffffffff, 0xfffffffb, 2);
	wmk_kprint_make(WMK_KABI_COMPAT, (unsigned)number, 32, &made.print);
	made.entry.abi = made.exit.abi = WMK_KABI_COMPAT;
	result(&made, 0xffffffea);
	check_line(&made, "lseek(-1, -5, SEEK_END) = -1 EINVAL (Invalid argument)");
	wmk_kprint_make(WMK_KABI_COMPAT, (unsigned)wmk_syscall_find(WMK_KABI_COMPAT, "nanosleep"), 32, &made.print);
	assert_int_equal(made.print.plan.at_entry[0].op, WMK_SYSCALLS_NOTHING);
#else
	(void)state;
#endif
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(strace_table_has_known_calls_with_complete_copy_plans),
		cmocka_unit_test(copy_plan_of_each_system_call_copies_all_its_pointers),
		cmocka_unit_test(numbers_and_results_are_printed_as_by_strace),
		cmocka_unit_test(known_flags_are_printed_by_name_and_unknown_ones_in_hex),
		cmocka_unit_test(texts_are_escaped_and_cut_at_the_limit),
		cmocka_unit_test(structures_are_printed_by_member_or_as_address_if_incomplete),
		cmocka_unit_test(socket_addresses_are_printed_by_family_or_as_bytes_if_short),
		cmocka_unit_test(vectors_are_printed_with_the_bytes_that_were_copied),
		cmocka_unit_test(signals_and_exits_are_printed_with_their_cause),
		cmocka_unit_test(line_longer_than_its_buffer_keeps_the_beginning),
		cmocka_unit_test(system_call_line_consists_of_entry_and_exit_parts),
		cmocka_unit_test(calls_of_32_bit_programs_are_printed_without_structures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
