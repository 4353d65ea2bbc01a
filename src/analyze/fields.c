/* SPDX-License-Identifier: MIT */
/*
 * fields.c - the analysis `fields` (see fields.h). The analysis uses only direct members of the payload, and ignores
 * members of nested structures and arrays.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/fields.h"
#include "analyze/stats.h"
#include "base/array.h"
#include "base/error.h"
#include "read/json_writer.h"
#include "read/record_scope.h"

#define VALUES_MAX 65536u              /* different texts of all fields */
#define TEXT_MAX 64u                   /* bytes of a text that are compared */

/* A field with numbers. The key of a field is wmk_class.id and the number of the field's name. */
struct field {
	struct wmk_read_slot slot;
	uint64_t count;
	double least, greatest, sum;
	bool is_real;                  /* has no quantiles */
	struct wmk_histogram negative; /* absolute values */
	struct wmk_histogram positive; /* and 0 */
};

struct distributions {
	const struct wmk_analysis *analysis;
	const char *event;             /* NULL: all */
	struct wmk_texts names, texts;
	struct wmk_read_table numbers; /* struct field */
	struct wmk_stats totals;       /* of fields with texts: wmk_class.id, name */
	struct wmk_stats values;       /* wmk_class.id and name, text */
	uint64_t n_other;              /* texts that are not counted */
};

enum { EVENT, NAME, COUNT, LEAST, MEDIAN, P95, P99, GREATEST, AVERAGE };
static const struct wmk_column columns[] = {
	{ "event", "event", WMK_COLUMN_TEXT, true },
	{ "field", "field", WMK_COLUMN_TEXT, true },
	{ "count", "count", WMK_COLUMN_COUNT, false },
	{ "min", "min", WMK_COLUMN_VALUE, false },
	{ "p50", "median", WMK_COLUMN_VALUE, false },
	{ "p95", NULL, WMK_COLUMN_VALUE, false },
	{ "p99", "99 %", WMK_COLUMN_VALUE, false },
	{ "max", "max", WMK_COLUMN_VALUE, false },
	{ "average", "average", WMK_COLUMN_VALUE, false },
};
enum { VALUE_EVENT, VALUE_FIELD, VALUE, VALUE_COUNT, VALUE_SHARE };
static const struct wmk_column value_columns[] = {
	{ "event", "event", WMK_COLUMN_TEXT, true },
	{ "field", "field", WMK_COLUMN_TEXT, true },
	{ "value", "value", WMK_COLUMN_TEXT, true },
	{ "count", "count", WMK_COLUMN_COUNT, false },
	{ "percent", "share", WMK_COLUMN_PERCENT, false },
};

static int create(struct wmk_analysis *analysis, void **state)
{
	struct distributions *fields = calloc(1, sizeof(*fields));

	*state = fields;
	if (!fields)
		return wmk_error(-ENOMEM, "no memory for an analysis");
	fields->analysis = analysis;
	fields->numbers.size = sizeof(struct field);
	wmk_texts_begin(&fields->names);
	wmk_texts_begin(&fields->texts);
	wmk_stats_begin(&fields->totals);
	wmk_stats_begin(&fields->values);
	return 0;
}

void wmk_fields_choose(struct wmk_analysis *analysis, const char *event)
{
	struct distributions *fields = wmk_analysis_state(analysis, 0);

	fields->event = event;
}

/* ── records ─────────────────────────────────────────────────────────────────────────────────────────── */

static int count_number(struct distributions *fields, uint32_t id, uint32_t name, const struct wmk_ctf_item *item)
{
	const bool is_real = item->op->code == WMK_CTF_FLOAT, is_negative = item->op->is_signed && item->value.i < 0;
	struct field *field = wmk_read_table_add(&fields->numbers, id, name);
	double value;

	if (!field)
		return wmk_error(-ENOMEM, "no memory for %zu fields", fields->numbers.n);
	value = is_real ? item->value.f : is_negative ? (double)item->value.i : (double)item->value.u;
	field->is_real |= is_real;
	field->least = field->count ? fmin(field->least, value) : value;
	field->greatest = field->count ? fmax(field->greatest, value) : value;
	field->sum += value;
	field->count++;
	return is_real ? 0
		       : wmk_histogram_add(is_negative ? &field->negative : &field->positive,
					   is_negative ? -item->value.u : item->value.u);
}

static int count_text(struct distributions *fields, uint32_t id, uint32_t name, const struct wmk_ctf_item *item)
{
	const size_t len = strnlen(item->text, item->len < TEXT_MAX ? item->len : TEXT_MAX);
	struct wmk_stat *total = wmk_stats_get(&fields->totals, id, name), *stat;
	uint32_t number;
	int err;

	if (!total)
		return -ENOMEM;
	total->count++;
	err = wmk_texts_number(&fields->texts, item->text, len, &number);
	if (err < 0)
		return err;
	if (number == UINT32_MAX || fields->values.table.n >= VALUES_MAX) {
		fields->n_other++;
		return 0;
	}
	stat = wmk_stats_get(&fields->values, (uint64_t)id << 32 | name, number);
	if (!stat)
		return -ENOMEM;
	stat->count++;
	return 0;
}

static int count_field(struct distributions *fields, uint32_t id, const struct wmk_ctf_item *item)
{
	const bool is_text = item->op->code == WMK_CTF_STRING || item->op->code == WMK_CTF_TEXT;
	uint32_t name;
	int err;

	if ((item->op->code > WMK_CTF_FLAGS && !is_text) || item->is_wide || !item->op->name)
		return 0;
	err = wmk_texts_number(&fields->names, item->op->name, strlen(item->op->name), &name);
	if (err < 0 || name == UINT32_MAX)
		return err;
	return is_text ? count_text(fields, id, name, item) : count_number(fields, id, name, item);
}

static int record(void *state, const struct wmk_record *record)
{
	struct distributions *fields = state;
	const struct wmk_ctf_program *program;
	struct wmk_ctf_walk *walk = &record->stream->record.walk;
	struct wmk_ctf_item item;
	uint32_t member = 1;           /* the next member of the payload */
	int err = 0;

	if (fields->event && strcmp(record->class->name, fields->event) != 0)
		return 0;
	program = wmk_read_scope_begin(record->stream, WMK_READ_PAYLOAD);
	if (program->n_ops < 2)
		return 0;
	wmk_ctf_walk_enter(walk, program);
	while (err >= 0 && wmk_ctf_next(walk, &item)) {
		if (item.is_end || item.op != &program->ops[member])
			continue;
		member = item.op->next;
		if (!wmk_read_is_interpreted(item.op))
			err = count_field(fields, record->class->id, &item);
	}
	return err < 0 ? err : walk->err;
}

/* ── result ──────────────────────────────────────────────────────────────────────────────────────────── */

/* Return the quantile `part` (0 to 1) of all values. */
static double quantile(const struct field *field, double part)
{
	const uint64_t n = field->negative.n, rank = (uint64_t)ceil(part * (double)field->count);
	const uint64_t is = rank ? rank : 1;

	return is <= n ? -(double)wmk_histogram_at_rank(&field->negative, n - is + 1)
		       : (double)wmk_histogram_at_rank(&field->positive, is - n);
}

static void add_numbers(const struct distributions *fields, struct wmk_result *result)
{
	const struct wmk_names *events = wmk_analysis_names(fields->analysis);
	struct wmk_result_table *table =
		wmk_result_table(result, "numbers", "Numbers", columns, WMK_ARRAY_LEN(columns));

	table->sort = COUNT;
	for (struct field *field = NULL; (field = wmk_read_table_next(&fields->numbers, field));) {
		struct wmk_cell *row = wmk_result_row(table);

		wmk_cell_text(table, &row[EVENT], events->names[field->slot.a]);
		wmk_cell_text(table, &row[NAME], fields->names.texts[field->slot.b]);
		wmk_cell_number(&row[COUNT], (int64_t)field->count);
		wmk_cell_real(&row[LEAST], field->least);
		wmk_cell_real(&row[GREATEST], field->greatest);
		wmk_cell_real(&row[AVERAGE], field->sum / (double)field->count);
		if (field->is_real)
			continue;
		wmk_cell_real(&row[MEDIAN], quantile(field, 0.5));
		wmk_cell_real(&row[P95], quantile(field, 0.95));
		wmk_cell_real(&row[P99], quantile(field, 0.99));
	}
}

static void add_texts(const struct distributions *fields, struct wmk_result *result)
{
	const struct wmk_names *events = wmk_analysis_names(fields->analysis);
	struct wmk_result_table *table =
		wmk_result_table(result, "texts", "Texts", value_columns, WMK_ARRAY_LEN(value_columns));

	table->sort = VALUE_COUNT;
	for (struct wmk_stat *stat = NULL; (stat = wmk_stats_next(&fields->values, stat));) {
		const uint64_t id = stat->slot.a >> 32, name = stat->slot.a & UINT32_MAX;
		const struct wmk_stat *total = wmk_read_table_find(&fields->totals.table, id, name);
		struct wmk_cell *row = wmk_result_row(table);

		wmk_cell_text(table, &row[VALUE_EVENT], events->names[id]);
		wmk_cell_text(table, &row[VALUE_FIELD], fields->names.texts[name]);
		wmk_cell_text(table, &row[VALUE], fields->texts.texts[stat->slot.b]);
		wmk_cell_number(&row[VALUE_COUNT], (int64_t)stat->count);
		wmk_cell_real(&row[VALUE_SHARE], 100.0 * (double)stat->count / (double)total->count);
	}
	if (fields->n_other)
		wmk_result_note(result, "%lu other strings are not counted: the maximum is %u different strings",
				(unsigned long)fields->n_other, VALUES_MAX);
}

static int result(void *state, struct wmk_result *result)
{
	const struct distributions *fields = state;

	add_numbers(fields, result);
	add_texts(fields, result);
	return 0;
}

static void release(void *state)
{
	struct distributions *fields = state;

	for (struct field *field = NULL; (field = wmk_read_table_next(&fields->numbers, field));) {
		wmk_histogram_free(&field->negative);
		wmk_histogram_free(&field->positive);
	}
	wmk_read_table_free(&fields->numbers);
	wmk_texts_free(&fields->names);
	wmk_texts_free(&fields->texts);
	wmk_stats_free(&fields->totals);
	wmk_stats_free(&fields->values);
	free(fields);
}

const struct wmk_analyze_module wmk_analyze_fields = {
	.name = "fields",
	.summary = "distributions of the values of fields, by event",
	.events = WMK_EV_ALL,
	.create = create,
	.record = record,
	.result = result,
	.free = release,
};
