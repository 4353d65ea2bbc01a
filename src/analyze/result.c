/* SPDX-License-Identifier: MIT */
/*
 * result.c - tables of results (see result.h).
 */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/result.h"
#include "base/array.h"
#include "base/error.h"

/* If a row cannot be allocated, callers get these spare cells, so that callers need no error check. */
static struct wmk_cell spare[WMK_RESULT_COLUMNS];

struct wmk_result_table *wmk_result_table(struct wmk_result *result, const char *name, const char *title,
					  const struct wmk_column *columns, unsigned n_columns)
{
	struct wmk_result_table *table = &result->tables[result->n_tables++];

	*table = (struct wmk_result_table){ .name = name, .title = title, .columns = columns, .n_columns = n_columns,
					    .sort = -1, .result = result };
	return table;
}

struct wmk_cell *wmk_result_row(struct wmk_result_table *table)
{
	struct wmk_cell *cells = wmk_array_room(table->cells, table->n_rows, &table->cap_rows,
						table->n_columns * sizeof(*cells));

	if (!cells) {
		table->result->err = wmk_error(-ENOMEM, "no memory for a table of %u rows", table->n_rows);
		return spare;
	}
	table->cells = cells;
	cells += (size_t)table->n_rows++ * table->n_columns;
	memset(cells, 0, table->n_columns * sizeof(*cells));
	return cells;
}

void wmk_cell_number(struct wmk_cell *cell, int64_t number)
{
	cell->has = true;
	cell->number = number;
}

void wmk_cell_real(struct wmk_cell *cell, double real)
{
	cell->has = isfinite(real);
	cell->real = real;
}

void wmk_cell_text(struct wmk_result_table *table, struct wmk_cell *cell, const char *text)
{
	if (table->result->err < 0)
		return;
	cell->text = strdup(text);
	cell->has = cell->text != NULL;
	if (!cell->has)
		table->result->err = wmk_error(-ENOMEM, "no memory for a table of %u rows", table->n_rows);
	for (char *at = cell->text; at && *at; at++)
		if ((unsigned char)*at < ' ' || *at == 0x7f)
			*at = '?';
}

void wmk_cell_quantiles(struct wmk_cell *cells, const struct wmk_histogram *histogram)
{
	static const double parts[] = { 0.5, 0.95, 0.99 };

	if (!histogram->n)
		return;
	for (unsigned i = 0; i < WMK_ARRAY_LEN(parts); i++)
		wmk_cell_number(&cells[i], (int64_t)wmk_histogram_quantile(histogram, parts[i]));
	wmk_cell_number(&cells[WMK_ARRAY_LEN(parts)], (int64_t)histogram->most);
}

void wmk_result_note(struct wmk_result *result, const char *format, ...)
{
	char **notes = wmk_array_room(result->notes, result->n_notes, &result->cap_notes, sizeof(*notes));
	va_list args;

	if (notes)
		result->notes = notes;
	va_start(args, format);
	if (!notes || vasprintf(&notes[result->n_notes], format, args) < 0)
		result->err = wmk_error(-ENOMEM, "no memory for a note");
	else
		result->n_notes++;
	va_end(args);
}

/* ── order ───────────────────────────────────────────────────────────────────────────────────────────── */

static int compare(const void *left, const void *right, void *data)
{
	const struct wmk_result_table *table = data;
	const struct wmk_cell *a = (const struct wmk_cell *)left + table->sort,
			      *b = (const struct wmk_cell *)right + table->sort;
	const struct wmk_column *column = &table->columns[table->sort];

	if (a->has != b->has)
		return a->has ? -1 : 1;
	if (!a->has)
		return 0;
	if (column->kind == WMK_COLUMN_TEXT)
		return strcmp(a->text, b->text);
	if (wmk_column_is_real(column))
		return a->real > b->real ? -1 : a->real < b->real;
	if (column->kind == WMK_COLUMN_ID || column->kind == WMK_COLUMN_TIME)
		return a->number < b->number ? -1 : a->number > b->number;
	return a->number > b->number ? -1 : a->number < b->number;
}

int wmk_result_sort(struct wmk_result *result, const char *key)
{
	bool has_key = !key;

	for (unsigned t = 0; t < result->n_tables; t++) {
		struct wmk_result_table *table = &result->tables[t];

		for (unsigned i = 0; key && i < table->n_columns; i++)
			if (!strcmp(table->columns[i].key, key)) {
				table->sort = (int)i;
				has_key = true;
			}
		if (table->sort >= 0 && table->n_rows)
			qsort_r(table->cells, table->n_rows, table->n_columns * sizeof(*table->cells), compare, table);
	}
	return has_key ? 0 : wmk_errorx(-EINVAL, "no table of this analysis has a column '%.80s' (--json prints "
						 "the names of the columns)", key);
}

static void free_rows(struct wmk_result_table *table, uint32_t from)
{
	for (size_t i = (size_t)from * table->n_columns; i < (size_t)table->n_rows * table->n_columns; i++)
		free(table->cells[i].text);
	table->n_rows = from;
}

void wmk_result_limit(struct wmk_result *result, uint32_t rows)
{
	for (unsigned t = 0; t < result->n_tables; t++) {
		struct wmk_result_table *table = &result->tables[t];

		if (table->n_rows <= rows)
			continue;
		wmk_result_note(result, "the table %s has the first %u of %u rows", table->name, rows, table->n_rows);
		free_rows(table, rows);
	}
}

void wmk_result_table_free(struct wmk_result_table *table)
{
	free_rows(table, 0);
	free(table->cells);
	for (uint32_t i = 0; i < table->n_texts; i++)
		free(table->texts[i]);
	free(table->texts);
	free(table->made);
}

void wmk_result_free(struct wmk_result *result)
{
	for (unsigned t = 0; t < result->n_tables; t++)
		wmk_result_table_free(&result->tables[t]);
	for (uint32_t i = 0; i < result->n_notes; i++)
		free(result->notes[i]);
	free(result->notes);
	*result = (struct wmk_result){ 0 };
}
