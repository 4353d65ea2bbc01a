/* SPDX-License-Identifier: MIT */
/*
 * growing_file.c - traces that are being written while they are read: detect the writer, and read files that grow (see
 * trace.h).
 *
 * Only complete packets are read. At an incomplete packet, the stream returns to the end of the previous packet and
 * retries the read later. Before the retry, a writer may truncate an incomplete packet (after a full disk) and write
 * the packet again.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "read/trace.h"

#define TRIES 3u

/* 1: a writer has locked the metadata; 0: no lock; -EAGAIN: the metadata file was replaced meanwhile. */
static int is_locked(int dir)
{
	struct flock whole = { .l_type = F_RDLCK, .l_whence = SEEK_SET };
	struct stat ours, now;
	int fd = openat(dir, "metadata", O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK), locked;

	if (fd < 0)
		return 0;
	locked = fcntl(fd, F_OFD_GETLK, &whole) == 0 && whole.l_type != F_UNLCK;
	if (!locked && fstat(fd, &ours) == 0 && fstatat(dir, "metadata", &now, 0) == 0 &&
	    (ours.st_ino != now.st_ino || ours.st_dev != now.st_dev))
		locked = -EAGAIN;
	close(fd);
	return locked;
}

bool wmk_read_is_written(int dir)
{
	int locked = -EAGAIN;

	for (unsigned i = 0; i < TRIES && locked < 0; i++)
		locked = is_locked(dir);
	return locked != 0;
}

bool wmk_read_trace_has_grown(const struct wmk_read_trace *trace)
{
	struct stat st;

	return fstatat(trace->dir, "metadata", &st, 0) == 0 &&
	       ((uint64_t)st.st_size != trace->metadata_size || st.st_ino != trace->metadata_number);
}

int wmk_read_stream_end(const struct wmk_read_stream *stream, uint64_t *end)
{
	struct stat st;
	uint64_t size;

	if (!stream->frames && fstat(stream->fd, &st) < 0)
		return wmk_error(-errno, "cannot get the size of '%.240s'", stream->file);
	size = stream->frames ? wmk_ctf_frames_size(stream->frames) : (uint64_t)st.st_size;
	*end = size < stream->limit ? size : stream->limit;
	return 0;
}

int wmk_read_stream_later(struct wmk_read_stream *stream, const struct wmk_read_packet *before)
{
	stream->packet = *before;
	stream->buffer_at = before->at;
	stream->len = 0;
	wmk_error_clear();
	return WMK_READ_LATER;
}

int wmk_read_stream_poll(struct wmk_read_stream *stream)
{
	int err;

	stream->limit = UINT64_MAX;
	err = wmk_read_stream_end(stream, &stream->limit);
	if (err >= 0 && stream->limit < stream->packet.at)
		err = wmk_error(-ENODATA,
				"'%.60s' has %llu bytes, less than the %llu that were read: it was truncated",
				stream->file, (unsigned long long)stream->limit, (unsigned long long)stream->packet.at);
	if (err < 0) {
		stream->has_ended = true;
		return err;
	}
	return stream->limit > stream->packet.at;
}

int wmk_read_stream_move(struct wmk_read_stream *stream, const struct wmk_read_trace *trace, const char *file)
{
	const struct wmk_ctf_decoder *decoder = trace->decoder;
	const uint64_t time = stream->record.time;
	uint32_t i = 0;

	while (stream->decoder && i < decoder->n_streams && decoder->streams[i].class->id != stream->decoder->class->id)
		i++;
	if (stream->decoder && i == decoder->n_streams)
		return wmk_error(-EPROTO, "'%.60s' has a stream class that the metadata no longer declares",
				 stream->file);
	stream->trace = trace;
	stream->file = file;
	stream->user = NULL;
	stream->decoder = stream->decoder ? &decoder->streams[i] : NULL;
	/*
	 * The function clears the record, because the record points into the old version of the trace. The function
	 * keeps the time of the record, because the time of the next record can be relative to this time.
	 */
	memset(&stream->record, 0, sizeof(stream->record));
	stream->record.time = time;
	return 0;
}
