/* SPDX-License-Identifier: MIT */
/* relay_gap.c - data that neither the relay nor the spool has (see relay_gap.h). */
#include "sender/relay_gap.h"

#include <time.h>

#include "store/chunk_lock.h"

int wmk_relay_gap_in_stream(struct wmk_relay_link *link, const struct wmk_relay_stream *is, bool found,
			    const struct wmk_ctf_packet *next)
{
	const struct wmk_ctf_packet empty = { .stream_id = next->stream_id, .instance = next->instance,
					      .begin_ts = next->begin_ts, .end_ts = next->begin_ts, .cpu = next->cpu };
	struct wmk_relay_stream request = *is;
	struct wmk_relay_stream_reply reply;
	int err = found ? 0 : wmk_relay_link_packet(link, is->stream, &empty, -1, 0);

	request.continue_at = next->sequence;
	return err < 0 ? err : wmk_relay_link_request(link, WMK_RELAY_STREAM, &request, &reply);
}

int wmk_relay_gap_in_chunks(struct wmk_relay_link *link, const char *session, uint64_t open, uint64_t first)
{
	char name[WMK_CHUNK_NAME_MAX];
	const struct wmk_relay_rotation rotation = { .name = name, .chunk = first };
	const struct wmk_relay_output output = { .session = session, .name = "", .chunk = name };
	const time_t now = time(NULL);
	int err;

	/* The spool no longer contains the name of this chunk, so make a new name. */
	wmk_chunk_name_format(name, now, now, open);
	wmk_relay_link_set_epoch(link, wmk_relay_link_epoch(link) + 1);
	err = wmk_relay_link_request(link, WMK_RELAY_ROTATE, &rotation, NULL);
	return err < 0 ? err : wmk_relay_link_request(link, WMK_RELAY_ARCHIVE_END, &output, NULL);
}
