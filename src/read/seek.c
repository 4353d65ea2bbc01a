/* SPDX-License-Identifier: MIT */
/*
 * seek.c - search a packet by the index (trace.h): skip packets that end before the begin of the selection, and recover
 * from a wrong index.
 *
 *     packets    0 │ 1 │ 2 │ 3 │ 4 │ 5 ...
 *                ^ the first packet ends too early       ^ wmk_read_seek(): the packet before the indexed one
 *                └ wmk_read_seek_back(), if no packet or another one begins at that place
 */
#include <errno.h>
#include <inttypes.h>

#include "base/error.h"
#include "read/trace.h"

/*
 * Go to the packet that precedes the packet that the index finds. The reader checks that this packet ends before the
 * start of the selection; if not, the index is wrong. The times of packets do not decrease, so the check also covers
 * all packets before this packet. The reader uses the previous entry of the index only for the losses before the
 * packet. These losses precede the selection.
 */
void wmk_read_seek(struct wmk_read_stream *s)
{
	struct wmk_read_index_entry entry, before;
	uint64_t n;

	if (s->has_sought || s->index.fd < 0)
		return;
	s->has_sought = true;
	n = wmk_read_index_find(&s->index, &s->scale, s->from);
	n -= n > 0;
	if (n <= s->n_packets || !wmk_read_index_get(&s->index, n, &entry) ||
	    !wmk_read_index_get(&s->index, n - 1, &before) || entry.at < s->packet.at || entry.at >= s->limit ||
	    entry.size / 8 > s->limit - entry.at)
		return;
	s->is_sought = true;
	s->back = s->packet;
	s->back_n = s->n_packets;
	s->packet.at = entry.at;
	s->packet.end = before.end;
	s->packet.begin = before.begin;
	s->packet.lost = before.lost;
	s->packet.sequence = UINT64_MAX;
	s->n_packets = n;
	s->has_ended = false;
}

void wmk_read_seek_back(struct wmk_read_stream *s)
{
	s->packet = s->back;
	s->record.time = s->back.end;
	s->n_packets = s->back_n;
	s->buffer_at = s->back.at;
	s->is_sought = false;
	s->in_packet = false;
	s->len = 0;
	wmk_read_index_close(&s->index);
}

bool wmk_read_seek_is_wrong(struct wmk_read_stream *s)
{
	const struct wmk_read_packet *now = &s->packet;
	struct wmk_read_index_entry entry;

	if (!wmk_read_index_get(&s->index, s->n_packets - 1, &entry) ||
	    (entry.at == now->at && entry.size == now->said_size && entry.content == now->said_content &&
	     (!now->has_begin || entry.begin == now->begin) && (!now->has_end || entry.end == now->end)))
		return false;
	wmk_read_index_close(&s->index);
	return true;
}

int wmk_read_seek_end(struct wmk_read_stream *s)
{
	/* (the index of a trace that is being written can have more packets than were read) */
	bool fits = s->index.fd < 0 || s->growth != WMK_READ_FIXED || wmk_read_index_fits(&s->index, s->n_packets);

	wmk_read_index_close(&s->index);
	return fits ? 0
		    : wmk_error(-EPROTO,
				"'index/%.60s.idx' has an incomplete entry, or more entries than the stream has "
				"packets (%" PRIu64 ")",
				s->name, s->n_packets);
}
