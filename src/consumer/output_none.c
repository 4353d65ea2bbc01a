/* SPDX-License-Identifier: MIT */
/*
 * output_none.c - a trace that is not written: only snapshots read its rings. The trace accepts and drops metadata, and
 * also the packets that end the trace.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "consumer/output.h"

static int none_metadata(struct wmk_output_trace *trace, uint64_t offset, const char *text, size_t len)
{
	(void)trace;
	(void)offset;
	(void)text;
	(void)len;
	return 0;
}

static int none_metadata_replace(struct wmk_output_trace *trace, const char *text, size_t len)
{
	(void)trace;
	(void)text;
	(void)len;
	return 0;
}

static int none_stream_open(struct wmk_output_trace *trace, const char *name, const struct wmk_store_limits *limits,
			    struct wmk_output_stream **stream)
{
	(void)name;
	(void)limits;
	*stream = (struct wmk_output_stream *)trace;     /* the stream has no state */
	return 0;
}

static int none_write(struct wmk_output_stream *stream, const struct wmk_ctf_packet *head,
		      const struct wmk_packet *packet)
{
	(void)stream;
	(void)head;
	(void)packet;
	return 0;
}

static int none_stream_close(struct wmk_output_stream *stream)
{
	(void)stream;
	return 0;
}

static int none_stream_remove(struct wmk_output_trace *trace, const char *name, const struct wmk_store_limits *limits)
{
	(void)trace;
	(void)name;
	(void)limits;
	return 0;
}

static void none_close(struct wmk_output_trace *trace)
{
	free(trace);
}

static const struct wmk_output_trace_ops none_ops = {
	.metadata = none_metadata,
	.metadata_replace = none_metadata_replace,
	.stream_open = none_stream_open,
	.write = none_write,
	.stream_close = none_stream_close,
	.stream_remove = none_stream_remove,
	.close = none_close,
};

int wmk_output_none_trace(struct wmk_output_trace **trace)
{
	struct wmk_output_trace *made = calloc(1, sizeof(*made));

	if (!made)
		return wmk_error(-ENOMEM, "no memory for a trace");
	made->ops = &none_ops;
	*trace = made;
	return 0;
}
