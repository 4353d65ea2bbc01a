/* SPDX-License-Identifier: MIT */
/*
 * source_calls.c - system calls of a kernel channel that BPF records, those of one CPU, as a source of packets (kernel/calls_reader.h).
 */
#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "consumer/internal.h"
#include "kernel/calls_reader.h"

struct calls_source {
	struct wmk_source source;
	struct wmk_kcallstream *stream;
};

static struct wmk_kcallstream *stream_of(struct wmk_source *source)
{
	return ((struct calls_source *)source)->stream;
}

static int calls_next(struct wmk_source *source, int flush, struct wmk_packet *packet)
{
	struct wmk_kcallpacket from;
	int ret = wmk_kcallstream_next(stream_of(source), flush != 0, &from);

	if (ret <= 0)
		return ret;
	*packet = (struct wmk_packet){ .begin_ts = from.begin_ts, .end_ts = from.end_ts, .position = from.position, .end = from.position,
				       .records = from.records, .lost = from.lost, .data = from.data, .len = from.len, .room = from.room };
	return 1;
}

static int calls_release(struct wmk_source *source, const struct wmk_packet *packet)
{
	(void)packet;
	wmk_kcallstream_release(stream_of(source));
	return 0;
}

/* How many records that is nobody has counted: it ends when there is nothing more of what is there now. */
static uint64_t calls_head(struct wmk_source *source)
{
	wmk_kcallstream_mark(stream_of(source));
	return UINT64_MAX;
}

/* The ring of who died has gone with him. */
static int calls_resume(struct wmk_source *source, const struct wmk_ctf_packet *last, uint64_t *records, uint64_t *end)
{
	*records = *end = last->ring_position;
	wmk_kcallstream_resume(stream_of(source), last);
	return 1;
}

static uint64_t calls_lost(struct wmk_source *source, uint64_t by_cause[WAYMARK_LOST_CAUSES])
{
	uint64_t overwritten;
	const uint64_t lost = wmk_kcallstream_lost(stream_of(source), &overwritten);

	for (unsigned c = 0; by_cause && c < WAYMARK_LOST_CAUSES; c++)
		by_cause[c] = c == WAYMARK_LOST_FULL ? lost - overwritten : 0;
	return lost;
}

static int calls_clear(struct wmk_source *source, uint64_t *position, uint64_t *ts)
{
	wmk_kcallstream_clear(stream_of(source));
	*position = 0;
	*ts = 0;
	return 0;
}

static int calls_fd(struct wmk_source *source)
{
	return wmk_kcallstream_fd(stream_of(source));
}

static int calls_follow(struct wmk_source *source)
{
	return wmk_kcallstream_follow(stream_of(source));
}

static int calls_follow_fd(struct wmk_source *source)
{
	return wmk_kcallstream_follow_fd(stream_of(source));
}

static void calls_close(struct wmk_source *source)
{
	wmk_kcallstream_close(stream_of(source));
	free(source);
}

static const struct wmk_source_ops calls_ops = {
	.next = calls_next, .release = calls_release, .head = calls_head, .resume = calls_resume, .records_at = 1, .lost = calls_lost, .clear = calls_clear,
	.fd = calls_fd, .follow = calls_follow, .follow_fd = calls_follow_fd, .close = calls_close,
};

int wmk_source_calls_open(struct wmk_kreader *reader, unsigned ring, struct wmk_source **source)
{
	struct calls_source *made = calloc(1, sizeof(*made));
	int err;

	if (!made)
		return wmk_error(-ENOMEM, "no memory for a reader of system calls");
	made->source.ops = &calls_ops;
	err = wmk_kcallstream_open(reader, ring, &made->stream);
	if (err < 0) {
		free(made);
		return err;
	}
	*source = &made->source;
	return 0;
}
