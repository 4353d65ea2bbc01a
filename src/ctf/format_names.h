/* SPDX-License-Identifier: MIT */
/*
 * format_names.h - names that CTF 1.8 and CTF 2 give to roles, scopes, encodings and log levels: for the readers and
 * the writers of metadata.
 */
#ifndef WMK_CTF_FORMAT_NAMES_H
#define WMK_CTF_FORMAT_NAMES_H

#include "schema/schema.h"

/*
 * CTF 1.8 gives a value its role by its name (section 5.1, 5.2), in one scope; CTF 2 by a word in that scope (sections
 * 5.6.1 and 5.8.1). NULL: it has none.
 */
struct wmk_ctf_role_names {
	const char *tsdl, *ctf2;
	uint8_t scope;             /* enum wmk_scope */
};
extern const struct wmk_ctf_role_names wmk_ctf_roles[WMK_ROLES];

/* By enum wmk_scope: "trace.packet.header", ...; "" for WMK_SCOPE_NEAR. */
extern const char *const wmk_tsdl_scope_names[WMK_SCOPES];
/* By enum wmk_scope from WMK_SCOPE_PACKET_HEADER on; NULL at the end. */
extern const char *const wmk_ctf2_origins[WMK_SCOPES];
/* By enum wmk_encoding; NULL at the end. */
extern const char *const wmk_ctf2_encodings[];
/* By enum waymark_level. */
#define WMK_CTF2_LEVELS (WAYMARK_LEVEL_DEBUG + 1)
extern const char *const wmk_ctf2_levels[WMK_CTF2_LEVELS];

#endif
