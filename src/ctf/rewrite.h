/* SPDX-License-Identifier: MIT */
/*
 * rewrite.h - the metadata of a trace that was read, in the other version of the format: for the same bytes. Its
 * streams are copied as they are (or field by field, bits.h), what is said of them is said in other words.
 *
 *     struct wmk_ctf_decoder ──wmk_ctf_rewrite_json()──► CTF 2, a sequence of JSON texts
 *       (operations: names,  ──wmk_ctf_rewrite_tsdl()──► CTF 1.8, TSDL
 *        places, roles)
 *
 * CTF 2 can say all that 1.8 can, but for some options that no value selects, and the sign of what has a role. What 1.8
 * cannot say is of two kinds: things that no record needs (media types, names of bits), which are left out and counted
 * in `lost`; and bytes that none of its types describes (LEB128, texts of 16 and 32 bits a character, bits in another
 * order than bytes), or whose meaning records need and it has no name for, -ENOTSUP with words that name the field.
 *
 * Errors: -ENOTSUP, -ENOMEM, -E2BIG (more than WMK_CTF_METADATA_MAX bytes), with a cause chain. Any thread.
 */
#ifndef WMK_CTF_REWRITE_H
#define WMK_CTF_REWRITE_H

#include "ctf/decode.h"
#include "ctf/writer.h"

/* What was left out, or changed, one bit each. */
enum wmk_ctf_lost {
	WMK_CTF_LOST_FLAGS,        /* names of bits */
	WMK_CTF_LOST_MEDIA,        /* media types; a blob is an array of bytes */
	WMK_CTF_LOST_BOOL,         /* booleans are enumerations */
	WMK_CTF_LOST_OPTIONAL,     /* what may be there or not is a variant */
	WMK_CTF_LOST_SELECTOR,     /* what selects has other labels */
	WMK_CTF_LOST_NAME,         /* names that are no identifiers */
	WMK_CTF_LOST_ROLE,         /* of a field's roles all but the one that its name tells */
	WMK_CTF_LOST_TRACE,        /* the names of trace and streams */
	/*
	 * what CTF 2 says of classes beside: attributes (but for those of tsdl_unknown.h and tsdl_unknown_field.h),
	 * namespaces, unique ids
	 */
	WMK_CTF_LOST_ATTRIBUTE,
	WMK_CTF_LOST_ORIGIN,       /* of clocks: accuracy, an id that is no UUID, an origin that is not 1970 */
	/* that a field is a value of a clock: a text's bytes, or the clock's name is too long */
	WMK_CTF_LOST_CLOCK,
	WMK_CTF_LOST_OPTION,       /* of 1.8: options that no value selects (rewrite_field.c gives some one) */
	WMK_CTF_LOST_LABEL,        /* of 1.8: labels of values that a number has not when it has lost its sign */
	WMK_CTF_LOST_TYPE,         /* either: `x := type;` in a block that has no such part */
	WMK_CTF_LOSTS
};

int wmk_ctf_rewrite_json(const struct wmk_ctf_decoder *decoder, struct wmk_ctf_text_buffer *out, uint32_t *lost);
int wmk_ctf_rewrite_tsdl(const struct wmk_ctf_decoder *decoder, struct wmk_ctf_text_buffer *out, uint32_t *lost);
/*
 * Of a decoder with one stream class and one event class at most: a part of its CTF 2 alone, for metadata that grows.
 */
enum wmk_ctf_part { WMK_CTF_PART_TRACE, WMK_CTF_PART_STREAM, WMK_CTF_PART_EVENT };
int wmk_ctf_rewrite_part(const struct wmk_ctf_decoder *decoder, enum wmk_ctf_part part,
			 struct wmk_ctf_text_buffer *out);

#endif
