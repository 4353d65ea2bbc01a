/* SPDX-License-Identifier: MIT */
/*
 * output_directory_streams.c - the streams of a directory, which may be the spool of a relay. If the sub-buffer has a
 * header_room, the packet header is in the header_room, directly before the records.
 */
#include "consumer/output_directory_streams.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "store/spool.h"

/* ── spools ──────────────────────────────────────────────────────────────────────────────────────────── */

bool wmk_directory_is_spool(const struct directory_trace *trace)
{
	return trace->output && trace->output->is.spool_file_size;
}

/* Wake the sender. */
void wmk_directory_changed(const struct directory_trace *trace, bool look)
{
	if (wmk_directory_is_spool(trace))
		trace->output->is.changed(trace->output->is.data, look);
}

/*
 * Return the limits of the files of a stream. For a spool, the function stores the limits of spool files in *spool and
 * returns `spool`. Otherwise the function returns `limits`.
 */
const struct wmk_store_limits *wmk_directory_limits(const struct directory_trace *trace,
						const struct wmk_store_limits *limits, struct wmk_store_limits *spool)
{
	if (!wmk_directory_is_spool(trace))
		return limits;
	*spool = (struct wmk_store_limits){ .size = trace->output->is.spool_file_size };
	return spool;
}

/* ── streams ─────────────────────────────────────────────────────────────────────────────────────────── */

int wmk_directory_stream_open(struct wmk_output_trace *trace, const char *name,
				 const struct wmk_store_limits *limits, struct wmk_output_stream **stream)
{
	struct wmk_output_stream *made = calloc(1, sizeof(*made));
	struct wmk_store_limits spool;
	int err;

	if (!made)
		return wmk_error(-ENOMEM, "no memory for stream %.240s", name);
	made->trace = (struct directory_trace *)trace;
	err = wmk_store_stream_create(made->trace->store, name, wmk_directory_limits(made->trace, limits, &spool),
				      &made->file);
	if (err < 0) {
		free(made);
		return err;
	}
	*stream = made;
	return 0;
}

int wmk_directory_stream_resume(struct wmk_output_trace *trace, const char *name,
				   const struct wmk_store_limits *limits, struct wmk_output_stream **stream,
				   struct wmk_ctf_packet *last)
{
	struct wmk_output_stream *made = calloc(1, sizeof(*made));
	struct wmk_store_limits spool;
	int found;

	if (!made)
		return wmk_error(-ENOMEM, "no memory for stream %.240s", name);
	made->trace = (struct directory_trace *)trace;
	found = wmk_store_stream_open(made->trace->store, name, wmk_directory_limits(made->trace, limits, &spool),
				      made->trace->uuid, &made->file, last);
	if (found < 0)
		free(made);
	else
		*stream = made;
	return found;
}

int wmk_directory_write(struct wmk_output_stream *stream, const struct wmk_ctf_packet *given,
			   const struct wmk_packet *packet)
{
	uint8_t own[WMK_CTF_PACKET_ROOM], *room = packet->room ? packet->room : own, end[WMK_CTF_END_MAX];
	struct wmk_ctf_packet head = *given;
	struct iovec iov[3];
	int n = 0, err;

	wmk_store_stream_pressure(stream->file, packet->pressure);
	wmk_store_stream_prepare(stream->file, &head);
	wmk_ctf_packet_encode(room, stream->trace->uuid, &head);
	iov[n++] = (struct iovec){ room, WMK_CTF_PACKET_ROOM };
	if (packet->room)
		iov[0].iov_len += packet->len;
	else if (packet->len)
		iov[n++] = (struct iovec){ (void *)(uintptr_t)packet->data, packet->len };
	iov[n++] = (struct iovec){ end, wmk_ctf_packet_end(end, &head) };
	err = wmk_store_stream_append(stream->file, iov, n, &head);
	if (err == 0)
		wmk_directory_changed(stream->trace, false);
	return err;
}

int wmk_directory_amend(struct wmk_output_stream *stream, uint64_t lost)
{
	return wmk_store_stream_amend(stream->file, lost);
}

int wmk_directory_stream_check(const struct wmk_output_stream *stream)
{
	return wmk_store_stream_check(stream->file);
}

int wmk_directory_stream_close(struct wmk_output_stream *stream)
{
	int err = wmk_store_stream_close(stream->file);

	free(stream);
	return err;
}

int wmk_directory_stream_remove(struct wmk_output_trace *trace, const char *name,
				   const struct wmk_store_limits *limits)
{
	const struct directory_trace *of = (const struct directory_trace *)trace;
	struct wmk_store_limits spool;
	int noted = wmk_directory_is_spool(of) ? wmk_store_spool_cleared(of->store, name, false) : 0, err;

	err = noted < 0 ? noted : wmk_store_stream_remove(of->store, name, wmk_directory_limits(of, limits, &spool));
	/* Note the removal a second time, because the sender may have sent the removed files after the first note. */
	if (err == 0 && noted == 1)
		err = wmk_store_spool_cleared(of->store, name, true) < 0 ? wmk_error_number() : 0;
	wmk_directory_changed(of, false);
	return err;
}

uint64_t wmk_directory_stream_bytes(const struct wmk_output_stream *stream)
{
	return wmk_store_stream_bytes(stream->file);
}
