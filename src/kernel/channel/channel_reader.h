/* SPDX-License-Identifier: MIT */
/*
 * channel_reader.h - converts the records of a kernel channel to packets of the trace: one stream for each CPU.
 *
 *     tracefs instance ── per_cpu/cpuN ──pages──► records ──copied──► packet of the stream
 *                                 (cpu_buffer.h, page.h)          (kernel_event.h)
 *                                                    └── contexts: common fields, names of threads (task_table.h)
 *
 *     wmk_kreader_open(&options, &reader);
 *     wmk_kreader_event(reader, "sched", "sched_switch", 0);     before the event is enabled; 0: its id in the trace
 *     wmk_kstream_open(reader, cpu, &source);                    a source of packets (ring/packet_source.h)
 *
 * The reader skips records of undeclared events and records that a filter rejects. Skipped records count as processed,
 * not as lost. The reader also skips records of the tracer's own threads (own_pids.h), with two exceptions. The reader
 * keeps records of `sched` and `task` events, because each switch on a CPU must begin with the task to which the
 * previous switch changed. The reader keeps records made in an interrupt, because an interrupt belongs to no thread. A
 * stream returns the same packet again until the packet is released.
 *
 * The position of a packet encodes two counts at the end of the packet: processed kernel records, and records in the
 * trace (cpu_stream.c). The trace stores the position with the packet (wmk_ctf_packet.ring_position). Another process
 * that resumes the stream after a crash can thus determine exactly which records are present and how many records are
 * missing.
 *
 * A reader and its streams belong to one thread. Errors: -errno with a cause chain.
 */
#ifndef WMK_KERNEL_CHANNEL_READER_H
#define WMK_KERNEL_CHANNEL_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "kernel/proc/own_pids.h"
#include "ring/packet_source.h"

struct wmk_kreader;

struct wmk_kreader_options {
	int instance;                    /* the instance's directory; duplicated */
	const uint8_t *contexts;         /* numbers (wmk_ctf_context()), in the order of the record's fields */
	unsigned n_contexts;
	size_t packet_bytes;             /* maximum size of a packet's content; 0: 1 MiB */
	wmk_kown_find *own_find;         /* finds the tracer's own processes (own_pids.h); NULL: only this one */
	void *own_data;
	/* 0: keep records of all processes; else: keep only scheduling records and records of this process */
	int32_t only_pid;
	/*
	 * no other process resumes the streams, so they are read in the cheapest mode; if this process crashes, data
	 * that this process has taken is lost
	 */
	bool alone;
};

/* a position counts records in the trace from this bit on, and processed records in lower bits */
#define WMK_KSTREAM_RECORDS_AT 24u

int wmk_kreader_open(const struct wmk_kreader_options *options, struct wmk_kreader **reader);
/* The caller closes all streams of the reader before the reader. */
void wmk_kreader_close(struct wmk_kreader *reader);
/*
 * Declares an event, or a system call that BPF records (syscall_reader.h). Repeating a declaration has no effect.
 * An empty `system` selects an event of the state dump (statedump.h), for wmk_kreader_dumper(). -EEXIST: the event has
 * another id. -ENOENT: no such event.
 */
int wmk_kreader_event(struct wmk_kreader *reader, const char *system, const char *name, uint32_t id);
/*
 * Sets the filter program (filter_split.h) of an event from now on; NULL: keeps all records. The previous filter still
 * applies to records that the kernel made before the call. `changing` is true if the kernel's own filter is about to
 * change as well. While the kernel's filter changes, the reader keeps a record if the new or the previous program
 * accepts the record. A call without `changing` ends the change. Repeating a call has no effect. -ENOENT: no such
 * event.
 */
int wmk_kreader_filter(struct wmk_kreader *reader, const char *system, const char *name, const void *program,
		       size_t len, bool changing);
/*
 * Opens the state dump with the ids, contexts and clock of this channel (statedump_source.h). -ENOENT: at least one
 * event of the state dump is not declared yet.
 */
int wmk_kreader_dumper(const struct wmk_kreader *reader, struct wmk_source **dumper);
/* The clock of the channel's records. */
enum wmk_clock_kind wmk_kreader_clock(const struct wmk_kreader *reader);
/* Returns the present time in this clock. */
uint64_t wmk_kreader_now(const struct wmk_kreader *reader);
/* Upper bound of CPU numbers, including CPUs that may come online later. */
unsigned wmk_kreader_cpus(const struct wmk_kreader *reader);
/*
 * Opens one CPU as a source of packets. -ENOENT: no such CPU. -ENODEV: the CPU has not been online since the channel
 * was made; retry when it comes online. If the CPU goes offline, the CPU's buffer stays.
 */
int wmk_kstream_open(struct wmk_kreader *reader, unsigned cpu, struct wmk_source **source);

#endif
