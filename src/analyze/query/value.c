/* SPDX-License-Identifier: MIT */
/*
 * value.c - values of rows (see value.h).
 */
#include <string.h>

#include "analyze/query/value.h"

static bool is_number(const struct wmk_query_value *value)
{
	return value->kind == WMK_QUERY_INTEGER || value->kind == WMK_QUERY_REAL;
}

/* (a long double represents every integer of 64 bits, and every double, exactly) */
static long double number(const struct wmk_query_value *value)
{
	return value->kind == WMK_QUERY_INTEGER ? (long double)value->integer : (long double)value->real;
}

int wmk_query_value_compare(const struct wmk_query_value *a, const struct wmk_query_value *b)
{
	const size_t len = a->len < b->len ? a->len : b->len;
	int order;

	if (is_number(a) && is_number(b)) {
		if (a->kind == WMK_QUERY_INTEGER && b->kind == WMK_QUERY_INTEGER)
			return a->integer < b->integer ? -1 : a->integer > b->integer;
		return number(a) < number(b) ? -1 : number(a) > number(b);
	}
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	if (a->kind == WMK_QUERY_NULL)
		return 0;
	order = len ? memcmp(a->text, b->text, len) : 0;
	return order ? order : a->len < b->len ? -1 : a->len > b->len;
}

struct wmk_query_value wmk_query_lasting(const char *text)
{
	if (!text)
		return (struct wmk_query_value){ .kind = WMK_QUERY_NULL };
	return (struct wmk_query_value){ .kind = WMK_QUERY_TEXT,
					 .is_lasting = true,
					 .text = text,
					 .len = strlen(text) };
}
