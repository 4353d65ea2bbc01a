/* SPDX-License-Identifier: MIT */
/*
 * hosts.h - put the times of traces of several hosts on the clock of their relay.
 *
 *     web1: trace clock ─┐  .clock.relay
 *     web2: trace clock ─┴──────────────► real time of the relay, and its uncertainty
 *
 * The clocks of two hosts may differ by more than the time between two records. The sync points of the relay's clock
 * relate the clock of each host to the clock of the relay. A trace without sync points of the relay's clock has an
 * unknown uncertainty.
 */
#ifndef WMK_READ_HOSTS_H
#define WMK_READ_HOSTS_H

#include <stdint.h>

#include "read/trace.h"

struct wmk_read_hosts;

/*
 * If the traces have several hosts, set `has_hosts` of each trace. If any of the traces has sync points of a relay's
 * clock, choose the relay clock for which most traces have sync points. The sync points of all traces are replaced by
 * points of the chosen relay clock. A trace without points of the chosen relay clock loses its sync points. Traces of
 * one clock get the same points. To be called before any stream is opened. *hosts is NULL if no points were replaced;
 * otherwise free it after the traces. 0 or -ENOMEM. Damaged files are reported by wmk_read_trace_take_damage().
 */
int wmk_read_hosts_join(struct wmk_read_trace *const *traces, uint32_t n, struct wmk_read_hosts **hosts);
/* NULL does nothing. */
void wmk_read_hosts_free(struct wmk_read_hosts *hosts);

#endif
