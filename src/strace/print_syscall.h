/* SPDX-License-Identifier: MIT */
/*
 * print_syscall.h - a system call as a line of text, in the words that strace(1) has for it.
 *
 *     wmk_kprint_make(abi, number, strings, &print)    how the call's arguments are shown, and (print.plan) what the BPF program copies for that
 *     wmk_kprint_entry(&print, &entry, late, &line)    "read(3, "            up to the first argument that the call fills
 *     wmk_kprint_rest(&print, &entry, &exit, &line)    "\"abc\", 100"        the others
 *     wmk_kprint_result(&print, &entry, &exit, &line)  "3", "-1 ENOENT (No such file or directory)"
 *
 * What was not copied, or could not be read, is shown as the pointer.
 *
 * The names of calls' arguments and their kinds are syscall_info.h's; where these say less than strace shows, rows of
 * print_table.c say more. Pure; any thread. Records may hold anything (syscall_record.c has checked their lengths).
 */
#ifndef WMK_STRACE_PRINT_SYSCALL_H
#define WMK_STRACE_PRINT_SYSCALL_H

#include "kernel/syscall/syscall_bpf.h"
#include "strace/line_buffer.h"

#define WMK_KPRINT_STRINGS 32u                        /* bytes of a text that are shown, as strace has it */
#define WMK_KPRINT_STRINGS_MAX WMK_SYSCALLS_PART_MAX
/* Bytes of a line at most: three parts of a record, each byte of which may take four; numbers. */
#define WMK_KPRINT_ROOM (3u * 4u * WMK_SYSCALLS_PART_MAX + 16384u)

struct wmk_kform;

struct wmk_kprint {
	struct wmk_syscall call;
	const struct wmk_kform *forms[WMK_SYSCALLS_ARGS];
	uint8_t len_args[WMK_SYSCALLS_ARGS];
	uint8_t n_args;
	uint8_t n_entry;         /* arguments before the first that is shown at exit */
	uint8_t ret;             /* enum wmk_kreturn */
	uint32_t strings;
	struct wmk_syscalls_plan plan;
};

/* How a result is shown. */
enum wmk_kreturn {
	WMK_KRETURN_NUMBER,
	WMK_KRETURN_POINTER,
	WMK_KRETURN_OCTAL,
	WMK_KRETURN_FCNTL,
	WMK_KRETURN_POLL,
	WMK_KRETURN_NEVER
};

/* `strings`: bytes of a text that are shown. A call of which nothing is known has six numbers. */
void wmk_kprint_make(enum wmk_kabi abi, unsigned number, uint32_t strings, struct wmk_kprint *print);
/* `late`: the exit's record, if it is known already: it may have what could not be read at entry. NULL: not known. */
/* The name of the call that this is the entry of; "syscall_0x270f" where it has none. */
void wmk_kprint_name(const struct wmk_kprint *print, const struct wmk_syscalls_record *entry, struct wmk_kline *line);
void wmk_kprint_entry(const struct wmk_kprint *print, const struct wmk_syscalls_record *entry,
		      const struct wmk_syscalls_record *late, struct wmk_kline *line);
void wmk_kprint_rest(const struct wmk_kprint *print, const struct wmk_syscalls_record *entry,
		     const struct wmk_syscalls_record *exit, struct wmk_kline *line);
void wmk_kprint_result(const struct wmk_kprint *print, const struct wmk_syscalls_record *entry,
		       const struct wmk_syscalls_record *exit, struct wmk_kline *line);
/* One argument alone; `exit` may be NULL. False: this call does not have it, as open(2) without O_CREAT has no mode. */
bool wmk_kprint_arg(const struct wmk_kprint *print, unsigned arg, const struct wmk_syscalls_record *entry,
		    const struct wmk_syscalls_record *exit, struct wmk_kline *line);
/* "ENOENT"; NULL: the call has not failed. "ERRNO_4000" for one that has no name is put into `room`. */
const char *wmk_kprint_errno(int64_t result, char room[24]);
/* What the result of a call is in its own width: 32-bit programs have 32 bits. */
int64_t wmk_kprint_value(const struct wmk_syscalls_record *exit);

/* "SIGCHLD", "SIGRT_3", in `room`. */
const char *wmk_ksignal_name(unsigned number, char room[24]);
/* "{si_signo=SIGCHLD, si_code=CLD_EXITED, ...}" from the begin of a siginfo. */
void wmk_kprint_siginfo(const uint64_t values[WMK_SYSCALLS_ARGS], unsigned n_values, struct wmk_kline *line);
/* "exited with 0", "killed by SIGKILL", of the record of a thread's end; "ended": it does not tell how. */
void wmk_kprint_end(const struct wmk_syscalls_record *end, struct wmk_kline *line);

#endif
