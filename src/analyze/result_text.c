/* SPDX-License-Identifier: MIT */
/*
 * result_text.c - print tables as aligned text (see result.h).
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/result.h"

#define WIDE 40                        /* maximum width of a text that is not the last of its row */

/* Format a number with three or four digits, and a unit prefix in powers of 1000. */
static const char *scaled(double value, const char *const *units, unsigned n_units, char *buf, size_t size)
{
	unsigned i = 0;

	while (i + 1 < n_units && (value >= 999.5 || value <= -999.5)) {
		value /= 1000;
		i++;
	}
	const double magnitude = value < 0 ? -value : value;

	snprintf(buf, size, "%.*f %s", !i || magnitude >= 99.95 ? 0 : magnitude >= 9.995 ? 1 : 2, value, units[i]);
	return buf;
}

const char *wmk_cell_format(const struct wmk_column *column, const struct wmk_cell *cell, char *buf, size_t size)
{
	static const char *const times[] = { "ns", "us", "ms", "s" };
	static const char *const sizes[] = { "B", "kB", "MB", "GB", "TB" };

	if (!cell->has)
		return "-";
	switch (column->kind) {
	case WMK_COLUMN_TEXT:
		return cell->text;
	case WMK_COLUMN_NS:
		return scaled((double)cell->number, times, 4, buf, size);
	case WMK_COLUMN_BYTES:
		return scaled((double)cell->number, sizes, 5, buf, size);
	case WMK_COLUMN_PERCENT:
		snprintf(buf, size, "%.1f %%", cell->real);
		return buf;
	case WMK_COLUMN_RATE:
		snprintf(buf, size, cell->real < 9.95 && cell->real > -9.95 ? "%.1f" : "%.0f", cell->real);
		return buf;
	case WMK_COLUMN_VALUE:
		snprintf(buf, size, nearbyint(cell->real) == cell->real && fabs(cell->real) < 1e15 ? "%.0f" : "%.6g",
			 cell->real);
		return buf;
	case WMK_COLUMN_TIME:
		snprintf(buf, size, "%" PRId64 ".%09" PRId64, cell->number / 1000000000, cell->number % 1000000000);
		return buf;
	default:
		snprintf(buf, size, "%" PRId64, cell->number);
		return buf;
	}
}

/* Return the number of terminal columns of a UTF-8 text, if each character uses one column. */
static int width_of(const char *text)
{
	int n = 0;

	for (; *text; text++)
		n += (*text & 0xc0) != 0x80;
	return n;
}

static int last_shown(const struct wmk_result_table *table)
{
	int last = -1;

	for (unsigned i = 0; i < table->n_columns; i++)
		if (table->columns[i].head)
			last = (int)i;
	return last;
}

static void put(const struct wmk_column *column, const char *text, int width, bool is_last, FILE *out)
{
	const int pad = width - width_of(text);

	if (column->kind != WMK_COLUMN_TEXT)
		fprintf(out, "%*s%s", pad > 0 ? pad : 0, "", text);
	else
		fprintf(out, "%s%*s", text, pad > 0 && !is_last ? pad : 0, "");
	fputs(is_last ? "\n" : "  ", out);
}

static const char *text_at(const struct wmk_result_table *table, uint32_t row, unsigned column, char *buf, size_t size)
{
	return wmk_cell_format(&table->columns[column], &table->cells[(size_t)row * table->n_columns + column], buf,
			       size);
}

/* A text that is longer than the maximum width does not widen its column. */
static int column_width(const struct wmk_result_table *table, unsigned column, uint32_t n_rows)
{
	int width = width_of(table->columns[column].head);
	char buf[64];

	for (uint32_t row = 0; row < n_rows; row++) {
		const int w = width_of(text_at(table, row, column, buf, sizeof(buf))), most = w > WIDE ? WIDE : w;

		width = most > width ? most : width;
	}
	return width;
}

static void print_table(const struct wmk_result_table *table, uint64_t limit, bool has_color, FILE *out)
{
	const uint32_t n = limit && limit < table->n_rows ? (uint32_t)limit : table->n_rows;
	const int last = last_shown(table);
	int widths[WMK_RESULT_COLUMNS] = { 0 };
	char buf[64];

	fprintf(out, "\n%s%s%s", has_color ? "\033[1m" : "", table->title, has_color ? "\033[0m" : "");
	if (n < table->n_rows)
		fprintf(out, " (%" PRIu32 " of %" PRIu32 "; --limit 0 prints all)", n, table->n_rows);
	fputs(table->n_rows ? "\n" : ": none\n", out);
	for (unsigned i = 0; table->n_rows && i < table->n_columns; i++)
		if (table->columns[i].head) {
			widths[i] = column_width(table, i, n);
			put(&table->columns[i], table->columns[i].head, widths[i], (int)i == last, out);
		}
	for (uint32_t row = 0; row < n; row++)
		for (unsigned i = 0; i < table->n_columns; i++)
			if (table->columns[i].head)
				put(&table->columns[i], text_at(table, row, i, buf, sizeof(buf)), widths[i],
				    (int)i == last, out);
}

static void print_notes(const struct wmk_result *result, FILE *out)
{
	if (result->n_notes)
		fputc('\n', out);
	for (uint32_t i = 0; i < result->n_notes; i++)
		fprintf(out, "%s%s\n", result->is_summary ? "- " : "", result->notes[i]);
}

void wmk_result_print(const struct wmk_result *result, uint64_t limit, bool has_color, FILE *out)
{
	const struct wmk_column duration = { .kind = WMK_COLUMN_NS };
	const struct wmk_cell length = { .has = true, .number = result->end - result->begin };
	char buf[64];

	fprintf(out, "%" PRIu64 " records in %s", result->records,
		wmk_cell_format(&duration, &length, buf, sizeof(buf)));
	if (result->lost || result->is_lost_unknown)
		fprintf(out, ", %" PRIu64 "%s lost", result->lost, result->is_lost_unknown ? " or more" : "");
	fputc('\n', out);
	if (result->is_summary)
		print_notes(result, out);
	for (unsigned i = 0; i < result->n_tables; i++)
		print_table(&result->tables[i], limit, has_color, out);
	if (!result->is_summary)
		print_notes(result, out);
}
