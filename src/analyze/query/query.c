/* SPDX-License-Identifier: MIT */
/*
 * query.c - SQL over traces (see query.h).
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/query/module.h"
#include "analyze/query/query.h"
#include "base/error.h"
#include "base/utf8.h"

struct wmk_query {
	struct wmk_query_traces traces;
	struct wmk_query_tables tables;
	struct wmk_query_module *modules; /* one for each table */
	sqlite3 *db;
	sqlite3_stmt *statement;
	bool is_declaring;
};

/* ── errors ──────────────────────────────────────────────────────────────────────────────────────────────────── */

/* Return the number of the character at this byte offset of the statement, counted from 1. */
static unsigned column_at(const char *sql, int offset)
{
	unsigned column = 1;

	for (int i = 0; i < offset && sql[i]; i++)
		column += (sql[i] & 0xc0) != 0x80;
	return column;
}

static int fail(const struct wmk_query *query, int status, const char *sql)
{
	const char *words = sqlite3_errmsg(query->db);
	const int offset = sqlite3_error_offset(query->db);

	if (status == SQLITE_NOMEM)
		return wmk_error(-ENOMEM, "cannot run the query");
	if (status == SQLITE_FULL || status == SQLITE_IOERR || status == SQLITE_CANTOPEN)
		return wmk_errorx(-EIO, "cannot run the query: %.200s (temporary files may lack space: set "
					"SQLITE_TMPDIR)", words);
	if (status == SQLITE_AUTH)
		return wmk_errorx(-EINVAL, "cannot run the query: only SELECT statements are allowed");
	if (offset >= 0 && sql)
		return wmk_errorx(-EINVAL, "cannot run the query: %.200s, at character %u", words,
				  column_at(sql, offset));
	return wmk_errorx(-EINVAL, "cannot run the query: %.240s%s", words,
			  strncmp(words, "no such table", 13) ? ""
							      : " (`waymark query --tables` lists the tables)");
}

/* ── the connection ──────────────────────────────────────────────────────────────────────────────────────────── */

static int authorize(void *data, int action, const char *a, const char *b, const char *c, const char *d)
{
	const struct wmk_query *query = data;

	(void)a;
	(void)c;
	(void)d;
	if (query->is_declaring)
		return SQLITE_OK;
	if (action == SQLITE_FUNCTION)
		return b && sqlite3_stricmp(b, "load_extension") == 0 ? SQLITE_DENY : SQLITE_OK;
	return action == SQLITE_SELECT || action == SQLITE_READ || action == SQLITE_RECURSIVE ? SQLITE_OK : SQLITE_DENY;
}

static int connect_tables(struct wmk_query *query, bool no_push_down)
{
	struct wmk_query_tables *tables = &query->tables;
	int status = sqlite3_open_v2(":memory:", &query->db,
				     SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);

	query->modules = calloc(tables->n, sizeof(*query->modules));
	if (!query->modules)
		return wmk_error(-ENOMEM, "no memory for %u tables", tables->n);
	/* (memory for sorting; larger results are sorted in temporary files) */
	if (status == SQLITE_OK)
		status = sqlite3_exec(query->db, "PRAGMA cache_size = -131072", NULL, NULL, NULL);
	for (uint32_t i = 0; i < tables->n && status == SQLITE_OK; i++) {
		query->modules[i] = (struct wmk_query_module){ tables, &tables->all[i], no_push_down,
								   &query->is_declaring };
		status = wmk_query_module_add(query->db, &query->modules[i]);
	}
	if (status == SQLITE_OK)
		status = sqlite3_db_config(query->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	if (status == SQLITE_OK)
		status = sqlite3_set_authorizer(query->db, authorize, query);
	return status == SQLITE_OK ? 0 : fail(query, status, NULL);
}

int wmk_query_open(const char *const *paths, unsigned n_paths, const struct wmk_query_options *options,
		   struct wmk_query **query)
{
	struct wmk_query *made = calloc(1, sizeof(*made));
	int err;

	if (!made)
		return wmk_error(-ENOMEM, "no memory for a query");
	made->traces.reports = options->reports;
	err = wmk_query_traces_open(paths, n_paths, options->begin, options->end, &made->traces);
	if (err >= 0)
		err = wmk_query_tables_make(&made->traces, &made->tables);
	if (err >= 0)
		err = connect_tables(made, options->no_push_down);
	if (err < 0) {
		wmk_query_close(made);
		return err;
	}
	*query = made;
	return 0;
}

void wmk_query_close(struct wmk_query *query)
{
	if (!query)
		return;
	sqlite3_finalize(query->statement);
	sqlite3_close(query->db);
	free(query->modules);
	wmk_query_tables_free(&query->tables);
	wmk_query_traces_close(&query->traces);
	free(query);
}

int wmk_query_tables(struct wmk_query *query, const struct wmk_query_table **tables, uint32_t *n)
{
	int err = 0;

	for (uint32_t i = 0; i < query->tables.n && err >= 0; i++)
		err = wmk_query_table_columns(&query->tables, &query->tables.all[i]);
	*tables = query->tables.all;
	*n = query->tables.n;
	return err;
}

bool wmk_query_is_keyword(const char *name)
{
	return sqlite3_keyword_check(name, (int)strlen(name));
}

/* ── statements ──────────────────────────────────────────────────────────────────────────────────────────────── */

int wmk_query_prepare(struct wmk_query *query, const char *sql)
{
	const char *rest;
	int status;

	sqlite3_finalize(query->statement);
	query->statement = NULL;
	if (!wmk_utf8_is(sql))
		return wmk_errorx(-EINVAL, "cannot run the query: it is not UTF-8");
	status = sqlite3_prepare_v2(query->db, sql, -1, &query->statement, &rest);
	if (status != SQLITE_OK)
		return fail(query, status, sql);
	while (isspace((unsigned char)*rest) || *rest == ';')
		rest++;
	if (!query->statement)
		return wmk_errorx(-EINVAL, "cannot run the query: it is empty");
	if (*rest)
		return wmk_errorx(-EINVAL, "cannot run the query: a second statement begins at character %u",
				  column_at(sql, (int)(rest - sql)));
	return 0;
}

unsigned wmk_query_n_columns(const struct wmk_query *query)
{
	return (unsigned)sqlite3_column_count(query->statement);
}

const char *wmk_query_column_name(const struct wmk_query *query, unsigned column)
{
	const char *name = sqlite3_column_name(query->statement, (int)column);

	return name ? name : "";
}

int wmk_query_step(struct wmk_query *query)
{
	const int status = sqlite3_step(query->statement);

	if (status == SQLITE_ROW || status == SQLITE_DONE)
		return status == SQLITE_ROW;
	return fail(query, status & 0xff, NULL);
}

struct wmk_query_value wmk_query_row_value(const struct wmk_query *query, unsigned column)
{
	const int i = (int)column;
	struct wmk_query_value value = { .kind = WMK_QUERY_NULL };

	switch (sqlite3_column_type(query->statement, i)) {
	case SQLITE_INTEGER:
		return wmk_query_integer(sqlite3_column_int64(query->statement, i));
	case SQLITE_FLOAT:
		value.kind = WMK_QUERY_REAL;
		value.real = sqlite3_column_double(query->statement, i);
		return value;
	case SQLITE_TEXT:
		value.kind = WMK_QUERY_TEXT;
		value.text = (const char *)sqlite3_column_text(query->statement, i);
		break;
	case SQLITE_BLOB:
		value.kind = WMK_QUERY_BYTES;
		value.text = sqlite3_column_blob(query->statement, i);
		break;
	default:
		return value;
	}
	value.len = value.text ? (size_t)sqlite3_column_bytes(query->statement, i) : 0;
	return value;
}

uint64_t wmk_query_end(struct wmk_query *query)
{
	wmk_query_traces_end(&query->traces);
	return query->traces.damages;
}
