/* SPDX-License-Identifier: MIT */
/*
 * statedump_source.h - the state dump (statedump.h) as packets of a kernel channel: made by a thread of its own, beside
 * the one that takes them.
 *
 *     wmk_kdumper_open(&options, &dumper);           a source of packets (ring/packet_source.h)
 *     wmk_kdumper_begin(dumper, number);             a dump begins; returns at once
 *
 * Two packets' worth of memory is all there is: while both are full the dump waits, so it is lost by nobody but who
 * does not write it down.
 *
 * Dumps are told apart by numbers that grow (the clock's value at which they were asked for). A packet's end is twice
 * the number of its dump, and 1 more when that dump is whole there. Its place, which the trace keeps, is
 *
 *     records in the trace, 32 bits │ the low 32 bits of its end
 *
 * so whoever goes on behind a process that died reads there what is missing, and dumps it again.
 *
 * Begin, next, release, resume and clear: one thread. -errno with a cause chain.
 */
#ifndef WMK_KERNEL_STATEDUMP_SOURCE_H
#define WMK_KERNEL_STATEDUMP_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/statedump/statedump.h"
#include "kernel/tasks/task_context.h"
#include "ring/packet_source.h"

#define WMK_KDUMPER_RECORDS_AT 32u     /* the bit of a place, from which on it tells how many records the trace has */
#define WMK_KDUMPER_ANY 1u             /* for a number: one that is whole will do, whichever it is */

struct wmk_kdumper_options {
	uint32_t ids[WMK_KSTATEDUMP_EVENTS];     /* of its events in the trace */
	uint8_t contexts[WMK_KCONTEXT_BYTES];        /* of each record: n_contexts bytes */
	size_t n_contexts;
	uint64_t (*clock)(void *data);
	void *clock_data;
	/* other trees than the machine's, for tests: as in statedump.h; not copied */
	const char *proc, *sys;
	unsigned parts;                          /* 0: all */
	/* of a packet's content at most; 0: 128 KiB; at least WMK_KSTATEDUMP_PAYLOAD_MAX and a little */
	size_t packet_bytes;
};

/*
 * A source of packets: closing it lets a running dump end by itself; a flush waits until there is a packet or the dump
 * is over, while the dump makes progress; clearing it cancels the dump.
 */
int wmk_kdumper_open(const struct wmk_kdumper_options *options, struct wmk_source **dumper);
/* Dump, unless that dump or a later one was begun already; after the one that runs. */
int wmk_kdumper_begin(struct wmk_source *dumper, uint64_t number);

#endif
