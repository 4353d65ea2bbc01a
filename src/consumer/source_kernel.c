/* SPDX-License-Identifier: MIT */
/*
 * source_kernel.c - one CPU of a kernel channel as a source of packets. Positions are places in its stream, ends are in records (kernel/reader.h).
 */
#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "consumer/internal.h"
#include "kernel/reader.h"

struct kernel_source {
	struct wmk_source source;
	struct wmk_kstream *stream;
};

static struct wmk_kstream *stream_of(struct wmk_source *source)
{
	return ((struct kernel_source *)source)->stream;
}

static int kernel_next(struct wmk_source *source, int flush, struct wmk_packet *packet)
{
	struct wmk_kpacket from;
	int ret = wmk_kstream_next(stream_of(source), flush != 0, &from);

	if (ret <= 0)
		return ret;
	*packet = (struct wmk_packet){ .begin_ts = from.begin_ts, .end_ts = from.end_ts, .position = from.place, .end = from.end,
				       .records = from.records, .lost = from.lost, .data = from.data, .len = from.len,
				       .pressure = from.pressure, .room = from.room };
	return 1;
}

static int kernel_release(struct wmk_source *source, const struct wmk_packet *packet)
{
	(void)packet;
	wmk_kstream_release(stream_of(source));
	return 0;
}

static uint64_t kernel_head(struct wmk_source *source)
{
	return wmk_kstream_head(stream_of(source));
}

static int kernel_resume(struct wmk_source *source, const struct wmk_ctf_packet *last, uint64_t *records, uint64_t *end)
{
	return wmk_kstream_resume(stream_of(source), last, records, end);
}

static uint64_t kernel_lost(struct wmk_source *source, uint64_t by_cause[WAYMARK_LOST_CAUSES])
{
	uint64_t overwritten, lost = wmk_kstream_lost(stream_of(source), &overwritten);

	for (unsigned c = 0; by_cause && c < WAYMARK_LOST_CAUSES; c++)
		by_cause[c] = c == WAYMARK_LOST_FULL ? lost - overwritten : 0;
	return lost;
}

static int kernel_clear(struct wmk_source *source, uint64_t *position, uint64_t *ts)
{
	int err = wmk_kstream_clear(stream_of(source));

	*position = 0;
	*ts = 0;
	return err;
}

static int kernel_fd(struct wmk_source *source)
{
	return wmk_kstream_fd(stream_of(source));
}

static int kernel_follow(struct wmk_source *source)
{
	return wmk_kstream_follow(stream_of(source));
}

static int kernel_follow_fd(struct wmk_source *source)
{
	return wmk_kstream_who_fd(stream_of(source));
}

static void kernel_close(struct wmk_source *source)
{
	wmk_kstream_close(stream_of(source));
	free(source);
}

static const struct wmk_source_ops kernel_ops = {
	.next = kernel_next, .release = kernel_release, .head = kernel_head, .resume = kernel_resume, .records_at = 1 + WMK_KSTREAM_RECORDS_AT, .lost = kernel_lost, .clear = kernel_clear,
	.fd = kernel_fd, .follow = kernel_follow, .follow_fd = kernel_follow_fd, .close = kernel_close,
};

int wmk_source_kernel_open(struct wmk_kreader *reader, unsigned cpu, struct wmk_source **source)
{
	struct kernel_source *made = calloc(1, sizeof(*made));
	int err;

	if (!made)
		return wmk_error(-ENOMEM, "no memory for a reader of CPU %u", cpu);
	made->source.ops = &kernel_ops;
	err = wmk_kstream_open(reader, cpu, &made->stream);
	if (err < 0) {
		free(made);
		return wmk_error_add(err, "cannot read what the kernel records on CPU %u", cpu);
	}
	*source = &made->source;
	return 0;
}
