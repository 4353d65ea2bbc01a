/* SPDX-License-Identifier: MIT */
/*
 * tables.h - the tables that a query can read, from the metadata of its traces.
 *
 *     events          all records: columns that every record has
 *     "NAME"          the records of an event: the same columns, then one column for each field and context field
 *
 *     threads, slices, syscalls, spans    rows that are computed from several records (derived.h)
 *
 * All event classes with the same name share one table, also across traces. The table has the fields of all these
 * classes. Fields with the same name share one column. If fields of different types share a column, the column contains
 * values of several types.
 *
 * The columns of a table are created when the table is first used, because a trace can have thousands of events.
 */
#ifndef WMK_ANALYZE_QUERY_TABLES_H
#define WMK_ANALYZE_QUERY_TABLES_H

#include "analyze/query/names.h"
#include "analyze/query/traces.h"

#define WMK_QUERY_COLUMNS_MAX 1900u      /* below the limit of SQLite, 2000 */

enum wmk_query_type {
	WMK_QUERY_OF_INTEGER, WMK_QUERY_OF_REAL, WMK_QUERY_OF_TEXT, WMK_QUERY_OF_BYTES,
	WMK_QUERY_OF_JSON,
	WMK_QUERY_OF_ANY,          /* values of several types, such as integers beyond 64 bits */
};

enum wmk_query_source {
	WMK_QUERY_TIME, WMK_QUERY_CPU, WMK_QUERY_PID, WMK_QUERY_TID, WMK_QUERY_PROCESS, WMK_QUERY_NAME, WMK_QUERY_LEVEL,
	WMK_QUERY_TRACE, WMK_QUERY_STREAM, WMK_QUERY_PACKET, WMK_QUERY_LOST, WMK_QUERY_CONTEXT, WMK_QUERY_FIELDS,
	WMK_QUERY_FIELD,           /* the value of a field; of an enumeration, its label */
	WMK_QUERY_NUMBER,          /* the number of an enumeration */
};
#define WMK_QUERY_FIXED ((unsigned)WMK_QUERY_FIELD)

struct wmk_query_column {
	const char *name;          /* in SQL */
	enum wmk_query_source source;
	enum wmk_query_type type;
	/* FIELD, NUMBER: the member `field` of a scope (read/record_scope.h); if several have this name, the `nth` */
	unsigned scope, nth;
	const char *field;
};

struct wmk_query_class {
	const struct wmk_ctf_stream_decoder *stream;
	const struct wmk_ctf_event_decoder *event;
	uint32_t table;
};

struct wmk_query_derived;

struct wmk_query_table {
	const char *name;          /* in SQL */
	const struct wmk_query_derived *derived; /* NULL: a table of records */
	char *event;               /* name of the event; NULL: all events */
	uint32_t first, n;         /* the classes of the event, in tables.order */
	struct wmk_query_column *columns; /* NULL: not made yet */
	uint32_t n_columns, cap;
	struct wmk_query_names names;
};

struct wmk_query_tables {
	struct wmk_query_traces *traces;
	struct wmk_query_class *classes; /* by trace, stream class, event class */
	uint32_t *order;                 /* indices of classes, by name */
	uint32_t **first;                /* by trace and stream class: index of its first class */
	uint32_t n_classes;
	struct wmk_query_table *all;     /* `events`, the derived tables, then the tables of events by name */
	uint32_t n;
	struct wmk_query_names names;
};

/* The traces must outlive the tables. -ENOMEM: *tables can only be freed. */
int wmk_query_tables_make(struct wmk_query_traces *traces, struct wmk_query_tables *tables);
void wmk_query_tables_free(struct wmk_query_tables *tables);
/* Create the columns of a table, unless the columns already exist. -ENOMEM. */
int wmk_query_table_columns(struct wmk_query_tables *tables, struct wmk_query_table *table);
/* Return the statement that declares the table to SQLite. The caller frees the text. NULL: no memory. */
char *wmk_query_table_declaration(const struct wmk_query_table *table);
/* Return the name of a type, in SQL or as shown to users. */
const char *wmk_query_type_sql(enum wmk_query_type type);
const char *wmk_query_type_shown(enum wmk_query_type type);
/* The class of a record. `trace` is the index of the trace that contains the record. */
const struct wmk_query_class *wmk_query_tables_class(const struct wmk_query_tables *tables, uint32_t trace,
						     const struct wmk_read_stream *stream);

#endif
