/* SPDX-License-Identifier: MIT */
/*
 * tables.c - tables and columns from metadata (see tables.h).
 */
#include <errno.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/query/derived.h"
#include "analyze/query/tables.h"
#include "base/array.h"
#include "base/error.h"
#include "read/json_writer.h"

/* ── tables ──────────────────────────────────────────────────────────────────────────────────────────────────── */

/*
 * These are the names of tables and functions of SQLite. The table of an event must not hide a table or function of
 * SQLite that has the same name.
 */
static const char *const reserved[] = { "sqlite_master", "sqlite_schema", "sqlite_temp_master", "sqlite_temp_schema",
					"json_each",     "json_tree" };

/* The array size: at least the number of tables that exist in every trace. */
#define FIXED_TABLES 8u

static const char *name_of(const struct wmk_query_class *class)
{
	const char *name = class->event->class->name;

	return name ? name : "";
}

static int by_name(const void *a, const void *b, void *classes)
{
	const uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
	const struct wmk_query_class *all = classes;
	const int order = strcmp(name_of(&all[left]), name_of(&all[right]));

	return order ? order : left < right ? -1 : left > right;
}

static int no_memory(void)
{
	return wmk_error(-ENOMEM, "no memory for the tables of a query");
}

/* List all event classes. */
static int list_classes(struct wmk_query_tables *tables)
{
	const struct wmk_query_traces *traces = tables->traces;
	uint32_t n = 0;

	tables->first = calloc(traces->n + 1, sizeof(*tables->first));
	for (uint32_t t = 0; tables->first && t < traces->n; t++) {
		const struct wmk_ctf_decoder *decoder = traces->all[t].trace->decoder;

		tables->first[t] = calloc(decoder->n_streams + 1, sizeof(**tables->first));
		if (!tables->first[t])
			return no_memory();
		for (uint32_t s = 0; s < decoder->n_streams; s++) {
			tables->first[t][s] = n;
			n += decoder->streams[s].n_events;
		}
	}
	tables->classes = calloc(n + 1, sizeof(*tables->classes));
	tables->order = calloc(n + 1, sizeof(*tables->order));
	tables->all = calloc(n + FIXED_TABLES, sizeof(*tables->all));
	if (!tables->first || !tables->classes || !tables->order || !tables->all)
		return no_memory();
	for (uint32_t t = 0; t < traces->n; t++) {
		const struct wmk_ctf_decoder *decoder = traces->all[t].trace->decoder;

		for (uint32_t s = 0; s < decoder->n_streams; s++)
			for (uint32_t e = 0; e < decoder->streams[s].n_events; e++, tables->n_classes++) {
				struct wmk_query_class *class = &tables->classes[tables->n_classes];

				class->stream = &decoder->streams[s];
				class->event = &decoder->streams[s].events[e];
				tables->order[tables->n_classes] = tables->n_classes;
			}
	}
	return 0;
}

/*
 * Add a table for all classes with the name of the class at index `i`; classes with equal names are adjacent. Returns
 * the index of the first class with another name, or -ENOMEM.
 */
static int64_t add_table(struct wmk_query_tables *tables, uint32_t i)
{
	const char *name = name_of(&tables->classes[tables->order[i]]);
	struct wmk_query_table *table = &tables->all[tables->n++];

	*table = (struct wmk_query_table){ .first = i, .event = wmk_query_names_clean(name) };
	if (table->event)
		table->name = wmk_query_names_add(&tables->names, table->event, "event");
	if (!table->name)
		return no_memory();
	while (i < tables->n_classes && strcmp(name_of(&tables->classes[tables->order[i]]), name) == 0)
		tables->classes[tables->order[i++]].table = tables->n - 1;
	table->n = i - table->first;
	return i;
}

/* Add a table that exists in every trace. */
static int add_fixed(struct wmk_query_tables *tables, const char *name, const struct wmk_query_derived *derived)
{
	struct wmk_query_table *table = &tables->all[tables->n++];

	*table = (struct wmk_query_table){ .name = wmk_query_names_add(&tables->names, name, ""), .derived = derived };
	return table->name ? 0 : no_memory();
}

int wmk_query_tables_make(struct wmk_query_traces *traces, struct wmk_query_tables *tables)
{
	int64_t i = 0;
	int err;

	tables->traces = traces;
	err = list_classes(tables);
	if (err < 0)
		return err;
	for (size_t r = 0; r < WMK_ARRAY_LEN(reserved); r++)
		if (!wmk_query_names_add(&tables->names, reserved[r], ""))
			return no_memory();
	err = add_fixed(tables, "events", NULL);
	for (i = 0; wmk_query_derived_tables[i] && err >= 0; i++)
		err = add_fixed(tables, wmk_query_derived_tables[i]->name, wmk_query_derived_tables[i]);
	if (err < 0)
		return err;
	i = 0;
	qsort_r(tables->order, tables->n_classes, sizeof(*tables->order), by_name, tables->classes);
	while (i >= 0 && i < tables->n_classes)
		i = add_table(tables, (uint32_t)i);
	return i < 0 ? (int)i : 0;
}

void wmk_query_tables_free(struct wmk_query_tables *tables)
{
	for (uint32_t i = 0; i < tables->n; i++) {
		free(tables->all[i].event);
		free(tables->all[i].columns);
		wmk_query_names_free(&tables->all[i].names);
	}
	for (uint32_t t = 0; tables->first && t < tables->traces->n; t++)
		free(tables->first[t]);
	free(tables->first);
	free(tables->classes);
	free(tables->order);
	free(tables->all);
	wmk_query_names_free(&tables->names);
}

const struct wmk_query_class *wmk_query_tables_class(const struct wmk_query_tables *tables, uint32_t trace,
						     const struct wmk_read_stream *stream)
{
	const uint32_t s = (uint32_t)(stream->decoder - stream->trace->decoder->streams);

	return &tables->classes[tables->first[trace][s] + (stream->record.event - stream->decoder->events)];
}

/* ── columns ─────────────────────────────────────────────────────────────────────────────────────────────────── */

static const struct {
	const char *name;
	enum wmk_query_type type;
} fixed[WMK_QUERY_FIXED] = {
	[WMK_QUERY_TIME] = { "time", WMK_QUERY_OF_INTEGER },     [WMK_QUERY_CPU] = { "cpu", WMK_QUERY_OF_INTEGER },
	[WMK_QUERY_PID] = { "pid", WMK_QUERY_OF_INTEGER },       [WMK_QUERY_TID] = { "tid", WMK_QUERY_OF_INTEGER },
	[WMK_QUERY_PROCESS] = { "process", WMK_QUERY_OF_TEXT },  [WMK_QUERY_NAME] = { "name", WMK_QUERY_OF_TEXT },
	[WMK_QUERY_LEVEL] = { "level", WMK_QUERY_OF_INTEGER },   [WMK_QUERY_TRACE] = { "trace", WMK_QUERY_OF_TEXT },
	[WMK_QUERY_STREAM] = { "stream", WMK_QUERY_OF_TEXT },    [WMK_QUERY_LOST] = { "lost", WMK_QUERY_OF_INTEGER },
	[WMK_QUERY_PACKET] = { "packet", WMK_QUERY_OF_INTEGER }, [WMK_QUERY_FIELDS] = { "fields", WMK_QUERY_OF_JSON },
	[WMK_QUERY_CONTEXT] = { "context", WMK_QUERY_OF_JSON },
};

/* The key of a column that was already created for this scope, field and number. */
struct field_key {
	unsigned scope, nth;
	const char *field;
	uint32_t column;
};

static int by_field(const void *left, const void *right)
{
	const struct field_key *a = left, *b = right;

	if (a->scope != b->scope || a->nth != b->nth)
		return a->scope != b->scope ? (a->scope < b->scope ? -1 : 1) : a->nth < b->nth ? -1 : 1;
	return strcmp(a->field, b->field);
}

static enum wmk_query_type type_of(const struct wmk_ctf_op *op)
{
	switch (op->code) {
	case WMK_CTF_INT:
	case WMK_CTF_FLAGS:
		/* (an unsigned number of 64 bits may be greater than the largest integer of SQLite) */
		return op->width && op->width < 64 + op->is_signed ? WMK_QUERY_OF_INTEGER : WMK_QUERY_OF_ANY;
	case WMK_CTF_BOOL:
		return WMK_QUERY_OF_INTEGER;
	case WMK_CTF_FLOAT:
		return WMK_QUERY_OF_REAL;
	case WMK_CTF_STRING:
	case WMK_CTF_TEXT:
		return WMK_QUERY_OF_TEXT;
	case WMK_CTF_BLOB:
		return WMK_QUERY_OF_BYTES;
	case WMK_CTF_STRUCT:
	case WMK_CTF_ARRAY:
		return WMK_QUERY_OF_JSON;
	default:
		/* an enumeration without a label is a number; the options of a variant differ in type */
		return WMK_QUERY_OF_ANY;
	}
}

static int add_column(struct wmk_query_table *table, struct wmk_query_column column, const char *name)
{
	struct wmk_query_column *all = wmk_array_room(table->columns, table->n_columns, &table->cap, sizeof(*all));
	char *clean = all ? wmk_query_names_clean(name) : NULL;

	if (all)
		table->columns = all;
	if (clean)
		column.name = wmk_query_names_add(&table->names, clean,
						  column.scope == WMK_READ_PAYLOAD ? "field" : "context");
	free(clean);
	if (!column.name)
		return no_memory();
	table->columns[table->n_columns++] = column;
	return 0;
}

/* Add one column for a field, or two columns for an enumeration. */
static int add_field(struct wmk_query_table *table, const struct field_key *key, const struct wmk_ctf_op *op)
{
	const char *name = wmk_or_empty(op->name);
	struct wmk_query_column column = { .source = WMK_QUERY_FIELD,
					   .type = type_of(op),
					   .scope = key->scope,
					   .nth = key->nth,
					   .field = name };
	char *number;
	int err = add_column(table, column, name);

	if (err < 0 || op->code != WMK_CTF_ENUM)
		return err;
	if (asprintf(&number, "%s_value", name) < 0)
		return no_memory();
	column.source = WMK_QUERY_NUMBER;
	column.type = op->width && op->width < 64 + op->is_signed ? WMK_QUERY_OF_INTEGER : WMK_QUERY_OF_ANY;
	err = add_column(table, column, number);
	free(number);
	return err;
}

/* Return how many members before `op` have the same name as `op`. */
static unsigned number_of(const struct wmk_ctf_op *ops, uint32_t op)
{
	unsigned nth = 0;

	for (uint32_t i = 1; i < op; i = ops[i].next)
		nth += strcmp(wmk_or_empty(ops[i].name), wmk_or_empty(ops[op].name)) == 0;
	return nth;
}

static int add_scope(struct wmk_query_table *table, const struct wmk_ctf_program *program, unsigned scope, void **keys)
{
	const struct wmk_ctf_op *ops = program->ops;
	int err = 0;

	for (uint32_t i = 1; program->n_ops && ops[i].code != WMK_CTF_END && err >= 0; i = ops[i].next) {
		struct field_key *key, **found;

		if (wmk_read_is_interpreted(&ops[i]) || table->n_columns + 2 > WMK_QUERY_COLUMNS_MAX)
			continue;
		key = malloc(sizeof(*key));
		if (!key)
			return no_memory();
		*key = (struct field_key){ scope, number_of(ops, i), wmk_or_empty(ops[i].name), table->n_columns };
		found = tsearch(key, keys, by_field);
		if (found && *found == key) {
			err = add_field(table, key, &ops[i]);
			continue;
		}
		free(key);
		if (!found)
			return no_memory();
		if (table->columns[(*found)->column].type != type_of(&ops[i]))
			table->columns[(*found)->column].type = WMK_QUERY_OF_ANY;
	}
	return err;
}

int wmk_query_table_columns(struct wmk_query_tables *tables, struct wmk_query_table *table)
{
	void *keys = NULL;
	int err = 0;

	if (table->columns)
		return 0;
	for (unsigned i = 0; table->derived && i < table->derived->n_columns && err >= 0; i++)
		err = add_column(table, (struct wmk_query_column){ .type = table->derived->columns[i].type },
				 table->derived->columns[i].name);
	if (table->derived)
		return err;
	for (unsigned i = 0; i < WMK_QUERY_FIXED && err >= 0; i++)
		err = add_column(table, (struct wmk_query_column){ .source = i, .type = fixed[i].type }, fixed[i].name);
	/* (the payload first, because users look for its fields) */
	for (unsigned s = 0; s < 3; s++)
		for (uint32_t i = 0; table->event && i < table->n && err >= 0; i++) {
			static const unsigned scopes[] = { WMK_READ_PAYLOAD, WMK_READ_CONTEXT, WMK_READ_COMMON };
			const struct wmk_query_class *class = &tables->classes[tables->order[table->first + i]];

			err = add_scope(table, wmk_read_scope_program(class->stream, class->event, scopes[s]),
					scopes[s], &keys);
		}
	tdestroy(keys, free);
	return err;
}

const char *wmk_query_type_sql(enum wmk_query_type type)
{
	static const char *const names[] = { "INTEGER", "REAL", "TEXT", "BLOB", "TEXT", "" };

	return names[type];
}

const char *wmk_query_type_shown(enum wmk_query_type type)
{
	static const char *const names[] = { "integer", "real", "text", "blob", "json", "any" };

	return names[type];
}

char *wmk_query_table_declaration(const struct wmk_query_table *table)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	fputs("CREATE TABLE x(", out);
	for (uint32_t i = 0; i < table->n_columns; i++) {
		fputs(i ? ",\"" : "\"", out);
		for (const char *c = table->columns[i].name; *c; c++)
			fputs(*c == '"' ? "\"\"" : (char[]){ *c, '\0' }, out);
		fprintf(out, "\" %s", wmk_query_type_sql(table->columns[i].type));
	}
	fputs(")", out);
	return fclose(out) == 0 ? text : NULL;
}
