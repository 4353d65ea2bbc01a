/* SPDX-License-Identifier: MIT */
/*
 * seek.c - a stream by its index (trace.h): over packets that end before what is wanted, and what becomes of an index
 * that lies.
 *
 *     packets    0 │ 1 │ 2 │ 3 │ 4 │ 5 ...
 *                ^ the first one ends too early       ^ wmk_read_seek(): the one in which it begins, by the index
 *                └ wmk_read_seek_back(): what is there is another one, or none
 */
#include <errno.h>
#include <inttypes.h>

#include "base/error.h"
#include "read/trace.h"

/*
 * To the packet before: that it ends too early it says itself, and with it all those before it do, as times rise; a
 * search that was misled is found out. Of the one before that the entry is believed, for what was lost between the two:
 * before what is wanted.
 */
void wmk_read_seek(struct wmk_read_stream *s)
{
	struct wmk_read_index_entry entry, before;
	uint64_t n;

	if (s->has_sought || s->index.fd < 0)
		return;
	s->has_sought = true;
	n = wmk_read_index_find(&s->index, s->decoder->class->clock, s->from);
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
	/* (of what is written meanwhile it has more than was read) */
	bool fits = s->index.fd < 0 || s->growth != WMK_READ_FIXED || wmk_read_index_fits(&s->index, s->n_packets);

	wmk_read_index_close(&s->index);
	return fits ? 0
		    : wmk_error(-EPROTO,
				"'index/%.60s.idx' is longer than its %" PRIu64 " packets want, or ends in an entry",
				s->file, s->n_packets);
}
