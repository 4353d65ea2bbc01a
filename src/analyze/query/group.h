/* SPDX-License-Identifier: MIT */
/*
 * group.h - the rows of a scan as groups, for GROUP BY, DISTINCT and ORDER BY over columns with few values.
 *
 *     scan ──► hash table: the values of the used columns ─► number of rows ──► sorted: value by value, row by row
 *
 * SQLite would sort all rows. A group stores each distinct row once. For example, 10 million rows with 20 distinct
 * values need memory for 20 rows.
 */
#ifndef WMK_ANALYZE_QUERY_GROUP_H
#define WMK_ANALYZE_QUERY_GROUP_H

#include "analyze/query/scan.h"

struct wmk_query_group;

struct wmk_query_order {
	uint32_t column;
	bool is_descending;
};

/*
 * Read all records of the scan. The caller still owns the scan after this call. `columns`: the used columns. The rows
 * are sorted by `order`, a subset of the columns in `columns`. With `distinct`, each distinct row is returned once.
 * -ENOMEM.
 */
int wmk_query_group_make(struct wmk_query_scan *scan, const uint32_t *columns, uint32_t n_columns,
			 const struct wmk_query_order *order, uint32_t n_order, bool distinct,
			 struct wmk_query_group **group);
void wmk_query_group_free(struct wmk_query_group *group);
/* Go to the next row. True: the row is current. False: the end. */
bool wmk_query_group_next(struct wmk_query_group *group);
/*
 * The value of a used column in the current row. NULL for other columns. The value is valid until the group is freed.
 */
struct wmk_query_value wmk_query_group_value(const struct wmk_query_group *group, uint32_t column);

#endif
