/* SPDX-License-Identifier: MIT */
/*
 * loss.c - the analysis `loss` (see loss.h).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/loss.h"
#include "analyze/stats.h"
#include "base/array.h"
#include "base/error.h"

#define LOSSES_MAX 10000u

/* One loss, or the sum of all losses of a stream. */
struct lost {
	uint32_t stream;               /* number of the text */
	int64_t cpu, from, to;
	uint64_t n, records, packets, ns;
};

struct losses {
	struct wmk_texts streams;      /* "trace/stream" */
	struct lost *all, *sums;       /* each loss; each stream, by number */
	uint32_t n_all, cap_all, n_sums;
	uint64_t n_more;               /* number of losses beyond LOSSES_MAX */
	int err;
};

enum { STREAM, CPU, LOSSES, RECORDS, PACKETS, NS, FIRST, LAST };
static const struct wmk_column columns[] = {
	{ "stream", "stream", WMK_COLUMN_TEXT, true },
	{ "cpu", "CPU", WMK_COLUMN_ID, true },
	{ "losses", "losses", WMK_COLUMN_COUNT, false },
	{ "records", "records", WMK_COLUMN_COUNT, false },
	{ "packets", "packets", WMK_COLUMN_COUNT, false },
	{ "duration_ns", "duration", WMK_COLUMN_NS, false },
	{ "first", "first", WMK_COLUMN_TIME, false },
	{ "last", "last", WMK_COLUMN_TIME, false },
};
enum { FROM, EACH_NS, EACH_CPU, EACH_RECORDS, EACH_PACKETS, EACH_STREAM };
static const struct wmk_column each_columns[] = {
	{ "from", "from", WMK_COLUMN_TIME, true },
	{ "duration_ns", "duration", WMK_COLUMN_NS, false },
	{ "cpu", "CPU", WMK_COLUMN_ID, true },
	{ "records", "records", WMK_COLUMN_COUNT, false },
	{ "packets", "packets", WMK_COLUMN_COUNT, false },
	{ "stream", "stream", WMK_COLUMN_TEXT, true },
};

static int create(struct wmk_analysis *analysis, void **state)
{
	struct losses *losses = calloc(1, sizeof(*losses));

	(void)analysis;
	*state = losses;
	if (!losses)
		return wmk_error(-ENOMEM, "no memory for an analysis");
	wmk_texts_begin(&losses->streams);
	return 0;
}

static int add(struct losses *losses, const struct lost *one)
{
	struct lost *all = losses->n_all < LOSSES_MAX
				   ? wmk_array_room(losses->all, losses->n_all, &losses->cap_all, sizeof(*all))
				   : losses->all;
	struct lost *sums = wmk_array_reach(losses->sums, one->stream, &losses->n_sums, sizeof(*sums));

	losses->all = all ? all : losses->all;
	losses->sums = sums ? sums : losses->sums;
	if (!all || !sums)
		return wmk_error(-ENOMEM, "no memory for %u losses", losses->n_all);
	if (losses->n_all < LOSSES_MAX)
		all[losses->n_all++] = *one;
	else
		losses->n_more++;
	sums += one->stream;
	sums->from = sums->n ? sums->from : one->from;
	sums->to = one->from;
	sums->cpu = one->cpu;
	sums->n++;
	sums->records += one->records;
	sums->packets += one->packets;
	sums->ns += one->ns;
	return 0;
}

static void lost(void *state, const struct wmk_loss *loss)
{
	struct losses *losses = state;
	struct lost one = { .cpu = loss->cpu, .from = loss->from, .to = loss->to, .packets = loss->packets,
			    .records = loss->records == WMK_READ_LOST_UNKNOWN ? 0 : loss->records,
			    .ns = loss->to > loss->from ? (uint64_t)(loss->to - loss->from) : 0 };
	char *name;
	int err;

	if (asprintf(&name, "%s/%s", loss->stream->trace->name, loss->stream->name) < 0) {
		losses->err = wmk_error(-ENOMEM, "no memory for a loss");
		return;
	}
	err = wmk_texts_number(&losses->streams, name, strlen(name), &one.stream);
	free(name);
	if (err >= 0 && one.stream < UINT32_MAX)
		err = add(losses, &one);
	losses->err = err < 0 ? err : losses->err;
}

static void set_cpu(struct wmk_cell *cell, int64_t cpu)
{
	if (cpu != WMK_READ_NOWHERE)
		wmk_cell_number(cell, cpu);
}

static int result(void *state, struct wmk_result *result)
{
	const struct losses *losses = state;
	struct wmk_result_table *table =
		wmk_result_table(result, "streams", "Lost records, by stream", columns, WMK_ARRAY_LEN(columns));

	table->sort = RECORDS;
	for (uint32_t i = 0; i < losses->n_sums; i++) {
		const struct lost *sum = &losses->sums[i];
		struct wmk_cell *row;

		if (!sum->n)
			continue;
		row = wmk_result_row(table);
		wmk_cell_text(table, &row[STREAM], losses->streams.texts[i]);
		set_cpu(&row[CPU], sum->cpu);
		wmk_cell_number(&row[LOSSES], (int64_t)sum->n);
		wmk_cell_number(&row[RECORDS], (int64_t)sum->records);
		wmk_cell_number(&row[PACKETS], (int64_t)sum->packets);
		wmk_cell_number(&row[NS], (int64_t)sum->ns);
		wmk_cell_number(&row[FIRST], sum->from);
		wmk_cell_number(&row[LAST], sum->to);
	}
	table = wmk_result_table(result, "losses", "Each loss", each_columns, WMK_ARRAY_LEN(each_columns));
	for (uint32_t i = 0; i < losses->n_all; i++) {
		const struct lost *one = &losses->all[i];
		struct wmk_cell *row = wmk_result_row(table);

		wmk_cell_number(&row[FROM], one->from);
		wmk_cell_number(&row[EACH_NS], (int64_t)one->ns);
		set_cpu(&row[EACH_CPU], one->cpu);
		wmk_cell_number(&row[EACH_RECORDS], (int64_t)one->records);
		wmk_cell_number(&row[EACH_PACKETS], (int64_t)one->packets);
		wmk_cell_text(table, &row[EACH_STREAM], losses->streams.texts[one->stream]);
	}
	if (losses->n_more)
		wmk_result_note(result, "%u losses are listed; %lu later losses are only in the sums", LOSSES_MAX,
				(unsigned long)losses->n_more);
	if (losses->n_all)
		wmk_result_note(result, "larger buffers lose less: `waymark record --subbuf-size` and --num-subbuf, "
					"`waymark enable-channel --subbuf-size`");
	return losses->err;
}

static void release(void *state)
{
	struct losses *losses = state;

	wmk_texts_free(&losses->streams);
	free(losses->all);
	free(losses->sums);
	free(losses);
}

const struct wmk_analyze_module wmk_analyze_loss = {
	.name = "loss",
	.summary = "where and when records were lost",
	.create = create,
	.lost = lost,
	.result = result,
	.free = release,
};
