/* SPDX-License-Identifier: MIT */
/*
 * folded.c - export spans and system calls as folded stacks, for flame graphs (flamegraph.pl, speedscope). stacks.h
 * describes how stacks and their times follow from records.
 *
 *     shop;order;pay 1200450           nanoseconds in `pay`, without the frames that it called
 *     shop;order;syscall:read 33120
 *
 * The output leaves out records without a context field for their thread.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "read/convert.h"
#include "read/stacks.h"

struct folded {
	struct wmk_read_stacks stacks;
	int64_t last;                  /* ns: the last record */
	uint64_t n_left_out;
	char remark[160];
};

/* (the state of a stream is the state of the form) */

static int folded_create(const char *directory, void **whole)
{
	struct folded *made = calloc(1, sizeof(*made));

	(void)directory;
	*whole = made;
	if (!made)
		return wmk_error(-ENOMEM, "no memory for stacks");
	wmk_read_stacks_begin(&made->stacks);
	return 0;
}

static void folded_free(void *whole)
{
	struct folded *folded = whole;

	wmk_read_stacks_free(&folded->stacks);
	free(folded);
}

static int folded_stream(void *whole, const struct wmk_read_stream *stream, void **state)
{
	(void)stream;
	*state = whole;
	return 0;
}

/* (the state of a stream is that of the form) */
static void folded_stream_free(void *state)
{
	(void)state;
}

static int folded_packet(void *state, struct wmk_read_stream *stream)
{
	struct folded *folded = state;

	if (stream->lost || stream->lost_packets)
		wmk_read_stacks_lost(&folded->stacks);
	return 0;
}

static int folded_record(void *state, struct wmk_read_stream *stream, struct wmk_print_text *out)
{
	const struct wmk_ctf_event_class *class = stream->record.event->class;
	struct wmk_read_thread_id who = { .cpu = WMK_READ_NOWHERE };
	struct folded *folded = state;
	int err;

	(void)out;
	if (wmk_read_has_time(stream))
		folded->last = stream->ns;
	if (!wmk_read_stacks_uses(class))
		return 0;
	err = wmk_read_thread_id_of_record(&who, stream);
	if (err < 0)
		return err;
	if (!who.has_tid || !wmk_read_has_time(stream)) {
		folded->n_left_out++;
		return 0;
	}
	return wmk_read_stacks_record(&folded->stacks, class, &who, stream->ns);
}

static int folded_end(void *whole, struct wmk_print_text *out)
{
	struct folded *folded = whole;

	wmk_read_stacks_end(&folded->stacks, folded->last);
	return wmk_read_stacks_put(&folded->stacks, out);
}

static const char *folded_remark(void *whole)
{
	struct folded *folded = whole;

	if (folded->n_left_out)
		snprintf(folded->remark, sizeof(folded->remark),
			 "begin and end records without a thread context or a time are omitted: %" PRIu64 " (record "
			 "with -c vpid -c vtid)",
			 folded->n_left_out);
	else if (!folded->stacks.n_nodes)
		snprintf(folded->remark, sizeof(folded->remark),
			 "no stacks: the trace has no spans (waymark_span()) and no system calls");
	return *folded->remark ? folded->remark : NULL;
}

const struct wmk_read_exporter wmk_read_folded = {
	.name = "folded",
	.create = folded_create,
	.end = folded_end,
	.remark = folded_remark,
	.free = folded_free,
	.stream = folded_stream,
	.stream_free = folded_stream_free,
	.wants_all_packets = true,
	.packet = folded_packet,
	.record = folded_record,
};
