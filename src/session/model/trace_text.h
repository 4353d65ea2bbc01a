/* SPDX-License-Identifier: MIT */
/* trace_text.h - the head of the metadata of a trace: of a session, or of a snapshot of it. */
#ifndef WMK_SESSION_TRACE_TEXT_H
#define WMK_SESSION_TRACE_TEXT_H

#include "session/model/session_model.h"

/* Make a random UUID. 0 or -errno with a cause chain. */
int wmk_trace_uuid_make(uint8_t uuid[16]);
/*
 * Values for the metadata of a snapshot, where they differ from the metadata of the session's trace: UUID, offset of
 * the clock, entries of the environment.
 */
#define WMK_TRACE_ENV_MAX 8u
struct wmk_trace_as {
	uint8_t uuid[16];
	struct wmk_clock clock;          /* clock of the session, with the offset measured now */
	struct wmk_ctf_env env[WMK_TRACE_ENV_MAX];
	unsigned n_env;
};
int wmk_trace_as_begin(const struct wmk_session *session, struct wmk_trace_as *as);
/* Add an entry to the environment; `text` NULL: a number. The strings are not copied. */
void wmk_trace_as_env(struct wmk_trace_as *as, const char *name, const char *text, int64_t number);
/* Append the head of the metadata. `as` NULL: the head describes the trace of the session. */
int wmk_trace_text(const struct trace *trace, const struct wmk_session *session, const struct wmk_trace_as *as,
		   struct wmk_ctf_text_buffer *text);
/*
 * Append the head of the metadata of a chunk: with the UUID, the clock offset and the environment entries of the chunk.
 */
int wmk_trace_chunk_text(const struct trace *trace, const struct wmk_session *session,
			 const struct wmk_session_chunk *chunk, struct wmk_ctf_text_buffer *text);

#endif
