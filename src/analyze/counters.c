/* SPDX-License-Identifier: MIT */
/*
 * counters.c - the analysis `counters` (see counters.h).
 */
#include <errno.h>
#include <stdlib.h>

#include "analyze/counters.h"
#include "base/array.h"
#include "base/error.h"
#include "read/hash_table.h"

/* A counter of one process. The key of a counter is wmk_class.id and the process number (-1: unknown). */
struct counter {
	struct wmk_read_slot slot;
	uint64_t count;                /* values of the interval */
	double last, least, greatest, sum;
};

struct counters {
	const struct wmk_analysis *analysis;
	struct wmk_read_table table;
};

enum { NAME, PID, COUNT, LAST, LEAST, GREATEST, AVERAGE };
static const struct wmk_column columns[] = {
	{ "counter", "counter", WMK_COLUMN_TEXT, true },
	{ "pid", "process", WMK_COLUMN_ID, true },
	{ "count", "count", WMK_COLUMN_COUNT, false },
	{ "last", "last", WMK_COLUMN_VALUE, false },
	{ "min", "min", WMK_COLUMN_VALUE, false },
	{ "max", "max", WMK_COLUMN_VALUE, false },
	{ "average", "average", WMK_COLUMN_VALUE, false },
};

static int create(struct wmk_analysis *analysis, void **state)
{
	struct counters *counters = calloc(1, sizeof(*counters));

	*state = counters;
	if (!counters)
		return wmk_error(-ENOMEM, "no memory for an analysis");
	counters->analysis = analysis;
	counters->table.size = sizeof(struct counter);
	return 0;
}

static int record(void *state, const struct wmk_record *record)
{
	struct counters *counters = state;
	const struct wmk_field_value *value = &record->values[WMK_COUNTER_VALUE];
	struct counter *counter;

	if (!value->has || value->is_text)
		return 0;
	counter = wmk_read_table_add(&counters->table, record->class->id,
				     (uint64_t)(record->has_pid ? record->pid : -1));
	if (!counter)
		return wmk_error(-ENOMEM, "no memory for counters");
	counter->last = value->real;
	counter->least = counter->count && counter->least < value->real ? counter->least : value->real;
	counter->greatest = counter->count && counter->greatest > value->real ? counter->greatest : value->real;
	counter->sum = (counter->count ? counter->sum : 0) + value->real;
	counter->count++;
	return 0;
}

static int result(void *state, struct wmk_result *result)
{
	const struct counters *counters = state;
	const struct wmk_names *names = wmk_analysis_names(counters->analysis);
	struct wmk_result_table *table =
		wmk_result_table(result, "counters", "Counters", columns, WMK_ARRAY_LEN(columns));

	table->sort = COUNT;
	for (struct counter *counter = NULL; (counter = wmk_read_table_next(&counters->table, counter));) {
		struct wmk_cell *row = wmk_result_row(table);

		wmk_cell_text(table, &row[NAME], names->names[counter->slot.a]);
		if ((int64_t)counter->slot.b >= 0)
			wmk_cell_number(&row[PID], (int64_t)counter->slot.b);
		wmk_cell_number(&row[COUNT], (int64_t)counter->count);
		wmk_cell_real(&row[LAST], counter->last);
		if (!counter->count)
			continue;
		wmk_cell_real(&row[LEAST], counter->least);
		wmk_cell_real(&row[GREATEST], counter->greatest);
		wmk_cell_real(&row[AVERAGE], counter->sum / (double)counter->count);
	}
	return 0;
}

/* A counter keeps its last value. */
static void clear(void *state)
{
	const struct counters *counters = state;

	for (struct counter *counter = NULL; (counter = wmk_read_table_next(&counters->table, counter));)
		counter->count = 0;
}

static void release(void *state)
{
	struct counters *counters = state;

	wmk_read_table_free(&counters->table);
	free(counters);
}

const struct wmk_analyze_module wmk_analyze_counters = {
	.name = "counters",
	.summary = "values of application counters: last, minimum, maximum and average",
	.options = "-e '*'",
	.needs = { { WMK_EV(COUNTER), false, "waymark_counter()", NULL } },
	.events = WMK_EV(COUNTER),
	.create = create,
	.record = record,
	.result = result,
	.clear = clear,
	.free = release,
};
