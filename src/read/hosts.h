/* SPDX-License-Identifier: MIT */
/*
 * hosts.h - put the times of traces of several hosts on the clock of their relay.
 *
 *     web1: trace clock ─┐  .clock.relay
 *     web2: trace clock ─┴──────────────► real time of the relay, and its uncertainty
 *
 * The difference between the clocks of two hosts may be larger than the time between two records. The sync points of
 * the relay's clock relate the clock of each host to the clock of the relay. If a trace has no sync points of the
 * relay's clock, the uncertainty of its times is unknown.
 */
#ifndef WMK_READ_HOSTS_H
#define WMK_READ_HOSTS_H

#include <stdint.h>

#include "read/trace.h"

struct wmk_read_hosts;

/*
 * If the traces are from several hosts, set `has_hosts` of each trace. If any of the traces has sync points of a
 * relay's clock, choose the relay clock for which the largest number of traces has sync points. The function replaces
 * the sync points of all traces by points of the chosen relay clock. If a trace has no points of the chosen relay
 * clock, the function removes its sync points. Traces that have the same clock get the same points. The caller must
 * call this function before it opens a stream. *hosts is NULL if no points were replaced; otherwise free it after the
 * traces. 0 or -ENOMEM. wmk_read_trace_take_damage() reports damaged files.
 */
int wmk_read_hosts_join(struct wmk_read_trace *const *traces, uint32_t n, struct wmk_read_hosts **hosts);
/* NULL does nothing. */
void wmk_read_hosts_free(struct wmk_read_hosts *hosts);

#endif
