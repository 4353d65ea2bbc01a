/* SPDX-License-Identifier: MIT */
/*
 * scan.h - the records of a table in the order of time, with the values of its columns.
 *
 *     tables.h ─► wmk_query_scan_open() ─► wmk_query_scan_next() ─► wmk_query_scan_value() of each column that is used
 *
 * For each event class, the position of each column is found once: at a constant distance, or after values of varying
 * size. Only columns that are requested are decoded.
 *
 * Tests select records before they become rows. A test may be less strict than the condition of the query, which SQLite
 * evaluates again: records pass if their value has another type than the test's value.
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

/* A test of a column. The values are copies that belong to the test. */
struct wmk_query_test {
	uint32_t column;
	enum wmk_query_compare compare;
	struct wmk_query_value *values;
	uint32_t n_values;
};

struct wmk_query_scan;

/*
 * Start a scan. Takes ownership of the tests, also on an error; `tests` NULL: none. Tests of the time choose the part
 * of the streams that is read. Tests of the event's name are made once for each event class.
 */
int wmk_query_scan_open(struct wmk_query_tables *tables, const struct wmk_query_table *table,
			struct wmk_query_test *tests, uint32_t n_tests, struct wmk_query_scan **scan);
void wmk_query_scan_close(struct wmk_query_scan *scan);
void wmk_query_tests_free(struct wmk_query_test *tests, uint32_t n);

/* 1: the next record is current; 0: the end; -ENOMEM. Damage is reported, and its record is left out. */
int wmk_query_scan_next(struct wmk_query_scan *scan);
/* The value of a column in the current record. A text is valid until the next call of a function of the scan. */
struct wmk_query_value wmk_query_scan_value(struct wmk_query_scan *scan, uint32_t column);
/* A number of the record that is the same in each scan of these traces. */
int64_t wmk_query_scan_row(const struct wmk_query_scan *scan);

#endif
