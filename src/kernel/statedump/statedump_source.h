/* SPDX-License-Identifier: MIT */
/*
 * statedump_source.h - the state dump (statedump.h) as packets of a kernel channel. A separate thread makes the
 * packets, and the caller's thread takes the packets.
 *
 *     wmk_kdumper_open(&options, &dumper);           a source of packets (ring/packet_source.h)
 *     wmk_kdumper_begin(dumper, number);             start a dump; returns at once
 *
 * The memory holds two packets. While both packets are full, the dump waits, so the dump loses no record.
 *
 * The number of a dump is the clock's value at the request, so numbers grow. The member `end` of a packet is twice the
 * number of the packet's dump. The last packet of a complete dump adds 1 to `end`. The trace keeps the position of a
 * packet, which is
 *
 *     records in the trace, 32 bits │ the low 32 bits of its end
 *
 * After a crash, the next consumer daemon reads the position of the last packet. If the dump is not complete, the
 * consumer daemon makes a new dump.
 *
 * One thread calls begin, next, release, resume and clear. Errors are -errno with a cause chain.
 */
#ifndef WMK_KERNEL_STATEDUMP_SOURCE_H
#define WMK_KERNEL_STATEDUMP_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/statedump/statedump.h"
#include "kernel/tasks/task_context.h"
#include "ring/packet_source.h"

#define WMK_KDUMPER_RECORDS_AT 32u     /* the lowest bit of the record count in a position */
#define WMK_KDUMPER_ANY 1u             /* in place of a number: any complete dump is sufficient */

struct wmk_kdumper_options {
	uint32_t ids[WMK_KSTATEDUMP_EVENTS];     /* of its event classes in the trace */
	uint8_t contexts[WMK_KCONTEXT_BYTES];        /* context fields of each record: n_contexts bytes */
	size_t n_contexts;
	uint64_t (*clock)(void *data);
	void *clock_data;
	/* roots of the trees, for tests: as in statedump.h; not copied */
	const char *proc, *sys;
	unsigned parts;                          /* 0: all */
	/*
	 * limit of a packet's content in bytes; 0: 128 KiB; at least WMK_KSTATEDUMP_PAYLOAD_MAX plus the head of a
	 * record
	 */
	size_t packet_bytes;
};

/*
 * Open the source. Closing the source cancels a running dump, but does not wait for the dump's thread. A flush waits
 * for a packet or the end of the dump. The flush stops waiting if the dump makes no progress. Clearing the source
 * cancels the dump.
 */
int wmk_kdumper_open(const struct wmk_kdumper_options *options, struct wmk_source **dumper);
/*
 * Start dump `number`, after the end of a running dump. The call has no effect if dump `number` or a dump with a larger
 * number was requested before.
 */
int wmk_kdumper_begin(struct wmk_source *dumper, uint64_t number);

#endif
