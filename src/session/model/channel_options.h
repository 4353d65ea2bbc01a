/* SPDX-License-Identifier: MIT */
/* channel_options.h - options of a channel. */
#ifndef WMK_SESSION_CHANNEL_OPTIONS_H
#define WMK_SESSION_CHANNEL_OPTIONS_H

#include "session/model/session_model.h"

/*
 * Return the kind of buffers (enum wmk_buffers): per-process buffers if the domain is one process without its children,
 * else the channel's setting.
 */
uint32_t wmk_channel_buffers(const struct wmk_ctl_channel *is);
/* Check options, fill in defaults, round sizes up to powers of two. -EINVAL with a message that names the option. */
int wmk_channel_options_check(struct wmk_ctl_channel *is);
/*
 * Return the reason why idle buffers of the channel keep their memory, as a clause for messages. NULL: idle buffers can
 * return memory to the system.
 */
const char *wmk_channel_keeps_memory(const struct wmk_ctl_channel *is);
/* True if the domains are the same. In one domain, an event belongs to one channel. */
bool wmk_domain_same(const struct wmk_ctl_domain *a, const struct wmk_ctl_domain *b);

#endif
