/* SPDX-License-Identifier: MIT */
/*
 * result.h - the result of an analysis: tables with typed columns, and notes. All outputs (text, JSON, CSV and the
 * comparison of two traces) use the same description of a column.
 *
 *     table = wmk_result_table(result, "cpus", "CPUs", columns, WMK_ARRAY_LEN(columns));
 *     row = wmk_result_row(table);
 *     wmk_cell_number(&row[CPU], cpu);
 *     wmk_cell_number(&row[BUSY], busy_ns);
 *
 * A cell without a value is unknown: "-" in text, null in JSON, empty in CSV. The result stores a memory error (`err`),
 * so that callers need no check for each cell. One thread.
 */
#ifndef WMK_ANALYZE_RESULT_H
#define WMK_ANALYZE_RESULT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "analyze/histogram.h"

enum wmk_column_kind {
	WMK_COLUMN_TEXT,
	WMK_COLUMN_ID,                 /* a number that identifies a CPU, a thread and so on */
	WMK_COLUMN_COUNT,
	WMK_COLUMN_NS,                 /* a duration */
	WMK_COLUMN_TIME,               /* ns since 1970 */
	WMK_COLUMN_BYTES,
	WMK_COLUMN_PERCENT,            /* `real` */
	WMK_COLUMN_RATE,               /* `real`: a number per second */
	WMK_COLUMN_VALUE,              /* `real`: a number of an application */
};

struct wmk_column {
	const char *key;               /* name in JSON and CSV; names of durations end in _ns */
	const char *head;              /* title in text; NULL: the column is only in JSON and CSV */
	uint8_t kind;                  /* enum wmk_column_kind */
	bool is_key;                   /* identifies a row when two traces are compared */
};

static inline bool wmk_column_is_real(const struct wmk_column *column)
{
	return column->kind == WMK_COLUMN_PERCENT || column->kind == WMK_COLUMN_RATE ||
	       column->kind == WMK_COLUMN_VALUE;
}

struct wmk_cell {
	bool has;
	int64_t number;
	double real;
	char *text;                    /* owned by the table */
};

struct wmk_result_table {
	const char *name;              /* in JSON and CSV */
	const char *title;             /* in text */
	const struct wmk_column *columns;
	unsigned n_columns;
	/* index of the column that orders the rows, the greatest value first; -1: the order in which rows were added */
	int sort;
	struct wmk_cell *cells;        /* n_rows * n_columns */
	uint32_t n_rows, cap_rows;
	struct wmk_result *result;
	/* These members are used only in the table of a comparison, which owns its columns and their names. */
	struct wmk_column *made;
	char **texts;
	uint32_t n_texts, cap_texts;
};

#define WMK_RESULT_TABLES 16u
#define WMK_RESULT_COLUMNS 96u         /* maximum number of columns of a table */

struct wmk_result {
	const char *name;              /* of the analysis */
	int64_t begin, end;            /* ns: times of the first and the last record */
	uint64_t records, lost;
	bool is_lost_unknown;          /* an unknown number of records was lost, too */
	struct wmk_result_table tables[WMK_RESULT_TABLES];
	unsigned n_tables;
	char **notes;
	uint32_t n_notes, cap_notes;
	bool is_summary;               /* notes are printed before the tables */
	int err;                       /* 0, or -ENOMEM */
};

struct wmk_result_table *wmk_result_table(struct wmk_result *result, const char *name, const char *title,
					  const struct wmk_column *columns, unsigned n_columns);
/* Add a row of empty cells. The cells are valid until the next row is added. */
struct wmk_cell *wmk_result_row(struct wmk_result_table *table);
void wmk_cell_number(struct wmk_cell *cell, int64_t number);
/* The cell stays unknown if the value is an infinity or NaN. */
void wmk_cell_real(struct wmk_cell *cell, double real);
/* The function copies the text, and replaces control characters by '?'. */
void wmk_cell_text(struct wmk_result_table *table, struct wmk_cell *cell, const char *text);
/* Set four cells: the median, the 95 % quantile, the 99 % quantile and the maximum. */
void wmk_cell_quantiles(struct wmk_cell *cells, const struct wmk_histogram *histogram);
#define WMK_COLUMNS_QUANTILES(prefix, title) \
	{ prefix "p50_ns", title, WMK_COLUMN_NS, false }, { prefix "p95_ns", NULL, WMK_COLUMN_NS, false }, \
	{ prefix "p99_ns", "99 %", WMK_COLUMN_NS, false }, { prefix "max_ns", "max", WMK_COLUMN_NS, false }
/* Add a note: a sentence that the outputs print after the tables. */
void wmk_result_note(struct wmk_result *result, const char *format, ...) __attribute__((format(printf, 2, 3)));
/*
 * Sort the rows of all tables by the column `key`. NULL: sort each table by its default column. -EINVAL: no table has
 * the column.
 */
int wmk_result_sort(struct wmk_result *result, const char *key);
/*
 * Keep the first `rows` rows of each table, and remove the other rows. If rows are removed, a note gives the original
 * number of rows of the table.
 */
void wmk_result_limit(struct wmk_result *result, uint32_t rows);
/*
 * Compare the results of one analysis for two traces (option --diff). The new result has two columns for each value:
 * one from `before` and one from `after`. Free the new result with wmk_result_free(), even after an error. `result`
 * uses the title strings of `before` and `after`, which must outlive `result`. -ENOMEM.
 */
int wmk_result_diff(const struct wmk_result *before, const struct wmk_result *after, struct wmk_result *result);
void wmk_result_table_free(struct wmk_result_table *table);
void wmk_result_free(struct wmk_result *result);

/* ── output (result_text.c, result_data.c) ───────────────────────────────────────────────────────────────── */

/* Print text. Print at most `limit` rows of each table; 0 means all rows. */
void wmk_result_print(const struct wmk_result *result, uint64_t limit, bool has_color, FILE *out);
/* Print one JSON object. */
void wmk_result_json(const struct wmk_result *result, FILE *out);
/* Print the tables as CSV. The first line of each table contains the column names. An empty line separates tables. */
void wmk_result_csv(const struct wmk_result *result, FILE *out);
/* Format a value as text, for example "1.234 ms" or "12.5 %". Returns `buf`. */
const char *wmk_cell_format(const struct wmk_column *column, const struct wmk_cell *cell, char *buf, size_t size);

#endif
