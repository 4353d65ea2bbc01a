/* SPDX-License-Identifier: MIT */
/*
 * query_print.c - print the rows of a query (see query_print.h).
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cli/command.h"
#include "cli/query_print.h"
#include "base/json_text.h"

#define ROWS_KEPT 1000u            /* rows that are aligned with each other, ... */
#define BYTES_KEPT (1u << 20)      /* ... up to this size of their text */
#define WIDTH_MAX 100u             /* a longer value is printed completely, and does not widen its column */

struct printed_column {
	char *name;
	unsigned width;
	bool is_text;              /* has a value that is no number: aligned to the left */
};

struct wmk_query_printer {
	FILE *out;
	enum wmk_query_form form;
	struct printed_column *columns;
	unsigned n_columns;
	/* the cells of the rows that are kept, each with a NUL */
	char *text;
	size_t len;
	FILE *cells;               /* writes to `text` */
	unsigned n_rows;
	bool is_aligned;           /* the head has been printed */
};

/* ── cells ───────────────────────────────────────────────────────────────────────────────────────────────────── */

static void put_bytes(FILE *out, const char *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		fprintf(out, "%02x", (unsigned char)bytes[i]);
}

/* Control characters are replaced by '?', so that a text can neither end a line nor control a terminal. */
static void put_shown(FILE *out, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		putc_unlocked((unsigned char)text[i] < ' ' || text[i] == 0x7f ? '?' : text[i], out);
}

static void put_csv_text(FILE *out, const char *text, size_t len)
{
	bool needs = len && (text[0] == ' ' || text[len - 1] == ' ');

	for (size_t i = 0; i < len && !needs; i++)
		needs = text[i] == ',' || text[i] == '"' || text[i] == '\n' || text[i] == '\r';
	if (needs)
		putc_unlocked('"', out);
	for (size_t i = 0; i < len; i++) {
		if (text[i] == '"')
			putc_unlocked('"', out);
		putc_unlocked(text[i], out);
	}
	if (needs)
		putc_unlocked('"', out);
}

static void put_real(FILE *out, enum wmk_query_form form, double value)
{
	if (isfinite(value))
		fprintf(out, form == WMK_QUERY_AS_TABLE ? "%.15g" : "%.17g", value);
	else if (form == WMK_QUERY_AS_JSON)
		fputs(value < 0 ? "\"-Infinity\"" : "\"Infinity\"", out);
	else
		fputs(value < 0 ? "-Infinity" : "Infinity", out);
}

static void put_value(FILE *out, enum wmk_query_form form, const struct wmk_query_value *value)
{
	const bool is_json = form == WMK_QUERY_AS_JSON;

	switch (value->kind) {
	case WMK_QUERY_INTEGER:
		fprintf(out, "%" PRId64, value->integer);
		break;
	case WMK_QUERY_REAL:
		put_real(out, form, value->real);
		break;
	case WMK_QUERY_TEXT:
		(is_json ? wmk_json_quote : form == WMK_QUERY_AS_CSV ? put_csv_text : put_shown)(out, value->text,
												 value->len);
		break;
	case WMK_QUERY_BYTES:
		fputs(is_json ? "\"" : "", out);
		put_bytes(out, value->text, value->len);
		fputs(is_json ? "\"" : "", out);
		break;
	default:
		fputs(is_json ? "null" : "", out);
	}
}

/* ── aligned columns ─────────────────────────────────────────────────────────────────────────────────────────── */

static unsigned width_of(const char *text)
{
	unsigned width = 0;

	for (; *text; text++)
		width += (*text & 0xc0) != 0x80;
	return width;
}

static void widen(struct printed_column *column, const char *cell)
{
	const unsigned width = width_of(cell);

	if (width > column->width)
		column->width = width < WIDTH_MAX ? width : WIDTH_MAX;
}

static void put_padding(FILE *out, unsigned n)
{
	while (n--)
		putc_unlocked(' ', out);
}

static void put_cell(const struct wmk_query_printer *printer, unsigned i, const char *cell)
{
	const struct printed_column *column = &printer->columns[i];
	const unsigned width = width_of(cell), left = column->width > width ? column->width - width : 0;
	const bool is_last = i + 1 == printer->n_columns;

	put_padding(printer->out, column->is_text ? 0 : left);
	fputs(cell, printer->out);
	put_padding(printer->out, column->is_text && !is_last ? left : 0);
	fputs(is_last ? "\n" : "  ", printer->out);
}

/* Print the header unless it was already printed, and then the buffered rows. */
static int align(struct wmk_query_printer *printer)
{
	const char *cell;

	if (printer->cells && fclose(printer->cells) != 0) {
		printer->cells = NULL;
		return wmk_error(-ENOMEM, "no memory for the rows of a query");
	}
	printer->cells = NULL;
	cell = printer->text;
	for (unsigned i = 0; i < printer->n_rows * printer->n_columns; i++, cell += strlen(cell) + 1)
		widen(&printer->columns[i % printer->n_columns], cell);
	if (!printer->is_aligned) {
		for (unsigned i = 0; i < printer->n_columns; i++)
			widen(&printer->columns[i], printer->columns[i].name);
		fputs(wmk_cli_color(printer->out, WMK_CLI_BOLD), printer->out);
		for (unsigned i = 0; i < printer->n_columns; i++)
			put_cell(printer, i, printer->columns[i].name);
		fputs(wmk_cli_color(printer->out, WMK_CLI_PLAIN), printer->out);
	}
	printer->is_aligned = true;
	cell = printer->text;
	for (unsigned i = 0; i < printer->n_rows * printer->n_columns; i++, cell += strlen(cell) + 1)
		put_cell(printer, i % printer->n_columns, cell);
	free(printer->text);
	printer->text = NULL;
	printer->n_rows = 0;
	return 0;
}

static int keep(struct wmk_query_printer *printer, const struct wmk_query_value *values)
{
	if (!printer->cells) {
		printer->cells = open_memstream(&printer->text, &printer->len);
		if (!printer->cells)
			return wmk_error(-ENOMEM, "no memory for the rows of a query");
	}
	for (unsigned i = 0; i < printer->n_columns; i++) {
		put_value(printer->cells, WMK_QUERY_AS_TABLE, &values[i]);
		putc_unlocked('\0', printer->cells);
		if (!printer->is_aligned && values[i].kind >= WMK_QUERY_TEXT)
			printer->columns[i].is_text = true;
	}
	printer->n_rows++;
	return printer->n_rows >= ROWS_KEPT || ftell(printer->cells) >= (long)BYTES_KEPT ? align(printer) : 0;
}

/* ── rows ────────────────────────────────────────────────────────────────────────────────────────────────────── */

int wmk_query_printer_create(FILE *out, enum wmk_query_form form, unsigned n_columns, const char *const *names,
			     struct wmk_query_printer **printer)
{
	struct wmk_query_printer *made = calloc(1, sizeof(*made));

	if (made)
		made->columns = calloc(n_columns + 1, sizeof(*made->columns));
	if (!made || !made->columns) {
		free(made);
		return wmk_error(-ENOMEM, "no memory for %u columns", n_columns);
	}
	made->out = out;
	made->form = form;
	made->n_columns = n_columns;
	for (unsigned i = 0; i < n_columns; i++) {
		char *p = made->columns[i].name = strdup(names[i]);

		for (; p && *p && form == WMK_QUERY_AS_TABLE; p++)
			*p = (unsigned char)*p < ' ' || *p == 0x7f ? '?' : *p;
		if (!made->columns[i].name) {
			wmk_query_printer_free(made);
			return wmk_error(-ENOMEM, "no memory for %u columns", n_columns);
		}
	}
	for (unsigned i = 0; i < n_columns && form == WMK_QUERY_AS_CSV; i++) {
		put_csv_text(out, names[i], strlen(names[i]));
		fputs(i + 1 < n_columns ? "," : "\n", out);
	}
	*printer = made;
	return 0;
}

void wmk_query_printer_free(struct wmk_query_printer *printer)
{
	if (!printer)
		return;
	for (unsigned i = 0; i < printer->n_columns; i++)
		free(printer->columns[i].name);
	if (printer->cells)
		fclose(printer->cells);
	free(printer->text);
	free(printer->columns);
	free(printer);
}

static int written(const struct wmk_query_printer *printer)
{
	return ferror(printer->out) ? wmk_error(errno ? -errno : -EIO, "cannot write the rows") : 0;
}

int wmk_query_printer_row(struct wmk_query_printer *printer, const struct wmk_query_value *values)
{
	const bool is_json = printer->form == WMK_QUERY_AS_JSON;
	int err;

	if (printer->form == WMK_QUERY_AS_TABLE) {
		err = keep(printer, values);
		return err < 0 ? err : written(printer);
	}
	fputs(is_json ? "{" : "", printer->out);
	for (unsigned i = 0; i < printer->n_columns; i++) {
		fputs(i ? "," : "", printer->out);
		if (is_json) {
			wmk_json_quote(printer->out, printer->columns[i].name, strlen(printer->columns[i].name));
			putc_unlocked(':', printer->out);
		}
		put_value(printer->out, printer->form, &values[i]);
	}
	fputs(is_json ? "}\n" : "\n", printer->out);
	return written(printer);
}

int wmk_query_printer_end(struct wmk_query_printer *printer)
{
	int err = printer->form == WMK_QUERY_AS_TABLE && (printer->n_rows || !printer->is_aligned) ? align(printer) : 0;

	if (err >= 0 && fflush(printer->out) != 0)
		err = wmk_error(-errno, "cannot write the rows");
	return err < 0 ? err : written(printer);
}
