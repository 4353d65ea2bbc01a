/* SPDX-License-Identifier: MIT */
/*
 * rewrite.h - write the metadata of a trace in the other version of the format. The bytes of streams stay unchanged, or
 * the functions of copy.h copy the streams field by field.
 *
 *     struct wmk_ctf_decoder ──wmk_ctf_rewrite_json()──► CTF 2, a sequence of JSON texts
 *       (operations: names,  ──wmk_ctf_rewrite_tsdl()──► CTF 1.8, TSDL
 *        places, roles)
 *
 * CTF 2 cannot express two properties of CTF 1.8. An option that no value selects needs a range in CTF 2; the option is
 * left out if no range is free (rewrite_field.c). CTF 2 cannot express the sign of a value with a role. CTF 1.8 cannot
 * express two kinds of properties. Properties that a reader does not need to decode records (media types, names of
 * bits) are left out and reported in `lost`. Properties that a reader needs to decode records cause the error -ENOTSUP,
 * and the message names the field. 1.8 cannot express four properties that records need: LEB128, characters of 16 and
 * 32 bits, a bit order other than the byte order, and roles without a name in 1.8.
 *
 * Errors are -ENOTSUP, -ENOMEM and -E2BIG (more than WMK_CTF_METADATA_MAX bytes), each with a cause chain. Any thread.
 */
#ifndef WMK_CTF_REWRITE_H
#define WMK_CTF_REWRITE_H

#include "ctf/decode.h"
#include "ctf/writer.h"

/* The properties that were left out or changed; each property has one bit. */
enum wmk_ctf_lost {
	WMK_CTF_LOST_FLAGS,        /* names of bits */
	WMK_CTF_LOST_MEDIA,        /* media types; a blob becomes an array of bytes */
	WMK_CTF_LOST_BOOL,         /* booleans become enumerations */
	WMK_CTF_LOST_OPTIONAL,     /* optional fields become variants */
	WMK_CTF_LOST_SELECTOR,     /* labels of a selector change */
	WMK_CTF_LOST_NAME,         /* names that are not identifiers */
	WMK_CTF_LOST_ROLE,         /* roles of a field, except the role that its name expresses */
	WMK_CTF_LOST_TRACE,        /* names of trace and streams */
	/*
	 * attributes (except the attributes of tsdl_unknown.h and tsdl_unknown_field.h), namespaces, unique ids of
	 * classes
	 */
	WMK_CTF_LOST_ATTRIBUTE,
	WMK_CTF_LOST_ORIGIN,       /* of clocks: accuracy, an id other than a UUID, an origin other than 1970 */
	/* mappings to a clock, if the field is a text, or if the name of the clock is too long */
	WMK_CTF_LOST_CLOCK,
	/* from 1.8: options that no value selects (rewrite_field.c selects some by a value) */
	WMK_CTF_LOST_OPTION,
	WMK_CTF_LOST_LABEL,        /* from 1.8: labels of values that do not exist without the sign of the number */
	WMK_CTF_LOST_TYPE,         /* both directions: `x := type;` in a block that has no such part */
	WMK_CTF_LOSTS
};

int wmk_ctf_rewrite_json(const struct wmk_ctf_decoder *decoder, struct wmk_ctf_text_buffer *out, uint32_t *lost);
int wmk_ctf_rewrite_tsdl(const struct wmk_ctf_decoder *decoder, struct wmk_ctf_text_buffer *out, uint32_t *lost);
/*
 * Write one part of the CTF 2 metadata, so that the caller can append this part to existing metadata. The decoder has
 * at most one stream class and one event class.
 */
enum wmk_ctf_part { WMK_CTF_PART_TRACE, WMK_CTF_PART_STREAM, WMK_CTF_PART_EVENT };
int wmk_ctf_rewrite_part(const struct wmk_ctf_decoder *decoder, enum wmk_ctf_part part,
			 struct wmk_ctf_text_buffer *out);

#endif
