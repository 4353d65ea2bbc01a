/* SPDX-License-Identifier: MIT */
/*
 * module.h - the tables of traces as virtual tables of SQLite.
 *
 * Each table is registered as a separate SQLite module, so every statement can use the name of the table. No schema is
 * written. Names from a trace are never copied into an SQL text, except quoted column names.
 */
#ifndef WMK_ANALYZE_QUERY_MODULE_H
#define WMK_ANALYZE_QUERY_MODULE_H

#include <sqlite3.h>

#include "analyze/query/tables.h"

/* One table for SQLite. The struct must outlive the connection. */
struct wmk_query_module {
	struct wmk_query_tables *tables;
	struct wmk_query_table *table;
	bool no_push_down;         /* SQLite alone evaluates conditions and groups */
	/*
	 * True while a table declares its columns. SQLite then calls its authorizer in the same way as for a CREATE
	 * TABLE.
	 */
	bool *is_declaring;
};

/* Add the table to the connection. Returns the result of SQLite. */
int wmk_query_module_add(sqlite3 *db, struct wmk_query_module *module);

#endif
