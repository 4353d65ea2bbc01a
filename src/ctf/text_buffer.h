/* SPDX-License-Identifier: MIT */
/*
 * text_buffer.h - growing text for the metadata, and the three ways in which foreign words get into it: quoted, as an
 * identifier, as a comment. Internal to src/ctf.
 */
#ifndef WMK_CTF_TEXT_BUFFER_H
#define WMK_CTF_TEXT_BUFFER_H

#include <stddef.h>

#include "ctf/writer.h"

/* Appends; a failure sticks in out->err. */
void wmk_ctf_put(struct wmk_ctf_text_buffer *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* `words` in double quotes, so that no byte of it can end the string; what is not UTF-8 becomes U+FFFD. NULL: "". */
void wmk_ctf_put_quoted(struct wmk_ctf_text_buffer *out, const char *words);
/* An entry of a block: `NAME = "words";` on a line of its own, indented by a tab. */
void wmk_ctf_put_entry(struct wmk_ctf_text_buffer *out, const char *name, const char *words);
/* A label of an enumeration, with the range of its values: `"label" = 1 ... 2`, behind the label before it. */
void wmk_ctf_put_range(struct wmk_ctf_text_buffer *out, const char *label, uint64_t from, uint64_t to, bool is_signed,
		       bool is_first);
/* Indent by tabs. */
void wmk_ctf_put_indent(struct wmk_ctf_text_buffer *out, unsigned depth);
/* Take back what was appended after `len`. */
void wmk_ctf_text_cut(struct wmk_ctf_text_buffer *out, size_t len);

/* Longest identifier that is made of a name: WMK_NAME_MAX bytes, a prefix, a suffix. */
#define WMK_CTF_IDENT 320

/* `prefix`, `name` with every byte that may not stand in an identifier turned into '_', `suffix`. */
void wmk_ctf_ident(char ident[WMK_CTF_IDENT], const char *prefix, const char *name, const char *suffix);

#endif
