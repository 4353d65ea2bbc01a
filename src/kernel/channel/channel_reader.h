/* SPDX-License-Identifier: MIT */
/*
 * channel_reader.h - what a kernel channel has recorded, as packets of the trace: one stream for each CPU.
 *
 *     instance of tracefs ── per_cpu/cpuN ──pages──► records ──copied──► packet of the stream
 *                                    (cpu_buffer.h, page.h)          (kernel_event.h)
 *                                                       └── contexts: common fields, names of threads (task_table.h)
 *
 *     wmk_kreader_open(&options, &reader);
 *     wmk_kreader_event(reader, "sched", "sched_switch", 0);     before the event is enabled: its records have this id in the trace
 *     wmk_kstream_open(reader, cpu, &source);                    a source of packets (ring/packet_source.h)
 *
 * Records of events that it was not told of, or that a filter does not want, are counted and left out, and those of the
 * tracer's own threads (own_pids.h), but for who runs when and who is who (sched, task), and what interrupts have made:
 * each CPU's next task must be the one that goes next, and an interrupt is nobody's. A packet that is not released is
 * given out again.
 *
 * A packet has a place, which tells how many of the kernel's records are dealt with at its end, and how many of those
 * are in the trace (cpu_stream.c), and the trace keeps that with it (wmk_ctf_packet.ring_position): so another process
 * that goes on behind a dead one knows to the record what is there and what is missing.
 *
 * One thread for a reader and its streams. -errno with a cause chain.
 */
#ifndef WMK_KERNEL_CHANNEL_READER_H
#define WMK_KERNEL_CHANNEL_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/proc/own_pids.h"
#include "ring/packet_source.h"

struct wmk_kreader;

struct wmk_kreader_options {
	int instance;                    /* of the instance's directory; duplicated */
	const uint8_t *contexts;         /* numbers (wmk_ctf_context()), in the order in which records have them */
	unsigned n_contexts;
	size_t packet_bytes;             /* of a packet's content at most; 0: 1 MiB */
	wmk_kown_find *own_find;         /* the tracer's own processes (own_pids.h); NULL: this one */
	void *own_data;
	/* records of other processes are left out, but for those of scheduling; 0: of none */
	int32_t only_pid;
	/* nobody goes on behind us: read in the cheapest way, what was taken is gone with this process */
	bool alone;
};

#define WMK_KSTREAM_RECORDS_AT 24u   /* the bit of a place, from which on it tells how many records the trace has */

int wmk_kreader_open(const struct wmk_kreader_options *options, struct wmk_kreader **reader);
/* All its streams are closed. */
void wmk_kreader_close(struct wmk_kreader *reader);
/*
 * Or a system call that BPF records (syscall_reader.h). Said again, it is no error. -EEXIST: it has another id.
 * -ENOENT: no such event. `system` "": one of the state dump's (statedump.h), which are for wmk_kreader_dumper().
 */
int wmk_kreader_event(struct wmk_kreader *reader, const char *system, const char *name, uint32_t id);
/*
 * Which of its records are wanted from now on: those that the program (filter_split.h) wants; NULL: all. Records that
 * the kernel made before are asked as it was then. `changing`: the kernel's own filter is about to change as well, and
 * until this is called anew without it, records are in that either the new program wants or the one before. Said again,
 * it does nothing. -ENOENT: no such event.
 */
int wmk_kreader_filter(struct wmk_kreader *reader, const char *system, const char *name, const void *program,
		       size_t len, bool changing);
/*
 * The state dump with the ids and contexts of this channel, by its clock (statedump_source.h). -ENOENT: not all its
 * events are known yet.
 */
int wmk_kreader_dumper(const struct wmk_kreader *reader, struct wmk_source **dumper);
/* Numbers of CPUs, those included that may come later, are below this. */
unsigned wmk_kreader_cpus(const struct wmk_kreader *reader);
/*
 * One CPU as a source of packets. -ENOENT: no such CPU; -ENODEV: the CPU has not been online since the channel was
 * made, try again when it comes online. If it goes offline, its buffer stays.
 */
int wmk_kstream_open(struct wmk_kreader *reader, unsigned cpu, struct wmk_source **source);

#endif
