/* SPDX-License-Identifier: MIT */
/*
 * ctf2_writer.h - declare our own traces in CTF 2. Internal to src/ctf: the functions of writer.h call these functions
 * if the trace has the format CTF 2.
 *
 *     struct wmk_event_class ──► types as a reader has them (class.h) ──compile──► rewrite.h ──► a fragment of JSON
 *
 * The bytes of records are the same in CTF 2 and in CTF 1.8. 1.8 expresses booleans, names of bits, media types and
 * optional fields by comments and helper fields. CTF 2 expresses booleans, names of bits, media types and optional
 * fields with properties of field classes.
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
