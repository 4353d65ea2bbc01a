/* SPDX-License-Identifier: MIT */
/*
 * plan.h - the conditions and the order that SQLite passes to a table, and the part that the table evaluates itself.
 *
 *     xBestIndex: constraints, order ──wmk_query_plan_choose()──► text ──wmk_query_plan_parse()──► xFilter
 *
 * The text has three lists: tests (a column number and an operator), the columns of grouped rows, and the sort order.
 * `EXPLAIN QUERY PLAN` shows it:
 *
 *     5= 0>= | 5 | 5+          name = ?, time >= ?; rows of the column `name`, grouped by it
 *
 * SQLite itself evaluates constraints with NULL, with NOT, or with a collation. The table groups rows only if each used
 * column is part of the order, or is known to have few values. In other queries, SQLite groups the rows, because groups
 * in the table could use much memory.
 */
#ifndef WMK_ANALYZE_QUERY_PLAN_H
#define WMK_ANALYZE_QUERY_PLAN_H

#include <sqlite3.h>

#include "analyze/query/group.h"

/*
 * The results of sqlite3_vtab_collation(), _distinct() and _in(). These SQLite functions may be called only within
 * xBestIndex.
 */
struct wmk_query_asked {
	const bool *is_binary;     /* for each constraint: texts are compared byte by byte */
	const bool *is_in;         /* for each constraint: it is an IN, and all its values can be passed together */
	int distinct;
};

struct wmk_query_plan {
	struct {
		uint32_t column;
		enum wmk_query_compare compare;
	} *tests;                  /* in the order of the arguments of xFilter */
	uint32_t n_tests;
	uint32_t *columns;         /* columns of grouped rows */
	uint32_t n_columns;
	struct wmk_query_order *order; /* n_order 0: rows are not grouped */
	uint32_t n_order;
	bool is_distinct;          /* equal rows are returned once */
};

/* Fill the output of `info`. The table evaluates each constraint that gets an argvIndex. -ENOMEM. */
int wmk_query_plan_choose(const struct wmk_query_table *table, const struct wmk_query_asked *asked,
			  sqlite3_index_info *info);
/* Parse `text` (NULL: an empty text) and `number`, the output of wmk_query_plan_choose(). -ENOMEM. */
int wmk_query_plan_parse(const char *text, int number, struct wmk_query_plan *plan);
void wmk_query_plan_free(struct wmk_query_plan *plan);

#endif
