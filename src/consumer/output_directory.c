/* SPDX-License-Identifier: MIT */
/*
 * output_directory.c - a trace directory as a sink: a packet is one pwritev(), header in the sub-buffer's own room
 * where there is one.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "consumer/consumer.h"
#include "store/store.h"

struct directory_sink {
	struct wmk_output_trace sink;
	struct wmk_store *store;   /* the caller's */
	uint8_t uuid[16];
};

struct wmk_output_stream {
	struct directory_sink *sink;
	struct wmk_store_stream *file;
};

static int directory_stream_open(struct wmk_output_trace *sink, const char *name, const struct wmk_store_limits *limits,
				 struct wmk_output_stream **stream)
{
	struct wmk_output_stream *made = calloc(1, sizeof(*made));
	int err;

	if (!made)
		return wmk_error(-ENOMEM, "no memory for stream %.100s", name);
	made->sink = (struct directory_sink *)sink;
	err = wmk_store_stream_create(made->sink->store, name, limits, &made->file);
	if (err < 0) {
		free(made);
		return err;
	}
	*stream = made;
	return 0;
}

static int directory_stream_resume(struct wmk_output_trace *sink, const char *name, const struct wmk_store_limits *limits,
				   struct wmk_output_stream **stream, struct wmk_ctf_packet *last)
{
	struct wmk_output_stream *made = calloc(1, sizeof(*made));
	int found;

	if (!made)
		return wmk_error(-ENOMEM, "no memory for stream %.100s", name);
	made->sink = (struct directory_sink *)sink;
	found = wmk_store_stream_open(made->sink->store, name, limits, made->sink->uuid, &made->file, last);
	if (found < 0)
		free(made);
	else
		*stream = made;
	return found;
}

static int directory_write(struct wmk_output_stream *stream, const struct wmk_ctf_packet *given,
			   const struct wmk_packet *packet)
{
	static const uint8_t zeros[WMK_CTF_PAD_MAX + 8];
	uint8_t own[WMK_CTF_PACKET_ROOM], *room = packet->room ? packet->room : own;
	struct wmk_ctf_packet head = *given;
	struct iovec iov[3];
	size_t pad;
	int n = 0;

	wmk_store_stream_pressure(stream->file, packet->pressure);
	wmk_store_stream_place(stream->file, &head);
	wmk_ctf_packet_encode(room, stream->sink->uuid, &head);
	iov[n++] = (struct iovec){ room, WMK_CTF_PACKET_ROOM };
	if (packet->room)
		iov[0].iov_len += packet->len;
	else if (packet->len)
		iov[n++] = (struct iovec){ (void *)(uintptr_t)packet->data, packet->len };
	pad = (size_t)(wmk_ctf_packet_size(&head) - WMK_CTF_PACKET_ROOM) - packet->len;
	if (pad)
		iov[n++] = (struct iovec){ (void *)(uintptr_t)zeros, pad };
	return wmk_store_stream_append(stream->file, iov, n, &head);
}

static int directory_amend(struct wmk_output_stream *stream, uint64_t lost)
{
	return wmk_store_stream_amend(stream->file, lost);
}

static int directory_stream_check(const struct wmk_output_stream *stream)
{
	return wmk_store_stream_check(stream->file);
}

static int directory_stream_close(struct wmk_output_stream *stream)
{
	int err = wmk_store_stream_close(stream->file);

	free(stream);
	return err;
}

static int directory_stream_remove(struct wmk_output_trace *sink, const char *name, const struct wmk_store_limits *limits)
{
	return wmk_store_stream_remove(((struct directory_sink *)sink)->store, name, limits);
}

static uint64_t directory_stream_bytes(const struct wmk_output_stream *stream)
{
	return wmk_store_stream_bytes(stream->file);
}

/* A comment in the metadata: every reader skips it, every person finds it. */
static void directory_note(struct wmk_output_trace *sink, const char *words)
{
	if (wmk_store_remark(((struct directory_sink *)sink)->store, words) < 0)
		wmk_error_clear();
}

static uint64_t directory_bytes(struct wmk_output_trace *sink)
{
	return wmk_store_bytes(((struct directory_sink *)sink)->store);
}

static void directory_close(struct wmk_output_trace *sink)
{
	free(sink);
}

const struct wmk_output_trace_ops wmk_output_directory_ops = {
	.stream_open = directory_stream_open,
	.stream_resume = directory_stream_resume,
	.write = directory_write,
	.amend = directory_amend,
	.stream_check = directory_stream_check,
	.stream_close = directory_stream_close,
	.stream_remove = directory_stream_remove,
	.stream_bytes = directory_stream_bytes,
	.note = directory_note,
	.bytes = directory_bytes,
	.close = directory_close,
};

int wmk_output_directory_trace(struct wmk_store *store, const uint8_t uuid[16], struct wmk_output_trace **sink)
{
	struct directory_sink *made = calloc(1, sizeof(*made));

	if (!made)
		return wmk_error(-ENOMEM, "no memory to write a trace");
	made->sink.ops = &wmk_output_directory_ops;
	made->store = store;
	memcpy(made->uuid, uuid, sizeof(made->uuid));
	*sink = &made->sink;
	return 0;
}
