/* SPDX-License-Identifier: MIT */
/*
 * test_plan.c - the plan of a table for conditions and groups; names of tables; order of values.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/query/names.h"
#include "analyze/query/plan.h"

static struct wmk_query_column columns[] = {
	{ .name = "time", .source = WMK_QUERY_TIME, .type = WMK_QUERY_OF_INTEGER },
	{ .name = "name", .source = WMK_QUERY_NAME, .type = WMK_QUERY_OF_TEXT },
	{ .name = "fields", .source = WMK_QUERY_FIELDS, .type = WMK_QUERY_OF_JSON },
	{ .name = "x", .source = WMK_QUERY_FIELD, .type = WMK_QUERY_OF_INTEGER },
	{ .name = "d", .source = WMK_QUERY_FIELD, .type = WMK_QUERY_OF_REAL },
};
static const struct wmk_query_table table = { .name = "t", .columns = columns, .n_columns = 5 };

enum { TIME, NAME, FIELDS, X, D };

#define MAX 4

/* The input of xBestIndex, as SQLite passes it. */
struct question {
	sqlite3_index_info info;
	struct sqlite3_index_constraint constraints[MAX];
	struct sqlite3_index_constraint_usage usage[MAX];
	struct sqlite3_index_orderby order[MAX];
	bool is_binary[MAX], is_in[MAX];
	struct wmk_query_plan plan;
};

static void add(struct question *q, int column, unsigned char op)
{
	q->constraints[q->info.nConstraint].iColumn = column;
	q->constraints[q->info.nConstraint].op = op;
	q->constraints[q->info.nConstraint].usable = 1;
	q->is_binary[q->info.nConstraint++] = true;
}

static void order_by(struct question *q, int column, bool descending)
{
	q->order[q->info.nOrderBy].iColumn = column;
	q->order[q->info.nOrderBy++].desc = descending;
	q->info.colUsed |= (uint64_t)1 << column;
}

/* Choose a plan and parse its text. */
static void choose(struct question *q, int distinct)
{
	const struct wmk_query_asked asked = { q->is_binary, q->is_in, distinct };

	q->info.aConstraint = q->constraints;
	q->info.aConstraintUsage = q->usage;
	q->info.aOrderBy = q->order;
	assert_int_equal(wmk_query_plan_choose(&table, &asked, &q->info), 0);
	assert_int_equal(wmk_query_plan_parse(q->info.idxStr ? q->info.idxStr : "", q->info.idxNum, &q->plan), 0);
}

static void done(struct question *q)
{
	wmk_query_plan_free(&q->plan);
	sqlite3_free(q->info.idxStr);
}

static void sqlite_constraints_are_added_to_the_query_plan(void **state)
{
	struct question q = { .plan.n_tests = 0 };

	(void)state;
	add(&q, X, SQLITE_INDEX_CONSTRAINT_GE);
	add(&q, NAME, SQLITE_INDEX_CONSTRAINT_EQ);
	add(&q, TIME, SQLITE_INDEX_CONSTRAINT_LT);
	add(&q, NAME, SQLITE_INDEX_CONSTRAINT_GLOB);
	q.is_in[1] = true;
	choose(&q, 0);
	assert_int_equal(q.plan.n_tests, 4);
	assert_int_equal(q.plan.tests[0].column, X);
	assert_int_equal(q.plan.tests[0].compare, WMK_QUERY_GE);
	assert_int_equal(q.plan.tests[1].compare, WMK_QUERY_IN);
	assert_int_equal(q.plan.tests[2].column, TIME);
	assert_int_equal(q.plan.tests[2].compare, WMK_QUERY_LT);
	assert_int_equal(q.plan.tests[3].compare, WMK_QUERY_GLOB);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(q.usage[i].argvIndex, i + 1);
		/* (tests may be less strict than the conditions: SQLite must evaluate them again) */
		assert_int_equal(q.usage[i].omit, 0);
	}
	assert_int_equal(q.plan.n_order, 0);
	assert_false(q.info.orderByConsumed);
	done(&q);
}

static void conditions_that_no_plan_covers_are_left_to_sqlite(void **state)
{
	struct question q = { .plan.n_tests = 0 };

	(void)state;
	add(&q, X, SQLITE_INDEX_CONSTRAINT_ISNULL);
	add(&q, NAME, SQLITE_INDEX_CONSTRAINT_EQ);      /* another collation */
	add(&q, FIELDS, SQLITE_INDEX_CONSTRAINT_EQ);
	add(&q, X, SQLITE_INDEX_CONSTRAINT_EQ);         /* not usable */
	q.is_binary[1] = false;
	q.constraints[3].usable = 0;
	choose(&q, 0);
	assert_int_equal(q.plan.n_tests, 0);
	for (int i = 0; i < 4; i++)
		assert_int_equal(q.usage[i].argvIndex, 0);
	done(&q);
	memset(&q, 0, sizeof(q));
	add(&q, -1, SQLITE_INDEX_CONSTRAINT_EQ);        /* the row's identifier */
	choose(&q, 0);
	assert_int_equal(q.plan.n_tests, 0);
	done(&q);
}

static void time_condition_has_lower_plan_cost_than_other_conditions(void **state)
{
	struct question time = { .plan.n_tests = 0 }, other = { .plan.n_tests = 0 };

	(void)state;
	add(&time, TIME, SQLITE_INDEX_CONSTRAINT_GT);
	add(&other, X, SQLITE_INDEX_CONSTRAINT_EQ);
	choose(&time, 0);
	choose(&other, 0);
	assert_true(time.info.estimatedCost < other.info.estimatedCost);
	/* Two scans for `x = 1 OR x = 2` cost more than one. */
	assert_true(2 * other.info.estimatedCost > 1e6);
	assert_true(2 * time.info.estimatedCost >= 1e6);
	done(&time);
	done(&other);
}

static void query_plan_groups_rows_by_columns_with_few_values(void **state)
{
	struct question q = { .plan.n_tests = 0 };

	(void)state;
	order_by(&q, X, true);
	q.info.colUsed |= 1u << NAME;
	choose(&q, 1);
	assert_true(q.info.orderByConsumed);
	assert_false(q.plan.is_distinct);
	assert_int_equal(q.plan.n_order, 1);
	assert_int_equal(q.plan.order[0].column, X);
	assert_true(q.plan.order[0].is_descending);
	assert_int_equal(q.plan.n_columns, 2);
	assert_int_equal(q.plan.columns[0], NAME);
	assert_int_equal(q.plan.columns[1], X);
	done(&q);
	memset(&q, 0, sizeof(q));
	order_by(&q, NAME, false);
	choose(&q, 2);
	assert_true(q.plan.is_distinct);
	done(&q);
}

static void query_plan_does_not_group_by_columns_with_many_values(void **state)
{
	static const struct {
		int order;
		uint64_t used;
	} asked[] = { { TIME, 0 }, { FIELDS, 0 }, { D, 0 }, { NAME, 1u << TIME }, { NAME, 1u << X },
		      { NAME, (uint64_t)1 << 63 } };

	(void)state;
	for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
		struct question q = { .plan.n_tests = 0 };

		order_by(&q, asked[i].order, false);
		q.info.colUsed |= asked[i].used;
		choose(&q, 1);
		assert_false(q.info.orderByConsumed);
		assert_int_equal(q.plan.n_order, 0);
		done(&q);
	}
}

static void column_names_are_unique_regardless_of_case(void **state)
{
	struct wmk_query_names names = { NULL };
	char *clean = wmk_query_names_clean("a\xff\xc3\xa9");

	(void)state;
	assert_string_equal(clean, "a\xef\xbf\xbd\xc3\xa9");
	free(clean);
	assert_string_equal(wmk_query_names_add(&names, "time", "field"), "time");
	assert_string_equal(wmk_query_names_add(&names, "Time", "field"), "field_Time");
	assert_string_equal(wmk_query_names_add(&names, "TIME", "field"), "field_TIME_2");
	assert_string_equal(wmk_query_names_add(&names, "", "field"), "field");
	wmk_query_names_free(&names);
}

static void query_values_compare_in_the_order_of_sqlite(void **state)
{
	const struct wmk_query_value values[] = {
		{ .kind = WMK_QUERY_NULL },
		{ .kind = WMK_QUERY_REAL, .real = -1e300 },
		{ .kind = WMK_QUERY_INTEGER, .integer = INT64_MIN },
		{ .kind = WMK_QUERY_INTEGER, .integer = 9007199254740992 },
		{ .kind = WMK_QUERY_INTEGER, .integer = 9007199254740993 },
		{ .kind = WMK_QUERY_REAL, .real = 9007199254740994.0 },
		{ .kind = WMK_QUERY_INTEGER, .integer = INT64_MAX },
		{ .kind = WMK_QUERY_REAL, .real = 9223372036854775808.0 },
		{ .kind = WMK_QUERY_TEXT, .text = "", .len = 0 },
		{ .kind = WMK_QUERY_TEXT, .text = "a", .len = 1 },
		{ .kind = WMK_QUERY_TEXT, .text = "ab", .len = 2 },
		{ .kind = WMK_QUERY_TEXT, .text = "b", .len = 1 },
		{ .kind = WMK_QUERY_BYTES, .text = "", .len = 0 },
	};
	const size_t n = sizeof(values) / sizeof(values[0]);
	const struct wmk_query_value one = { .kind = WMK_QUERY_INTEGER, .integer = 2 },
				     other = { .kind = WMK_QUERY_REAL, .real = 2.0 };

	(void)state;
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < n; j++) {
			const int order = wmk_query_value_compare(&values[i], &values[j]);

			assert_true(i < j ? order < 0 : i > j ? order > 0 : order == 0);
		}
	assert_int_equal(wmk_query_value_compare(&one, &other), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sqlite_constraints_are_added_to_the_query_plan),
		cmocka_unit_test(conditions_that_no_plan_covers_are_left_to_sqlite),
		cmocka_unit_test(time_condition_has_lower_plan_cost_than_other_conditions),
		cmocka_unit_test(query_plan_groups_rows_by_columns_with_few_values),
		cmocka_unit_test(query_plan_does_not_group_by_columns_with_many_values),
		cmocka_unit_test(column_names_are_unique_regardless_of_case),
		cmocka_unit_test(query_values_compare_in_the_order_of_sqlite),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
