/* SPDX-License-Identifier: MIT */
/*
 * peer_name.h - names of the peers of a relay: machines that send traces, and users that view them. The name of a
 * machine is also the directory of its traces at the relay.
 */
#ifndef WMK_BASE_PEER_NAME_H
#define WMK_BASE_PEER_NAME_H

#include <stdbool.h>
#include <string.h>

#define WMK_PEER_NAME_MAX 64       /* with the NUL; a certificate allows 64 characters in its CN */

/* True for 1 to 63 letters, digits, '-', '_' and '.', if the first character is neither '.' nor '-'. */
static inline bool wmk_peer_name_is_valid(const char *name)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
	const size_t len = strlen(name);

	return len > 0 && len < WMK_PEER_NAME_MAX && *name != '.' && *name != '-' && strspn(name, allowed) == len;
}

#endif
