/* SPDX-License-Identifier: MIT */
/*
 * print_syscall.h - prints a system call as a line of text in the format of strace(1).
 *
 *     wmk_kprint_make(abi, number, strings, &print)    forms of the arguments; print.plan: the data that BPF copies
 *     wmk_kprint_entry(&print, &entry, late, &line)    "read(3, "            up to the first argument that it writes
 *     wmk_kprint_rest(&print, &entry, &exit, &line)    "\"abc\", 100"        the other arguments
 *     wmk_kprint_result(&print, &entry, &exit, &line)  "3", "-1 ENOENT (No such file or directory)"
 *
 * If data was not copied or was unreadable, the pointer is printed instead.
 *
 * The names and kinds of arguments are defined in syscall_info.h. If strace(1) prints an argument in more detail than
 * its kind defines, a row of print_table.c overrides the kind. Pure; any thread. The content of records is not trusted
 * (syscall_record.c has checked only the lengths).
 */
#ifndef WMK_STRACE_PRINT_SYSCALL_H
#define WMK_STRACE_PRINT_SYSCALL_H

#include "kernel/syscall/syscall_bpf.h"
#include "strace/line_buffer.h"

#define WMK_KPRINT_STRINGS 32u                        /* bytes of a text that are printed by default, as in strace */
#define WMK_KPRINT_STRINGS_MAX WMK_SYSCALLS_PART_MAX
/*
 * Maximum size of a line. A line contains at most three parts of a record, with up to four characters for each byte,
 * and some numbers.
 */
#define WMK_KPRINT_ROOM (3u * 4u * WMK_SYSCALLS_PART_MAX + 16384u)

struct wmk_kform;

struct wmk_kprint {
	struct wmk_syscall call;
	const struct wmk_kform *forms[WMK_SYSCALLS_ARGS];
	uint8_t len_args[WMK_SYSCALLS_ARGS];
	uint8_t n_args;
	uint8_t n_entry;         /* arguments before the first one that is printed at exit */
	uint8_t ret;             /* enum wmk_kreturn */
	uint32_t strings;
	struct wmk_syscalls_plan plan;
};

/* Format of a result. */
enum wmk_kreturn {
	WMK_KRETURN_NUMBER,
	WMK_KRETURN_POINTER,
	WMK_KRETURN_OCTAL,
	WMK_KRETURN_FCNTL,
	WMK_KRETURN_POLL,
	WMK_KRETURN_NEVER
};

/*
 * `strings` is the maximum number of bytes that are printed of a text. The arguments of an unknown system call are
 * printed as six numbers.
 */
void wmk_kprint_make(enum wmk_kabi abi, unsigned number, uint32_t strings, struct wmk_kprint *print);

/* Prints the name of the entry's system call, or a name such as "syscall_0x270f" if the number is unknown. */
void wmk_kprint_name(const struct wmk_kprint *print, const struct wmk_syscalls_record *entry, struct wmk_kline *line);
/*
 * `late` is the exit record, which may contain data that was unreadable at entry. `late` is NULL if the exit record has
 * not arrived.
 */
void wmk_kprint_entry(const struct wmk_kprint *print, const struct wmk_syscalls_record *entry,
		      const struct wmk_syscalls_record *late, struct wmk_kline *line);
void wmk_kprint_rest(const struct wmk_kprint *print, const struct wmk_syscalls_record *entry,
		     const struct wmk_syscalls_record *exit, struct wmk_kline *line);
void wmk_kprint_result(const struct wmk_kprint *print, const struct wmk_syscalls_record *entry,
		       const struct wmk_syscalls_record *exit, struct wmk_kline *line);
/*
 * Prints one argument; `exit` may be NULL. Returns false if this system call does not have the argument: for example,
 * open(2) without O_CREAT has no mode.
 */
bool wmk_kprint_arg(const struct wmk_kprint *print, unsigned arg, const struct wmk_syscalls_record *entry,
		    const struct wmk_syscalls_record *exit, struct wmk_kline *line);
/*
 * Returns the name of the error, such as "ENOENT"; NULL if the system call did not fail. For an error without a name,
 * the function writes a name such as "ERRNO_4000" to `room`.
 */
const char *wmk_kprint_errno(int64_t result, char room[24]);
/* Returns the result with the width of the program's registers: 32 bits in a 32-bit program. */
int64_t wmk_kprint_value(const struct wmk_syscalls_record *exit);

/* Writes the name of a signal, such as "SIGCHLD" or "SIGRT_3", to `room`. */
const char *wmk_ksignal_name(unsigned number, char room[24]);
/* Prints "{si_signo=SIGCHLD, si_code=CLD_EXITED, ...}" from the beginning of a siginfo. */
void wmk_kprint_siginfo(const uint64_t values[WMK_SYSCALLS_ARGS], unsigned n_values, struct wmk_kline *line);
/*
 * Prints "exited with 0" or "killed by SIGKILL" from the record of a thread's exit, or "ended" if the record contains
 * no status.
 */
void wmk_kprint_end(const struct wmk_syscalls_record *end, struct wmk_kline *line);

#endif
