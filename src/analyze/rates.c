/* SPDX-License-Identifier: MIT */
/*
 * rates.c - the analysis `events` (see rates.h).
 *
 * The length of the trace is not known in advance. The analysis divides the time into a fixed number of slots (SLOTS),
 * which are narrow at first. When a record is after the last slot, pairs of slots are merged, which doubles the width
 * of a slot.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/rates.h"
#include "base/array.h"
#include "base/error.h"

#define SLOTS 64u
#define FIRST_WIDTH 1000               /* ns */
#define SPARKS 32u                     /* characters of a spark line */

struct rate {
	uint64_t count;
	int64_t first, last;           /* ns */
	uint64_t slots[SLOTS];
};

struct rates {
	const struct wmk_analysis *analysis;
	struct rate *rates;            /* by wmk_class.id */
	uint32_t n;
	int64_t begin, width;          /* ns */
};

enum { NAME, COUNT, SHARE, PER_S, PEAK, SPARK, FIRST, LAST };
static const struct wmk_column columns[] = {
	{ "event", "event", WMK_COLUMN_TEXT, true },
	{ "count", "count", WMK_COLUMN_COUNT, false },
	{ "percent", "share", WMK_COLUMN_PERCENT, false },
	{ "per_s", "per second", WMK_COLUMN_RATE, false },
	{ "peak_per_s", "peak", WMK_COLUMN_RATE, false },
	{ "over_time", "over time", WMK_COLUMN_TEXT, false },
	{ "first", NULL, WMK_COLUMN_TIME, false },
	{ "last", NULL, WMK_COLUMN_TIME, false },
};

static int create(struct wmk_analysis *analysis, void **state)
{
	struct rates *rates = calloc(1, sizeof(*rates));

	*state = rates;
	if (!rates)
		return wmk_error(-ENOMEM, "no memory for an analysis");
	rates->analysis = analysis;
	rates->begin = INT64_MIN;
	rates->width = FIRST_WIDTH;
	return 0;
}

static void widen(struct rates *rates)
{
	rates->width *= 2;
	for (uint32_t r = 0; r < rates->n; r++) {
		uint64_t *slots = rates->rates[r].slots;

		for (unsigned i = 0; i < SLOTS / 2; i++)
			slots[i] = slots[2 * i] + slots[2 * i + 1];
		memset(slots + SLOTS / 2, 0, SLOTS / 2 * sizeof(*slots));
	}
}

static int seen(void *state, const struct wmk_class *class, int64_t ns)
{
	struct rates *rates = state;
	struct rate *rate;

	if (class->id >= rates->n) {
		struct rate *all = wmk_array_reach(rates->rates, class->id, &rates->n, sizeof(*all));

		if (!all)
			return wmk_error(-ENOMEM, "no memory for %u events", class->id);
		rates->rates = all;
	}
	if (rates->begin == INT64_MIN)
		rates->begin = ns;
	ns = ns < rates->begin ? rates->begin : ns;
	while ((ns - rates->begin) / rates->width >= SLOTS)
		widen(rates);
	rate = &rates->rates[class->id];
	if (!rate->count++)
		rate->first = ns;
	rate->last = ns;
	rate->slots[(ns - rates->begin) / rates->width]++;
	return 0;
}

/* ── result ──────────────────────────────────────────────────────────────────────────────────────────── */

/*
 * Write one character for each part of the trace's time. The height of a character shows the event rate of this part,
 * relative to the highest rate. Returns the greatest rate.
 */
static double spark(const struct rates *rates, const struct rate *rate, int64_t length, char *text)
{
	static const char *const heights[] = { " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
	const unsigned used = length / rates->width < SLOTS ? (unsigned)(length / rates->width) + 1 : SLOTS,
		       joined = used > SPARKS ? 2 : 1;
	uint64_t parts[SPARKS] = { 0 }, most = 0;

	for (unsigned i = 0; i < used && i < SLOTS; i++)
		parts[i / joined] += rate->slots[i];
	for (unsigned i = 0; i < SPARKS; i++)
		most = parts[i] > most ? parts[i] : most;
	*text = '\0';
	for (unsigned i = 0; i * joined < used; i++)
		strcat(text, heights[parts[i] ? 1 + parts[i] * 7 / most : 0]);
	return 1e9 * (double)most / (double)(rates->width * joined);
}

static int result(void *state, struct wmk_result *result)
{
	const struct rates *rates = state;
	const struct wmk_names *names = wmk_analysis_names(rates->analysis);
	const int64_t length = result->end - result->begin;
	struct wmk_result_table *table =
		wmk_result_table(result, "events", "Events", columns, WMK_ARRAY_LEN(columns));
	char text[4 * SPARKS];

	table->sort = COUNT;
	for (uint32_t i = 0; i < rates->n && i < names->n; i++) {
		const struct rate *rate = &rates->rates[i];
		struct wmk_cell *row;

		if (!rate->count)
			continue;
		row = wmk_result_row(table);
		wmk_cell_text(table, &row[NAME], names->names[i]);
		wmk_cell_number(&row[COUNT], (int64_t)rate->count);
		wmk_cell_real(&row[SHARE], 100.0 * (double)rate->count / (double)result->records);
		if (length > 0)
			wmk_cell_real(&row[PER_S], 1e9 * (double)rate->count / (double)length);
		const double peak = spark(rates, rate, result->end - rates->begin, text);

		if (length > 0)
			wmk_cell_real(&row[PEAK], peak);
		wmk_cell_text(table, &row[SPARK], text);
		wmk_cell_number(&row[FIRST], rate->first);
		wmk_cell_number(&row[LAST], rate->last);
	}
	return 0;
}

static void clear(void *state)
{
	struct rates *rates = state;

	if (rates->n)
		memset(rates->rates, 0, rates->n * sizeof(*rates->rates));
	rates->begin = INT64_MIN;
	rates->width = FIRST_WIDTH;
}

static void release(void *state)
{
	struct rates *rates = state;

	free(rates->rates);
	free(rates);
}

const struct wmk_analyze_module wmk_analyze_events = {
	.name = "events",
	.summary = "counts and rates of all events, over time",
	.create = create,
	.seen = seen,
	.result = result,
	.clear = clear,
	.free = release,
};
