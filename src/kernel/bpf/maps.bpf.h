/* SPDX-License-Identifier: MIT */
/*
 * maps.bpf.h - the memory of syscalls.bpf.c: what is to be recorded, the rings, who is followed, what is counted, and
 * where a record is put together.
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

/* One for each CPU; several CPUs may have the same. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, __u32);
	__array(values, struct ring);
} rings SEC(".maps");

/*
 * Processes that are recorded, by tgid: a new thread needs no entry, and one that takes over the leader's number
 * (execve) keeps it.
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
 * Where a record with parts is put together: it never holds more than PARTS_END bytes, and a part may begin up to
 * PARTS_LAST.
 */
#define PART_ROOM (sizeof(struct wmk_syscalls_part) + WMK_SYSCALLS_PART_MAX + 8)
#define PARTS_LAST (sizeof(struct wmk_syscalls_head) + 8 * WMK_SYSCALLS_ARGS + (WMK_SYSCALLS_PARTS - 1) * PART_ROOM)
#define PARTS_END (PARTS_LAST + PART_ROOM)

struct scratch {
	__u64 args[WMK_SYSCALLS_ARGS], ret;
	__u32 late;                  /* parts that are to be tried again at exit: bits */
	__u32 reserved;
	__u8 record[PARTS_END];
};

/* A program does not interrupt itself on its CPU: one for each. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, struct scratch);
} scratches SEC(".maps");

/*
 * Calls that are under way, by tid, with a text whose page was not there at entry: a constant of a program that has
 * just begun, mostly. The call brings the page in; at exit the text can be read. `n_late` of them: nobody looks while
 * there are none.
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
