/* SPDX-License-Identifier: MIT */
/*
 * losses.c - read packet heads ahead of the records (see losses.h).
 */
#include <errno.h>
#include <stdlib.h>

#include "analyze/losses.h"
#include "base/array.h"
#include "base/error.h"

struct wmk_scout {
	struct wmk_read_stream *stream;
	bool has_ended;
};

int wmk_scout_open(const struct wmk_read_stream *stream, struct wmk_scout **scout)
{
	struct wmk_scout *made = calloc(1, sizeof(*made));

	*scout = made;
	if (!made)
		return wmk_error(-ENOMEM, "no memory for the stream '%.240s'", stream->file);
	if (wmk_read_stream_open(stream->trace, stream->file, &made->stream) < 0) {
		wmk_error_clear();
		made->has_ended = true;
		made->stream = NULL;
		return 0;
	}
	made->stream->growth = stream->growth;
	made->stream->limit = stream->limit;
	made->stream->from = stream->from;
	made->stream->to = stream->to;
	return 0;
}

static int queue(struct wmk_losses *losses, const struct wmk_loss *loss)
{
	struct wmk_loss *all = wmk_array_room(losses->queue, losses->n, &losses->cap, sizeof(*all));
	uint32_t at = losses->n;

	if (!all)
		return wmk_error(-ENOMEM, "no memory for %u losses", losses->n);
	losses->queue = all;
	for (; at && all[at - 1].from < loss->from; at--)
		all[at] = all[at - 1];
	all[at] = *loss;
	losses->n++;
	return 0;
}

/* Queue the loss that precedes the scout's current packet. */
static int queue_found(struct wmk_read_stream *ahead, const struct wmk_read_stream *stream, int64_t cpu,
		       uint32_t events, struct wmk_losses *losses)
{
	const struct wmk_read_packet *packet = &ahead->packet;
	struct wmk_loss loss = { .cpu = cpu, .events = events, .records = ahead->lost, .packets = ahead->lost_packets,
				 .stream = stream };

	if (!ahead->lost && !ahead->lost_packets)
		return 0;
	loss.from = wmk_read_scale_ns(&ahead->scale, ahead->lost_from);
	loss.to = wmk_read_scale_ns(&ahead->scale,
				    ahead->lost && packet->has_end && packet->end ? packet->end : packet->begin);
	return queue(losses, &loss);
}

int wmk_scout_packet(struct wmk_scout *scout, const struct wmk_read_stream *stream, int64_t cpu, uint32_t events,
		     struct wmk_losses *losses)
{
	struct wmk_read_stream *ahead = scout->stream;
	int err = 0;

	while (!scout->has_ended && err >= 0 && (!ahead->n_packets || ahead->packet.at <= stream->packet.at)) {
		const int got = wmk_read_stream_next(ahead);

		if (got < 0) { /* (the stream itself reports damage) */
			wmk_error_clear();
			continue;
		}
		if (got == WMK_READ_END || got == WMK_READ_LATER) {
			scout->has_ended = true;
		} else if (got == WMK_READ_PACKET) {
			wmk_read_stream_leave_packet(ahead);
			if (ahead->packet.at > stream->packet.at)
				err = queue_found(ahead, stream, cpu, events, losses);
		}
	}
	return err;
}

void wmk_scout_close(struct wmk_scout *scout)
{
	if (!scout)
		return;
	if (scout->stream)
		wmk_read_stream_close(scout->stream);
	free(scout);
}

bool wmk_losses_take(struct wmk_losses *losses, int64_t ns, struct wmk_loss *loss)
{
	if (!losses->n || losses->queue[losses->n - 1].from > ns)
		return false;
	*loss = losses->queue[--losses->n];
	return true;
}

void wmk_losses_free(struct wmk_losses *losses)
{
	free(losses->queue);
}
