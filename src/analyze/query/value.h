/* SPDX-License-Identifier: MIT */
/*
 * value.h - a value in a row of a query.
 */
#ifndef WMK_ANALYZE_QUERY_VALUE_H
#define WMK_ANALYZE_QUERY_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The order is that of SQLite: NULL, then numbers, then texts, then blobs. */
enum wmk_query_kind { WMK_QUERY_NULL, WMK_QUERY_INTEGER, WMK_QUERY_REAL, WMK_QUERY_TEXT, WMK_QUERY_BYTES };

struct wmk_query_value {
	enum wmk_query_kind kind;
	bool is_lasting;           /* TEXT: the text is at this address, and is valid as long as the traces */
	int64_t integer;
	double real;
	const char *text;          /* TEXT (valid UTF-8), BYTES; not NUL-terminated */
	size_t len;
};

/* Compare two values in SQLite's order, without a collation. Integers and reals are compared by numeric value. */
int wmk_query_value_compare(const struct wmk_query_value *a, const struct wmk_query_value *b);

static inline struct wmk_query_value wmk_query_integer(int64_t integer)
{
	return (struct wmk_query_value){ .kind = WMK_QUERY_INTEGER, .integer = integer };
}

/* Make a text value from a string that stays valid as long as the traces are open. NULL makes the value NULL. */
struct wmk_query_value wmk_query_lasting(const char *text);

#endif
