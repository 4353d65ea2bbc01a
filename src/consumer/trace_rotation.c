/* SPDX-License-Identifier: MIT */
/*
 * trace_rotation.c - rotations of a trace. If a full disk delays a rotation, the rotation is tried again in each drain
 * pass.
 *
 *     CUT ──► nothing beyond the cuts is written     ROTATE ──► trace->rotations ──chunk is open──► answered
 *                                                                     └─ disk full: stays; METADATA that replaces
 *                                                                        the file waits for the next chunk
 */
#include "consumer/trace_rotation.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "consumer/outputs.h"
#include "consumer/rotation.h"
#include "consumer/work.h"

static void answer_all(struct wmk_server_trace *trace, int err)
{
	while (trace->rotations) {
		struct wmk_server_work *work = trace->rotations;

		trace->rotations = work->next;
		wmk_server_work_finish(work, err);
	}
	trace->rotations_end = &trace->rotations;
}

void wmk_server_rotation_restore(struct wmk_server_trace *trace)
{
	trace->chunk = trace->is.chunk;
	snprintf(trace->closed, sizeof(trace->closed), "%s", trace->is.closed);
	trace->rotating = wmk_consumer_chunk_restore(trace->consumer, trace->closed, trace->chunk);
}

int wmk_server_rotation_continue(void *data)
{
	struct wmk_server_trace *trace = data;
	int err;

	if (!trace->rotating || !trace->rotations)
		return 0;
	err = wmk_consumer_rotate(trace->consumer, trace->closed, trace->chunk);
	if (err < 0 && err != -ENOTSUP) {
		wmk_error_clear();
		return err;
	}
	trace->rotating = false;
	answer_all(trace, err);
	return 0;
}

void wmk_server_rotation_add(struct wmk_server_work *work)
{
	struct wmk_server_trace *trace = work->trace;
	const struct wmk_consumerd_rotation *is = &work->rotation;

	if (!trace->out || !trace->out->ops->chunk) {
		wmk_server_work_finish(work, wmk_error(-ENOENT, "the trace %.240s is not open", trace->is.path));
		return;
	}
	if (trace->out->ops->chunk(trace->out) >= is->chunk) {
		wmk_server_work_finish(work, 0);
		return;
	}
	wmk_server_output_rotated(trace);
	trace->rotating = true;
	trace->chunk = is->chunk;
	snprintf(trace->closed, sizeof(trace->closed), "%s", is->closed);
	work->next = NULL;
	*trace->rotations_end = work;
	trace->rotations_end = &work->next;
	wmk_server_rotation_continue(trace);
}

void wmk_server_rotation_cancel(struct wmk_server_trace *trace)
{
	answer_all(trace, trace->rotations ? wmk_error(-ECANCELED, "the trace %.240s has ended", trace->is.path) : 0);
}
