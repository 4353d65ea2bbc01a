/* SPDX-License-Identifier: MIT */
/*
 * traces.c - the traces of a query (see traces.h).
 */
#include <errno.h>
#include <inttypes.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/query/names.h"
#include "analyze/query/traces.h"
#include "base/array.h"
#include "base/error.h"
#include "read/parse_time.h"

#define STREAMS_MAX (1u << 20)     /* bits for the number of a stream in a row's identifier */

/* ── reports ─────────────────────────────────────────────────────────────────────────────────────────────────── */

static int by_text(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* Returns true if the message was not reported before. If memory is exhausted, the message counts as new. */
static bool note(struct wmk_query_traces *traces, const char *words)
{
	char *copy = strdup(words), **found = copy ? tsearch(copy, &traces->reported, by_text) : NULL;

	if (found && *found != copy) {
		free(copy);
		return false;
	}
	if (!found)
		free(copy);
	return true;
}

static void report_damage(struct wmk_query_traces *traces, const void *of, int err)
{
	char words[WMK_ERROR_DEPTH * WMK_ERROR_LEN];

	wmk_error_text(words, sizeof(words));
	if (note(traces, words)) {
		traces->damages++;
		if (traces->reports.damage && (!of || wmk_read_repeats_first(&traces->repeats, of, words)))
			traces->reports.damage(traces->reports.data, err);
	}
	wmk_error_clear();
}

void wmk_query_traces_damage(void *data, const struct wmk_read_stream *stream, int err)
{
	struct wmk_query_traces *traces = data;
	uint32_t number;

	wmk_error_add(err, "the trace '%.120s' is damaged", stream->trace->path);
	if (wmk_query_traces_of(traces, stream, &number))
		report_damage(traces, &traces->streams[number], err);
}

void wmk_query_traces_losses(struct wmk_query_traces *traces, const struct wmk_read_stream *stream, uint32_t number)
{
	struct wmk_query_stream *of = &traces->streams[number];

	if (stream->n_packets <= of->counted)
		return;
	of->counted = stream->n_packets;
	traces->lost_packets += stream->lost_packets;
	if (stream->lost == WMK_READ_LOST_UNKNOWN)
		traces->is_loss_unknown = true;
	else
		traces->lost += stream->lost;
}

void wmk_query_traces_end(struct wmk_query_traces *traces)
{
	const struct wmk_query_reports *reports = &traces->reports;
	char words[160];

	wmk_read_repeats_end(&traces->repeats, reports->damage, reports->data);
	if (!reports->lost || (!traces->lost && !traces->lost_packets && !traces->is_loss_unknown))
		return;
	snprintf(words, sizeof(words),
		 "%s%" PRIu64 " records%s lost during recording (in the part of the trace that was read)",
		 traces->is_loss_unknown ? "more than " : "", traces->lost,
		 traces->lost_packets ? ", and whole packets" : "");
	reports->lost(reports->data, words);
	traces->lost = traces->lost_packets = 0;
	traces->is_loss_unknown = false;
}

/* ── open ────────────────────────────────────────────────────────────────────────────────────────────────────── */

/* Set the name of the trace; if all records of the trace are from one process, also set the name of the process. */
static int name_trace(struct wmk_query_trace *trace)
{
	const struct wmk_ctf_class *class = trace->trace->class;

	trace->name = wmk_query_names_clean(trace->trace->name);
	for (uint32_t i = 0; trace->name && i < class->n_env; i++) {
		if (strcmp(class->env[i].name, "procname") == 0 && class->env[i].text && !trace->process) {
			trace->process = wmk_query_names_clean(class->env[i].text);
			if (!trace->process)
				break;
		} else if (strcmp(class->env[i].name, "vpid") == 0 && !class->env[i].text) {
			trace->has_pid = true;
			trace->pid = class->env[i].number;
		}
	}
	return trace->name ? 0 : wmk_error(-ENOMEM, "no memory for a trace");
}

static int open_one(struct wmk_query_traces *traces, const char *path, const char *given)
{
	struct wmk_query_trace *all = wmk_array_room(traces->all, traces->n, &traces->cap, sizeof(*all)), *at;
	struct wmk_read_repeats warned = { NULL, 0 };
	struct wmk_read_trace *trace;
	int err;

	if (!all)
		return wmk_error(-ENOMEM, "no memory for %u traces", traces->n + 1);
	traces->all = all;
	err = wmk_read_trace_open(path, given, &trace);
	if (err == -ENOMEM)
		return err;
	if (err < 0) {
		wmk_error_add(err, "cannot read the trace '%.120s'", path);
		report_damage(traces, NULL, err);
		return 0;
	}
	at = &traces->all[traces->n++];
	*at = (struct wmk_query_trace){ .trace = trace, .first_stream = traces->n_streams };
	while (wmk_read_trace_take_damage(trace))
		report_damage(traces, NULL, -EPROTO);
	if (traces->reports.warning)
		wmk_read_repeats_warnings(&warned, trace, traces->reports.warning, traces->reports.data);
	wmk_read_repeats_end(&warned, NULL, NULL);
	err = name_trace(at);
	if (err < 0)
		return err;
	traces->n_streams += trace->n_files;
	if (traces->n_streams >= STREAMS_MAX)
		return wmk_error(-E2BIG, "too many streams: the maximum is %u", STREAMS_MAX);
	return 0;
}

/* Find the smallest and the largest difference between real time and steady time. */
static void find_steps(struct wmk_query_traces *traces)
{
	for (uint32_t i = 0; i < traces->n; i++) {
		const struct wmk_read_clock_points *points = traces->all[i].trace->points;
		struct wmk_read_clock_line line;

		for (uint64_t value = 0; points; value = line.to) {
			wmk_read_clock_line_find(points, value, &line);
			if (line.steps < traces->least_steps)
				traces->least_steps = line.steps;
			if (line.steps > traces->most_steps)
				traces->most_steps = line.steps;
			if (line.to <= value || line.to == UINT64_MAX)
				break;
		}
	}
}

/* Select the part of the traces that is read. */
static int select_part(struct wmk_query_traces *traces, const char *begin, const char *end)
{
	struct wmk_read_merge *merge;
	int64_t first = 0;
	int err = wmk_query_traces_merge(traces, INT64_MIN, INT64_MAX, &merge);

	if (err < 0)
		return err;
	find_steps(traces);
	if (begin || end) {
		if (wmk_read_merge_first(merge, &first) < 0)
			wmk_error_clear();
		err = wmk_read_parse_range(begin, end, false, first, &traces->from, &traces->to);
	}
	wmk_read_merge_free(merge);
	return err;
}

static int join_hosts(struct wmk_query_traces *traces)
{
	struct wmk_read_trace **all = calloc(traces->n, sizeof(*all));
	int err;

	if (!all)
		return wmk_error(-ENOMEM, "no memory for %u traces", traces->n);
	for (uint32_t i = 0; i < traces->n; i++)
		all[i] = traces->all[i].trace;
	err = wmk_read_hosts_join(all, traces->n, &traces->hosts);
	free(all);
	return err;
}

int wmk_query_traces_open(const char *const *paths, unsigned n_paths, const char *begin, const char *end,
			  struct wmk_query_traces *traces)
{
	int err = 0;

	traces->from = INT64_MIN;
	traces->to = INT64_MAX;
	for (unsigned i = 0; i < n_paths && err >= 0; i++) {
		struct wmk_read_paths found = { NULL, 0, 0 };

		err = wmk_read_traces_find(paths[i], &found);
		for (uint32_t j = 0; j < found.n && err >= 0; j++)
			err = open_one(traces, found.paths[j], paths[i]);
		wmk_read_paths_free(&found);
	}
	if (err >= 0 && !traces->n)
		err = wmk_errorx(-EINVAL, "cannot read any of the traces");
	if (err >= 0)
		err = join_hosts(traces);
	if (err < 0)
		return err;
	traces->streams = calloc(traces->n_streams + 1, sizeof(*traces->streams));
	if (!traces->streams)
		return wmk_error(-ENOMEM, "no memory for %u streams", traces->n_streams);
	return select_part(traces, begin, end);
}

void wmk_query_traces_close(struct wmk_query_traces *traces)
{
	for (uint32_t i = 0; i < traces->n; i++) {
		wmk_read_trace_close(traces->all[i].trace);
		free(traces->all[i].name);
		free(traces->all[i].process);
	}
	for (uint32_t i = 0; traces->streams && i < traces->n_streams; i++)
		free(traces->streams[i].name);
	wmk_read_hosts_free(traces->hosts);
	free(traces->all);
	free(traces->streams);
	wmk_read_repeats_end(&traces->repeats, NULL, NULL);
	tdestroy(traces->reported, free);
	*traces = (struct wmk_query_traces){ .n = 0 };
}

/* ── streams ─────────────────────────────────────────────────────────────────────────────────────────────────── */

static int64_t minus(int64_t time, int64_t steps)
{
	int64_t result;

	if (time == INT64_MIN || time == INT64_MAX)
		return time;
	if (__builtin_sub_overflow(time, steps, &result))
		return steps > 0 ? INT64_MIN : INT64_MAX;
	return result;
}

int wmk_query_traces_merge(struct wmk_query_traces *traces, int64_t from, int64_t to, struct wmk_read_merge **merge)
{
	struct wmk_read_merge *made;
	int err = wmk_read_merge_create(wmk_query_traces_damage, traces, &made);

	for (uint32_t i = 0; i < traces->n && err >= 0; i++)
		err = wmk_read_merge_add(made, traces->all[i].trace);
	if (err < 0) {
		wmk_read_merge_free(made);
		return err;
	}
	from = minus(from, traces->most_steps);
	to = minus(to, traces->least_steps);
	wmk_read_merge_trim(made, from > traces->from ? from : traces->from, to < traces->to ? to : traces->to);
	*merge = made;
	return 0;
}

const struct wmk_query_trace *wmk_query_traces_of(struct wmk_query_traces *traces, const struct wmk_read_stream *stream,
						  uint32_t *number)
{
	const struct wmk_query_trace *trace = traces->all;
	uint32_t file = 0;

	while (trace->trace != stream->trace)
		trace++;
	while (trace->trace->files[file] != stream->file)
		file++;
	*number = trace->first_stream + file;
	return trace;
}

const char *wmk_query_traces_stream_name(struct wmk_query_traces *traces, const struct wmk_read_stream *stream,
					 uint32_t number)
{
	char **name = &traces->streams[number].name;

	if (!*name)
		*name = wmk_query_names_clean(stream->name);
	return *name ? *name : "";
}
