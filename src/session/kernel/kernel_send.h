/* SPDX-License-Identifier: MIT */
/* kernel_send.h - messages to the consumer daemon about a kernel channel. */
#ifndef WMK_SESSION_KERNEL_SEND_H
#define WMK_SESSION_KERNEL_SEND_H

#include "session/kernel/kernel_rings.h"

/*
 * Send the events, the system calls and the state dump of `about` to the consumer daemon. The channel provides the
 * other values of the message.
 */
int wmk_kernel_send(struct rings *rings, const struct wmk_kernel_info *about);
/* Return the message about an event; the message is valid as long as the event exists. */
struct wmk_consumerd_event wmk_kernel_event_message(const struct rings *rings, const struct kernel_event *event,
						 bool changing);
/* Send these events of the channel and their filters to the consumer daemon. */
int wmk_kernel_send_events(struct rings *rings, struct kernel_event *const *events, unsigned n, bool changing);
/* Open the channel at the consumer daemon, which then consumes the records of these events. */
int wmk_kernel_consumed(struct rings *rings, struct wmk_consumerd_event *events, unsigned n);
/*
 * For a snapshot: take the records out of the channel, at most about->copy_max bytes of each stream. The consumer
 * daemon writes the records and a state dump to another trace. Not locked. The caller closes *output.
 */
int wmk_kernel_copied(const struct rings *rings, void *trace, const struct wmk_rings_info *about, void **output);

#endif
