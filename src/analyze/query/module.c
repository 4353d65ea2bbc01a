/* SPDX-License-Identifier: MIT */
/* module.c - virtual tables of SQLite (see module.h). SQLite calls these functions, all in one thread. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/query/derived.h"
#include "analyze/query/module.h"
#include "analyze/query/plan.h"
#include "base/error.h"

struct virtual_table {
	sqlite3_vtab base;         /* first member: SQLite knows only this part */
	struct wmk_query_module *module;
};

struct virtual_cursor {
	sqlite3_vtab_cursor base;  /* first */
	struct wmk_query_plan plan;
	struct wmk_query_scan *scan;
	struct wmk_query_group *group; /* NULL: rows are not grouped */
	struct wmk_query_derivation *derivation; /* rows of a derived table, which has no scan */
	sqlite3_int64 row;         /* number of the row in a group or a derived table */
	bool has_ended;
};

/* Pass the error message of the calling thread to SQLite. */
static int fail(sqlite3_vtab *base, int err)
{
	char words[WMK_ERROR_DEPTH * WMK_ERROR_LEN];

	sqlite3_free(base->zErrMsg);
	base->zErrMsg = sqlite3_mprintf("%s", wmk_error_text(words, sizeof(words)));
	wmk_error_clear();
	return err == -ENOMEM ? SQLITE_NOMEM : SQLITE_ERROR;
}

/* ── tables ──────────────────────────────────────────────────────────────────────────────────────────────────── */

static int connect_table(sqlite3 *db, void *data, int argc, const char *const *argv, sqlite3_vtab **vtab,
			 char **message)
{
	struct wmk_query_module *module = data;
	char *declaration = NULL;
	struct virtual_table *table;
	int status = SQLITE_NOMEM;

	(void)argc;
	(void)argv;
	(void)message;
	if (wmk_query_table_columns(module->tables, module->table) >= 0)
		declaration = wmk_query_table_declaration(module->table);
	wmk_error_clear();
	*module->is_declaring = true;
	if (declaration)
		status = sqlite3_declare_vtab(db, declaration);
	*module->is_declaring = false;
	free(declaration);
	if (status != SQLITE_OK)
		return status;
	table = calloc(1, sizeof(*table));
	if (!table)
		return SQLITE_NOMEM;
	table->module = module;
	*vtab = &table->base;
	return SQLITE_OK;
}

static int disconnect_table(sqlite3_vtab *base)
{
	free(base);
	return SQLITE_OK;
}

static int best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
	struct wmk_query_module *module = ((struct virtual_table *)base)->module;
	const size_t n = (size_t)info->nConstraint;
	bool *is_binary = calloc(2 * n + 1, sizeof(*is_binary)), *is_in = is_binary + n;
	struct wmk_query_asked asked = { is_binary, is_in, sqlite3_vtab_distinct(info) };
	const bool is_plain = module->no_push_down || module->table->derived;
	sqlite3_index_info none = *info;
	int err;

	if (!is_binary)
		return SQLITE_NOMEM;
	for (int i = 0; i < info->nConstraint && !is_plain; i++) {
		const char *collation = sqlite3_vtab_collation(info, i);

		is_binary[i] = collation && strcmp(collation, "BINARY") == 0;
		is_in[i] = info->aConstraint[i].op == SQLITE_INDEX_CONSTRAINT_EQ && is_binary[i] &&
			   sqlite3_vtab_in(info, i, 1);
	}
	if (is_plain) {
		none.nConstraint = none.nOrderBy = 0;
		err = wmk_query_plan_choose(module->table, &asked, &none);
		info->idxStr = none.idxStr;
		info->needToFreeIdxStr = 1;
		info->estimatedCost = none.estimatedCost;
		info->estimatedRows = none.estimatedRows;
	} else {
		err = wmk_query_plan_choose(module->table, &asked, info);
	}
	free(is_binary);
	return err < 0 ? SQLITE_NOMEM : SQLITE_OK;
}

/* ── cursors ─────────────────────────────────────────────────────────────────────────────────────────────────── */

static int open_cursor(sqlite3_vtab *base, sqlite3_vtab_cursor **made)
{
	struct virtual_cursor *cursor = calloc(1, sizeof(*cursor));

	(void)base;
	if (!cursor)
		return SQLITE_NOMEM;
	*made = &cursor->base;
	return SQLITE_OK;
}

static void reset(struct virtual_cursor *cursor)
{
	wmk_query_group_free(cursor->group);
	wmk_query_scan_close(cursor->scan);
	wmk_query_derivation_free(cursor->derivation);
	wmk_query_plan_free(&cursor->plan);
	cursor->group = NULL;
	cursor->derivation = NULL;
	cursor->scan = NULL;
}

static int close_cursor(sqlite3_vtab_cursor *base)
{
	reset((struct virtual_cursor *)base);
	free(base);
	return SQLITE_OK;
}

static int next_row(sqlite3_vtab_cursor *base)
{
	struct virtual_cursor *cursor = (struct virtual_cursor *)base;
	int got;

	cursor->row++;
	if (cursor->group) {
		cursor->has_ended = !wmk_query_group_next(cursor->group);
		return SQLITE_OK;
	}
	got = cursor->derivation ? wmk_query_derivation_next(cursor->derivation) : wmk_query_scan_next(cursor->scan);
	cursor->has_ended = got <= 0;
	return got < 0 ? fail(base->pVtab, got) : SQLITE_OK;
}

/* Copy an argument of a condition. */
static int take_value(sqlite3_value *argument, struct wmk_query_value *value)
{
	const int type = sqlite3_value_type(argument);
	const void *bytes;
	char *copy;

	*value = (struct wmk_query_value){ .kind = WMK_QUERY_NULL };
	if (type == SQLITE_INTEGER) {
		*value = wmk_query_integer(sqlite3_value_int64(argument));
	} else if (type == SQLITE_FLOAT) {
		value->kind = WMK_QUERY_REAL;
		value->real = sqlite3_value_double(argument);
	} else if (type != SQLITE_NULL) {
		bytes = type == SQLITE_TEXT ? sqlite3_value_text(argument) : sqlite3_value_blob(argument);
		value->kind = type == SQLITE_TEXT ? WMK_QUERY_TEXT : WMK_QUERY_BYTES;
		value->len = (size_t)sqlite3_value_bytes(argument);
		copy = malloc(value->len + 1);
		if (!copy)
			return wmk_error(-ENOMEM, "no memory for a query");
		if (value->len)
			memcpy(copy, bytes, value->len);
		copy[value->len] = '\0';
		value->text = copy;
	}
	return 0;
}

static int add_value(struct wmk_query_test *test, sqlite3_value *argument)
{
	struct wmk_query_value *values = realloc(test->values, (test->n_values + 1) * sizeof(*values));

	if (!values)
		return wmk_error(-ENOMEM, "no memory for a query");
	test->values = values;
	return take_value(argument, &test->values[test->n_values++]);
}

static int fill_test(struct wmk_query_test *test, sqlite3_value *argument)
{
	sqlite3_value *item;
	int err = 0;

	if (test->compare != WMK_QUERY_IN)
		return add_value(test, argument);
	for (int status = sqlite3_vtab_in_first(argument, &item); status == SQLITE_OK && item && err >= 0;
	     status = sqlite3_vtab_in_next(argument, &item))
		err = add_value(test, item);
	return err;
}

/* Create the tests that the plan describes. The arguments that SQLite passes become the values of the tests. */
static int make_tests(const struct virtual_cursor *cursor, int argc, sqlite3_value **argv,
		      struct wmk_query_test **tests, uint32_t *n)
{
	struct wmk_query_test *made = calloc((size_t)argc + 1, sizeof(*made));
	int err = made ? 0 : wmk_error(-ENOMEM, "no memory for a query");

	*n = 0;
	for (uint32_t i = 0; i < (uint32_t)argc && err >= 0; i++) {
		struct wmk_query_test *test = &made[(*n)++];

		test->column = cursor->plan.tests[i].column;
		test->compare = cursor->plan.tests[i].compare;
		err = fill_test(test, argv[i]);
		/* (only SQLite evaluates a pattern that is not a text) */
		if (err >= 0 && test->compare >= WMK_QUERY_GLOB && test->values[0].kind != WMK_QUERY_TEXT) {
			free((char *)(uintptr_t)test->values[0].text);
			free(test->values);
			*test = (struct wmk_query_test){ .n_values = 0 };
			--*n;
		}
	}
	if (err < 0) {
		wmk_query_tests_free(made, *n);
		made = NULL;
		*n = 0;
	}
	*tests = made;
	return err;
}

static int filter(sqlite3_vtab_cursor *base, int number, const char *text, int argc, sqlite3_value **argv)
{
	const struct wmk_query_module *module = ((struct virtual_table *)base->pVtab)->module;
	struct virtual_cursor *cursor = (struct virtual_cursor *)base;
	struct wmk_query_test *tests = NULL;
	uint32_t n = 0;
	int err;

	reset(cursor);
	cursor->row = 0;
	if (module->table->derived) {
		err = wmk_query_derive(module->tables->traces, module->table->derived, &cursor->derivation);
		return err < 0 ? fail(base->pVtab, err) : next_row(base);
	}
	err = wmk_query_plan_parse(text ? text : "", number, &cursor->plan);
	if (err >= 0)
		err = make_tests(cursor, argc, argv, &tests, &n);
	if (err >= 0)
		err = wmk_query_scan_open(module->tables, module->table, tests, n, &cursor->scan);
	if (err >= 0 && cursor->plan.n_order)
		err = wmk_query_group_make(cursor->scan, cursor->plan.columns, cursor->plan.n_columns,
					   cursor->plan.order, cursor->plan.n_order, cursor->plan.is_distinct,
					   &cursor->group);
	return err < 0 ? fail(base->pVtab, err) : next_row(base);
}

static int has_ended(sqlite3_vtab_cursor *base)
{
	return ((struct virtual_cursor *)base)->has_ended;
}

static int column(sqlite3_vtab_cursor *base, sqlite3_context *context, int number)
{
	struct virtual_cursor *cursor = (struct virtual_cursor *)base;
	const uint32_t n = (uint32_t)number;
	const struct wmk_query_value value = cursor->group	  ? wmk_query_group_value(cursor->group, n)
					     : cursor->derivation ? wmk_query_derivation_value(cursor->derivation, n)
								  : wmk_query_scan_value(cursor->scan, n);

	switch (value.kind) {
	case WMK_QUERY_INTEGER:
		sqlite3_result_int64(context, value.integer);
		break;
	case WMK_QUERY_REAL:
		sqlite3_result_double(context, value.real);
		break;
	case WMK_QUERY_TEXT:
		sqlite3_result_text64(context, value.text, value.len,
				      value.is_lasting ? SQLITE_STATIC : SQLITE_TRANSIENT, SQLITE_UTF8);
		break;
	case WMK_QUERY_BYTES:
		sqlite3_result_blob64(context, value.text, value.len, SQLITE_TRANSIENT);
		break;
	default:
		break;
	}
	return SQLITE_OK;
}

static int rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *row)
{
	const struct virtual_cursor *cursor = (struct virtual_cursor *)base;

	*row = cursor->group || cursor->derivation ? cursor->row : wmk_query_scan_row(cursor->scan);
	return SQLITE_OK;
}

/*
 * Because xCreate is not set, a table exists as soon as its module is registered. Because xUpdate is not set, the table
 * is read-only.
 */
static const sqlite3_module functions = {
	.xConnect = connect_table,
	.xBestIndex = best_index,
	.xDisconnect = disconnect_table,
	.xDestroy = disconnect_table,
	.xOpen = open_cursor,
	.xClose = close_cursor,
	.xFilter = filter,
	.xNext = next_row,
	.xEof = has_ended,
	.xColumn = column,
	.xRowid = rowid,
};

int wmk_query_module_add(sqlite3 *db, struct wmk_query_module *module)
{
	return sqlite3_create_module(db, module->table->name, &functions, module);
}
