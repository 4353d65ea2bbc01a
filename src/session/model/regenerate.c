/* SPDX-License-Identifier: MIT */
/*
 * regenerate.c - write the metadata of a session's traces again from the daemon's own data.
 *
 * The metadata is regenerated if a metadata file was damaged or lost, and after a restart. A session daemon writes each
 * id to the state (state_file.h) and declares the id in the metadata, in either order. A previous daemon that was
 * killed may therefore have left an id only in the state or only in the metadata.
 */
#include "session/model/regenerate.h"

#include "base/error.h"
#include "ctf/writer.h"
#include "session/model/class_table.h"
#include "session/model/ring_layout.h"
#include "session/model/rings.h"
#include "session/model/trace_text.h"

#include <errno.h>

/*
 * The function holds the RCU read lock, because other threads may add classes to the table. The classes themselves
 * exist as long as the wmk_tracing exists.
 */
static int events_text(const struct rings *rings, struct wmk_ctf_text_buffer *text)
{
	struct cds_lfht *classes = rings->session->tracing->classes;
	struct cds_lfht_iter iter;
	struct cds_lfht_node *node;
	int err = 0;

	urcu_memb_read_lock();
	cds_lfht_for_each(classes, &iter, node) {
		WMK_TSAN_ACQUIRE(node);
		const struct class *class = wmk_container_of(node, struct class, node);

		if (err == 0 && class->kin == class->serial && class->kin < rings->n_ids &&
		    rings->ids[class->kin] != NO_ID)
			err = wmk_ctf_event_text(text, wmk_session_version(rings->session), rings->stream_id,
						 rings->ids[class->kin], class->event);
	}
	urcu_memb_read_unlock();
	return err;
}

/* The function also sets bit N of *declared if the text declares the first stream class of channel N. */
static int rings_text(const struct rings *list, const struct trace *trace, struct wmk_ctf_text_buffer *text,
		      uint64_t *declared)
{
	int err = 0;

	for (const struct rings *rings = list; rings && err >= 0; rings = rings->next) {
		if (rings->trace != trace)
			continue;
		err = wmk_rings_text(rings, text);
		if (rings->stream_id < WMK_CHANNEL_STREAMS)
			*declared |= 1ull << rings->stream_id;
		if (err >= 0)
			err = events_text(rings, text);
	}
	return err;
}

int wmk_trace_body_text(const struct trace *trace, struct wmk_ctf_text_buffer *text, uint64_t *declared)
{
	const struct wmk_session *session = trace->session;
	int err;

	*declared = 0;
	err = rings_text(session->rings, trace, text, declared);
	return err < 0 ? err : rings_text(session->awaited, trace, text, declared);
}

static int regenerate_before(const struct trace *trace)
{
	const struct wmk_session *session = trace->session;
	const struct wmk_consumer_port_ops *consumer = session->tracing->options.consumer;
	struct wmk_session_chunk chunk = session->chunk;
	struct wmk_ctf_text_buffer text = { 0 };
	uint64_t declared;

	chunk.number--;
	chunk.overlap_ns = chunk.before.overlap_ns;
	chunk.offset_s = chunk.before.offset_s;
	chunk.offset = chunk.before.offset;
	int err = wmk_trace_chunk_text(trace, session, &chunk, &text);

	if (err >= 0)
		err = wmk_trace_body_text(trace, &text, &declared);
	if (err >= 0)
		err = consumer->metadata_before(trace->output, text.text, text.len);
	wmk_ctf_text_free(&text);
	return err < 0 ? err : 0;
}

int wmk_trace_restore_metadata(struct trace *trace)
{
	const struct wmk_session *session = trace->session;
	int err = 0;

	if (session->chunk.closing && session->chunk.number && session->tracing->options.consumer->metadata_before)
		err = regenerate_before(trace);
	return err < 0 ? err : wmk_trace_regenerate(trace, false);
}

int wmk_trace_regenerate(struct trace *trace, bool wait)
{
	struct wmk_session *session = trace->session;
	const struct wmk_consumer_port_ops *consumer = session->tracing->options.consumer;
	struct wmk_ctf_text_buffer text = { 0 };
	uint64_t declared;
	int err = wmk_trace_chunk_text(trace, session, &session->chunk, &text);

	if (err >= 0)
		err = wmk_trace_body_text(trace, &text, &declared);
	if (err >= 0)
		err = consumer->metadata_replace(trace->output, text.text, text.len, wait);
	if (err >= 0)
		trace->declared = declared;
	wmk_ctf_text_free(&text);
	return err < 0 ? err : 0;
}

void wmk_session_metadata_stale(struct wmk_session *session)
{
	for (struct trace *trace = session->traces; trace; trace = trace->next)
		if (trace->output && wmk_trace_regenerate(trace, false) < 0)
			wmk_error_clear();
}

int wmk_session_regenerate_metadata(struct wmk_session *session)
{
	int first = 0;

	if (!session->tracing->options.consumer->metadata_replace)
		return wmk_errorx(-ENOTSUP, "this trace output cannot replace its metadata");
	for (struct trace *trace = session->traces; trace; trace = trace->next) {
		int err = wmk_trace_ensure_open(trace);

		if (err == 0)
			err = wmk_trace_regenerate(trace, true);
		if (err < 0 && first == 0)
			first = err;
	}
	return first;
}
