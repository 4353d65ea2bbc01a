/* SPDX-License-Identifier: MIT */
/*
 * regenerate.c - the metadata of a session's traces, made anew from what is known: for a file that somebody damaged, or lost.
 */
#include "session/internal.h"

#include "base/error.h"
#include "ctf/writer.h"

#include <errno.h>

/* In RCU's read side: classes are not freed before the wmk_tracing, but the table may grow under us. */
static int events_text(const struct rings *rings, struct wmk_ctf_text *text)
{
	struct cds_lfht *classes = rings->session->tracing->classes;
	struct cds_lfht_iter iter;
	struct cds_lfht_node *node;
	int err = 0;

	urcu_memb_read_lock();
	cds_lfht_for_each(classes, &iter, node) {
		WMK_TELL_TSAN_ACQUIRE(node);
		const struct class *class = caa_container_of(node, struct class, node);

		if (err == 0 && class->kin == class->serial && class->kin < rings->n_ids && rings->ids[class->kin] != NO_ID)
			err = wmk_ctf_event_text(text, rings->channel->index, rings->ids[class->kin], class->event);
	}
	urcu_memb_read_unlock();
	return err;
}

static int trace_again(struct wmk_session *session, struct trace *trace)
{
	const struct wmk_outlet_ops *outlet = session->tracing->options.outlet;
	struct wmk_ctf_text text = { 0 };
	int err = wmk_trace_text(trace, session, &text);

	for (unsigned i = 0; i < session->n_channels && err >= 0; i++)
		if (trace->declared & 1ull << session->channels[i]->index)
			err = wmk_channel_text(session->channels[i], &text);
	for (const struct rings *rings = session->rings; rings && err >= 0; rings = rings->next)
		if (rings->trace == trace)
			err = events_text(rings, &text);
	if (err >= 0)
		err = outlet->metadata_replace(trace->outlet, text.text, text.len);
	wmk_ctf_text_free(&text);
	return err < 0 ? err : 0;
}

int wmk_session_regenerate_metadata(struct wmk_session *session)
{
	int first = 0;

	if (!session->tracing->options.outlet->metadata_replace)
		return wmk_error_said(-ENOTSUP, "metadata is not written anew here");
	for (struct trace *trace = session->traces; trace; trace = trace->next) {
		int err = trace_again(session, trace);

		if (err < 0 && first == 0)
			first = err;
	}
	return first;
}
