/* SPDX-License-Identifier: MIT */
/*
 * format_names.h - names of roles, scopes, encodings and log levels in CTF 1.8 and CTF 2, for readers and writers of
 * metadata.
 */
#ifndef WMK_CTF_FORMAT_NAMES_H
#define WMK_CTF_FORMAT_NAMES_H

#include "schema/schema.h"

/*
 * The names of a role in each format; NULL if the role has no name in this format. In CTF 1.8, the name of a field
 * gives its value a role in one scope (sections 5.1 and 5.2). In CTF 2, the field class names the role; each role is
 * valid in the same scope as in CTF 1.8 (sections 5.6.1 and 5.8.1).
 */
struct wmk_ctf_role_names {
	const char *tsdl, *ctf2;
	uint8_t scope;             /* enum wmk_scope */
};
extern const struct wmk_ctf_role_names wmk_ctf_roles[WMK_ROLES];

/* The TSDL names of scopes, indexed by enum wmk_scope; the name of WMK_SCOPE_NEAR is "". */
extern const char *const wmk_tsdl_scope_names[WMK_SCOPES];
/* The CTF 2 names of scopes, indexed by enum wmk_scope, from WMK_SCOPE_PACKET_HEADER; NULL ends the array. */
extern const char *const wmk_ctf2_origins[WMK_SCOPES];
/* The CTF 2 names of encodings, indexed by enum wmk_encoding; NULL ends the array. */
extern const char *const wmk_ctf2_encodings[];
/* By enum waymark_level. */
#define WMK_CTF2_LEVELS (WAYMARK_LEVEL_DEBUG + 1)
extern const char *const wmk_ctf2_levels[WMK_CTF2_LEVELS];

#endif
