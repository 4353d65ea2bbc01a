/* SPDX-License-Identifier: MIT */
/*
 * tracks.c - state of forms that draw tracks (see tracks.h).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "read/tracks.h"
#include "read/message.h"

int wmk_read_tracks_create(const char *directory, void **whole)
{
	struct wmk_read_tracks *made = calloc(1, sizeof(*made));

	(void)directory;
	*whole = made;
	if (!made)
		return wmk_error(-ENOMEM, "no memory");
	made->seen.size = sizeof(struct wmk_read_slot);
	wmk_read_spans_begin(&made->spans);
	return 0;
}

void wmk_read_tracks_free(void *data)
{
	struct wmk_read_tracks *whole = data;

	wmk_read_table_free(&whole->seen);
	wmk_read_spans_free(&whole->spans);
	free(whole);
}

const char *wmk_read_tracks_remark(void *data)
{
	static const char shifted[] =
		"there are records before 1970, which the format cannot express: times count from the first record";
	static const char nowhere[] = "records without a thread context share one track for each CPU (record with the "
				      "contexts vpid, vtid and procname)";
	struct wmk_read_tracks *whole = data;

	snprintf(whole->remark, sizeof(whole->remark), "%s%s%s", whole->is_shifted ? shifted : "",
		 whole->is_shifted && whole->has_no_thread ? "; " : "", whole->has_no_thread ? nowhere : "");
	return whole->remark[0] ? whole->remark : NULL;
}

int64_t wmk_read_track_ns(struct wmk_read_track *line, const struct wmk_read_stream *stream)
{
	struct wmk_read_tracks *whole = line->whole;

	if (stream->scale.is_there && !wmk_read_has_time(stream))
		return whole->last;
	if (!whole->has_time)
		whole->first = stream->ns;
	whole->has_time = true;
	whole->last = stream->ns;
	return stream->ns;
}

int wmk_read_track_open(void *whole, const struct wmk_read_stream *stream, void **state)
{
	struct wmk_read_track *made = calloc(1, sizeof(*made));

	(void)stream;
	*state = made;
	if (!made)
		return wmk_error(-ENOMEM, "no memory");
	made->whole = whole;
	return 0;
}

void wmk_read_track_close(void *state)
{
	struct wmk_read_track *line = state;

	wmk_print_text_free(&line->packet);
	wmk_print_text_free(&line->message);
	free(line);
}

int wmk_read_track_record(struct wmk_read_track *line, struct wmk_read_stream *stream, struct wmk_read_drawing *drawing)
{
	int err = wmk_read_thread_id_of_record(&line->who, stream);

	line->whole->has_no_thread |= !line->who.has_tid;
	if (err >= 0)
		err = wmk_read_spans_classify(&line->whole->spans, &line->who, stream, drawing);
	if (err >= 0)
		err = wmk_read_message(&stream->bytes, &stream->record, &line->message);
	if (err > 0 && line->message.len) {
		drawing->message = line->message.text;
		drawing->message_len = line->message.len;
	}
	return err < 0 ? err : 0;
}

/* ── numbers that are in use ─────────────────────────────────────────────────────────────────────────── */

int wmk_read_seen_add(struct wmk_read_table *seen, uint64_t number)
{
	const size_t n = seen->n;

	if (!wmk_read_table_add(seen, number, 0))
		return wmk_error(-ENOMEM, "no memory for %zu threads", seen->n);
	return seen->n > n;
}
