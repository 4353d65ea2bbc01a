/* SPDX-License-Identifier: MIT */
/*
 * text_buffer.h - growing text for the metadata, and three ways to add foreign text: quoted, as an identifier, as a
 * comment. Internal to src/ctf.
 */
#ifndef WMK_CTF_TEXT_BUFFER_H
#define WMK_CTF_TEXT_BUFFER_H

#include <stddef.h>

#include "ctf/writer.h"

/* Append text to `out`; out->err keeps an error. */
void wmk_ctf_put(struct wmk_ctf_text_buffer *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Append `words` in double quotes, and escape every byte that could end the string. Invalid UTF-8 becomes U+FFFD. */
void wmk_ctf_put_quoted(struct wmk_ctf_text_buffer *out, const char *words);
/* Append an entry of a block: `NAME = "words";` on its own line, indented by a tab. */
void wmk_ctf_put_entry(struct wmk_ctf_text_buffer *out, const char *name, const char *words);
/*
 * Append a label of an enumeration with its range, after a comma unless `is_first`:
 *
 *     "label" = 1 ... 2
 */
void wmk_ctf_put_range(struct wmk_ctf_text_buffer *out, const char *label, uint64_t from, uint64_t to, bool is_signed,
		       bool is_first);
/* Indent by tabs. */
void wmk_ctf_put_indent(struct wmk_ctf_text_buffer *out, unsigned depth);
/* Remove everything after `len`. */
void wmk_ctf_text_cut(struct wmk_ctf_text_buffer *out, size_t len);

/* Longest identifier that wmk_ctf_ident() makes: a name of WMK_NAME_MAX bytes, a prefix and a suffix. */
#define WMK_CTF_IDENT 320

/* Join `prefix`, `name` and `suffix`, and replace each byte of `name` that is not allowed in an identifier by '_'. */
void wmk_ctf_ident(char ident[WMK_CTF_IDENT], const char *prefix, const char *name, const char *suffix);

#endif
