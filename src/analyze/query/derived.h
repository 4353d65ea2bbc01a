/* SPDX-License-Identifier: MIT */
/*
 * derived.h - tables with rows that are computed from several records: states of threads, system calls, spans.
 *
 *     merged records ──► analysis.h: a module of a table ──rows──► queue ──► SQLite
 *
 * A module adds a row when the module has read the last record that belongs to the row. The memory use therefore does
 * not grow with the number of rows. Rows are in the order of their end times. One thread. Errors are -errno with a
 * cause chain.
 */
#ifndef WMK_ANALYZE_QUERY_DERIVED_H
#define WMK_ANALYZE_QUERY_DERIVED_H

#include "analyze/analysis.h"
#include "analyze/query/tables.h"
#include "analyze/query/value.h"

#define WMK_QUERY_DERIVED_COLUMNS 24u

struct wmk_query_derived_column {
	const char *name;
	enum wmk_query_type type;
};

/* A derived table. */
struct wmk_query_derived {
	const char *name;
	const struct wmk_query_derived_column *columns;
	unsigned n_columns;            /* at most WMK_QUERY_DERIVED_COLUMNS */
	/* The state of the module begins with struct wmk_query_rows. */
	const struct wmk_analyze_module *module;
};

/* All derived tables; NULL marks the end of the list. (derived.c) */
extern const struct wmk_query_derived *const wmk_query_derived_tables[];

/* derived_states.c */
extern const struct wmk_query_derived wmk_query_threads, wmk_query_slices, wmk_query_wakeups;
extern const struct wmk_query_derived wmk_query_syscalls;                      /* derived_syscalls.c */
extern const struct wmk_query_derived wmk_query_spans;                         /* derived_spans.c */

struct wmk_query_row {
	struct wmk_query_value values[WMK_QUERY_DERIVED_COLUMNS];      /* initially NULL */
	char texts[2][64];             /* buffer for texts of values */
};

/* The rows that SQLite has not read yet. */
struct wmk_query_rows {
	struct wmk_query_row *rows;
	uint32_t next, n, cap;
	int64_t steps;                 /* ns: real time minus steady time, for the present record */
};

/* Add a row of NULLs. The row is valid until the next call of this function. NULL with a cause chain: no memory. */
struct wmk_query_row *wmk_query_rows_add(struct wmk_query_rows *rows);
/* Set a text: the row gets a copy of the text, with U+FFFD in place of bytes that are not UTF-8. "": NULL. */
void wmk_query_row_text(struct wmk_query_row *row, unsigned column, unsigned room, const char *text, size_t len);
/* Set a text that stays valid as long as the traces are open. A text that is valid UTF-8 is not copied. */
void wmk_query_row_lasting(struct wmk_query_row *row, unsigned column, unsigned room, const char *text, size_t len);
/* Set two columns: the start time and the duration. */
void wmk_query_row_times(const struct wmk_query_rows *rows, struct wmk_query_row *row, unsigned column, int64_t from,
			 int64_t to);
void wmk_query_rows_free(struct wmk_query_rows *rows);

struct wmk_query_derivation;

/* Start to read the traces. -ENODATA: the traces lack an event that the table needs. The message names the event. */
int wmk_query_derive(struct wmk_query_traces *traces, const struct wmk_query_derived *table,
		     struct wmk_query_derivation **derivation);
void wmk_query_derivation_free(struct wmk_query_derivation *derivation);
/* Read the next row. 1: the row is current; 0: the end; -errno. */
int wmk_query_derivation_next(struct wmk_query_derivation *derivation);
/* Return a value of the current row. The value is valid until the next call of wmk_query_derivation_next(). */
struct wmk_query_value wmk_query_derivation_value(const struct wmk_query_derivation *derivation, uint32_t column);

#endif
