/* SPDX-License-Identifier: MIT */
/*
 * scan.c - the records of a table (see scan.h).
 */
#include <errno.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/query/field.h"
#include "analyze/query/scan.h"
#include "base/error.h"
#include "read/record_scope.h"
#include "read/thread_id.h"

#define POSITION_BITS 43u          /* of a row's identifier: bits for the position in a stream file, below 1 TiB */

/* The plan for reading the records of one event class. */
struct class_plan {
	bool is_wanted;
	struct wmk_query_place pid, tid, process;
	struct wmk_query_place columns[]; /* positions of fields */
};

/* The state of a stream, stored in the stream's member `user`. */
struct stream_state {
	struct stream_state *next;
	uint32_t number;
	const struct wmk_query_trace *trace;
	const struct wmk_ctf_stream_decoder *decoder; /* the plans of the stream class */
	struct class_plan **plans; /* by event class; NULL: not made */
	struct wmk_read_thread_id cpu;
};

/* The plans for all event classes of a stream class. All streams of a stream class use the same plans. */
struct plans {
	struct plans *next;
	const struct wmk_ctf_stream_decoder *decoder;
	struct class_plan *all[];
};

struct wmk_query_scan {
	struct wmk_query_tables *tables;
	const struct wmk_query_table *table;
	struct wmk_query_test *tests;
	uint32_t n_tests;          /* tests of columns that differ between records of an event class come first: ... */
	uint32_t n_row_tests;      /* ... the number of these tests */
	struct wmk_read_merge *merge;
	struct wmk_read_stream *stream; /* of the current record */
	struct stream_state *streams;
	struct plans *plans;
	struct wmk_print_text scratch;
};

/* ── tests ───────────────────────────────────────────────────────────────────────────────────────────────────── */

void wmk_query_tests_free(struct wmk_query_test *tests, uint32_t n)
{
	for (uint32_t i = 0; tests && i < n; i++) {
		for (uint32_t v = 0; v < tests[i].n_values; v++)
			free((char *)(uintptr_t)tests[i].values[v].text);
		free(tests[i].values);
	}
	free(tests);
}

static bool matches(const struct wmk_query_test *test, const struct wmk_query_value *value)
{
	const bool is_like = test->compare == WMK_QUERY_LIKE;
	char text[512];

	if (value->kind != WMK_QUERY_TEXT || value->len >= sizeof(text))
		return true;
	memcpy(text, value->text, value->len);
	text[value->len] = '\0';
	return is_like ? sqlite3_strlike(test->values[0].text, text, 0) == 0
		       : sqlite3_strglob(test->values[0].text, text) == 0;
}

/*
 * Returns false if SQLite would not select a record with this value. As in SQL, a comparison with NULL is never true.
 */
static bool passes(const struct wmk_query_test *test, const struct wmk_query_value *value)
{
	bool is_unknown = false;

	if (value->kind == WMK_QUERY_NULL)
		return false;
	if (test->compare >= WMK_QUERY_GLOB)
		return matches(test, value);
	for (uint32_t i = 0; i < test->n_values; i++) {
		const struct wmk_query_value *other = &test->values[i];
		const int order = wmk_query_value_compare(value, other);

		/* (other types: SQLite may convert one of the values) */
		if (other->kind != value->kind) {
			is_unknown = is_unknown || other->kind != WMK_QUERY_NULL;
			continue;
		}
		if (test->compare == WMK_QUERY_EQ || test->compare == WMK_QUERY_IN ? order == 0 :
		    test->compare == WMK_QUERY_GT ? order > 0 :
		    test->compare == WMK_QUERY_GE ? order >= 0 :
		    test->compare == WMK_QUERY_LT ? order < 0 : order <= 0)
			return true;
	}
	return is_unknown;
}

/* True if all records of an event class have the same value in this column. */
static bool is_of_class(enum wmk_query_source source)
{
	return source == WMK_QUERY_NAME || source == WMK_QUERY_LEVEL;
}

/* Sort the tests: tests with a result that depends on the record come first. */
static void order_tests(struct wmk_query_scan *scan)
{
	for (uint32_t i = 0; i < scan->n_tests; i++)
		if (!is_of_class(scan->table->columns[scan->tests[i].column].source)) {
			const struct wmk_query_test test = scan->tests[i];

			scan->tests[i] = scan->tests[scan->n_row_tests];
			scan->tests[scan->n_row_tests++] = test;
		}
}

/* Find the range of times that the tests select. */
static void find_times(const struct wmk_query_scan *scan, int64_t *from, int64_t *to)
{
	*from = INT64_MIN;
	*to = INT64_MAX;
	for (uint32_t i = 0; i < scan->n_row_tests; i++) {
		const struct wmk_query_test *test = &scan->tests[i];
		const struct wmk_query_value *value = test->values;
		const bool is_least = test->compare == WMK_QUERY_EQ || test->compare == WMK_QUERY_GT ||
				      test->compare == WMK_QUERY_GE,
			   is_most = test->compare == WMK_QUERY_EQ || test->compare == WMK_QUERY_LT ||
				     test->compare == WMK_QUERY_LE;
		int64_t low, high;

		if (scan->table->columns[test->column].source != WMK_QUERY_TIME)
			continue;
		if (value->kind == WMK_QUERY_INTEGER) {
			low = high = value->integer;
		} else if (value->kind == WMK_QUERY_REAL && value->real > -9.2e18 && value->real < 9.2e18) {
			low = (int64_t)value->real - 1;
			high = (int64_t)value->real + 1;
		} else {
			continue;
		}
		if (is_least && low > *from)
			*from = low;
		if (is_most && high < *to)
			*to = high;
	}
}

/* ── event classes ───────────────────────────────────────────────────────────────────────────────────────────── */

/*
 * Contexts that identify the thread, as in read/thread_id.h. If a record has several contexts of one kind, the last of
 * these contexts is used.
 */
static void find_thread(const struct wmk_query_class *class, struct class_plan *plan)
{
	static const struct {
		const char *name;
		size_t place;
	} names[] = { { "vpid", offsetof(struct class_plan, pid) },
		      { "pid", offsetof(struct class_plan, pid) },
		      { "vtid", offsetof(struct class_plan, tid) },
		      { "tid", offsetof(struct class_plan, tid) },
		      { "procname", offsetof(struct class_plan, process) },
		      { "comm", offsetof(struct class_plan, process) } };

	for (unsigned scope = WMK_READ_COMMON; scope <= WMK_READ_CONTEXT; scope++)
		for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
			struct wmk_query_place *place = (void *)((char *)plan + names[i].place), found;

			found = wmk_query_place_find(class, scope, names[i].name, 0);
			if (found.op && (!place->op || place->scope < scope || place->op < found.op))
				*place = found;
		}
}

static struct wmk_query_value class_value(const struct wmk_query_scan *scan, const struct wmk_query_class *class,
					  enum wmk_query_source source)
{
	const int32_t level = class->event->class->level;

	if (source == WMK_QUERY_NAME)
		return wmk_query_lasting(scan->tables->all[class->table].event);
	if (level >= 0)
		return wmk_query_integer(level);
	return (struct wmk_query_value){ .kind = WMK_QUERY_NULL };
}

static struct class_plan *make_plan(struct wmk_query_scan *scan, const struct stream_state *state, uint32_t event)
{
	const struct wmk_query_table *table = scan->table;
	const uint32_t trace = (uint32_t)(state->trace - scan->tables->traces->all);
	const struct wmk_query_class *class = wmk_query_tables_class(scan->tables, trace, scan->stream);
	struct class_plan *plan = calloc(1, sizeof(*plan) + table->n_columns * sizeof(plan->columns[0]));

	if (!plan)
		return NULL;
	state->plans[event] = plan;
	plan->is_wanted = !table->event || &scan->tables->all[class->table] == table;
	for (uint32_t i = scan->n_row_tests; i < scan->n_tests && plan->is_wanted; i++) {
		const struct wmk_query_column *column = &table->columns[scan->tests[i].column];
		const struct wmk_query_value value = class_value(scan, class, column->source);

		plan->is_wanted = passes(&scan->tests[i], &value);
	}
	if (!plan->is_wanted)
		return plan;
	find_thread(class, plan);
	for (uint32_t i = WMK_QUERY_FIXED; i < table->n_columns; i++) {
		const struct wmk_query_column *column = &table->columns[i];

		plan->columns[i] = wmk_query_place_find(class, column->scope, column->field, column->nth);
	}
	return plan;
}

/* ── streams ─────────────────────────────────────────────────────────────────────────────────────────────────── */

static struct class_plan **plans_of(struct wmk_query_scan *scan, const struct wmk_ctf_stream_decoder *decoder)
{
	struct plans *plans = scan->plans;

	while (plans && plans->decoder != decoder)
		plans = plans->next;
	if (!plans) {
		plans = calloc(1, sizeof(*plans) + decoder->n_events * sizeof(plans->all[0]));
		if (!plans)
			return NULL;
		plans->decoder = decoder;
		plans->next = scan->plans;
		scan->plans = plans;
	}
	return plans->all;
}

static int begin_packet(struct wmk_query_scan *scan, struct wmk_read_stream *stream)
{
	struct stream_state *state = stream->user;
	int err;

	if (!state) {
		state = calloc(1, sizeof(*state));
		if (!state)
			return wmk_error(-ENOMEM, "no memory for a stream");
		state->trace = wmk_query_traces_of(scan->tables->traces, stream, &state->number);
		state->next = scan->streams;
		stream->user = scan->streams = state;
	}
	if (state->decoder != stream->decoder) {
		state->decoder = stream->decoder;
		state->plans = plans_of(scan, stream->decoder);
		if (!state->plans)
			return wmk_error(-ENOMEM, "no memory for the event classes of a stream");
	}
	wmk_query_traces_losses(scan->tables->traces, stream, state->number);
	err = wmk_read_thread_id_of_packet(&state->cpu, stream);
	if (err == -ENOMEM)
		return err;
	if (err < 0)
		wmk_query_traces_damage(scan->tables->traces, stream, err);
	return 0;
}

int wmk_query_scan_open(struct wmk_query_tables *tables, const struct wmk_query_table *table,
			struct wmk_query_test *tests, uint32_t n_tests, struct wmk_query_scan **scan)
{
	struct wmk_query_scan *made = calloc(1, sizeof(*made));
	int64_t from, to;
	int err;

	if (!made) {
		wmk_query_tests_free(tests, n_tests);
		return wmk_error(-ENOMEM, "no memory for a query");
	}
	*made = (struct wmk_query_scan){ .tables = tables, .table = table, .tests = tests, .n_tests = n_tests };
	order_tests(made);
	find_times(made, &from, &to);
	err = wmk_query_traces_merge(tables->traces, from, to, &made->merge);
	if (err < 0) {
		wmk_query_scan_close(made);
		return err;
	}
	*scan = made;
	return 0;
}

void wmk_query_scan_close(struct wmk_query_scan *scan)
{
	if (!scan)
		return;
	wmk_read_merge_free(scan->merge);
	while (scan->streams) {
		struct stream_state *state = scan->streams;

		scan->streams = state->next;
		free(state);
	}
	while (scan->plans) {
		struct plans *plans = scan->plans;

		scan->plans = plans->next;
		for (uint32_t i = 0; i < plans->decoder->n_events; i++)
			free(plans->all[i]);
		free(plans);
	}
	wmk_query_tests_free(scan->tests, scan->n_tests);
	wmk_print_text_free(&scan->scratch);
	free(scan);
}

/* ── records ─────────────────────────────────────────────────────────────────────────────────────────────────── */

static bool is_selected(struct wmk_query_scan *scan)
{
	for (uint32_t i = 0; i < scan->n_row_tests; i++) {
		const struct wmk_query_value value = wmk_query_scan_value(scan, scan->tests[i].column);

		if (!passes(&scan->tests[i], &value))
			return false;
	}
	return true;
}

int wmk_query_scan_next(struct wmk_query_scan *scan)
{
	int got, err;

	while ((got = wmk_read_merge_next(scan->merge, &scan->stream)) > 0) {
		const struct stream_state *state = scan->stream->user;
		const struct class_plan *plan;
		uint32_t event;

		if (got == WMK_READ_PACKET) {
			err = begin_packet(scan, scan->stream);
			if (err < 0)
				return err;
			continue;
		}
		event = (uint32_t)(scan->stream->record.event - state->decoder->events);
		plan = state->plans[event];
		if (!plan && !(plan = make_plan(scan, state, event)))
			return wmk_error(-ENOMEM, "no memory for an event class");
		if (plan->is_wanted && is_selected(scan))
			return 1;
	}
	return got;
}

int64_t wmk_query_scan_row(const struct wmk_query_scan *scan)
{
	const struct stream_state *state = scan->stream->user;
	const uint64_t at = scan->stream->packet.at * 8 + scan->stream->record.at;

	return (int64_t)((uint64_t)state->number << POSITION_BITS | (at & (((uint64_t)1 << POSITION_BITS) - 1)));
}

/* ── values ──────────────────────────────────────────────────────────────────────────────────────────────────── */

static struct wmk_query_value place_value(struct wmk_query_scan *scan, const struct wmk_query_place *place, bool number)
{
	struct wmk_query_value value;
	int err = wmk_query_place_value(place, scan->stream, number, &scan->scratch, &value);

	if (err < 0)
		wmk_query_traces_damage(scan->tables->traces, scan->stream, err);
	return value;
}

static struct wmk_query_value fields_value(struct wmk_query_scan *scan, bool context)
{
	struct wmk_query_value value;
	int err = wmk_query_fields_value(scan->stream, context, &scan->scratch, &value);

	if (err < 0)
		wmk_query_traces_damage(scan->tables->traces, scan->stream, err);
	return value;
}

/* The first record of a packet has the number of records that were lost before the packet; other records have 0. */
static struct wmk_query_value lost_value(const struct wmk_read_stream *stream)
{
	if (stream->record.at != stream->packet.records_at)
		return wmk_query_integer(0);
	if (stream->lost == WMK_READ_LOST_UNKNOWN)
		return (struct wmk_query_value){ .kind = WMK_QUERY_NULL };
	return wmk_query_integer((int64_t)stream->lost);
}

struct wmk_query_value wmk_query_scan_value(struct wmk_query_scan *scan, uint32_t column)
{
	const struct wmk_query_column *of = &scan->table->columns[column];
	struct wmk_read_stream *stream = scan->stream;
	const struct stream_state *state = stream->user;
	const struct class_plan *plan = state->plans[stream->record.event - state->decoder->events];
	const struct wmk_query_value none = { .kind = WMK_QUERY_NULL };

	switch (of->source) {
	case WMK_QUERY_TIME:
		return wmk_read_has_time(stream) ? wmk_query_integer(wmk_read_real_ns(stream)) : none;
	case WMK_QUERY_CPU:
		return state->cpu.has_cpu ? wmk_query_integer(state->cpu.cpu) : none;
	case WMK_QUERY_PID:
		if (!plan->pid.op)
			return state->trace->has_pid ? wmk_query_integer(state->trace->pid) : none;
		return place_value(scan, &plan->pid, true);
	case WMK_QUERY_TID:
		return place_value(scan, &plan->tid, true);
	case WMK_QUERY_PROCESS:
		return plan->process.op ? place_value(scan, &plan->process, false)
					: wmk_query_lasting(state->trace->process);
	case WMK_QUERY_NAME:
	case WMK_QUERY_LEVEL:
		return class_value(scan,
				   wmk_query_tables_class(scan->tables,
							  (uint32_t)(state->trace - scan->tables->traces->all), stream),
				   of->source);
	case WMK_QUERY_TRACE:
		return wmk_query_lasting(state->trace->name);
	case WMK_QUERY_STREAM:
		return wmk_query_lasting(wmk_query_traces_stream_name(scan->tables->traces, stream, state->number));
	case WMK_QUERY_PACKET:
		return wmk_query_integer((int64_t)stream->n_packets - 1);
	case WMK_QUERY_LOST:
		return lost_value(stream);
	case WMK_QUERY_CONTEXT:
	case WMK_QUERY_FIELDS:
		return fields_value(scan, of->source == WMK_QUERY_CONTEXT);
	default:
		return place_value(scan, &plan->columns[column], of->source == WMK_QUERY_NUMBER);
	}
}
