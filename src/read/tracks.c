/* SPDX-License-Identifier: MIT */
/*
 * tracks.c - what forms that draw lines keep (see tracks.h).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "read/seeded_hash.h"
#include "read/tracks.h"
#include "read/message.h"

int wmk_read_tracks_create(const char *directory, void **whole)
{
	(void)directory;
	*whole = calloc(1, sizeof(struct wmk_read_tracks));
	return *whole ? 0 : wmk_error(-ENOMEM, "no memory");
}

void wmk_read_tracks_free(void *data)
{
	struct wmk_read_tracks *whole = data;

	free(whole->seen.slots);
	wmk_read_spans_free(&whole->spans);
	free(whole);
}

const char *wmk_read_tracks_remark(void *data)
{
	static const char shifted[] =
		"there are records before 1970, which the format cannot express: times count from the first record";
	static const char nowhere[] = "records without a context for their thread are on one track for each CPU: "
				      "record with the contexts vpid, vtid and procname";
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

/* ── numbers that were met ───────────────────────────────────────────────────────────────────────────── */

static uint64_t *slot_of(uint64_t *slots, size_t cap, uint64_t value)
{
	size_t at = (size_t)wmk_read_hash(value, 0) & (cap - 1);

	while (slots[at] && slots[at] != value)
		at = (at + 1) & (cap - 1);
	return &slots[at];
}

int wmk_read_seen_add(struct wmk_read_seen *seen, uint64_t number)
{
	if (seen->n * 2 >= seen->cap) {
		const size_t cap = seen->cap ? seen->cap * 2 : 64;
		uint64_t *slots = calloc(cap, sizeof(*slots));

		if (!slots)
			return wmk_error(-ENOMEM, "no memory for %zu threads", seen->n);
		for (size_t i = 0; i < seen->cap; i++)
			if (seen->slots[i])
				*slot_of(slots, cap, seen->slots[i]) = seen->slots[i];
		free(seen->slots);
		seen->slots = slots;
		seen->cap = cap;
	}
	number -= number == UINT64_MAX;
	uint64_t *slot = slot_of(seen->slots, seen->cap, number + 1);

	if (*slot)
		return 0;
	*slot = number + 1;
	seen->n++;
	return 1;
}
