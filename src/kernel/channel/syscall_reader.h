/* SPDX-License-Identifier: MIT */
/*
 * syscall_reader.h - converts the system calls of a kernel channel that BPF records to packets of the trace. Each BPF
 * ring is one more stream of the channel, in the same stream class as the streams of the channel's tracefs instance.
 *
 *     wmk_kreader_event(reader, WMK_SYSCALLS_SYSTEM, "native_entry_257", id)
 *                                          a system call by number, as wmk_syscalls_event_name() names it
 *     wmk_kreader_filter(reader, WMK_SYSCALLS_SYSTEM, "native_entry_257", ...)
 *                                          filters its records, as for other events
 *     wmk_kreader_calls(reader, &wanted)   selects system calls to record from now on; the first selection loads BPF
 *     wmk_syscall_stream_open(reader, ring, &source) ...      as wmk_kstream_open() (channel_reader.h)
 *
 * Records of a selected system call without a declared event are skipped. Each drain pass moves records from the ring
 * into a packet. A packet is returned when it is full enough, or with a flush. A consumer daemon that crashes loses the
 * records in the ring and in the packet.
 *
 * Options of the tracefs instance determine the buffer mode and the recorded processes. In overwrite mode
 * (options/overwrite), this process keeps packets until a flush, up to the size of the buffer of a CPU. New packets
 * replace the oldest packets; the replaced records count as lost. If the instance records one process
 * (options/event-fork), BPF records that process and its descendants. The reader's option only_pid excludes the
 * descendants.
 *
 * The position of a stream is the number of its records in the trace. After a crash, the next consumer daemon reads the
 * position from the trace. The streams belong to the reader's thread. Errors: -errno with a cause chain.
 */
#ifndef WMK_KERNEL_SYSCALL_READER_H
#define WMK_KERNEL_SYSCALL_READER_H

#include "kernel/syscall/syscall_info.h"
#include "kernel/proc/own_pids.h"
#include "kernel/channel/channel_reader.h"

#define WMK_SYSCALLS_SYSTEM "bpf/syscalls"   /* (systems of tracefs contain no slash) */
/* words of a set of system calls: bit `number` of the words of each ABI */
#define WMK_SYSCALLS_WORDS (WMK_SYSCALLS_ABIS * WMK_SYSCALLS_NUMBERS / 64)
#define WMK_SYSCALLS_EVENT_NAME 32u

void wmk_syscalls_event_name(enum wmk_kabi abi, unsigned number, bool is_exit, char name[WMK_SYSCALLS_EVENT_NAME]);
/* -EINVAL: another format. */
int wmk_syscalls_event_parse(const char *name, enum wmk_kabi *abi, unsigned *number, bool *is_exit);
/*
 * Describes a system call from the table, else from the format file in `dir` (tracefs or a tracefs instance). Never
 * fails: the payload of an unknown system call is six numbers.
 */
void wmk_syscalls_describe_in(int dir, enum wmk_kabi abi, unsigned number, struct wmk_syscall *call);
/*
 * Tests whether BPF can record system calls on this machine: loads and attaches the program, and unloads the program
 * again.
 */
int wmk_syscalls_probe(void);

struct wmk_syscalls_wanted {
	const uint64_t *calls;           /* WMK_SYSCALLS_WORDS words */
	uint64_t bytes;                  /* size of the ring of a CPU; used when it is created */
	bool narrowed;                   /* records only the processes of `pids`; false: all processes */
	const uint64_t *pids;            /* 0: unused element */
	unsigned n_pids;
	/* create the streams even if no system call is selected, because the trace may have streams to resume */
	bool resume;
};

/*
 * Records exactly these system calls from now on; the change is complete when the function returns. 1: the function has
 * created the streams; 0: no new streams.
 */
int wmk_kreader_calls(struct wmk_kreader *reader, const struct wmk_syscalls_wanted *wanted);
/* Returns the number of rings; 0: BPF is not loaded. */
unsigned wmk_kreader_rings(const struct wmk_kreader *reader);

/* Opens one ring as a source of packets (ring/packet_source.h). */
int wmk_syscall_stream_open(struct wmk_kreader *reader, unsigned ring, struct wmk_source **source);

#endif
