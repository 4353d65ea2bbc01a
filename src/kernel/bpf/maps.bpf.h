/* SPDX-License-Identifier: MIT */
/*
 * maps.bpf.h - maps and variables of syscalls.bpf.c: configuration, rings, followed processes, counts, and the scratch
 * buffers in which records are built.
 */
#ifndef WMK_KERNEL_BPF_MAPS_H
#define WMK_KERNEL_BPF_MAPS_H

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "../syscall/syscall_record.h"

struct wmk_syscalls_config config;

struct ring {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
};

/* The ring of each CPU; several CPUs may share one ring. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, __u32);
	__array(values, struct ring);
} rings SEC(".maps");

/*
 * Followed processes, by tgid. A new thread of a recorded process needs no new entry. A thread that takes over the
 * leader's number (execve) stays in the process, so the entry of the process stays valid.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u8);
} pids SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, WMK_SYSCALLS_SLOTS);
	__type(key, __u32);
	__type(value, struct wmk_syscalls_counts);
} counts SEC(".maps");

/*
 * Scratch memory for a record with its parts. The record never has more than PARTS_END bytes, and its last part begins
 * at PARTS_LAST or before.
 */
#define PART_ROOM (sizeof(struct wmk_syscalls_part) + WMK_SYSCALLS_PART_MAX + 8)
#define PARTS_LAST (sizeof(struct wmk_syscalls_head) + 8 * WMK_SYSCALLS_ARGS + (WMK_SYSCALLS_PARTS - 1) * PART_ROOM)
#define PARTS_END (PARTS_LAST + PART_ROOM)

struct scratch {
	__u64 args[WMK_SYSCALLS_ARGS], ret;
	__u32 late;                  /* bits of the parts that are retried at exit */
	__u32 reserved;
	__u8 record[PARTS_END];
};

/*
 * Entry and exit of system calls have one scratch buffer each on each CPU. One buffer suffices, because a BPF program
 * does not interrupt itself on its CPU.
 */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, struct scratch);
} scratches SEC(".maps");

/*
 * Running system calls, by tid, for which a page of an argument was missing at entry. Usually the page is missing
 * because a new process has not yet read a constant of its program. The system call loads the page, and the BPF program
 * copies the argument at exit. `n_late` counts the entries of the map; while `n_late` is 0, exits skip the look-up.
 */
struct late {
	__u16 number;
	__u8 abi, parts;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, __u32);
	__type(value, struct late);
} lates SEC(".maps");

__u32 n_late;

#endif
