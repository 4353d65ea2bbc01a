/* SPDX-License-Identifier: MIT */
/* channel.h - channels of a session: rules, contexts. */
#ifndef WMK_SESSION_CHANNEL_H
#define WMK_SESSION_CHANNEL_H

#include "session/model/session_model.h"

bool wmk_channel_selects(struct wmk_session_channel *channel, const struct class *class);
/* Of a class that it wants: which records. NULL: all. Lives until the channel's rules change. */
const struct class_filter *wmk_channel_filter(const struct wmk_session_channel *channel, const struct class *class);
/* Pattern, exclusions, level; enabled or not. */
bool wmk_rule_fits(const struct wmk_ctl_rule *rule, const struct wmk_event_class *event);
void wmk_channel_free(struct wmk_session_channel *channel);
int wmk_session_add_own_channel(struct wmk_session *session);
struct wmk_session_channel *wmk_session_channel_by_index(const struct wmk_session *session, uint32_t index);

#endif
