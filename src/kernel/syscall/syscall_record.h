/* SPDX-License-Identifier: MIT */
/*
 * syscall_record.h - what the BPF program bpf/syscalls.bpf.c and the loader have in common: what to copy for each
 * system call, and the records that come out of the rings. Both are compiled from the same tree, for the same machine:
 * no versions, the machine's own byte order.
 *
 * The entry of a call WMK_SYSCALLS_OTHER has the call's number as one more value.
 *
 *     record:  struct wmk_syscalls_head | u64 values[n_values] | n_parts times { struct wmk_syscalls_part | its bytes | zeros up to 8 }
 */
#ifndef WMK_KERNEL_SYSCALL_RECORD_H
#define WMK_KERNEL_SYSCALL_RECORD_H

#include <linux/types.h>

#define WMK_SYSCALLS_NUMBERS 512u      /* system calls of one table */
#define WMK_SYSCALLS_OTHER (WMK_SYSCALLS_NUMBERS - 1)    /* stands for all numbers that have no place in the table */
#define WMK_SYSCALLS_ABIS 2u           /* the machine's own calls; those of its 32-bit programs */
#define WMK_SYSCALLS_ARGS 6u
#define WMK_SYSCALLS_PARTS 3u          /* pointed-to arguments that are copied, of one record */
#define WMK_SYSCALLS_PART_MAX 4096u    /* bytes of one part */
#define WMK_SYSCALLS_STRINGS 16u       /* of an argv ... */
#define WMK_SYSCALLS_STRINGS_ROOM 2048u  /* ... and bytes of all of them */
#define WMK_SYSCALLS_STRING_MAX 1024u  /* bytes of one of them */
#define WMK_SYSCALLS_VECTORS 8u        /* of an iovec array */
#define WMK_SYSCALLS_EXCLUDED 8u       /* processes that are never recorded */

enum wmk_syscalls_op {
	WMK_SYSCALLS_NOTHING,
	WMK_SYSCALLS_TEXT,             /* up to its NUL */
	WMK_SYSCALLS_BYTES,            /* argument `len_arg` times `unit` bytes */
	WMK_SYSCALLS_FIXED,            /* `unit` bytes */
	WMK_SYSCALLS_RETURNED,         /* the call's result times `unit` bytes */
	WMK_SYSCALLS_LENGTH_AT,        /* as many bytes as the 32-bit number says that argument `len_arg` points to */
	WMK_SYSCALLS_TEXTS,            /* an array of pointers to texts, the last one is NULL */
	WMK_SYSCALLS_VECTORS_IN,       /* what an array of argument `len_arg` iovecs points to */
	WMK_SYSCALLS_VECTORS_RETURNED, /* the same, as many bytes in all as the call's result says */
};

struct wmk_syscalls_copy {
	__u8 op;                     /* enum wmk_syscalls_op */
	__u8 arg;                    /* which points to it */
	__u8 len_arg;
	/* what could not be read at entry is tried once more at exit, when the call has read it */
	__u8 is_late;
	__u16 unit;
	__u16 max;                   /* bytes at most */
};

struct wmk_syscalls_plan {
	struct wmk_syscalls_copy at_entry[WMK_SYSCALLS_PARTS], at_exit[WMK_SYSCALLS_PARTS];
};

/* Memory of the BPF program that user space writes to, also while it runs. */
struct wmk_syscalls_config {
	__u64 wanted[WMK_SYSCALLS_ABIS][WMK_SYSCALLS_NUMBERS / 64];
	__u32 excluded[WMK_SYSCALLS_EXCLUDED];   /* processes; 0: none */
	__u32 is_all;                          /* all processes, not only those of the set */
	__u32 is_told;                         /* records of signals and ends, see below */
	/* a process that has ended stays in the set: its number is what is followed */
	__u32 is_kept;
	__u32 reserved;
	__u64 wake_at;                         /* bytes in a ring: then its reader is woken */
	struct wmk_syscalls_plan plans[WMK_SYSCALLS_ABIS][WMK_SYSCALLS_NUMBERS];
};

/* Per CPU, of one of the programs. */
struct wmk_syscalls_counts {
	__u64 recorded, lost;
	__u64 unreadable;            /* parts */
	__u64 unfollowed;            /* children for whom there was no room in the set */
};

enum { WMK_SYSCALLS_SLOT_ENTRY, WMK_SYSCALLS_SLOT_EXIT, WMK_SYSCALLS_SLOT_TASK, WMK_SYSCALLS_SLOTS };

#define WMK_SYSCALLS_IS_EXIT 1u
#define WMK_SYSCALLS_IS_COMPAT 2u
/*
 * No call: a signal that reaches the thread, the values are its siginfo; the thread's end, the value is its status as
 * wait(2) has it.
 */
#define WMK_SYSCALLS_IS_SIGNAL 4u
#define WMK_SYSCALLS_IS_END 8u

struct wmk_syscalls_head {
	__u64 time;                  /* CLOCK_MONOTONIC, nanoseconds */
	__u32 pid, tid;              /* of the first pid namespace; pid: of the process */
	__u16 number, cpu;
	__u8 flags, n_values, n_parts, reserved;
};

#define WMK_SYSCALLS_PART_NULL 1u          /* the pointer is NULL */
#define WMK_SYSCALLS_PART_UNREADABLE 2u    /* not, or not all of it, could be read */
#define WMK_SYSCALLS_PART_CUT 4u           /* there is more of it */
#define WMK_SYSCALLS_PART_LATE 8u          /* at exit: what could not be read at entry */

struct wmk_syscalls_part {
	__u8 arg, flags;
	__u16 count;                 /* TEXTS: how many, each with its NUL */
	__u32 len;                   /* bytes that follow; a text has no NUL */
};

#endif
