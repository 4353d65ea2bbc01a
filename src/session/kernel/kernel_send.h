/* SPDX-License-Identifier: MIT */
/* kernel_send.h - messages to the consumer about a kernel channel. */
#ifndef WMK_SESSION_KERNEL_SEND_H
#define WMK_SESSION_KERNEL_SEND_H

#include "session/kernel/kernel_rings.h"

/* Send events, system calls and the state dump of `about` to the consumer; the rest is the channel's. */
int wmk_kernel_send(struct rings *rings, const struct wmk_kernel_info *about);
/* The message about an event, valid as long as the event. */
struct wmk_consumerd_event wmk_kernel_event_message(const struct rings *rings, const struct kernel_event *event,
						 bool changing);
/* The consumer knows of these events of the channel from here on, with their filters. */
int wmk_kernel_send_events(struct rings *rings, struct kernel_event *const *events, unsigned n, bool changing);
/* At the outlet: what it records of these events is consumed. */
int wmk_kernel_consumed(struct rings *rings, struct wmk_consumerd_event *events, unsigned n);

#endif
