/* SPDX-License-Identifier: MIT */
/* channel.h - channels of a session: rules, contexts, selected event classes. */
#ifndef WMK_SESSION_CHANNEL_H
#define WMK_SESSION_CHANNEL_H

#include "session/model/session_model.h"

/* True if the channel records events of this class. Locked. */
bool wmk_channel_selects(struct wmk_session_channel *channel, const struct class *class);
/*
 * Return the filter of a class that the channel selects; NULL: the channel records every record. The filter is valid
 * until the channel's rules change.
 */
const struct class_filter *wmk_channel_filter(const struct wmk_session_channel *channel, const struct class *class);
/*
 * True if the pattern, the exclusions and the level of the rule fit the event. The result does not depend on whether
 * the rule is enabled.
 */
bool wmk_rule_fits(const struct wmk_ctl_rule *rule, const struct wmk_event_class *event);
void wmk_channel_free(struct wmk_session_channel *channel);
int wmk_session_add_own_channel(struct wmk_session *session);
struct wmk_session_channel *wmk_session_channel_by_index(const struct wmk_session *session, uint32_t index);

#endif
