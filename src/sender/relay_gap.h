/* SPDX-License-Identifier: MIT */
/*
 * relay_gap.h - data that neither the relay nor the spool has: the relay lost files that it had acknowledged, or the
 * machine of the sender was reset before the spool was on its disk. The relay counts the gap, and the trace continues
 * after the gap. Errors are -errno with a cause chain.
 */
#ifndef WMK_SENDER_RELAY_GAP_H
#define WMK_SENDER_RELAY_GAP_H

#include "sender/relay_link.h"

/*
 * Request the relay to continue the stream `is` with the packet `next`. `found` is true if the relay has a packet of
 * the stream. If `found` is false, first send an empty packet with the sequence number 0, so that readers see which
 * numbers are missing.
 */
int wmk_relay_gap_in_stream(struct wmk_relay_link *link, const struct wmk_relay_stream *is, bool found,
			    const struct wmk_ctf_packet *next);
/*
 * The relay has the chunk `open` of the trace, but the first chunk in the spool is the later chunk `first`. Close the
 * chunk at the relay, and open the chunk `first`.
 */
int wmk_relay_gap_in_chunks(struct wmk_relay_link *link, const char *session, uint64_t open, uint64_t first);

#endif
