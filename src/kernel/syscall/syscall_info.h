/* SPDX-License-Identifier: MIT */
/*
 * syscall_info.h - what Waymark knows of system calls: numbers and names, arguments with their kinds, names of flags
 * and errors.
 *
 *     wmk_syscall_describe(abi, 257, &call)       openat: names and kinds of its arguments, from a table of the calls that are used most ...
 *     wmk_syscall_refine(&call, format)           ... else from what the kernel says in events/syscalls/sys_enter_*
 *     wmk_syscall_plan(&call, limits, &plan)      what the BPF program is to copy of it
 *
 * Numbers are made from the kernel's headers when this is built, names of flags from its constants by the compiler.
 * Names of calls are those of the headers ("stat"); names of events those of the kernel's tracer, which now and then
 * differ ("newstat"); wmk_syscall_find() knows both.
 *
 * Pure; any thread; -errno with a cause chain.
 */
#ifndef WMK_KERNEL_SYSCALL_INFO_H
#define WMK_KERNEL_SYSCALL_INFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/syscall/syscall_record.h"
#include "kernel/event/format_file.h"
#include "schema/schema.h"

/* COMPAT: calls of 32-bit programs on a 64-bit machine (i386 on x86-64); there may be none. */
enum wmk_kabi { WMK_KABI_NATIVE, WMK_KABI_COMPAT };

/*
 * How an argument or a result is shown, and what is fetched. In: is read by the call, so at its entry; out: is written
 * by it.
 */
enum wmk_kkind {
	WMK_KKIND_NONE,
	WMK_KKIND_INT, WMK_KKIND_UINT, WMK_KKIND_LONG, WMK_KKIND_ULONG, WMK_KKIND_HEX,
	WMK_KKIND_POINTER, WMK_KKIND_FD, WMK_KKIND_PID, WMK_KKIND_UID, WMK_KKIND_MODE,
	WMK_KKIND_ERRNO,         /* result: 0 or -errno */
	WMK_KKIND_PATH, WMK_KKIND_TEXT,
	WMK_KKIND_BYTES_IN,      /* `len_arg` has its length ... */
	WMK_KKIND_BYTES_OUT,     /* ... the result has its length */
	WMK_KKIND_ADDRESS_IN,    /* struct sockaddr, `len_arg` has its length ... */
	WMK_KKIND_ADDRESS_OUT,   /* ... points to its length */
	WMK_KKIND_TEXTS,         /* argv, envp */
	WMK_KKIND_VECTORS_IN, WMK_KKIND_VECTORS_OUT,   /* iovec, `len_arg` of them */
	WMK_KKIND_TIME_IN, WMK_KKIND_TIME_OUT,         /* struct timespec */
	WMK_KKIND_STAT,          /* struct stat */
	WMK_KKIND_POLLS,         /* struct pollfd, `len_arg` of them */
	WMK_KKIND_PAIR_OUT,      /* two descriptors */
	WMK_KKIND_SET,           /* numbers with names: `set` */
	WMK_KKINDS
};

enum wmk_kset {
	WMK_KSET_OPEN,
	WMK_KSET_PROT,
	WMK_KSET_MAP,
	WMK_KSET_CLONE,
	WMK_KSET_FAMILY,
	WMK_KSET_SOCKET,
	WMK_KSET_AT,
	WMK_KSET_WAIT,
	WMK_KSET_SIGNAL,
	WMK_KSET_WHENCE,
	WMK_KSET_ACCESS,
	WMK_KSET_MESSAGE,
	WMK_KSET_EPOLL,
	WMK_KSET_CLOCK,
	WMK_KSET_FCNTL,
	WMK_KSET_FUTEX,
	WMK_KSET_ADVICE,
	WMK_KSET_RENAME,
	WMK_KSET_MASK,
	WMK_KSETS
};

#define WMK_SYSCALL_NAME 32u

struct wmk_syscall_arg {
	char name[WMK_SYSCALL_NAME];
	uint8_t kind;            /* enum wmk_kkind */
	uint8_t set;             /* enum wmk_kset */
	uint8_t len_arg;
};

struct wmk_syscall {
	uint8_t abi;             /* enum wmk_kabi */
	bool is_known;           /* its arguments' names and kinds are; else there are six numbers */
	uint16_t number;
	uint8_t n_args;
	uint8_t ret;             /* enum wmk_kkind of the result */
	char name[WMK_SYSCALL_NAME], event[WMK_SYSCALL_NAME];
	struct wmk_syscall_arg args[WMK_SYSCALLS_ARGS];
};

/*
 * Number of the call of this name (the headers' or the kernel's tracer's), or -ENOENT with a cause chain that names the
 * nearest.
 */
int wmk_syscall_find(enum wmk_kabi abi, const char *name);
/* The headers' name; NULL: there is none of this number. */
const char *wmk_syscall_name(enum wmk_kabi abi, unsigned number);
/* -ENOENT: no call has this number, but the kernel may be newer: *call is that of an unknown call, "unknown". */
int wmk_syscall_describe(enum wmk_kabi abi, unsigned number, struct wmk_syscall *call);
/* Names and kinds of the arguments by the format of sys_enter_<event>; does nothing to a call that is known. */
void wmk_syscall_refine(struct wmk_syscall *call, const struct wmk_kformat *format);

/* The word for an argument's kind or set in the rows of tables ("path"). */
const char *wmk_syscall_word(const struct wmk_syscall_arg *arg);
/*
 * The row of a table, each of which begins with "name(". One for 32-bit programs only, which begins with '*', or for
 * 64-bit programs only, which begins with '-', goes before one for all. NULL: not found.
 */
const char *wmk_syscall_row(const char *const rows[], unsigned n, enum wmk_kabi abi, const char *name);

/* Labels of a set; is_flags: of bits. *n labels; static storage. */
const struct wmk_label *wmk_kset_labels(enum wmk_kset set, unsigned *n, bool *is_flags);
/* "ENOENT"; NULL: unknown. `number` is positive. */
const char *wmk_syscall_errno(unsigned number);

/*
 * Bytes at most of what is copied: texts up to WMK_SYSCALLS_PART_MAX, those of an argv up to WMK_SYSCALLS_STRING_MAX,
 * the others' first bytes.
 */
struct wmk_syscalls_limits {
	uint32_t text, bytes;
};

#define WMK_SYSCALLS_TEXT_DEFAULT 256u
#define WMK_SYSCALLS_BYTES_DEFAULT 64u
#define WMK_SYSCALLS_ADDRESS_MAX 128u
#define WMK_SYSCALLS_POLLS_MAX 32u     /* pollfds that are copied */

/*
 * Is a text that could not be read at entry read at exit? Then the exit's record has it. Not of a program that has
 * become another one.
 */
bool wmk_syscall_is_late(const struct wmk_syscall *call, unsigned arg);

void wmk_syscall_plan(const struct wmk_syscall *call, const struct wmk_syscalls_limits *limits,
		    struct wmk_syscalls_plan *plan);
/* As long as there is room. */
void wmk_syscall_add_copy(struct wmk_syscalls_copy copies[WMK_SYSCALLS_PARTS], const struct wmk_syscalls_copy *copy);

#endif
