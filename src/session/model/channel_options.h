/* SPDX-License-Identifier: MIT */
/* channel_options.h - options of a channel. */
#ifndef WMK_SESSION_CHANNEL_OPTIONS_H
#define WMK_SESSION_CHANNEL_OPTIONS_H

#include "session/model/session_model.h"

/* enum wmk_buffers: a channel for one process without its children has buffers that end with it. */
uint32_t wmk_channel_buffers(const struct wmk_ctl_channel *is);
/* Checks options, fills in defaults, rounds sizes up. -EINVAL with the option's name. */
int wmk_channel_options_check(struct wmk_ctl_channel *is);
/* Same domain: an event belongs to one channel of it. */
bool wmk_domain_same(const struct wmk_ctl_domain *a, const struct wmk_ctl_domain *b);

#endif
