/* SPDX-License-Identifier: MIT */
/* member_waymark.h - the events of member.c, made by Waymark. */
#include <string.h>
#include <waymark/trace.h>

#include "member_events.h"

#define MEMBER_EVENT(name) waymark(member, name, n, text);
#define MEMBER_EVENTS(n, text) MEMBER_NAMES(MEMBER_EVENT)
#define MEMBER_FLAG_BYTES sizeof(struct waymark_recorder *)

/* The first recorder of the last event: NULL while it is not enabled (detail/abi.h). */
static const void *member_flag(void)
{
	for (const struct waymark_site *site = __start_waymark_sites; site < __stop_waymark_sites; site++) {
		const struct waymark_desc *desc = (const void *)((const char *)&site->desc + site->desc);

		if (strcmp(desc->provider, "member") == 0 && strcmp(desc->name, "e31") == 0)
			return &desc->chain;
	}
	return NULL;
}

static int member_on(const void *flag)
{
	return __atomic_load_n((struct waymark_recorder *const *)flag, __ATOMIC_ACQUIRE) != NULL;
}
