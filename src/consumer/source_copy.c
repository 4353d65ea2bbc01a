/* SPDX-License-Identifier: MIT */
/*
 * source_copy.c - a copy of what a ring in overwrite mode holds now, as a source of packets: for snapshots.
 *
 *     ring ──observer───────────┬─► pieces in memory ──next()──► packets, written at the speed of the disk
 *     source ──next, release()──┘
 *
 * The copy is complete before the first packet is written, so a slow disk does not shorten the copy. If the writers
 * overtake the observer, the copy begins again, and drops all pieces before a gap.
 *
 * A source of the kernel has no observer, so a copy of a kernel source consumes the records of the source.
 */
#include "consumer/source_copy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "ctf/writer.h"
#include "ring/packet_source.h"
#include "ring/set.h"

#define OBSERVE_TRIES 1000
/*
 * The copy may begin again until the observer has read LAPS_MAX laps of the ring. After LAPS_MAX laps, the end of the
 * copy is fixed. Because of LAPS_MAX, writers that always overtake the observer cannot prolong the copy.
 */
#define LAPS_MAX 64u

struct copy_piece {
	struct copy_piece *next;
	struct wmk_packet packet;
	void *memory;              /* contains the room for a packet header, and the records after it */
};

struct copy_source {
	struct wmk_source source;
	struct copy_piece *first, **end;   /* not released yet */
	uint64_t head, lost;
};

static struct copy_source *copy_of(struct wmk_source *source)
{
	return (struct copy_source *)source;
}

static void piece_free(struct copy_piece *piece)
{
	free(piece->memory);
	free(piece);
}

static void drop_pieces(struct copy_source *copy)
{
	while (copy->first) {
		struct copy_piece *piece = copy->first;

		copy->first = piece->next;
		piece_free(piece);
	}
	copy->end = &copy->first;
}

/* Add a piece. The copy owns `memory` from now on, also after an error. */
static int add_piece(struct copy_source *copy, const struct wmk_packet *packet, void *memory)
{
	struct copy_piece *piece = malloc(sizeof(*piece));

	if (!piece || !memory) {
		free(piece);
		free(memory);
		return wmk_error(-ENOMEM, "no memory for a copy of %zu bytes", packet->len);
	}
	*piece = (struct copy_piece){ .packet = *packet, .memory = memory };
	*copy->end = piece;
	copy->end = &piece->next;
	copy->head = packet->end;
	copy->lost = packet->lost;
	return 0;
}

static int add_copy_of(struct copy_source *copy, const struct wmk_packet *from)
{
	uint8_t *memory = malloc(WMK_CTF_PACKET_ROOM + from->len);
	struct wmk_packet packet = *from;

	if (memory) {
		packet.room = memory;
		packet.data = memcpy(memory + WMK_CTF_PACKET_ROOM, from->data, from->len);
	}
	return add_piece(copy, &packet, memory);
}

static struct wmk_packet packet_of(const struct waymark_ring_packet *from, uint32_t header_room)
{
	return (struct wmk_packet){
		.begin_ts = from->begin_ts, .end_ts = from->end_ts, .position = from->begin_pos,
		.end = from->begin_pos + from->len, .records = from->records, .lost = from->lost, .cut = from->cut,
		.data = from->data, .len = from->len,
		.room = (uint8_t *)from->room + header_room - WMK_CTF_PACKET_ROOM,
	};
}

/*
 * Copy pieces until `head`. If records between a piece and the previous piece are missing, the copy drops all earlier
 * pieces, and continues from the later piece to a new `head`.
 */
static int copy_pieces(struct copy_source *copy, struct waymark_ring_reader *observer,
		       const struct waymark_ring_options *options)
{
	const uint32_t subbuf_size = options->subbuf_size, n_subbufs = options->n_subbufs;
	const uint64_t mask = ~((uint64_t)subbuf_size - 1);
	uint64_t head = waymark_ring_reader_position(observer), expected = 0;
	struct waymark_ring_packet piece;
	int ret = 0, err = 0;

	for (uint64_t n = 0; err == 0; n++) {
		ret = waymark_ring_reader_next(observer, WAYMARK_RING_FLUSH, &piece);
		if (ret <= 0)
			break;
		const uint64_t sub = piece.begin_pos & mask;

		if (copy->first && sub != expected) {
			drop_pieces(copy);
			if (n < (uint64_t)LAPS_MAX * n_subbufs)
				head = waymark_ring_reader_position(observer);
		}
		expected = piece.whole ? sub + subbuf_size : sub;
		const struct wmk_packet packet = packet_of(&piece, options->header_room);

		err = add_piece(copy, &packet, wmk_ring_reader_take(observer));
		waymark_ring_reader_release(observer, &piece);
		if (piece.begin_pos + piece.len >= head)
			break;
	}
	if (ret == -ENOMEM)
		return wmk_error(ret, "no memory for a copy of %u bytes", subbuf_size);
	return ret < 0 ? wmk_error(ret, "ring %u is corrupt", piece.ring) : err;
}

static int copy_next(struct wmk_source *source, int flush, struct wmk_packet *packet)
{
	const struct copy_piece *piece = copy_of(source)->first;

	(void)flush;
	if (!piece)
		return 0;
	*packet = piece->packet;
	return 1;
}

static int copy_release(struct wmk_source *source, const struct wmk_packet *packet)
{
	struct copy_source *copy = copy_of(source);
	struct copy_piece *piece = copy->first;

	(void)packet;
	copy->first = piece->next;
	if (!copy->first)
		copy->end = &copy->first;
	piece_free(piece);
	return 0;
}

static uint64_t copy_head(struct wmk_source *source)
{
	return copy_of(source)->head;
}

static uint64_t copy_lost(struct wmk_source *source, uint64_t by_cause[WAYMARK_LOST_CAUSES])
{
	if (by_cause)
		memset(by_cause, 0, WAYMARK_LOST_CAUSES * sizeof(*by_cause));
	return copy_of(source)->lost;
}

/*
 * The copy replaces the copy of an earlier consumer. The file of the earlier copy is removed, and the new copy is
 * written from its beginning.
 */
static int copy_clear(struct wmk_source *source, uint64_t *position, uint64_t *ts)
{
	(void)source;
	*position = *ts = 0;
	return 0;
}

static void copy_close(struct wmk_source *source)
{
	drop_pieces(copy_of(source));
	free(source);
}

static const struct wmk_source_ops copy_ops = {
	.next = copy_next, .release = copy_release, .head = copy_head, .lost = copy_lost, .clear = copy_clear,
	.close = copy_close,
};

int wmk_source_copy_open(struct waymark_ring_set *set, uint32_t ring, uint64_t max_bytes, struct wmk_source **source,
			 uint64_t *missed)
{
	const struct waymark_ring_options *options = waymark_ring_set_options(set);
	struct copy_source *made = calloc(1, sizeof(*made));
	struct waymark_ring_reader *observer;
	int err = -EAGAIN;

	if (!made)
		return wmk_error(-ENOMEM, "no memory for a copy of ring %u", ring);
	made->source.ops = &copy_ops;
	made->source.pieces = options->n_subbufs;
	made->end = &made->first;
	for (int tries = 0; err == -EAGAIN && tries < OBSERVE_TRIES; tries++)
		err = waymark_ring_reader_observe(set, ring, max_bytes, &observer);
	if (err < 0) {
		free(made);
		return wmk_error(err, err == -EIO ? "ring %u is corrupt" : "cannot copy ring %u", ring);
	}
	err = copy_pieces(made, observer, options);
	*missed = waymark_ring_reader_missed(observer);
	waymark_ring_reader_close(observer);
	if (err < 0) {
		copy_close(&made->source);
		return err;
	}
	*source = &made->source;
	return 0;
}

/* ── from a source of the kernel ─────────────────────────────────────────────────────────────────────── */

/* The number of records of the source that precede the first piece, and so are in no piece. */
struct before {
	uint64_t records, lost;
};

/* Drop the oldest pieces until the remaining pieces have at most `max_bytes` bytes. */
static uint64_t shorten(struct copy_source *copy, uint64_t bytes, uint64_t max_bytes, struct before *before)
{
	while (max_bytes && bytes > max_bytes && copy->first) {
		struct copy_piece *piece = copy->first;

		bytes -= piece->packet.len;
		before->records = piece->packet.records;
		copy->first = piece->next;
		if (!copy->first)
			copy->end = &copy->first;
		piece_free(piece);
	}
	return bytes;
}

static int take_pieces(struct copy_source *copy, struct wmk_source *from, uint64_t max_bytes, struct wmk_packet *last,
		       struct before *before)
{
	const uint64_t head = from->ops->head(from);
	struct wmk_packet packet = { .end = 0 };
	uint64_t bytes = 0;
	int ret, err = 0;

	do {
		ret = from->ops->next(from, 1, &packet);
		if (ret <= 0)
			break;
		/*
		 * If packet.lost has grown, the kernel has overwritten records between the previous piece and this
		 * packet, so the copy drops all pieces before this packet.
		 */
		if (packet.lost != before->lost) {
			drop_pieces(copy);
			*before = (struct before){ last->records, packet.lost };
			bytes = 0;
		}
		err = add_copy_of(copy, &packet);
		if (err == 0)
			bytes = shorten(copy, bytes + packet.len, max_bytes, before);
		*last = packet;
		from->ops->release(from, &packet);
	} while (err == 0 && packet.end < head);
	return ret < 0 ? ret : err;
}

int wmk_source_copy_take(struct wmk_source *from, uint64_t max_bytes, struct wmk_packet *last,
			 struct wmk_source **source, uint64_t *missed)
{
	struct copy_source *made = calloc(1, sizeof(*made));
	struct before before = { .records = last->records };
	const uint64_t taken = last->records;

	if (!made)
		return wmk_error(-ENOMEM, "no memory for a copy of a kernel channel");
	made->source.ops = &copy_ops;
	made->end = &made->first;
	int err = take_pieces(made, from, max_bytes, last, &before);

	if (err < 0) {
		copy_close(&made->source);
		return err;
	}
	/* counts begin at 0 */
	for (struct copy_piece *piece = made->first; piece; piece = piece->next) {
		piece->packet.records -= before.records;
		piece->packet.lost = 0;
	}
	made->lost = 0;
	*missed = before.records - taken + (before.lost ? before.lost : from->ops->lost(from, NULL));
	*source = &made->source;
	return 0;
}
