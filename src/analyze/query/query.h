/* SPDX-License-Identifier: MIT */
/*
 * query.h - SQL over traces: an SQLite connection to the records of traces (docs/query.md).
 *
 *     wmk_query_open() ─► wmk_query_prepare() ─► wmk_query_step(), wmk_query_value() ... ─► wmk_query_end()
 *
 * Nothing is imported: each table reads the stream files. The connection is read-only: statements other than SELECT are
 * refused. One thread. Errors are -errno with a cause chain.
 */
#ifndef WMK_ANALYZE_QUERY_QUERY_H
#define WMK_ANALYZE_QUERY_QUERY_H

#include "analyze/query/tables.h"
#include "analyze/query/value.h"

struct wmk_query;

struct wmk_query_options {
	const char *begin, *end;   /* selects records of this time, see read/parse_time.h; NULL: no limit */
	bool no_push_down;         /* for tests: SQLite alone evaluates conditions and groups */
	struct wmk_query_reports reports;
};

/* Open all traces in the paths and in their subdirectories. Errors: as wmk_query_traces_open(). */
int wmk_query_open(const char *const *paths, unsigned n_paths, const struct wmk_query_options *options,
		   struct wmk_query **query);
void wmk_query_close(struct wmk_query *query);

/* The tables, with their columns. -ENOMEM. */
int wmk_query_tables(struct wmk_query *query, const struct wmk_query_table **tables, uint32_t *n);

/* True if SQLite accepts the name only in quotes, because the name is a keyword. */
bool wmk_query_is_keyword(const char *name);

/* Prepare a statement, which replaces the previous statement. -EINVAL: an error in the statement, with its position. */
int wmk_query_prepare(struct wmk_query *query, const char *sql);
/* The columns of the result. The name of a column is valid until the next statement. */
unsigned wmk_query_n_columns(const struct wmk_query *query);
const char *wmk_query_column_name(const struct wmk_query *query, unsigned column);
/* Read the next row. 1: the row is current; 0: the end; -EINVAL: an error in the statement; -EIO, -ENOMEM. */
int wmk_query_step(struct wmk_query *query);
/* Return a value of the current row. A text is valid until the next step. */
struct wmk_query_value wmk_query_row_value(const struct wmk_query *query, unsigned column);
/*
 * Report the number of repeated messages, and the number of lost records. Returns the number of distinct messages about
 * damaged records.
 */
uint64_t wmk_query_end(struct wmk_query *query);

#endif
