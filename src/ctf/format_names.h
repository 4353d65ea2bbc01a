/* SPDX-License-Identifier: MIT */
/*
 * format_names.h - names of roles, scopes, encodings and log levels in CTF 1.8 and CTF 2, for readers and writers of
 * metadata.
 */
#ifndef WMK_CTF_FORMAT_NAMES_H
#define WMK_CTF_FORMAT_NAMES_H

#include "schema/schema.h"

/*
 * Names of a role, NULL: none. In CTF 1.8 the name of a field gives its value a role, in one scope (sections 5.1 and
 * 5.2). In CTF 2 the field class names the role; each role is valid in the same scope as in CTF 1.8 (sections 5.6.1 and
 * 5.8.1).
 */
struct wmk_ctf_role_names {
	const char *tsdl, *ctf2;
	uint8_t scope;             /* enum wmk_scope */
};
extern const struct wmk_ctf_role_names wmk_ctf_roles[WMK_ROLES];

/* By enum wmk_scope: "trace.packet.header", ...; "" for WMK_SCOPE_NEAR. */
extern const char *const wmk_tsdl_scope_names[WMK_SCOPES];
/* By enum wmk_scope from WMK_SCOPE_PACKET_HEADER; ends with NULL. */
extern const char *const wmk_ctf2_origins[WMK_SCOPES];
/* By enum wmk_encoding; ends with NULL. */
extern const char *const wmk_ctf2_encodings[];
/* By enum waymark_level. */
#define WMK_CTF2_LEVELS (WAYMARK_LEVEL_DEBUG + 1)
extern const char *const wmk_ctf2_levels[WMK_CTF2_LEVELS];

#endif
