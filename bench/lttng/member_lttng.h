/* SPDX-License-Identifier: MIT */
/* member_lttng.h - the events of member.c, recorded by LTTng-UST. */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "member_provider.h"

#define MEMBER_EVENT(name) lttng_ust_tracepoint(member, name, n, text);
#define MEMBER_EVENTS(n, text) MEMBER_NAMES(MEMBER_EVENT)
#define MEMBER_FLAG_BYTES sizeof(lttng_ust_tracepoint_member___e31.state)

static const void *member_flag(void)
{
	return &lttng_ust_tracepoint_member___e31.state;
}

static int member_on(const void *flag)
{
	(void)flag;
	return lttng_ust_tracepoint_enabled(member, e31) != 0;
}
