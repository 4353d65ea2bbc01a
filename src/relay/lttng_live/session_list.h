/* SPDX-License-Identifier: MIT */
/*
 * session_list.h - the sessions below the root of a relay: each directory HOST/SESSION.
 */
#ifndef WMK_RELAY_SESSION_LIST_H
#define WMK_RELAY_SESSION_LIST_H

#include <stdint.h>

/* `id` identifies the session in all replies to all viewers. The caller closes `directory` after `one` has returned. */
typedef int wmk_session_visitor(void *data, uint64_t id, int directory, const char *host, const char *name);
/* Call `one` for each session, until `one` returns a value other than 0. Returns this value, or 0. */
int wmk_sessions_each(int root, wmk_session_visitor *one, void *data);

#endif
