/* SPDX-License-Identifier: MIT */
/* rings.h - traces and rings of a session. */
#ifndef WMK_SESSION_RINGS_H
#define WMK_SESSION_RINGS_H

#include "session/model/session_model.h"

/*
 * The channel's rings for this application, made if they do not exist; a reference is the session's. Locked. NULL with
 * a cause chain, reported once.
 */
struct rings *wmk_rings_for(struct wmk_session_channel *channel, const struct app_key *app);
struct rings *wmk_rings_of_user(struct wmk_session_channel *channel, uid_t uid);
/* Of kernel channels, whatever programs record: made if need be. Locked. NULL with a cause chain. */
struct trace *wmk_trace_of_kernel(struct wmk_session *session);
void wmk_rings_user(const struct rings *rings, const struct app_key *app);  /* it can write there; locked */
/* Pieces of making rings: the set's uuid; the stream class in the metadata. */
int wmk_rings_uuid(struct rings *rings);
int wmk_rings_declare_stream(const struct rings *rings);
/* The class's id in these rings, declared if need be. NO_ID: it cannot be. Locked. */
uint32_t wmk_rings_id(struct rings *rings, struct class *class);
static inline bool wmk_rings_has_id(const struct rings *rings, const struct class *class)
{
	return class->kin < rings->n_ids && rings->ids[class->kin] != NO_ID;
}
/* Ids for all of these that have none, in one piece of metadata: all of them or none, and -errno with a cause chain. */
int wmk_rings_declare(struct rings *rings, struct class *const *classes, uint32_t n);
/* As an earlier daemon gave it. */
int wmk_rings_id_restore(struct rings *rings, const struct class *class, uint32_t id);
/* Pieces of making them, for those that are there already. */
int wmk_trace_open_here(struct wmk_session *session, struct trace *trace, bool restored);
int wmk_rings_open_here(struct rings *rings, bool restored);
struct rings *wmk_rings_alloc(struct wmk_session_channel *channel, struct trace *trace, uint32_t stream_id);
void wmk_rings_link(struct rings **list, struct rings *rings);
/* What a set of these rings has; n_cpus 0, no uuid. */
void wmk_rings_geometry(const struct rings *rings, struct waymark_ring_options *options);
void wmk_rings_get(struct rings *rings);
void wmk_rings_put(struct rings *rings);
/* Does it have rings that applications hold and have not handed back? Locked. */
bool wmk_trace_awaited(const struct trace *trace);
int wmk_trace_text(const struct trace *trace, const struct wmk_session *session, struct wmk_ctf_text_buffer *text);
/* Open the trace at the outlet if it is not: one of an earlier daemon. Locked. */
int wmk_trace_ensure_open(struct trace *trace);
/* Of rings in a file, when they are over: its name goes. */
void wmk_rings_file_remove(const struct rings *rings);

#endif
