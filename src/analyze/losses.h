/* SPDX-License-Identifier: MIT */
/*
 * losses.h - lost records, which are known before the records that follow the loss.
 *
 * A packet counts the records that were lost before its end. While one stream loses records, other streams can have
 * records, and the reader returns these records before the packet that reports the loss. To detect a loss before the
 * records that follow the loss, each stream has a scout: a second reader of the packet headers, which is one packet
 * ahead of the records. When the reader begins a packet, the loss after this packet is already known. Losses are
 * returned in the order of their start times. One thread.
 */
#ifndef WMK_ANALYZE_LOSSES_H
#define WMK_ANALYZE_LOSSES_H

#include "read/trace.h"

struct wmk_loss {
	int64_t from, to;              /* ns: records were lost between these times */
	int64_t cpu;                   /* WMK_READ_NOWHERE: unknown */
	uint32_t events;               /* WMK_EV() bits of the events that the stream can have */
	uint64_t records;              /* WMK_READ_LOST_UNKNOWN: unknown */
	uint64_t packets;
	const struct wmk_read_stream *stream;
};

struct wmk_losses {                    /* initialized with zeros */
	struct wmk_loss *queue;        /* ordered by `from`, the latest first */
	uint32_t n, cap;
};

struct wmk_scout;

/*
 * Open the scout of a stream, which reads packet headers one packet ahead. *scout NULL: the file cannot be opened
 * again, and its losses are known late. -ENOMEM.
 */
int wmk_scout_open(const struct wmk_read_stream *stream, struct wmk_scout **scout);
/* Call this when a packet of the stream begins: queue the loss after this packet. -ENOMEM with a cause chain. */
int wmk_scout_packet(struct wmk_scout *scout, const struct wmk_read_stream *stream, int64_t cpu, uint32_t events,
		     struct wmk_losses *losses);
void wmk_scout_close(struct wmk_scout *scout);

/* Take the next loss that starts at `ns` or earlier. False: no such loss. */
bool wmk_losses_take(struct wmk_losses *losses, int64_t ns, struct wmk_loss *loss);
void wmk_losses_free(struct wmk_losses *losses);

#endif
