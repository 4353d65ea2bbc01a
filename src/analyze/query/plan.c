/* SPDX-License-Identifier: MIT */
/* plan.c - choose the part of a query that a table evaluates (see plan.h). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/query/plan.h"
#include "base/error.h"

/*
 * The assumed number of records, and the assumed cost of reading all records. The real number is unknown before the
 * trace is read.
 */
#define ROWS 1e6

/* The operators are in the order of enum wmk_query_compare. */
static const char *const operators[] = { "=", ">", ">=", "<", "<=", "in", "glob", "like" };

static int compare_of(unsigned char op)
{
	switch (op) {
	case SQLITE_INDEX_CONSTRAINT_EQ: return WMK_QUERY_EQ;
	case SQLITE_INDEX_CONSTRAINT_GT: return WMK_QUERY_GT;
	case SQLITE_INDEX_CONSTRAINT_GE: return WMK_QUERY_GE;
	case SQLITE_INDEX_CONSTRAINT_LT: return WMK_QUERY_LT;
	case SQLITE_INDEX_CONSTRAINT_LE: return WMK_QUERY_LE;
	case SQLITE_INDEX_CONSTRAINT_GLOB: return WMK_QUERY_GLOB;
	case SQLITE_INDEX_CONSTRAINT_LIKE: return WMK_QUERY_LIKE;
	default: return -1;
	}
}

/* ── tests ───────────────────────────────────────────────────────────────────────────────────────────────────── */

/*
 * True if comparing values is cheaper than creating a row for SQLite. JSON is expensive to create, and is rarely
 * compared.
 */
static bool is_tested(const struct wmk_query_column *column, int compare)
{
	if (compare < 0 || column->type == WMK_QUERY_OF_JSON || column->type == WMK_QUERY_OF_BYTES)
		return false;
	return compare < WMK_QUERY_GLOB || column->type == WMK_QUERY_OF_TEXT || column->type == WMK_QUERY_OF_ANY;
}

/*
 * Set the estimated number of selected records, and the estimated cost of the scan. Only conditions on the time reduce
 * the part of the trace that is read. Two conditions that are joined by OR must not cost less than one scan of all
 * records. If two conditions with OR cost less than one scan, SQLite would read the trace twice, and the rows would not
 * be in time order.
 */
static void estimate(sqlite3_index_info *info, const struct wmk_query_column *column, int compare)
{
	const bool is_equal = compare == WMK_QUERY_EQ || compare == WMK_QUERY_IN;

	info->estimatedRows = (sqlite3_int64)((double)info->estimatedRows * (is_equal ? 0.1 : 0.5)) + 1;
	if (column->source == WMK_QUERY_TIME)
		info->estimatedCost = ROWS / 2;
}

static void choose_tests(const struct wmk_query_table *table, const struct wmk_query_asked *asked,
			 sqlite3_index_info *info, sqlite3_str *text)
{
	int n = 0;

	for (int i = 0; i < info->nConstraint; i++) {
		const struct sqlite3_index_constraint *constraint = &info->aConstraint[i];
		const struct wmk_query_column *column;
		int compare = compare_of(constraint->op);

		if (!constraint->usable || constraint->iColumn < 0)
			continue;
		column = &table->columns[constraint->iColumn];
		if (!is_tested(column, compare) || !asked->is_binary[i])
			continue;
		if (asked->is_in[i])
			compare = WMK_QUERY_IN;
		sqlite3_str_appendf(text, "%d%s ", constraint->iColumn, operators[compare]);
		info->aConstraintUsage[i].argvIndex = ++n;
		estimate(info, column, compare);
	}
}

/* ── groups ──────────────────────────────────────────────────────────────────────────────────────────────────── */

/* True if nearly every record has a different value in this column. */
static bool has_many_values(const struct wmk_query_column *column)
{
	return column->source == WMK_QUERY_TIME || column->source == WMK_QUERY_CONTEXT ||
	       column->source == WMK_QUERY_FIELDS || column->type == WMK_QUERY_OF_REAL;
}

static bool is_ordered_by(const sqlite3_index_info *info, int column)
{
	int i = 0;

	while (i < info->nOrderBy && info->aOrderBy[i].iColumn != column)
		i++;
	return i < info->nOrderBy;
}

static bool can_group(const struct wmk_query_table *table, const sqlite3_index_info *info)
{
	if (!info->nOrderBy || info->colUsed >> 63)
		return false;
	for (int i = 0; i < info->nOrderBy; i++)
		if (info->aOrderBy[i].iColumn < 0 || info->aOrderBy[i].iColumn > 62 ||
		    has_many_values(&table->columns[info->aOrderBy[i].iColumn]))
			return false;
	for (uint32_t i = 0; i < table->n_columns && i < 63; i++)
		if (info->colUsed >> i & 1 && !is_ordered_by(info, (int)i) &&
		    (table->columns[i].source >= WMK_QUERY_PACKET || has_many_values(&table->columns[i])))
			return false;
	return true;
}

static void choose_groups(const struct wmk_query_table *table, const struct wmk_query_asked *asked,
			  sqlite3_index_info *info, sqlite3_str *text)
{
	if (!can_group(table, info))
		return;
	sqlite3_str_appendall(text, "| ");
	for (int i = 0; i < 63; i++)
		if (info->colUsed >> i & 1 || is_ordered_by(info, i))
			sqlite3_str_appendf(text, "%d ", i);
	sqlite3_str_appendall(text, "| ");
	for (int i = 0; i < info->nOrderBy; i++)
		sqlite3_str_appendf(text, "%d%s ", info->aOrderBy[i].iColumn, info->aOrderBy[i].desc ? "-" : "+");
	info->orderByConsumed = 1;
	info->idxNum = asked->distinct >= 2;
}

int wmk_query_plan_choose(const struct wmk_query_table *table, const struct wmk_query_asked *asked,
			  sqlite3_index_info *info)
{
	sqlite3_str *text = sqlite3_str_new(NULL);
	int err;

	info->idxNum = 0;
	info->estimatedRows = (sqlite3_int64)ROWS;
	info->estimatedCost = ROWS;
	choose_tests(table, asked, info, text);
	choose_groups(table, asked, info, text);
	err = sqlite3_str_errcode(text) == SQLITE_OK ? 0 : wmk_error(-ENOMEM, "no memory for a query");
	info->idxStr = sqlite3_str_finish(text);
	info->needToFreeIdxStr = 1;
	return err;
}

/* ── the text ────────────────────────────────────────────────────────────────────────────────────────────────── */

static int compare_named(const char *name, size_t len)
{
	for (int i = 0; i < (int)(sizeof(operators) / sizeof(operators[0])); i++)
		if (strlen(operators[i]) == len && memcmp(operators[i], name, len) == 0)
			return i;
	return WMK_QUERY_EQ;
}

int wmk_query_plan_parse(const char *text, int number, struct wmk_query_plan *plan)
{
	const size_t most = strlen(text) / 2 + 1;
	unsigned list = 0;
	char *end;

	*plan = (struct wmk_query_plan){ .tests = calloc(most, sizeof(*plan->tests)),
					 .columns = calloc(most, sizeof(*plan->columns)),
					 .order = calloc(most, sizeof(*plan->order)),
					 .is_distinct = number };
	if (!plan->tests || !plan->columns || !plan->order) {
		wmk_query_plan_free(plan);
		return wmk_error(-ENOMEM, "no memory for a query");
	}
	for (; *text; text = *end ? end + 1 : end) {
		const uint32_t column = (uint32_t)strtoul(text, &end, 10);
		const size_t len = strcspn(end, " ");

		if (*end == '|') {
			list++;
		} else if (list == 0) {
			plan->tests[plan->n_tests].column = column;
			plan->tests[plan->n_tests++].compare = (enum wmk_query_compare)compare_named(end, len);
		} else if (list == 1) {
			plan->columns[plan->n_columns++] = column;
		} else {
			plan->order[plan->n_order++] = (struct wmk_query_order){ column, *end == '-' };
		}
		end += len;
	}
	return 0;
}

void wmk_query_plan_free(struct wmk_query_plan *plan)
{
	free(plan->tests);
	free(plan->columns);
	free(plan->order);
	*plan = (struct wmk_query_plan){ .n_tests = 0 };
}
