/* SPDX-License-Identifier: MIT */
/* clock_scale.c - convert clock values to nanoseconds, and find clocks that are unrelated (see trace.h). */
#include <string.h>

#include "read/trace.h"

void wmk_read_scale_make(struct wmk_read_scale *scale, const struct wmk_ctf_clock_class *clock)
{
	const double per_s = 1e9;
	/* (one second is reserved at both ends for the clock's value) */
	const int64_t least = INT64_MIN / 1000000000 - 1, most = INT64_MAX / 1000000000 - 1;

	*scale = (struct wmk_read_scale){ .is_there = clock != NULL, .is_ns = true };
	if (!clock)
		return;
	scale->is_ns = clock->freq == 1000000000;
	scale->freq = (double)clock->freq;
	scale->origin = (uint64_t)clock->offset_s * 1000000000u +
			(scale->is_ns ? clock->offset : (uint64_t)(per_s * (double)clock->offset / scale->freq));
	scale->is_far = clock->offset_s <= least || clock->offset_s >= most;
	if (scale->is_far)
		scale->origin = 0;
}

void wmk_read_scale_of(struct wmk_read_scale *scale, const struct wmk_read_trace *trace,
		       const struct wmk_ctf_clock_class *clock)
{
	wmk_read_scale_make(scale, clock);
	if (clock && trace->points && clock == wmk_read_trace_clock(trace))
		scale->points = trace->points;
}

/* An empty cache has the number 0, and no version of the points has this number. */
int64_t wmk_read_scale_corrected(struct wmk_read_scale *scale, uint64_t value)
{
	struct wmk_read_clock_line *line = &scale->line;

	if (value < line->from || value >= line->to || line->number != wmk_read_clock_points_number(scale->points))
		wmk_read_clock_line_find(scale->points, value, line);
	return wmk_read_clock_line_ns(line, value);
}

bool wmk_read_scale_corrected_fits(const struct wmk_read_scale *scale, uint64_t value)
{
	struct wmk_read_clock_line line = scale->line;
	int64_t ns;

	if (value < line.from || value >= line.to)
		wmk_read_clock_line_find(scale->points, value, &line);
	ns = wmk_read_clock_line_ns(&line, value);
	return ns != INT64_MAX && ns != INT64_MIN;
}

const struct wmk_ctf_clock_class *wmk_read_trace_clock(const struct wmk_read_trace *trace)
{
	for (uint32_t i = 0; i < trace->decoder->n_streams; i++)
		if (trace->decoder->streams[i].class->clock)
			return trace->decoder->streams[i].class->clock;
	return NULL;
}

static bool is_absolute(const struct wmk_read_clock_of *of)
{
	const struct wmk_ctf_class *class = of->trace->decoder->class;

	for (uint32_t i = 0; i < class->n_env; i++)
		if (class->env[i].text && strcmp(class->env[i].name, "tracer_name") == 0 &&
		    strncmp(class->env[i].text, "lttng", 5) == 0)
			return true;
	return of->clock->absolute;
}

bool wmk_read_clock_differs(const struct wmk_read_trace *trace, struct wmk_read_clock_of *first,
			    const struct wmk_ctf_clock_class **other)
{
	for (uint32_t i = 0; i < trace->decoder->n_streams; i++) {
		const struct wmk_read_clock_of one = { trace, trace->decoder->streams[i].class->clock };

		if (!one.clock)
			continue;
		if (!first->clock)
			*first = one;
		if (one.clock == first->clock || (is_absolute(&one) && is_absolute(first)) ||
		    (one.clock->uuid && first->clock->uuid && strcmp(one.clock->uuid, first->clock->uuid) == 0))
			continue;
		*other = one.clock;
		return true;
	}
	return false;
}

void wmk_read_trace_join(const struct wmk_read_trace *a, const struct wmk_read_trace *b)
{
	const struct wmk_ctf_clock_class *clock = wmk_read_trace_clock(a), *other = wmk_read_trace_clock(b);

	if (a->points == b->points || !a->points || !b->points)
		return;
	if (a->has_shared_points) {
		/* All points in the file of a relay belong to the same clock. */
		wmk_read_clock_points_join(a->points, b->points);
		return;
	}
	if (a != b && a->points && b->points && clock->uuid && other->uuid && strcmp(clock->uuid, other->uuid) == 0)
		wmk_read_clock_points_join(a->points, b->points);
}
