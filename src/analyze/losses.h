/* SPDX-License-Identifier: MIT */
/*
 * losses.h - lost records, which are known before the records that follow the loss.
 *
 * A packet has the number of records that were lost before its end. Records of other streams that were made during the
 * loss are read before this packet. So the scout of each stream reads the packet heads a second time, one packet ahead
 * of the records. When a packet begins, the loss after this packet is known. Losses are returned in the order of their
 * begin times. One thread.
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
 * Open the scout of a stream, which reads one packet ahead. *scout NULL: the file cannot be opened again, and its
 * losses are known late. -ENOMEM.
 */
int wmk_scout_open(const struct wmk_read_stream *stream, struct wmk_scout **scout);
/* A packet of the stream has begun: queue the loss after it. -ENOMEM with a cause chain. */
int wmk_scout_packet(struct wmk_scout *scout, const struct wmk_read_stream *stream, int64_t cpu, uint32_t events,
		     struct wmk_losses *losses);
void wmk_scout_close(struct wmk_scout *scout);

/* Take the next loss that begins at `ns` or earlier. False: no such loss. */
bool wmk_losses_take(struct wmk_losses *losses, int64_t ns, struct wmk_loss *loss);
void wmk_losses_free(struct wmk_losses *losses);

#endif
