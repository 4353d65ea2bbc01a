/* SPDX-License-Identifier: MIT */
/*
 * relay_list.h - the connections to relays in the reply to LIST_SESSIONS. The session daemon queries the state of the
 * connections from the consumer daemons.
 */
#ifndef WMK_SESSIOND_RELAY_LIST_H
#define WMK_SESSIOND_RELAY_LIST_H

#include "sessiond/command.h"
#include "wire/ctl.h"

/*
 * Add relay connections to the reply: those of the sessions in the reply, and those of all destroyed sessions that the
 * client may see. 0 or -ENOMEM.
 */
int wmk_relay_list(const struct wmk_commands *commands, const struct wmk_peer *peer, struct wmk_ctl_sessions *reply,
		   struct wmk_arena *arena);

#endif
