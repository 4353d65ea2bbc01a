/* SPDX-License-Identifier: MIT */
/*
 * ctf2_writer.h - what we record, declared in CTF 2. Internal to src/ctf: writer.h's functions call these where a trace
 * is to be of that version.
 *
 *     struct wmk_event_class ──► types as a reader has them (class.h) ──compile──► rewrite.h ──► a fragment of JSON
 *
 * The records are the same bytes as in 1.8. What 1.8 says by comments and helpers is said as such here: booleans, names
 * of bits, media types, what may be there or not.
 */
#ifndef WMK_CTF_CTF2_WRITER_H
#define WMK_CTF_CTF2_WRITER_H

#include "ctf/writer.h"

int wmk_ctf2_put_trace(struct wmk_ctf_text_buffer *out, const struct wmk_ctf_trace *trace);
int wmk_ctf2_put_stream(struct wmk_ctf_text_buffer *out, uint32_t id, const struct wmk_field *contexts,
			unsigned n_contexts);
int wmk_ctf2_put_event(struct wmk_ctf_text_buffer *out, uint32_t stream_id, uint32_t event_id,
		      const struct wmk_event_class *event);

#endif
