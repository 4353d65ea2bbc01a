/* SPDX-License-Identifier: MIT */
/*
 * tsdl_fields.h - write the members of a structure as TSDL. Internal to src/ctf.
 */
#ifndef WMK_CTF_TSDL_FIELDS_H
#define WMK_CTF_TSDL_FIELDS_H

#include "ctf/writer.h"

/* Get the environment entries that each trace of Waymark contains; the function returns their number. */
#define WMK_CTF_ENV_FIXED 12u
unsigned wmk_ctf_env_fixed(const struct wmk_ctf_trace *trace, struct wmk_ctf_env env[WMK_CTF_ENV_FIXED]);

#define WMK_CTF_CONTEXTS_MAX 32
#define WMK_CTF_DEPTH_MAX 64       /* levels of nested types */

/*
 * Declare `n` fields, one per line, indented by `depth` tabs. The names of the fields are converted to unique
 * identifiers with the prefix '_'. After an error, `out` may contain a part of the fields.
 */
int wmk_ctf_put_fields(struct wmk_ctf_text_buffer *out, const struct wmk_field *fields, uint32_t n, unsigned depth);

#endif
