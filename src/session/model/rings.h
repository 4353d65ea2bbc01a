/* SPDX-License-Identifier: MIT */
/* rings.h - traces and rings of a session. */
#ifndef WMK_SESSION_RINGS_H
#define WMK_SESSION_RINGS_H

#include "session/model/session_model.h"

/*
 * Return the channel's rings for this application; the function creates the rings if needed. The session holds the
 * reference. Locked. NULL with a cause chain; the session reports the first error.
 */
struct rings *wmk_rings_for(struct wmk_session_channel *channel, const struct app_key *app);
struct rings *wmk_rings_of_user(struct wmk_session_channel *channel, uid_t uid);
/*
 * Return the trace of the session's kernel channels; the function creates the trace if needed. Locked. NULL with a
 * cause chain.
 */
struct trace *wmk_trace_of_kernel(struct wmk_session *session);
/* name the application in reports of a corrupt ring; locked */
void wmk_rings_user(const struct rings *rings, const struct app_key *app);
/* The two steps that create rings: make the uuid of the set, and declare the stream class in the metadata. */
int wmk_rings_uuid(struct rings *rings);
int wmk_rings_declare_stream(const struct rings *rings);
/*
 * Return the id of the class in these rings; the function assigns and declares an id if needed. NO_ID: no id could be
 * declared. Locked.
 */
uint32_t wmk_rings_id(struct rings *rings, struct class *class);
static inline bool wmk_rings_has_id(const struct rings *rings, const struct class *class)
{
	return class->kin < rings->n_ids && rings->ids[class->kin] != NO_ID;
}
/*
 * Assign ids to all classes without an id, and declare these ids in one piece of metadata. After an error, no class has
 * a new id. 0 or -errno with a cause chain.
 */
int wmk_rings_declare(struct rings *rings, struct class *const *classes, uint32_t n);
/* Set an id that an earlier daemon assigned. */
int wmk_rings_id_restore(struct rings *rings, const struct class *class, uint32_t id);
/*
 * Single steps of creating or restoring traces and rings. wmk_trace_open_here() and wmk_rings_open_here() open an
 * existing trace or existing rings at the consumer.
 */
int wmk_trace_open_here(struct wmk_session *session, struct trace *trace, bool restored);
int wmk_rings_open_here(struct rings *rings, bool restored);
struct rings *wmk_rings_alloc(struct wmk_session_channel *channel, struct trace *trace, uint32_t stream_id);
void wmk_rings_link(struct rings **list, struct rings *rings);
/* Store in *options the geometry of a ring set for the rings; n_cpus is 0, and the uuid is not set. */
void wmk_rings_geometry(const struct rings *rings, struct waymark_ring_options *options);
void wmk_rings_get(struct rings *rings);
void wmk_rings_put(struct rings *rings);
/* True if the session waits for rings of the trace that no application has reattached yet. Locked. */
bool wmk_trace_awaited(const struct trace *trace);
/* Open a restored trace at the trace output if it is not open yet. Locked. */
int wmk_trace_ensure_open(struct trace *trace);
/* Remove the file of rings that have ended. */
void wmk_rings_file_remove(const struct rings *rings);

#endif
