/* SPDX-License-Identifier: MIT */
/* packet_parts.c - packets that are written in parts (see packet_parts.h). */
#include "store/packet_parts.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "store/store_state.h"

static int write_at(struct wmk_store_parts *parts, const void *bytes, size_t len)
{
	const struct iovec iov = { (void *)(uintptr_t)bytes, len };
	const struct wmk_store_stream *stream = parts->stream;
	int err = wmk_store_write_whole(stream->fd, &iov, 1, parts->at);

	if (err < 0)
		return wmk_error(err, "cannot write stream %.60s in %.60s: %s", stream->name, stream->store->path,
				 strerror(-err));
	parts->at += len;
	return 0;
}

int wmk_store_parts_begin(struct wmk_store_parts *parts, struct wmk_store_stream *stream, const uint8_t uuid[16],
			  const struct wmk_ctf_packet *packet)
{
	uint8_t head[WMK_CTF_PACKET_ROOM];
	int err;

	*parts = (struct wmk_store_parts){ .packet = *packet };
	wmk_store_stream_prepare(stream, &parts->packet);
	if (stream->full || stream->store->budget)
		return 1;
	err = packet->content ? wmk_store_check_free(stream->store, wmk_ctf_packet_size(&parts->packet) +
						     WMK_CTF_INDEX_ENTRY)
			      : 0;
	if (err < 0)
		return err;
	parts->stream = stream;
	parts->at = stream->len;
	wmk_ctf_packet_encode(head, uuid, &parts->packet);
	return write_at(parts, head, sizeof(head));
}

int wmk_store_parts_write(struct wmk_store_parts *parts, const void *bytes, size_t len)
{
	return write_at(parts, bytes, len);
}

int wmk_store_parts_end(struct wmk_store_parts *parts)
{
	uint8_t end[WMK_CTF_END_MAX];
	int err = write_at(parts, end, wmk_ctf_packet_end(end, &parts->packet));

	if (err < 0)
		return err;
	wmk_store_packet_written(parts->stream, &parts->packet);
	parts->stream = NULL;
	return 0;
}

void wmk_store_parts_cancel(struct wmk_store_parts *parts)
{
	struct wmk_store_stream *stream = parts->stream;

	/*
	 * If the truncation fails, either the next packet overwrites the cancelled packet, or the next open of the
	 * stream truncates the file.
	 */
	if (stream && ftruncate(stream->fd, (off_t)stream->len) < 0)
		wmk_error_clear();
	parts->stream = NULL;
}
