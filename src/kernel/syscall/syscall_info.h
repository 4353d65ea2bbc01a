/* SPDX-License-Identifier: MIT */
/*
 * syscall_info.h - descriptions of system calls: numbers and names, arguments with their kinds, names of flags and
 * errors.
 *
 *     wmk_syscall_describe(abi, 257, &call)       openat: names and kinds of its arguments, if the table has it
 *     wmk_syscall_refine(&call, format)           otherwise from the kernel's events/syscalls/sys_enter_*
 *     wmk_syscall_plan(&call, limits, &plan)      what the BPF program copies of it
 *
 * The build takes the numbers of system calls from the kernel's headers, and the compiler takes the values of flags
 * from the headers. Names of system calls are the names in the headers ("stat"). Names of events are the names in the
 * kernel's tracer, which sometimes differ ("newstat"). wmk_syscall_find() finds a system call by either name.
 *
 * The functions are pure, so any thread may call them. Errors are -errno with a cause chain.
 */
#ifndef WMK_KERNEL_SYSCALL_INFO_H
#define WMK_KERNEL_SYSCALL_INFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/syscall/syscall_record.h"
#include "kernel/event/format_file.h"
#include "schema/schema.h"

/* COMPAT: system calls of 32-bit programs on a 64-bit machine (i386 on x86-64); empty on other machines. */
enum wmk_kabi { WMK_KABI_NATIVE, WMK_KABI_COMPAT };

/*
 * This kind determines how an argument or a result is shown, and which data is copied. IN: the system call reads the
 * data, so the data is copied at entry. OUT: the system call writes the data.
 */
enum wmk_kkind {
	WMK_KKIND_NONE,
	WMK_KKIND_INT, WMK_KKIND_UINT, WMK_KKIND_LONG, WMK_KKIND_ULONG, WMK_KKIND_HEX,
	WMK_KKIND_POINTER, WMK_KKIND_FD, WMK_KKIND_PID, WMK_KKIND_UID, WMK_KKIND_MODE,
	WMK_KKIND_ERRNO,         /* result: 0 or -errno */
	WMK_KKIND_PATH, WMK_KKIND_TEXT,
	WMK_KKIND_BYTES_IN,      /* `len_arg` is the length of the data */
	WMK_KKIND_BYTES_OUT,     /* the result is the length of the data */
	WMK_KKIND_ADDRESS_IN,    /* struct sockaddr; `len_arg` is the length of the address */
	WMK_KKIND_ADDRESS_OUT,   /* struct sockaddr; `len_arg` points to the length of the address */
	WMK_KKIND_TEXTS,         /* argv, envp */
	WMK_KKIND_VECTORS_IN, WMK_KKIND_VECTORS_OUT,   /* iovec, `len_arg` elements */
	WMK_KKIND_TIME_IN, WMK_KKIND_TIME_OUT,         /* struct timespec */
	WMK_KKIND_STAT,          /* struct stat */
	WMK_KKIND_POLLS,         /* struct pollfd, `len_arg` elements */
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
	bool is_known;           /* names and kinds of the arguments are known; false: the arguments are six numbers */
	uint16_t number;
	uint8_t n_args;
	uint8_t ret;             /* enum wmk_kkind of the result */
	char name[WMK_SYSCALL_NAME], event[WMK_SYSCALL_NAME];
	struct wmk_syscall_arg args[WMK_SYSCALLS_ARGS];
};

/*
 * Find a system call by its name in the headers or in the kernel's tracer. -ENOENT with a cause chain that has similar
 * names.
 */
int wmk_syscall_find(enum wmk_kabi abi, const char *name);
/* Return the name in the headers; NULL: the number is unknown. */
const char *wmk_syscall_name(enum wmk_kabi abi, unsigned number);
/* Describe a system call. -ENOENT: the number is unknown; *call describes a call "unknown" (of a newer kernel). */
int wmk_syscall_describe(enum wmk_kabi abi, unsigned number, struct wmk_syscall *call);
/*
 * Take names and kinds of the arguments from the format of sys_enter_<event>. The function has no effect if the
 * arguments are known already (`is_known`).
 */
void wmk_syscall_refine(struct wmk_syscall *call, const struct wmk_kformat *format);

/* Return the word for an argument's kind or set, as table rows contain it ("path"). */
const char *wmk_syscall_word(const struct wmk_syscall_arg *arg);
/*
 * Find the row of a system call in a table; a row begins with "name(". A row that begins with '*' is for 32-bit
 * programs only. A row that begins with '-' is for 64-bit programs only. For `abi`, a row with a matching prefix takes
 * precedence over the row of the same system call without a prefix. NULL: not found.
 */
const char *wmk_syscall_row(const char *const rows[], unsigned n, enum wmk_kabi abi, const char *name);

/* Return the word for a set, as table rows contain it. */
const char *wmk_kset_word(enum wmk_kset set);
/* Return the *n labels of a set, in static storage. *is_flags: the labels name bits. */
const struct wmk_label *wmk_kset_labels(enum wmk_kset set, unsigned *n, bool *is_flags);
/* Return the name of an error, for example "ENOENT"; NULL: unknown. `number` is positive. */
const char *wmk_syscall_errno(unsigned number);

/*
 * Limits of copied bytes. text: at most WMK_SYSCALLS_PART_MAX for a text, and WMK_SYSCALLS_STRING_MAX for each text of
 * an argv; bytes: limit for other data.
 */
struct wmk_syscalls_limits {
	uint32_t text, bytes;
};

#define WMK_SYSCALLS_TEXT_DEFAULT 256u
#define WMK_SYSCALLS_BYTES_DEFAULT 64u
#define WMK_SYSCALLS_ADDRESS_MAX 128u
#define WMK_SYSCALLS_POLLS_MAX 32u     /* pollfds that are copied */

/*
 * Return whether a text that was unreadable at entry is read again at exit, so that the exit record contains the text.
 * Returns false for execve(), because execve() replaces the memory of the process.
 */
bool wmk_syscall_is_late(const struct wmk_syscall *call, unsigned arg);

void wmk_syscall_plan(const struct wmk_syscall *call, const struct wmk_syscalls_limits *limits,
		    struct wmk_syscalls_plan *plan);
/* Add a copy to `copies` if an entry is free. */
void wmk_syscall_add_copy(struct wmk_syscalls_copy copies[WMK_SYSCALLS_PARTS], const struct wmk_syscalls_copy *copy);

#endif
