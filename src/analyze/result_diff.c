/* SPDX-License-Identifier: MIT */
/*
 * result_diff.c - compare the tables of two traces (see result.h). Rows are compared by name: thread and process
 * numbers differ between two traces, so rows with equal names are added up.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/result.h"
#include "analyze/stats.h"
#include "base/array.h"
#include "base/error.h"

/*
 * A column with values in the compared table. In the result, `at` is the position of its columns: before, after, and
 * change if text output shows the change.
 */
struct compared {
	unsigned column, at;
	bool is_shown, is_greatest;
};

struct differ {
	const struct wmk_result_table *tables[2]; /* tables before and after; NULL: the trace has no such table */
	const struct wmk_result_table *model;
	unsigned keys[WMK_RESULT_COLUMNS], n_keys;
	struct compared values[WMK_RESULT_COLUMNS];
	unsigned n_values, n_columns;
	/* the value that orders the rows, and the column of the absolute difference of this value */
	unsigned ordering, difference;
	struct wmk_texts names;        /* the keys of a row, joined */
	struct wmk_result_table *to;
};

static bool ends_in(const char *text, const char *end)
{
	const size_t len = strlen(text), n = strlen(end);

	return len >= n && !strcmp(text + len - n, end);
}

/*
 * True if the values of several rows can be combined into one value, for example by a sum. Averages, most quantiles and
 * peaks cannot be combined.
 */
static bool is_joined(const struct wmk_column *column)
{
	return column->kind != WMK_COLUMN_TEXT && column->kind != WMK_COLUMN_ID && column->kind != WMK_COLUMN_TIME &&
	       !ends_in(column->key, "p50_ns") && !ends_in(column->key, "p95_ns") && !ends_in(column->key, "p99_ns") &&
	       !ends_in(column->key, "average_ns") && strcmp(column->key, "peak_per_s") != 0;
}

/* Returns false if each row belongs to only one of the two traces, for example because a row is a single span. */
static bool choose_keys(struct differ *differ)
{
	const struct wmk_column *columns = differ->model->columns;

	for (int ids = 0; ids < 2 && !differ->n_keys; ids++)
		for (unsigned i = 0; i < differ->model->n_columns; i++) {
			if (columns[i].is_key && columns[i].kind == WMK_COLUMN_TIME)
				return false;
			if (columns[i].is_key && (columns[i].kind == WMK_COLUMN_ID) == ids)
				differ->keys[differ->n_keys++] = i;
		}
	return true;
}

static char *name_text(struct wmk_result_table *table, const char *first, const char *second)
{
	char **texts = wmk_array_room(table->texts, table->n_texts, &table->cap_texts, sizeof(*texts)), *made;

	if (!texts || asprintf(&made, "%s%s", first, second) < 0) {
		table->result->err = wmk_error(-ENOMEM, "no memory for a comparison");
		return NULL;
	}
	table->texts = texts;
	return texts[table->n_texts++] = made;
}

static void add_column(struct differ *differ, struct wmk_column *columns, const char *key, const char *key_end,
		       const char *head, const char *head_end, uint8_t kind)
{
	struct wmk_column *column = &columns[differ->n_columns++];

	column->key = name_text(differ->to, key, key_end);
	column->head = head ? name_text(differ->to, head, head_end) : NULL;
	column->kind = kind;
}

/*
 * Make the columns of the comparison:
 * - the keys;
 * - two columns for each value: before and after;
 * - the percentage of the change of each shown value;
 * - the absolute difference, which orders the rows.
 */
static int make_columns(struct differ *differ)
{
	struct wmk_column *columns = calloc(WMK_RESULT_COLUMNS, sizeof(*columns));
	const int sort = differ->model->sort;
	unsigned n_shown = 0;

	differ->to->made = columns;
	if (!columns)
		return wmk_error(-ENOMEM, "no memory for a comparison");
	for (unsigned i = 0; i < differ->n_keys; i++) {
		columns[differ->n_columns] = differ->model->columns[differ->keys[i]];
		columns[differ->n_columns++].is_key = true;
	}
	for (unsigned i = 0; i < differ->model->n_columns && differ->n_columns + 5 < WMK_RESULT_COLUMNS; i++) {
		const struct wmk_column *from = &differ->model->columns[i];
		struct compared *value = &differ->values[differ->n_values];

		if (from->is_key || !is_joined(from))
			continue;
		*value = (struct compared){ .column = i, .at = differ->n_columns,
					    .is_greatest = ends_in(from->key, "max_ns") };
		value->is_shown = from->head && ((int)i == sort || n_shown < 2);
		n_shown += value->is_shown;
		differ->n_values++;
		add_column(differ, columns, from->key, "_before", value->is_shown ? from->head : NULL, " before",
			   from->kind);
		add_column(differ, columns, from->key, "_after", value->is_shown ? "after" : NULL, "", from->kind);
		if (value->is_shown)
			add_column(differ, columns, from->key, "_change_percent", "change", "", WMK_COLUMN_PERCENT);
		if ((int)i == sort)
			differ->ordering = differ->n_values - 1;
	}
	differ->difference = differ->n_columns;
	add_column(differ, columns, "difference", "", NULL, "", WMK_COLUMN_COUNT);
	differ->to->sort = (int)differ->difference;
	differ->to->columns = columns;
	differ->to->n_columns = differ->n_columns;
	return differ->to->result->err;
}

/* Find the number that is assigned to the row's key values, or assign a new number. */
static int number_of(struct differ *differ, const struct wmk_cell *row, uint32_t *number)
{
	char text[1024] = "";
	size_t len = 0;

	for (unsigned i = 0; i < differ->n_keys; i++) {
		const struct wmk_cell *key = &row[differ->keys[i]];
		const int n = key->text ? snprintf(text + len, sizeof(text) - len, "%s\n", key->text)
					: snprintf(text + len, sizeof(text) - len, "%ld\n", (long)key->number);

		len = len + (size_t)n < sizeof(text) ? len + (size_t)n : sizeof(text) - 1;
	}
	return wmk_texts_number(&differ->names, text, len, number);
}

static void join(const struct wmk_column *column, const struct compared *value, const struct wmk_cell *from,
		 struct wmk_cell *to)
{
	if (!from->has)
		return;
	if (wmk_column_is_real(column))
		wmk_cell_real(to, to->real + from->real);
	else if (!value->is_greatest)
		wmk_cell_number(to, to->number + from->number);
	else if (from->number > to->number || !to->has)
		wmk_cell_number(to, from->number);
}

/* Add the row of one trace (`side` 0: before, 1: after) to the result's row with the same keys. */
static int add_row(struct differ *differ, const struct wmk_cell *row, unsigned side)
{
	uint32_t number;
	struct wmk_cell *to;
	int err = number_of(differ, row, &number);

	if (err < 0 || number == UINT32_MAX)
		return err;
	if (number == differ->to->n_rows) {
		to = wmk_result_row(differ->to);
		for (unsigned i = 0; i < differ->n_keys; i++)
			if (row[differ->keys[i]].text)
				wmk_cell_text(differ->to, &to[i], row[differ->keys[i]].text);
			else
				to[i] = row[differ->keys[i]];
	}
	if (differ->to->result->err < 0)
		return differ->to->result->err;
	to = &differ->to->cells[(size_t)number * differ->to->n_columns];
	for (unsigned i = 0; i < differ->n_values; i++)
		join(&differ->model->columns[differ->values[i].column], &differ->values[i],
		     &row[differ->values[i].column], &to[differ->values[i].at + side]);
	return 0;
}

static double value_of(const struct wmk_column *column, const struct wmk_cell *cell)
{
	return !cell->has ? 0 : wmk_column_is_real(column) ? cell->real : (double)cell->number;
}

static void set_changes(const struct differ *differ)
{
	for (uint32_t row = 0; row < differ->to->n_rows; row++) {
		struct wmk_cell *cells = &differ->to->cells[(size_t)row * differ->to->n_columns];

		for (unsigned i = 0; i < differ->n_values; i++) {
			const struct compared *value = &differ->values[i];
			const struct wmk_column *column = &differ->model->columns[value->column];
			const double before = value_of(column, &cells[value->at]),
				     after = value_of(column, &cells[value->at + 1]);

			if (value->is_shown && before > 0)
				wmk_cell_real(&cells[value->at + 2], 100.0 * (after - before) / before);
			if (i == differ->ordering)
				wmk_cell_number(&cells[differ->difference],
						(int64_t)(after > before ? after - before : before - after));
		}
	}
}

static int compare_tables(struct differ *differ, struct wmk_result *result)
{
	int err = 0;

	differ->model = differ->tables[1] ? differ->tables[1] : differ->tables[0];
	if (!choose_keys(differ))
		return 0;
	differ->to = wmk_result_table(result, differ->model->name, differ->model->title, NULL, 0);
	wmk_texts_begin(&differ->names);
	err = make_columns(differ);
	for (unsigned side = 0; side < 2; side++)
		for (uint32_t row = 0; differ->tables[side] && row < differ->tables[side]->n_rows && err >= 0; row++)
			err = add_row(differ, &differ->tables[side]->cells[(size_t)row * differ->model->n_columns],
				      side);
	if (err >= 0)
		set_changes(differ);
	wmk_texts_free(&differ->names);
	return err;
}

static const struct wmk_result_table *table_of(const struct wmk_result *result, const char *name)
{
	for (unsigned i = 0; i < result->n_tables; i++)
		if (!strcmp(result->tables[i].name, name))
			return &result->tables[i];
	return NULL;
}

int wmk_result_diff(const struct wmk_result *before, const struct wmk_result *after, struct wmk_result *result)
{
	int err = 0;

	*result = (struct wmk_result){ .name = after->name, .begin = after->begin, .end = after->end,
				       .records = after->records, .lost = after->lost,
				       .is_lost_unknown = after->is_lost_unknown };
	for (unsigned i = 0; i < after->n_tables && err >= 0; i++) {
		struct differ differ = { .tables = { table_of(before, after->tables[i].name), &after->tables[i] } };

		err = compare_tables(&differ, result);
	}
	for (unsigned i = 0; i < before->n_tables && err >= 0; i++) {
		struct differ differ = { .tables = { &before->tables[i] } };

		if (!table_of(after, before->tables[i].name))
			err = compare_tables(&differ, result);
	}
	return err;
}
