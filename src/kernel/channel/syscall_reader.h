/* SPDX-License-Identifier: MIT */
/*
 * syscall_reader.h - the system calls of a kernel channel that BPF records, as packets of the trace: one stream for
 * each ring, beside those of its instance of tracefs, and of the same stream class.
 *
 *     wmk_kreader_event(reader, WMK_SYSCALLS_SYSTEM, "native_entry_257", id)
 *                                          by number, as wmk_syscalls_event_name() returns it
 *     wmk_kreader_filter(reader, WMK_SYSCALLS_SYSTEM, "native_entry_257", ...)
 *                                          which of its records are kept, as with other events; of the whole record
 *     wmk_kreader_calls(reader, &wanted)   which are recorded from now on; the first of them loads BPF
 *     wmk_syscall_stream_open(reader, ring, &source) ...      as wmk_kstream_open() (channel_reader.h)
 *
 * Records of a selected call without a declared event are left out. Each drain pass moves records from the ring into a
 * packet. A packet is returned when it is full enough, or with a flush. A consumer daemon that crashes loses the
 * records in the ring and in the packet.
 *
 * The instance says the rest. In overwrite mode (options/overwrite) packets are kept in this process, as many as the
 * buffer of a CPU has room for, until a flush: the oldest are replaced, and count as lost. Of an instance that records
 * one process (options/event-fork) BPF records that process, with those
 * that it starts unless the reader's only_pid leaves them out.
 *
 * A position is a number of records of the trace, so that the next consumer daemon knows how many there are. The same
 * thread as the reader. -errno with a cause chain.
 */
#ifndef WMK_KERNEL_SYSCALL_READER_H
#define WMK_KERNEL_SYSCALL_READER_H

#include "kernel/syscall/syscall_info.h"
#include "kernel/proc/own_pids.h"
#include "kernel/channel/channel_reader.h"

#define WMK_SYSCALLS_SYSTEM "bpf/syscalls"   /* (no system of tracefs has a slash) */
/* of a set of calls: bit `number` of the words of each abi */
#define WMK_SYSCALLS_WORDS (WMK_SYSCALLS_ABIS * WMK_SYSCALLS_NUMBERS / 64)
#define WMK_SYSCALLS_EVENT_NAME 32u

void wmk_syscalls_event_name(enum wmk_kabi abi, unsigned number, bool is_exit, char name[WMK_SYSCALLS_EVENT_NAME]);
/* -EINVAL: it is none. */
int wmk_syscalls_event_parse(const char *name, enum wmk_kabi *abi, unsigned *number, bool *is_exit);
/*
 * What is known of a call: by the table, else by what the kernel says in `dir`, tracefs or an instance of it. Never
 * fails: six numbers at least.
 */
void wmk_syscalls_describe_in(int dir, enum wmk_kabi abi, unsigned number, struct wmk_syscall *call);
/* Can it be had here? Loads and attaches all of it, and lets it go again. */
int wmk_syscalls_probe(void);

struct wmk_syscalls_wanted {
	const uint64_t *calls;           /* WMK_SYSCALLS_WORDS words */
	uint64_t bytes;                  /* of the ring of a CPU; used when it is made */
	bool narrowed;                   /* record the processes of `pids` alone; else all processes */
	const uint64_t *pids;            /* 0: none in its place */
	unsigned n_pids;
	/* streams also where no call is wanted now: the trace may have some that are to be resumed */
	bool resume;
};

/*
 * From here on these are recorded, and no others: exactly, when it returns. 1: there are streams now, as there were
 * none before; 0.
 */
int wmk_kreader_calls(struct wmk_kreader *reader, const struct wmk_syscalls_wanted *wanted);
/* 0: BPF is not loaded. */
unsigned wmk_kreader_rings(const struct wmk_kreader *reader);

/* One ring as a source of packets (ring/packet_source.h). */
int wmk_syscall_stream_open(struct wmk_kreader *reader, unsigned ring, struct wmk_source **source);

#endif
