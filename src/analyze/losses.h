/* SPDX-License-Identifier: MIT */
/*
 * losses.h - lost records, known before the records that follow them.
 *
 * A packet has the losses before its end. But records of other streams that were recorded during the loss come before
 * that packet. So each stream is read a second time, one packet ahead and without its records: when a packet begins,
 * the loss after it is known. Losses are returned in the order of their begin. One thread.
 */
#ifndef WMK_ANALYZE_LOSSES_H
#define WMK_ANALYZE_LOSSES_H

#include "read/trace.h"

struct wmk_loss {
	int64_t from, to;              /* ns: records were lost between these times */
	int64_t cpu;                   /* WMK_READ_NOWHERE: unknown */
	uint32_t events;               /* WMK_EV() of the events that the stream can have */
	uint64_t records;              /* WMK_READ_LOST_UNKNOWN: unknown */
	uint64_t packets;
	const struct wmk_read_stream *stream;
};

struct wmk_losses {                    /* initialized with zeros */
	struct wmk_loss *queue;        /* by `from`, the latest first */
	uint32_t n, cap;
};

struct wmk_scout;

/* Open the scout of a stream. *scout NULL: the file cannot be opened again; its losses are known late. -ENOMEM. */
int wmk_scout_open(const struct wmk_read_stream *stream, struct wmk_scout **scout);
/* A packet of the stream has begun: queue the loss after it. -ENOMEM with a cause chain. */
int wmk_scout_packet(struct wmk_scout *scout, const struct wmk_read_stream *stream, int64_t cpu, uint32_t events,
		     struct wmk_losses *losses);
void wmk_scout_close(struct wmk_scout *scout);

/* Take the next loss that begins at `ns` or earlier. False: none. */
bool wmk_losses_take(struct wmk_losses *losses, int64_t ns, struct wmk_loss *loss);
void wmk_losses_free(struct wmk_losses *losses);

#endif
