/* SPDX-License-Identifier: MIT */
/*
 * scan.h - the records of a table in the order of time, with the values of its columns.
 *
 *     tables.h ─► wmk_query_scan_open() ─► wmk_query_scan_next() ─► wmk_query_scan_value() of each column that is used
 *
 * The scan determines the position of a column once for each event class. The position is either a constant distance
 * from the start of a scope, or the number of a member. To find a member by its number, the scan decodes the members in
 * order. Only requested columns are decoded.
 *
 * The tests select records before rows are created. A test may accept more records than the query's condition, because
 * SQLite evaluates the condition again. The scan accepts a record if the value in the record and the value of the test
 * have different types.
 */
#ifndef WMK_ANALYZE_QUERY_SCAN_H
#define WMK_ANALYZE_QUERY_SCAN_H

#include "analyze/query/tables.h"
#include "analyze/query/value.h"
#include "read/print.h"

enum wmk_query_compare {
	WMK_QUERY_EQ, WMK_QUERY_GT, WMK_QUERY_GE, WMK_QUERY_LT, WMK_QUERY_LE,
	WMK_QUERY_IN,              /* equal to one of the values */
	WMK_QUERY_GLOB, WMK_QUERY_LIKE,
};

/* A test of a column. The values are copies, which the test owns. */
struct wmk_query_test {
	uint32_t column;
	enum wmk_query_compare compare;
	struct wmk_query_value *values;
	uint32_t n_values;
};

struct wmk_query_scan;

/*
 * Start a scan. The scan takes ownership of the tests, even if the function fails. `tests` may be NULL. Tests on the
 * time select the part of the streams that is read. Tests on the event name are evaluated once for each event class.
 */
int wmk_query_scan_open(struct wmk_query_tables *tables, const struct wmk_query_table *table,
			struct wmk_query_test *tests, uint32_t n_tests, struct wmk_query_scan **scan);
void wmk_query_scan_close(struct wmk_query_scan *scan);
void wmk_query_tests_free(struct wmk_query_test *tests, uint32_t n);

/* Read the next record. 1: the record is current; 0: the end; -ENOMEM. A damaged record is reported and skipped. */
int wmk_query_scan_next(struct wmk_query_scan *scan);
/*
 * Return the value of a column in the current record. A text value is valid until the next call of a function of the
 * scan.
 */
struct wmk_query_value wmk_query_scan_value(struct wmk_query_scan *scan, uint32_t column);
/* Return a number that identifies the record. The number of a record is the same in each scan of the same traces. */
int64_t wmk_query_scan_row(const struct wmk_query_scan *scan);

#endif
