/* SPDX-License-Identifier: MIT */
/*
 * result_data.c - print tables as JSON and as CSV (see result.h).
 */
#include <inttypes.h>
#include <string.h>

#include "analyze/result.h"
#include "base/json_text.h"

/* A time is written as a JSON string, because many JSON parsers keep only 53 bits of a number. */
static void put_time(int64_t ns, const char *quote, FILE *out)
{
	const uint64_t magnitude = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;

	fprintf(out, "%s%s%" PRIu64 ".%09" PRIu64 "%s", quote, ns < 0 ? "-" : "", magnitude / 1000000000,
		magnitude % 1000000000, quote);
}

/* Percentages and rates are printed with six digits; values from applications are printed with all digits. */
static void put_real(const struct wmk_column *column, double real, FILE *out)
{
	fprintf(out, "%.*g", column->kind == WMK_COLUMN_VALUE ? 15 : 6, real);
}

static void json_row(const struct wmk_result_table *table, const struct wmk_cell *row, FILE *out)
{
	for (unsigned i = 0; i < table->n_columns; i++) {
		const struct wmk_column *column = &table->columns[i];

		fprintf(out, "%s\"%s\":", i ? "," : "", column->key);
		if (!row[i].has)
			fputs("null", out);
		else if (column->kind == WMK_COLUMN_TEXT)
			wmk_json_quote(out, row[i].text, strlen(row[i].text));
		else if (column->kind == WMK_COLUMN_TIME)
			put_time(row[i].number, "\"", out);
		else if (wmk_column_is_real(column))
			put_real(column, row[i].real, out);
		else
			fprintf(out, "%" PRId64, row[i].number);
	}
}

void wmk_result_json(const struct wmk_result *result, FILE *out)
{
	fprintf(out, "{\"analysis\":\"%s\",\"begin\":", result->name);
	put_time(result->begin, "\"", out);
	fprintf(out, ",\"length_ns\":%" PRId64 ",\"records\":%" PRIu64 ",\"lost\":%" PRIu64
		     ",\"lost_unknown\":%s,\"tables\":{",
		result->end - result->begin, result->records, result->lost, result->is_lost_unknown ? "true" : "false");
	for (unsigned t = 0; t < result->n_tables; t++) {
		const struct wmk_result_table *table = &result->tables[t];

		fprintf(out, "%s\n\"%s\":[", t ? "," : "", table->name);
		for (uint32_t row = 0; row < table->n_rows; row++) {
			fputs(row ? ",\n {" : "\n {", out);
			json_row(table, table->cells + (size_t)row * table->n_columns, out);
			fputc('}', out);
		}
		fputc(']', out);
	}
	fputs("},\n\"notes\":[", out);
	for (uint32_t i = 0; i < result->n_notes; i++) {
		fputs(i ? "," : "", out);
		wmk_json_quote(out, result->notes[i], strlen(result->notes[i]));
	}
	fputs("]}\n", out);
}

/* As in RFC 4180, a text with a comma, a quote or a line end is quoted, and quotes within the text are doubled. */
static void csv_text(const char *text, FILE *out)
{
	if (!strpbrk(text, ",\"\r\n")) {
		fputs(text, out);
		return;
	}
	fputc('"', out);
	for (; *text; text++) {
		if (*text == '"')
			fputc('"', out);
		fputc(*text, out);
	}
	fputc('"', out);
}

static void csv_cell(const struct wmk_column *column, const struct wmk_cell *cell, FILE *out)
{
	if (!cell->has)
		return;
	if (column->kind == WMK_COLUMN_TEXT)
		csv_text(cell->text, out);
	else if (column->kind == WMK_COLUMN_TIME)
		put_time(cell->number, "", out);
	else if (wmk_column_is_real(column))
		put_real(column, cell->real, out);
	else
		fprintf(out, "%" PRId64, cell->number);
}

void wmk_result_csv(const struct wmk_result *result, FILE *out)
{
	for (unsigned t = 0; t < result->n_tables; t++) {
		const struct wmk_result_table *table = &result->tables[t];

		fputs(t ? "\n" : "", out);
		for (unsigned i = 0; i < table->n_columns; i++)
			fprintf(out, "%s%s", i ? "," : "", table->columns[i].key);
		fputc('\n', out);
		for (uint32_t row = 0; row < table->n_rows; row++)
			for (unsigned i = 0; i < table->n_columns; i++) {
				csv_cell(&table->columns[i], &table->cells[(size_t)row * table->n_columns + i], out);
				fputc(i + 1 < table->n_columns ? ',' : '\n', out);
			}
	}
}
