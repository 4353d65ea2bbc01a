/* SPDX-License-Identifier: MIT */
/*
 * query.c - `waymark query`: SQL over traces (analyze/query/query.h).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/descriptor_limit.h"
#include "base/error.h"
#include "cli/query_print.h"
#include "cli/reading.h"

struct query_args {
	struct wmk_cli_common common;
	const char *begin, *end;
	bool csv, tables, no_pager, no_push_down;
};

/* ── reports ─────────────────────────────────────────────────────────────────────────────────────────────────── */

static void print_damage(void *data, int err)
{
	(void)data;
	(void)err;
	wmk_cli_failed();
}

static void print_warning(void *data, int err)
{
	char words[WMK_ERROR_DEPTH * WMK_ERROR_LEN];

	(void)data;
	(void)err;
	wmk_cli_warn("%s", wmk_error_text(words, sizeof(words)));
}

static void print_lost(void *data, const char *words)
{
	(void)data;
	fflush(stdout);
	wmk_cli_note("%s", words);
}

/* ── rows ────────────────────────────────────────────────────────────────────────────────────────────────────── */

static enum wmk_query_form form_of(const struct query_args *args)
{
	return args->common.json ? WMK_QUERY_AS_JSON : args->csv ? WMK_QUERY_AS_CSV : WMK_QUERY_AS_TABLE;
}

static int print_rows(struct wmk_query *query, struct wmk_query_printer *printer, struct wmk_query_value *values)
{
	const unsigned n = wmk_query_n_columns(query);
	int got, err = 0;

	while (err >= 0 && (got = wmk_query_step(query)) > 0) {
		for (unsigned i = 0; i < n; i++)
			values[i] = wmk_query_row_value(query, i);
		err = wmk_query_printer_row(printer, values);
	}
	/* (rows before an error are printed) */
	if (err >= 0 && got < 0) {
		struct wmk_error_chain *chain = wmk_error_take();

		wmk_query_printer_end(printer);
		wmk_error_give(chain);
		return got;
	}
	return err < 0 ? err : wmk_query_printer_end(printer);
}

static int run_statement(const struct query_args *args, struct wmk_query *query, const char *sql)
{
	struct wmk_query_printer *printer = NULL;
	struct wmk_query_value *values;
	const char **names;
	int err = wmk_query_prepare(query, sql);
	unsigned n;

	if (err < 0)
		return err;
	n = wmk_query_n_columns(query);
	values = calloc(n + 1, sizeof(*values));
	names = calloc(n + 1, sizeof(*names));
	if (!values || !names)
		err = wmk_error(-ENOMEM, "no memory for %u columns", n);
	for (unsigned i = 0; err >= 0 && i < n; i++)
		names[i] = wmk_query_column_name(query, i);
	if (err >= 0)
		err = wmk_query_printer_create(stdout, form_of(args), n, names, &printer);
	if (err >= 0)
		err = print_rows(query, printer, values);
	wmk_query_printer_free(printer);
	free(values);
	free(names);
	return err;
}

/* ── tables ──────────────────────────────────────────────────────────────────────────────────────────────────── */

/*
 * Return the name in the form that a statement requires: in quotes if necessary. The caller frees the name. NULL: no
 * memory.
 */
static char *quoted(const char *name)
{
	char *text = malloc(2 * strlen(name) + 3), *p = text;
	const bool is_plain = strspn(name, "abcdefghijklmnopqrstuvwxyz_") > 0 &&
			      strspn(name, "abcdefghijklmnopqrstuvwxyz_0123456789") == strlen(name) &&
			      !wmk_query_is_keyword(name);

	if (!text)
		return NULL;
	if (is_plain)
		return strcpy(text, name);
	*p++ = '"';
	for (; *name; name++) {
		if (*name == '"')
			*p++ = '"';
		*p++ = *name;
	}
	*p++ = '"';
	*p = '\0';
	return text;
}

static struct wmk_query_value text_of(const char *text)
{
	return (struct wmk_query_value){ .kind = WMK_QUERY_TEXT, .text = text, .len = strlen(text) };
}

/* Print one row for each column of each table. */
static int print_tables(const struct query_args *args, struct wmk_query *query)
{
	static const char *const names[] = { "table", "column", "type" };
	const struct wmk_query_table *tables;
	struct wmk_query_printer *printer;
	uint32_t n;
	int err = wmk_query_tables(query, &tables, &n);

	if (err >= 0)
		err = wmk_query_printer_create(stdout, form_of(args), 3, names, &printer);
	if (err < 0)
		return err;
	for (uint32_t t = 0; t < n && err >= 0; t++) {
		char *table = quoted(tables[t].name);

		for (uint32_t c = 0; c < tables[t].n_columns && err >= 0; c++) {
			char *column = quoted(tables[t].columns[c].name);

			if (table && column)
				err = wmk_query_printer_row(printer, (struct wmk_query_value[]){
					text_of(table), text_of(column),
					text_of(wmk_query_type_shown(tables[t].columns[c].type)) });
			else
				err = wmk_error(-ENOMEM, "no memory for a table");
			free(column);
		}
		free(table);
	}
	if (err >= 0)
		err = wmk_query_printer_end(printer);
	wmk_query_printer_free(printer);
	return err;
}

/* ── the command ─────────────────────────────────────────────────────────────────────────────────────────────── */

static int run_query(void *data, char **rest, int n_rest)
{
	struct query_args *args = data;
	const struct wmk_query_options options = { .begin = args->begin,
						   .end = args->end,
						   .no_push_down = args->no_push_down,
						   .reports = { print_damage, print_warning, print_lost, NULL } };
	const char *sql = args->tables ? NULL : *rest;
	const int first = args->tables ? 0 : 1;
	struct wmk_pager pager = { 0 };
	struct wmk_query *query;
	uint64_t damages = 0;
	int err;

	if (args->common.json && args->csv)
		return wmk_error(-EINVAL, "--json and --csv exclude each other");
	if (!args->tables && !n_rest)
		return wmk_error(-EINVAL, "no statement given: give it in quotes, 'SELECT count(*) FROM events'");
	if (n_rest == first)
		return wmk_error(-EINVAL, "no trace given: give its directory, or a directory above it");
	wmk_descriptor_limit_raise();
	err = wmk_query_open((const char *const *)rest + first, (unsigned)(n_rest - first), &options, &query);
	if (err < 0)
		return wmk_cli_failed();
	if (!args->no_pager)
		wmk_pager_begin(&pager);
	err = args->tables ? print_tables(args, query) : run_statement(args, query, sql);
	/* The command has not failed if the user quits the pager before the end. */
	if (err == -EPIPE && pager.pid) {
		wmk_error_clear();
		err = 0;
	}
	if (err < 0)
		wmk_cli_failed();
	damages = wmk_query_end(query);
	wmk_pager_end(&pager);
	wmk_query_close(query);
	return err < 0 || damages ? WMK_CLI_FAILED : 0;
}

static const char *const details[] = {
	"Runs an SQL statement over traces, and prints its rows. The tables are the records of all traces in and below "
	"the directories. Nothing is imported: the statement reads the stream files.",
	"`events` has a row for each record, in the order of time, with these columns: time (ns since 1970), cpu, pid, "
	"tid, process, name (of the event), level, trace, stream, packet (its number in the stream), lost (records "
	"lost before this packet, at the packet's first record), context and fields (JSON).",
	"Each event is also a table with the name of the event. It has the same columns, then a column for each field "
	"and context field. Names with other characters than letters, digits and _ need double quotes: "
	"SELECT amount FROM \"shop:order\". So do names that are keywords of SQL. --tables prints all tables and "
	"columns as they are written in a statement.",
	"Further tables are computed from records: threads (time in each state), slices (when a thread runs on a "
	"CPU), wakeups (from the wake-up of a thread until it runs), syscalls (entry and exit) and spans "
	"(waymark_span()). Their durations are in ns. docs/query.md describes all columns.",
	"SQLite runs the statement: all SELECT statements of SQLite with its functions, such as datetime(), "
	"json_extract() and window functions. Other statements are refused.",
	"Conditions on columns (=, <, >, BETWEEN, IN, LIKE, GLOB) are tested before a row is made. Conditions on the "
	"time choose the part of the files that is read.",
	"Damaged parts and lost records are reported on standard error. The rest is read, and the exit status is 1 if "
	"a part is damaged or the statement has an error.",
	NULL
};

static const struct wmk_cli_option options[] = {
	{ 0, "tables", NULL, "List the tables and their columns with types. No statement is given: all arguments are "
			     "trace directories.",
	  WMK_CLI_FLAG(struct query_args, tables) },
	{ 0, "json", NULL, "Print one JSON object per line for each row.",
	  WMK_CLI_FLAG(struct query_args, common.json) },
	{ 0, "csv", NULL, "Print comma-separated values, with a line of column names.",
	  WMK_CLI_FLAG(struct query_args, csv) },
	{ 'b', "begin", "TIME",
	  "Read only records from this time on: seconds since 1970, a date, a time of day, or date and time, as for "
	  "`waymark view`.",
	  WMK_CLI_TEXT(struct query_args, begin) },
	{ 'E', "end", "TIME", "Read only records up to this time; a date includes the whole day.",
	  WMK_CLI_TEXT(struct query_args, end) },
	{ 0, "no-push-down", NULL,
	  "Let SQLite evaluate all conditions and groups. The rows are the same, and the statement is slower.",
	  WMK_CLI_FLAG(struct query_args, no_push_down) },
	{ 0, "no-pager", NULL,
	  "Print without a pager. On a terminal, the default pager is $WAYMARK_PAGER, else $PAGER, else less.",
	  WMK_CLI_FLAG(struct query_args, no_pager) },
};

const struct wmk_cli_command wmk_cli_query = {
	.name = "query",
	.arguments = "STATEMENT DIR... | --tables DIR...",
	.summary = "Run an SQL statement over traces",
	.details = details,
	WMK_CLI_OPTIONS(options),
	.args_size = sizeof(struct query_args),
	.run = run_query,
};
