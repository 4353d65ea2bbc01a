/* SPDX-License-Identifier: MIT */
/*
 * collect.c - the module of a report (see collect.h).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/query/derived.h"
#include "analyze/report/collect.h"
#include "analyze/report/data.h"
#include "base/array.h"
#include "base/error.h"
#include "read/json_writer.h"

#define STACK_EVENTS \
	(WMK_EV(SPAN_BEGIN) | WMK_EV(SPAN_END) | WMK_EV(SYSCALL_ENTRY) | WMK_EV(SYSCALL_EXIT))

static void thread_changed(void *data, struct wmk_analyze_thread *thread, unsigned was, int64_t now);

static int create(struct wmk_analysis *analysis, void **state)
{
	struct wmk_report *report = calloc(1, sizeof(*report));

	*state = report;
	if (!report)
		return wmk_error(-ENOMEM, "no memory for a report");
	report->analysis = analysis;
	report->is_whole = true;
	report->stacks_lost_until = INT64_MIN;
	wmk_report_timeline_begin(&report->timeline);
	wmk_texts_begin(&report->span_names);
	wmk_read_stacks_begin(&report->stacks);
	report->records = wmk_report_grid_row(&report->timeline.grid);
	report->lost = wmk_report_grid_row(&report->timeline.grid);
	report->busy = wmk_report_grid_row(&report->timeline.grid);
	if (!report->records || !report->lost || !report->busy)
		return -ENOMEM;
	report->lines = open_memstream(&report->fields, &report->fields_size);
	if (!report->lines)
		return wmk_error(-ENOMEM, "no memory for a report");
	report->threads = wmk_analysis_threads(analysis);
	report->changed = report->threads->changed;
	report->changed_data = report->threads->data;
	report->threads->changed = thread_changed;
	report->threads->data = report;
	return wmk_query_spans.module->create(analysis, &report->spans);
}

void wmk_report_callstacks(struct wmk_report *report, struct wmk_read_callstacks *callstacks)
{
	report->callstacks = callstacks;
}

/* ── states of threads ───────────────────────────────────────────────────────────────────────────────── */

static int add_state(struct wmk_report *report, const struct wmk_analyze_thread *thread, unsigned was, int64_t now)
{
	struct wmk_report_interval interval = { .from = thread->since,
						.ns = (uint64_t)now - (uint64_t)thread->since,
						.cpu = thread->cpu >= 0 ? (int32_t)thread->cpu : -1,
						.kind = (uint8_t)was,
						.wait = thread->wait };
	struct wmk_report_track *track;
	int err = wmk_report_timeline_track(&report->timeline, WMK_REPORT_THREAD, thread->tid, &interval.track);

	if (err < 0)
		return err;
	track = &report->timeline.tracks[interval.track];
	track->pid = thread->pid ? thread->pid : track->pid;
	if (thread->name[0])
		memcpy(track->name, thread->name, sizeof(thread->name));
	if (was == WMK_RUNNING)
		wmk_report_grid_add(&report->timeline.grid, report->busy, interval.from, now, interval.ns);
	return wmk_report_timeline_add(&report->timeline, &report->timeline.states, &interval);
}

static void thread_changed(void *data, struct wmk_analyze_thread *thread, unsigned was, int64_t now)
{
	struct wmk_report *report = data;
	int err = 0;

	if (report->changed)
		report->changed(report->changed_data, thread, was, now);
	/* (without sched_switch, threads have no states) */
	if (was != WMK_ABSENT && now > thread->since && (wmk_analysis_events(report->analysis) & WMK_EV(SWITCH)))
		err = add_state(report, thread, was, now);
	report->err = err < 0 ? err : report->err;
}

/* ── spans ───────────────────────────────────────────────────────────────────────────────────────────── */

/* The columns of the table `spans` of queries (docs/query.md). */
enum { TIME, DURATION, SELF, CPU, TID, PID, PROCESS, NAME, DEPTH };

static int add_span(struct wmk_report *report, const struct wmk_query_row *row)
{
	const struct wmk_query_value *values = row->values;
	const bool has_tid = values[TID].kind == WMK_QUERY_INTEGER, has_cpu = values[CPU].kind == WMK_QUERY_INTEGER;
	struct wmk_report_interval interval = { .from = values[TIME].integer,
						.ns = (uint64_t)values[DURATION].integer,
						.self = (uint64_t)values[SELF].integer,
						.cpu = has_cpu ? (int32_t)values[CPU].integer : -1,
						.depth = (uint16_t)values[DEPTH].integer,
						.kind = WMK_REPORT_SPAN,
						.has_no_end = values[DURATION].kind == WMK_QUERY_NULL };
	struct wmk_report_track *track;
	int err = wmk_texts_number(&report->span_names, values[NAME].text, values[NAME].len, &interval.name);

	if (err >= 0)
		err = wmk_report_timeline_track(&report->timeline, has_tid ? WMK_REPORT_THREAD : WMK_REPORT_CPU,
						has_tid ? values[TID].integer : has_cpu ? values[CPU].integer : -1,
						&interval.track);
	if (err < 0)
		return err;
	track = &report->timeline.tracks[interval.track];
	if (has_tid)
		track->pid = values[PID].integer;
	if (values[PROCESS].kind == WMK_QUERY_TEXT && !track->name[0]) {
		const size_t len = values[PROCESS].len < sizeof(track->name) ? values[PROCESS].len
									     : sizeof(track->name) - 1;

		memcpy(track->name, values[PROCESS].text, len);
	}
	return wmk_report_timeline_add(&report->timeline, &report->timeline.spans, &interval);
}

/* Take the rows that the module of the table `spans` has added; the caller then owns the rows. */
static int take_spans(struct wmk_report *report)
{
	struct wmk_query_rows *rows = report->spans;
	int err = 0;

	for (; rows->next < rows->n && err >= 0; rows->next++)
		err = add_span(report, &rows->rows[rows->next]);
	rows->next = rows->n = 0;
	return err;
}

/* ── records ─────────────────────────────────────────────────────────────────────────────────────────── */

/* Keep no fields. */
static void drop_fields(struct wmk_report *report)
{
	if (report->lines)
		fclose(report->lines);
	free(report->fields);
	report->lines = NULL;
	report->fields = NULL;
	report->fields_size = 0;
}

static int put_fields(struct wmk_report *report, const struct wmk_record *record)
{
	struct wmk_json_writer w;
	int err;

	report->scratch.len = 0;
	w = wmk_json_begin(&report->scratch);
	wmk_json_put(&w, "{", 1);
	err = wmk_json_put_part(&w, record->stream, WMK_READ_COMMON);
	if (err >= 0)
		err = wmk_json_put_part(&w, record->stream, WMK_READ_CONTEXT);
	if (err >= 0)
		err = wmk_json_put_part(&w, record->stream, WMK_READ_PAYLOAD);
	wmk_json_put(&w, "}\n", 2);
	err = wmk_json_end(&w, err);
	if (err >= 0 && fwrite(report->scratch.text, 1, report->scratch.len, report->lines) != report->scratch.len)
		err = wmk_error(-ENOMEM, "no memory for the fields of %u records", report->n_kept);
	report->fields_len += report->scratch.len;
	if (report->fields_len > WMK_REPORT_FIELDS)
		drop_fields(report);
	return err;
}

static int track_of(struct wmk_report *report, const struct wmk_record *record, uint32_t *track)
{
	const struct wmk_analyze_thread *thread = record->has_tid ? NULL : wmk_threads_of(report->threads, record);

	*track = UINT32_MAX;
	if (record->has_tid || thread)
		return wmk_report_timeline_track(&report->timeline, WMK_REPORT_THREAD,
						 thread ? thread->tid : record->tid, track);
	if (record->cpu != WMK_READ_NOWHERE)
		return wmk_report_timeline_track(&report->timeline, WMK_REPORT_CPU, record->cpu, track);
	return 0;
}

static int keep(struct wmk_report *report, const struct wmk_record *record)
{
	struct wmk_report_record *kept =
		wmk_array_room(report->kept, report->n_kept, &report->cap_kept, sizeof(*kept));
	int err;

	if (!kept)
		return wmk_error(-ENOMEM, "no memory for %u records", report->n_kept);
	report->kept = kept;
	kept += report->n_kept;
	*kept = (struct wmk_report_record){ .ns = record->ns,
					    .event = record->class->id,
					    .cpu = record->cpu == WMK_READ_NOWHERE ? -1 : (int32_t)record->cpu };
	err = track_of(report, record, &kept->track);
	if (err >= 0 && kept->track != UINT32_MAX && record->procname.has &&
	    !report->timeline.tracks[kept->track].name[0])
		wmk_value_text(&record->procname, report->timeline.tracks[kept->track].name,
			       sizeof(report->timeline.tracks->name));
	if (err >= 0 && report->lines)
		err = put_fields(report, record);
	if (err >= 0)
		report->n_kept++;
	return err;
}

static int add_to_stack(struct wmk_report *report, const struct wmk_record *record)
{
	const struct wmk_analyze_thread *thread = wmk_threads_of(report->threads, record);
	struct wmk_read_thread_id who = { .has_tid = record->has_tid || thread };

	if (!who.has_tid)
		return 0;
	who.tid = record->has_tid ? record->tid : thread->tid;
	who.pid = record->has_pid ? record->pid : thread && thread->pid ? wmk_threads_process(thread) : who.tid;
	if (record->procname.has)
		wmk_value_text(&record->procname, who.name, sizeof(who.name));
	else if (thread)
		memcpy(who.name, thread->name, sizeof(thread->name));
	return wmk_read_stacks_record(&report->stacks, record->stream->record.event->class, &who, record->ns);
}

/* The trace has more than WMK_REPORT_RECORDS records, so discard the collected records. */
static void reduce(struct wmk_report *report)
{
	report->is_whole = false;
	report->timeline.is_reduced = true;
	drop_fields(report);
	free(report->kept);
	report->kept = NULL;
	report->n_kept = report->cap_kept = 0;
}

static int record(void *state, const struct wmk_record *record)
{
	struct wmk_report *report = state;
	int err = report->err;

	if (record->ns > report->timeline.end || !report->timeline.grid.has_begun)
		report->timeline.end = record->ns;
	wmk_report_grid_add(&report->timeline.grid, report->records, record->ns, record->ns, 1);
	if (report->is_whole && report->n_kept == WMK_REPORT_RECORDS)
		reduce(report);
	if (report->is_whole && err >= 0)
		err = keep(report, record);
	if (err >= 0 && report->callstacks)
		err = wmk_read_callstacks_add(report->callstacks, record->stream);
	if (err >= 0 && (UINT32_C(1) << record->event & STACK_EVENTS) && record->ns > report->stacks_lost_until)
		err = add_to_stack(report, record);
	if (err < 0 || (record->event != WMK_EV_SPAN_BEGIN && record->event != WMK_EV_SPAN_END))
		return err;
	err = wmk_query_spans.module->record(report->spans, record);
	return err < 0 ? err : take_spans(report);
}

static void lost(void *state, const struct wmk_loss *loss)
{
	struct wmk_report *report = state;
	struct wmk_report_loss *losses;

	if (loss->events & STACK_EVENTS) {
		wmk_read_stacks_lost(&report->stacks);
		if (loss->to > report->stacks_lost_until)
			report->stacks_lost_until = loss->to;
	}
	if (loss->records != WMK_READ_LOST_UNKNOWN)
		wmk_report_grid_add(&report->timeline.grid, report->lost, loss->from, loss->to, loss->records);
	if (report->n_losses == WMK_REPORT_LOSSES)
		return;
	losses = wmk_array_room(report->losses, report->n_losses, &report->cap_losses, sizeof(*losses));
	if (!losses) {
		report->err = wmk_error(-ENOMEM, "no memory for %u losses", report->n_losses);
		return;
	}
	report->losses = losses;
	losses[report->n_losses++] = (struct wmk_report_loss){
		.from = loss->from, .to = loss->to, .cpu = loss->cpu, .records = loss->records
	};
}

/* ── the end ─────────────────────────────────────────────────────────────────────────────────────────── */

static int result(void *state, struct wmk_result *result)
{
	struct wmk_report *report = state;
	FILE *out;
	int err = report->err < 0 ? report->err : wmk_query_spans.module->result(report->spans, result);

	if (err >= 0)
		err = take_spans(report);
	if (err < 0)
		return err;
	wmk_read_stacks_end(&report->stacks, report->timeline.end);
	if (report->lines && fflush(report->lines) != 0)
		return wmk_error(-ENOMEM, "no memory for the fields of %u records", report->n_kept);
	out = open_memstream(&report->data, &report->data_size);
	if (!out)
		return wmk_error(-ENOMEM, "no memory for a report");
	/* (now, because the names of events are in the open traces) */
	err = wmk_report_data(report, result, out);
	return fclose(out) == 0 ? err : wmk_error(-ENOMEM, "no memory for a report");
}

static void release(void *state)
{
	struct wmk_report *report = state;

	if (report->spans)
		wmk_query_spans.module->free(report->spans);
	drop_fields(report);
	free(report->kept);
	free(report->losses);
	free(report->data);
	wmk_print_text_free(&report->scratch);
	wmk_texts_free(&report->span_names);
	wmk_read_stacks_free(&report->stacks);
	wmk_report_timeline_free(&report->timeline);
	free(report);
}

const struct wmk_analyze_module wmk_report_module = {
	.name = "report",
	.summary = "what a report draws",
	.events = WMK_EV_ALL,
	.has_threads = true,
	.create = create,
	.record = record,
	.lost = lost,
	.result = result,
	.free = release,
};
