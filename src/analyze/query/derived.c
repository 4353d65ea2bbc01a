/* SPDX-License-Identifier: MIT */
/*
 * derived.c - read the rows of derived tables (see derived.h).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/query/derived.h"
#include "base/array.h"
#include "base/error.h"
#include "base/utf8.h"

const struct wmk_query_derived *const wmk_query_derived_tables[] = {
	&wmk_query_threads, &wmk_query_slices, &wmk_query_wakeups, &wmk_query_syscalls, &wmk_query_spans, NULL
};

/* ── rows ────────────────────────────────────────────────────────────────────────────────────────────── */

struct wmk_query_row *wmk_query_rows_add(struct wmk_query_rows *rows)
{
	struct wmk_query_row *all = wmk_array_room(rows->rows, rows->n, &rows->cap, sizeof(*all));

	if (!all) {
		wmk_error(-ENOMEM, "no memory for the rows of a table");
		return NULL;
	}
	rows->rows = all;
	memset(&all[rows->n], 0, sizeof(*all));
	return &all[rows->n++];
}

/* (`rows` may move when a row is added, so `text` is set when the row is read) */
void wmk_query_row_text(struct wmk_query_row *row, unsigned column, unsigned room, const char *text, size_t len)
{
	char *p = row->texts[room], *const end = p + sizeof(row->texts[room]) - 4;

	if (!len)
		return;
	for (size_t i = 0, n; i < len && p < end; i += n ? n : 1) {
		n = wmk_utf8_length(text + i, len - i);
		p = mempcpy(p, n ? text + i : "\xef\xbf\xbd", n ? n : 3);
	}
	row->values[column] = (struct wmk_query_value){ .kind = WMK_QUERY_TEXT,
							.integer = room,
							.len = (size_t)(p - row->texts[room]) };
}

void wmk_query_row_lasting(struct wmk_query_row *row, unsigned column, unsigned room, const char *text, size_t len)
{
	size_t i = 0, n;

	while (i < len && (n = wmk_utf8_length(text + i, len - i)) != 0)
		i += n;
	if (i < len)
		wmk_query_row_text(row, column, room, text, len);
	else
		row->values[column] = (struct wmk_query_value){ .kind = WMK_QUERY_TEXT,
								.is_lasting = true,
								.text = text,
								.len = len };
}

void wmk_query_row_times(const struct wmk_query_rows *rows, struct wmk_query_row *row, unsigned column, int64_t from,
			 int64_t to)
{
	row->values[column] = wmk_query_integer((int64_t)((uint64_t)from + (uint64_t)rows->steps));
	row->values[column + 1] = wmk_query_integer((int64_t)((uint64_t)to - (uint64_t)from));
}

void wmk_query_rows_free(struct wmk_query_rows *rows)
{
	free(rows->rows);
}

/* ── records ─────────────────────────────────────────────────────────────────────────────────────────── */

/* The module's state of a stream, stored in the stream's `user`. */
struct derived_stream {
	struct derived_stream *next;
	uint32_t number;
	void *state;                   /* the state of the stream in analysis.c */
};

struct wmk_query_derivation {
	struct wmk_query_traces *traces;
	struct wmk_analysis *analysis;
	struct wmk_query_rows *rows;   /* the module's state */
	struct wmk_read_merge *merge;
	struct derived_stream *streams;
	struct wmk_print_text out;     /* unused */
	bool has_ended;
};

static const struct wmk_read_exporter *const form = &wmk_analysis_form;

int wmk_query_derive(struct wmk_query_traces *traces, const struct wmk_query_derived *table,
		     struct wmk_query_derivation **derivation)
{
	const struct wmk_analyze_module *const modules[] = { table->module, NULL };
	struct wmk_query_derivation *made = calloc(1, sizeof(*made));
	int err;

	if (!made)
		return wmk_error(-ENOMEM, "no memory for a query");
	made->traces = traces;
	err = wmk_analysis_create(modules, &made->analysis);
	if (err >= 0) {
		made->rows = wmk_analysis_state(made->analysis, 0);
		err = wmk_query_traces_merge(traces, INT64_MIN, INT64_MAX, &made->merge);
	}
	for (uint32_t i = 0; i < traces->n && err >= 0; i++)
		err = form->trace(made->analysis, traces->all[i].trace);
	if (err >= 0)
		err = form->begin(made->analysis, &made->out);
	if (err < 0) {
		wmk_query_derivation_free(made);
		return err;
	}
	*derivation = made;
	return 0;
}

void wmk_query_derivation_free(struct wmk_query_derivation *derivation)
{
	if (!derivation)
		return;
	while (derivation->streams) {
		struct derived_stream *stream = derivation->streams;

		derivation->streams = stream->next;
		if (stream->state)
			form->stream_free(stream->state);
		free(stream);
	}
	wmk_read_merge_free(derivation->merge);
	wmk_analysis_free(derivation->analysis);
	free(derivation);
}

static int take_packet(struct wmk_query_derivation *derivation, struct wmk_read_stream *read)
{
	struct derived_stream *stream = read->user;
	int err;

	if (!stream) {
		stream = calloc(1, sizeof(*stream));
		if (!stream)
			return wmk_error(-ENOMEM, "no memory for a stream");
		wmk_query_traces_of(derivation->traces, read, &stream->number);
		stream->next = derivation->streams;
		read->user = derivation->streams = stream;
		err = form->stream(derivation->analysis, read, &stream->state);
		if (err < 0)
			return err;
	}
	wmk_query_traces_losses(derivation->traces, read, stream->number);
	return form->packet(stream->state, read);
}

/* Read records until a row is complete, or until the end of the traces. */
static int fill(struct wmk_query_derivation *derivation)
{
	struct wmk_query_rows *rows = derivation->rows;
	struct wmk_read_stream *read;
	int got;

	rows->next = rows->n = 0;
	while (!rows->n && !derivation->has_ended) {
		int err;

		got = wmk_read_merge_next(derivation->merge, &read);
		if (got < 0)
			return got;
		if (got == WMK_READ_END) {
			derivation->has_ended = true;
			err = form->end(derivation->analysis, &derivation->out);
		} else if (got == WMK_READ_PACKET) {
			err = take_packet(derivation, read);
		} else {
			rows->steps = read->scale.line.steps;
			err = form->record(((struct derived_stream *)read->user)->state, read, &derivation->out);
		}
		if (err == -EPROTO || err == -ENODATA || err == -E2BIG)
			wmk_query_traces_damage(derivation->traces, read, err);
		else if (err < 0)
			return err;
	}
	return 0;
}

int wmk_query_derivation_next(struct wmk_query_derivation *derivation)
{
	struct wmk_query_rows *rows = derivation->rows;
	int err = 0;

	if (rows->next < rows->n)
		rows->next++;
	if (rows->next == rows->n)
		err = fill(derivation);
	return err < 0 ? err : rows->n > 0;
}

struct wmk_query_value wmk_query_derivation_value(const struct wmk_query_derivation *derivation, uint32_t column)
{
	const struct wmk_query_rows *rows = derivation->rows;
	struct wmk_query_value value = rows->rows[rows->next].values[column];

	if (value.kind == WMK_QUERY_TEXT && !value.is_lasting)
		value.text = rows->rows[rows->next].texts[value.integer];
	return value;
}
