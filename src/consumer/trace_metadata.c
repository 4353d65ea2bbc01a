/* SPDX-License-Identifier: MIT */
/*
 * trace_metadata.c - metadata that the session daemon sends: written before the next packet with records, or at the
 * next drain pass. The consumer daemon replies to the request only when the metadata is written. If the consumer daemon
 * crashes before the reply, the session daemon sends the request to the next consumer daemon.
 *
 *     METADATA ──► trace->metadata: work ─► work ─► work ──written──► answered
 *                                                      └─ disk full: stays, and packets wait
 */
#include "consumer/trace_metadata.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/testpoint.h"
#include "consumer/work.h"

/*
 * Return the last work item of the metadata that must be written together with the work item `first`. All parts of a
 * metadata replacement are written together. Returns NULL if at least one part of the replacement is missing.
 */
static const struct wmk_server_work *last_at_once(const struct wmk_server_work *first)
{
	if (!first->metadata.replace)
		return first;
	while (first && first->metadata.more)
		first = first->next;
	return first;
}

static int metadata_replace(struct wmk_server_trace *trace, const struct wmk_server_work *first,
			    const struct wmk_server_work *last)
{
	size_t len = 0;
	char *text;
	int err;

	for (const struct wmk_server_work *work = first; work != last->next; work = work->next)
		len += strlen(work->metadata.text);
	text = malloc(len + 1);
	if (!text)
		return wmk_error(-ENOMEM, "no memory for the metadata of %.240s", trace->is.path);
	len = 0;
	for (const struct wmk_server_work *work = first; work != last->next; work = work->next) {
		const size_t one = strlen(work->metadata.text);

		memcpy(text + len, work->metadata.text, one);
		len += one;
	}
	err = trace->out->ops->metadata_replace(trace->out, text, len);
	free(text);
	return err;
}

static void answer_through(struct wmk_server_trace *trace, const struct wmk_server_work *last, int err)
{
	struct wmk_server_work *work;

	do {
		work = trace->metadata;
		trace->metadata = work->next;
		if (!trace->metadata)
			trace->metadata_end = &trace->metadata;
		wmk_server_work_finish(work, err);
	} while (work != last);
}

static uint64_t open_chunk(const struct wmk_server_trace *trace)
{
	return trace->out->ops->chunk ? trace->out->ops->chunk(trace->out) : 0;
}

/* 0: written and answered, or refused with -ESTALE and answered; -EAGAIN: a part is missing; -errno: retried later. */
static int write_first(struct wmk_server_trace *trace)
{
	const struct wmk_server_work *first = trace->metadata, *last = last_at_once(first);
	const struct wmk_consumerd_metadata *is = &first->metadata;
	int err;

	if (!last)
		return -EAGAIN;
	if (is->chunk < open_chunk(trace)) {
		answer_through(trace, last, 0);
		return 0;
	}
	WMK_TESTPOINT(metadata_before_write);
	if (is->replace)
		err = metadata_replace(trace, first, last);
	else if (trace->gated)
		err = wmk_error(-ESTALE, "cannot append to the metadata of %.240s: it must be replaced first",
				trace->is.path);
	else
		err = trace->out->ops->metadata(trace->out, is->offset, is->text, strlen(is->text));
	if (err < 0 && err != -ESTALE)
		return err;
	trace->gated = err == -ESTALE;
	WMK_TESTPOINT(metadata_after_write);
	answer_through(trace, last, err);
	return 0;
}

int wmk_server_metadata_write(void *data)
{
	struct wmk_server_trace *trace = data;
	int err = 0;

	/* While a rotation is not finished, the metadata text waits for the next chunk. */
	while (trace->metadata && err >= 0 && !(trace->rotating && trace->metadata->metadata.chunk >= trace->chunk))
		err = write_first(trace);
	return err < 0 ? err : trace->gated ? -EAGAIN : 0;
}

void wmk_server_metadata_add(struct wmk_server_work *work)
{
	struct wmk_server_trace *trace = work->trace;

	if (!trace->out) {
		wmk_server_work_finish(work, wmk_error(-ENOENT, "the trace %.240s is not open", trace->is.path));
		return;
	}
	work->next = NULL;
	*trace->metadata_end = work;
	trace->metadata_end = &work->next;
	WMK_TESTPOINT(metadata_accepted);
	if (wmk_server_metadata_write(trace) < 0)
		wmk_error_clear();
}

void wmk_server_metadata_cancel(struct wmk_server_trace *trace)
{
	while (trace->metadata)
		answer_through(trace, trace->metadata,
			       wmk_error(-ECANCELED, "the trace %.240s has ended", trace->is.path));
}
