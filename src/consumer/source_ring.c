/* SPDX-License-Identifier: MIT */
/*
 * source_ring.c - a ring as a source of packets.
 */
#include "consumer/source_ring.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "ctf/writer.h"
#include "ring/packet_source.h"
#include "ring/set.h"

#define CLEAR_TRIES 1000           /* retry until a writer that is faster than the reader pauses */

struct ring_source {
	struct wmk_source source;
	struct waymark_ring_reader *reader;
	struct waymark_ring_packet packet;         /* returned by next(), not released yet */
	uint32_t header_room;
	struct waymark_ring_set *set;
	uint32_t ring;
};

static struct ring_source *ring_of(struct wmk_source *source)
{
	return (struct ring_source *)source;
}

/* Report a corrupt ring, together with the value that is out of range. */
static int corrupt(const struct ring_source *ring)
{
	const struct wmk_ring_wrong *wrong = wmk_ring_reader_wrong(ring->reader);

	if (!wrong)
		return -EIO;
	return wmk_errorx(-EIO, "%s is %llu, out of range %llu to %llu", wrong->what,
			  (unsigned long long)wrong->found, (unsigned long long)wrong->least,
			  (unsigned long long)wrong->most);
}

static int ring_next(struct wmk_source *source, int flush, struct wmk_packet *packet)
{
	struct ring_source *ring = ring_of(source);
	struct waymark_ring_packet *from = &ring->packet;
	int ret = waymark_ring_reader_next(ring->reader, flush ? WAYMARK_RING_FLUSH : 0, from);

	if (ret <= 0)
		return ret < 0 ? corrupt(ring) : 0;
	*packet = (struct wmk_packet){ .begin_ts = from->begin_ts, .end_ts = from->end_ts, .position = from->begin_pos,
				       .end = from->begin_pos + from->len, .records = from->records,
				       .lost = from->lost, .cut = from->cut,
				       .data = from->data, .len = from->len };
	packet->pressure =
		(uint32_t)((waymark_ring_reader_position(ring->reader) - from->begin_pos) * 100 / ring->source.size);
	/*
	 * The header_room may be larger than a packet header, because of alignment, so the packet header is placed
	 * directly before the data.
	 */
	if (from->room)
		packet->room = (uint8_t *)from->room + ring->header_room - WMK_CTF_PACKET_ROOM;
	return 1;
}

static int ring_release(struct wmk_source *source, const struct wmk_packet *packet)
{
	(void)packet;
	return waymark_ring_reader_release(ring_of(source)->reader, &ring_of(source)->packet);
}

static uint64_t ring_head(struct wmk_source *source)
{
	return waymark_ring_reader_position(ring_of(source)->reader);
}

static bool ring_has_part(struct wmk_source *source)
{
	return wmk_ring_reader_has_unread(ring_of(source)->reader);
}

static int ring_resume(struct wmk_source *source, const struct wmk_ctf_packet *last, uint64_t *records, uint64_t *end)
{
	struct waymark_ring_reader *reader = ring_of(source)->reader;
	uint64_t position = last->ring_position + last->content, ts = last->end_ts;
	int err;

	*end = position;
	/* The trace has no packet of the ring, so continue where the ring was last cleared. */
	if (position == 0)
		position = waymark_ring_reader_base(reader, &ts);
	err = waymark_ring_reader_resume(reader, position, 0, ts, records);
	if (err == -EIO)
		return corrupt(ring_of(source));
	if (err != -ESTALE)
		return err < 0 ? err : 0;
	/*
	 * The file ends before a position that was released to the writers: the machine crashed before the data was on
	 * the disk. The records that were released but are not on the disk are lost. The records that are still in the
	 * ring are kept.
	 */
	err = waymark_ring_reader_resume(reader, wmk_ring_reader_given(reader), 0, ts, records);
	return err == -EIO ? corrupt(ring_of(source)) : err < 0 ? err : 1;
}

static uint64_t ring_lost(struct wmk_source *source, uint64_t by_cause[WAYMARK_LOST_CAUSES])
{
	return waymark_ring_reader_lost(ring_of(source)->reader, by_cause);
}

static int ring_clear(struct wmk_source *source, uint64_t *position, uint64_t *ts)
{
	int err, tries = 0;

	do {
		err = waymark_ring_reader_clear(ring_of(source)->reader);
	} while (err == -EAGAIN && tries++ < CLEAR_TRIES);
	if (err == -EIO)
		err = corrupt(ring_of(source));
	*position = waymark_ring_reader_base(ring_of(source)->reader, ts);
	return err;
}

static uint64_t ring_cut(struct wmk_source *source)
{
	return waymark_ring_reader_cut(ring_of(source)->reader);
}

static int ring_chunk_cut(struct wmk_source *source, struct wmk_ring_cut *cut)
{
	int err, tries = 0;

	do {
		err = wmk_ring_reader_cut_now(ring_of(source)->reader, cut);
	} while (err == -EAGAIN && tries++ < CLEAR_TRIES);
	return err;
}

static int ring_chunk_cut_at(struct wmk_source *source, const struct wmk_ring_cut *cut)
{
	return wmk_ring_reader_cut_at(ring_of(source)->reader, cut);
}

static bool ring_chunk_ready(struct wmk_source *source)
{
	return wmk_ring_reader_is_at_cut(ring_of(source)->reader);
}

static void ring_chunk_end(struct wmk_source *source, uint64_t *lost, uint64_t *fields_cut)
{
	wmk_ring_reader_chunk_end(ring_of(source)->reader, lost, fields_cut);
}

/* The ring itself stores the position at which the chunk begins. */
static void ring_chunk_begin(struct wmk_source *source, uint64_t lost, struct wmk_ring_cut *begin)
{
	(void)begin;
	wmk_ring_reader_chunk_begin(ring_of(source)->reader, lost);
}

static uint64_t ring_raise_floor(struct wmk_source *source)
{
	return wmk_ring_reader_raise_floor(ring_of(source)->reader);
}

static int64_t ring_reclaim(struct wmk_source *source)
{
	return waymark_ring_set_reclaim(ring_of(source)->set, ring_of(source)->ring);
}

static void ring_close(struct wmk_source *source)
{
	waymark_ring_reader_close(ring_of(source)->reader);
	free(source);
}

static const struct wmk_source_ops ring_ops = {
	.next = ring_next, .release = ring_release, .head = ring_head, .resume = ring_resume, .lost = ring_lost,
	.clear = ring_clear, .has_part = ring_has_part, .raise_floor = ring_raise_floor,
	.cut = ring_cut, .reclaim = ring_reclaim, .close = ring_close,
	.chunk_cut = ring_chunk_cut, .chunk_cut_at = ring_chunk_cut_at, .chunk_ready = ring_chunk_ready,
	.chunk_end = ring_chunk_end, .chunk_begin = ring_chunk_begin,
};

int wmk_source_ring_open(struct waymark_ring_set *set, uint32_t ring, struct wmk_source **source)
{
	struct ring_source *made = calloc(1, sizeof(*made));
	int err;

	if (!made)
		return wmk_error(-ENOMEM, "no memory for a reader of ring %u", ring);
	made->source.ops = &ring_ops;
	made->set = set;
	made->ring = ring;
	made->header_room = waymark_ring_set_options(set)->header_room;
	made->source.pieces = waymark_ring_set_options(set)->n_subbufs;
	made->source.size =
		(uint64_t)waymark_ring_set_options(set)->subbuf_size * waymark_ring_set_options(set)->n_subbufs;
	err = waymark_ring_reader_open(set, ring, &made->reader);
	if (err < 0) {
		free(made);
		return wmk_error(err, "cannot read ring %u", ring);
	}
	*source = &made->source;
	return 0;
}
