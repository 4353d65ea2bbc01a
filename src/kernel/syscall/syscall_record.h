/* SPDX-License-Identifier: MIT */
/*
 * syscall_record.h - shared by the BPF program bpf/syscalls.bpf.c and its loader: which data to copy for each system
 * call, and the format of records in the rings. Program and loader are compiled from the same tree for the same
 * machine. Records therefore have no version, and have the machine's byte order.
 *
 *     record:  struct wmk_syscalls_head | u64 values[n_values] | n_parts parts
 *     part:    struct wmk_syscalls_part | its bytes | zeros up to a multiple of 8
 *
 * The entry of WMK_SYSCALLS_OTHER has the number of the system call as an additional value.
 */
#ifndef WMK_KERNEL_SYSCALL_RECORD_H
#define WMK_KERNEL_SYSCALL_RECORD_H

#include <linux/types.h>

#define WMK_SYSCALLS_NUMBERS 512u      /* system calls of one table */
#define WMK_SYSCALLS_OTHER (WMK_SYSCALLS_NUMBERS - 1)    /* index in the table for all numbers beyond the table */
#define WMK_SYSCALLS_ABIS 2u           /* system calls of the machine; system calls of 32-bit programs on the machine */
#define WMK_SYSCALLS_ARGS 6u
#define WMK_SYSCALLS_PARTS 3u          /* pointed-to data in one record, at most */
#define WMK_SYSCALLS_PART_MAX 4096u    /* bytes of one part */
#define WMK_SYSCALLS_STRINGS 16u       /* strings of an argv, ... */
#define WMK_SYSCALLS_STRINGS_ROOM 2048u  /* ... bytes of all of them, ... */
#define WMK_SYSCALLS_STRING_MAX 1024u  /* ... and of each */
#define WMK_SYSCALLS_VECTORS 8u        /* elements of an iovec array */
#define WMK_SYSCALLS_EXCLUDED 8u       /* processes that are never recorded */

enum wmk_syscalls_op {
	WMK_SYSCALLS_NOTHING,
	WMK_SYSCALLS_TEXT,             /* up to its NUL */
	WMK_SYSCALLS_BYTES,            /* argument `len_arg` times `unit` bytes */
	WMK_SYSCALLS_FIXED,            /* `unit` bytes */
	WMK_SYSCALLS_RETURNED,         /* the result times `unit` bytes */
	WMK_SYSCALLS_LENGTH_AT,        /* as many bytes as the 32-bit number at the pointer `len_arg` */
	WMK_SYSCALLS_TEXTS,            /* an array of pointers to texts, ended by NULL */
	WMK_SYSCALLS_VECTORS_IN,       /* the data of an array of `len_arg` iovecs */
	WMK_SYSCALLS_VECTORS_RETURNED, /* as VECTORS_IN; the result is the number of bytes of all elements together */
};

struct wmk_syscalls_copy {
	__u8 op;                     /* enum wmk_syscalls_op */
	__u8 arg;                    /* the pointer */
	__u8 len_arg;
	/* if the data was unreadable at entry, it is read again at exit, when the system call has loaded the pages */
	__u8 is_late;
	__u16 unit;
	__u16 max;                   /* limit of bytes */
};

struct wmk_syscalls_plan {
	struct wmk_syscalls_copy at_entry[WMK_SYSCALLS_PARTS], at_exit[WMK_SYSCALLS_PARTS];
};

/* User space writes to this memory of the BPF program, even while the program runs. */
struct wmk_syscalls_config {
	__u64 wanted[WMK_SYSCALLS_ABIS][WMK_SYSCALLS_NUMBERS / 64];
	__u32 excluded[WMK_SYSCALLS_EXCLUDED];   /* processes; 0: none */
	__u32 is_all;                          /* all processes, not only those in the set */
	__u32 is_told;                         /* also records of signals and ends, see below */
	/* an ended process stays in the set: the number is still followed */
	__u32 is_kept;
	__u32 reserved;
	__u64 wake_at;                         /* bytes in a ring that wake its reader */
	struct wmk_syscalls_plan plans[WMK_SYSCALLS_ABIS][WMK_SYSCALLS_NUMBERS];
};

/* The counts of one BPF program (slot) on one CPU. */
struct wmk_syscalls_counts {
	__u64 recorded, lost;
	__u64 unreadable;            /* parts */
	__u64 unfollowed;            /* children for which the set had no space */
};

enum { WMK_SYSCALLS_SLOT_ENTRY, WMK_SYSCALLS_SLOT_EXIT, WMK_SYSCALLS_SLOT_TASK, WMK_SYSCALLS_SLOTS };

#define WMK_SYSCALLS_IS_EXIT 1u
#define WMK_SYSCALLS_IS_COMPAT 2u
/*
 * Not a system call. SIGNAL: a signal reaches the thread, and the values are the siginfo of the signal. END: the thread
 * ends, and the value is the status as in wait(2).
 */
#define WMK_SYSCALLS_IS_SIGNAL 4u
#define WMK_SYSCALLS_IS_END 8u

struct wmk_syscalls_head {
	__u64 time;                  /* CLOCK_MONOTONIC, nanoseconds */
	__u32 pid, tid;              /* in the initial PID namespace; pid: of the process */
	__u16 number, cpu;
	__u8 flags, n_values, n_parts, reserved;
};

#define WMK_SYSCALLS_PART_NULL 1u          /* the pointer is NULL */
#define WMK_SYSCALLS_PART_UNREADABLE 2u    /* a part of the data could not be read */
#define WMK_SYSCALLS_PART_CUT 4u           /* a limit cut off the rest of the data */
#define WMK_SYSCALLS_PART_LATE 8u          /* read at exit, because it was unreadable at entry */

struct wmk_syscalls_part {
	__u8 arg, flags;
	__u16 count;                 /* TEXTS: number of texts, each with a NUL */
	__u32 len;                   /* bytes that follow; a text has no NUL */
};

#endif
