/* SPDX-License-Identifier: MIT */
/* uncertainty.c - see uncertainty.h. */
#include "read/uncertainty.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"

#define NS 1000000000u

static const char *id_of(const struct wmk_read_stream *stream)
{
	const struct wmk_ctf_clock_class *clock = stream->decoder->class->clock;

	if (stream->trace->clock_id)
		return stream->trace->clock_id;
	return clock && clock->uuid ? clock->uuid : stream->trace->path;
}

static struct wmk_read_clock_seen *find(struct wmk_read_uncertainty *seen, const char *id)
{
	struct wmk_read_clock_seen *grown;

	for (uint32_t i = 0; i < seen->n; i++)
		if (strcmp(seen->clocks[i].id, id) == 0)
			return &seen->clocks[i];
	grown = wmk_array_room(seen->clocks, seen->n, &seen->cap, sizeof(*grown));
	if (!grown)
		return NULL;
	seen->clocks = grown;
	grown += seen->n;
	*grown = (struct wmk_read_clock_seen){ .id = strdup(id), .until = INT64_MIN };
	if (!grown->id)
		return NULL;
	seen->n++;
	return grown;
}

static int put_line(const struct wmk_read_record_uncertainty *is, struct wmk_print_text *out)
{
	const size_t room = 64;

	if (out->cap - out->len < room) {
		char *grown = realloc(out->text, out->cap + 4096);

		if (!grown)
			return wmk_error(-ENOMEM, "no memory for a line");
		out->text = grown;
		out->cap += 4096;
	}
	if (is->has_number && is->ns == WMK_READ_CLOCK_UNKNOWN)
		out->len += (size_t)snprintf(out->text + out->len, room, "±?           ");
	else if (is->has_number)
		out->len += (size_t)snprintf(out->text + out->len, room, "±%" PRIu64 ".%09" PRIu64 " ", is->ns / NS,
					     is->ns % NS);
	out->len += (size_t)snprintf(out->text + out->len, room - 48, "%s ", is->is_order_unknown ? "?" : " ");
	return 0;
}

int wmk_read_uncertainty_set(struct wmk_read_uncertainty *seen, struct wmk_read_stream *stream, bool with_number,
			     struct wmk_print_text *out)
{
	struct wmk_read_record_uncertainty *set = &stream->uncertainty;
	struct wmk_read_clock_seen *own = find(seen, id_of(stream));
	int64_t from, to;

	if (!own)
		return wmk_error(-ENOMEM, "no memory for %u clocks", seen->n + 1);
	*set = (struct wmk_read_record_uncertainty){ .is_set = true, .has_number = with_number,
						     .ns = WMK_READ_CLOCK_UNKNOWN };
	if (stream->scale.points && wmk_read_has_time(stream))
		set->ns = wmk_read_clock_uncertainty(stream->scale.points, stream->record.time);
	if (set->ns == WMK_READ_CLOCK_UNKNOWN || __builtin_sub_overflow(stream->ns, (int64_t)set->ns, &from))
		from = INT64_MIN;
	if (set->ns == WMK_READ_CLOCK_UNKNOWN || __builtin_add_overflow(stream->ns, (int64_t)set->ns, &to))
		to = INT64_MAX;
	for (uint32_t i = 0; i < seen->n; i++)
		set->is_order_unknown |= &seen->clocks[i] != own && seen->clocks[i].until >= from;
	own->until = to > own->until ? to : own->until;
	return out ? put_line(set, out) : 0;
}

void wmk_read_uncertainty_free(struct wmk_read_uncertainty *seen)
{
	for (uint32_t i = 0; i < seen->n; i++)
		free(seen->clocks[i].id);
	free(seen->clocks);
}
