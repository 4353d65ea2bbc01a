/* SPDX-License-Identifier: MIT */
/* session_rules.c - check event rules of a session, for applications or for the kernel. */
#include "session/kernel/kernel_channel.h"
#include "session/kernel/kernel_filter.h"
#include "session/model/class_filter.h"
#include "session/model/session_model.h"

int wmk_session_filters_check(struct wmk_session_channel *channel, const struct wmk_list *rules)
{
	return wmk_channel_is_kernel(channel) ? wmk_kernel_filters_check(channel, rules)
					      : wmk_channel_filters_check(channel, rules);
}

int wmk_session_kernel_check(struct wmk_session *session, const struct wmk_list *rules)
{
	char note[8];
	int err = 0;

	for (uint32_t i = 0; i < rules->n && err == 0; i++)
		err = wmk_kernel_rule_check(session, (const struct wmk_ctl_rule *)rules->items + i, note, sizeof(note));
	return err < 0 ? err : wmk_kernel_filters_fit(session->tracing, rules);
}
