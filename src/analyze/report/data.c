/* SPDX-License-Identifier: MIT */
/*
 * data.c - the collected data of a report, as JSON (see data.h).
 *
 * Times are in ns since the first record. Times relative to the first record are exact in JavaScript, where integers
 * have 53 bits. Each list of items is one flat array, with a fixed number of values for each item.
 *
 *     grid      width and number of cells; records, lost (numbers), busy (ns of all CPUs): the sums of each cell
 *     tracks    4 values: kind (enum wmk_report_track_kind), id, pid, name
 *     states    6 values: track, state, from, ns, CPU, wait
 *     spans     7 values: track, depth, from, ns (-1: no end), self, name (index of `names`), CPU
 *     rests     [track, kind, [cell, ns, cell, ns ...]]: intervals that are left out; cells of rest_width ns
 *     losses    4 values: from, to, CPU, records (-1: unknown)
 *     records   4 values: time, track, CPU, event (index of `events`); line n of the fields belongs to record n
 *     stacks    frames: names; nodes, 4 values: parent (number of an earlier node; -1: a root), frame, ns with deeper
 *               stacks, ns without; left_out: number of nodes that are not in the page
 *     callstacks  the same for the call stacks of records, with numbers of records; may be absent
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/report/data.h"
#include "base/error.h"
#include "base/json_text.h"

#define STACKS_MAX 20000u        /* nodes in the page: those with the most time */
#define REST_CELLS 131072u             /* limit of the cells of all rests; if there are more rests, each has one cell */

static void put_texts(const char *key, const char *const *texts, uint32_t n, FILE *out)
{
	fprintf(out, ",\n\"%s\":[", key);
	for (uint32_t i = 0; i < n; i++) {
		fputs(i ? "," : "", out);
		wmk_json_quote(out, texts[i], strlen(texts[i]));
	}
	fputc(']', out);
}

static void put_row(const char *key, const struct wmk_report_row *row, unsigned n, FILE *out)
{
	fprintf(out, ",\"%s\":[", key);
	for (unsigned i = 0; i < n; i++)
		fprintf(out, "%s%" PRIu64, i ? "," : "", row->cells[i]);
	fputc(']', out);
}

static void put_tracks(const struct wmk_report_timeline *timeline, FILE *out)
{
	fputs(",\n\"tracks\":[", out);
	for (uint32_t i = 0; i < timeline->n_tracks; i++) {
		const struct wmk_report_track *track = &timeline->tracks[i];

		fprintf(out, "%s%d,%" PRId64 ",%" PRId64 ",", i ? "," : "", track->kind, track->id, track->pid);
		wmk_json_quote(out, track->name, strlen(track->name));
	}
	fputc(']', out);
}

/*
 * Return how many grid cells the page merges into one cell, in the rows that summarize left-out intervals. Merged cells
 * limit the size of the page if a trace has many threads.
 */
static unsigned joined(const struct wmk_report_timeline *timeline)
{
	uint64_t n = 0;
	unsigned is = 1;

	for (uint32_t i = 0; i < timeline->n_tracks; i++)
		for (unsigned kind = 0; kind < WMK_REPORT_KINDS; kind++)
			n += timeline->tracks[i].rest[kind] != NULL;
	while (is < WMK_REPORT_CELLS && n * (WMK_REPORT_CELLS / is) > REST_CELLS)
		is *= 2;
	return is;
}

static void put_rest(const struct wmk_report_row *row, unsigned join, FILE *out)
{
	const char *comma = "";

	for (unsigned c = 0; c < WMK_REPORT_CELLS; c += join) {
		uint64_t ns = 0;

		for (unsigned i = c; i < c + join; i++)
			ns += row->cells[i];
		if (ns) {
			fprintf(out, "%s%u,%" PRIu64, comma, c / join, ns);
			comma = ",";
		}
	}
}

static void put_rests(const struct wmk_report_timeline *timeline, FILE *out)
{
	const unsigned join = joined(timeline);
	const char *comma = "";

	fprintf(out, ",\n\"rest_width\":%" PRId64 ",\"rests\":[", timeline->grid.width * join);
	for (uint32_t i = 0; i < timeline->n_tracks; i++)
		for (unsigned kind = 0; kind < WMK_REPORT_KINDS; kind++) {
			const struct wmk_report_row *row = timeline->tracks[i].rest[kind];

			if (!row)
				continue;
			fprintf(out, "%s[%" PRIu32 ",%u,[", comma, i, kind);
			put_rest(row, join, out);
			fputs("]]", out);
			comma = ",";
		}
	fputc(']', out);
}

static void put_intervals(const struct wmk_report_timeline *timeline, int64_t begin, FILE *out)
{
	fputs(",\n\"states\":[", out);
	for (uint32_t i = 0; i < timeline->states.n; i++) {
		const struct wmk_report_interval *is = &timeline->states.items[i];

		fprintf(out, "%s%" PRIu32 ",%u,%" PRId64 ",%" PRIu64 ",%" PRId32 ",%u", i ? "," : "", is->track,
			is->kind, is->from - begin, is->ns, is->cpu, is->wait);
	}
	fputs("],\n\"spans\":[", out);
	for (uint32_t i = 0; i < timeline->spans.n; i++) {
		const struct wmk_report_interval *is = &timeline->spans.items[i];

		fprintf(out, "%s%" PRIu32 ",%u,%" PRId64 ",%" PRId64 ",%" PRIu64 ",%" PRIu32 ",%" PRId32, i ? "," : "",
			is->track, is->depth, is->from - begin, is->has_no_end ? -1 : (int64_t)is->ns, is->self,
			is->name, is->cpu);
	}
	fputc(']', out);
	put_rests(timeline, out);
}

static void put_records(const struct wmk_report *report, int64_t begin, FILE *out)
{
	fputs(",\n\"losses\":[", out);
	for (uint32_t i = 0; i < report->n_losses; i++) {
		const struct wmk_report_loss *loss = &report->losses[i];

		fprintf(out, "%s%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64, i ? "," : "", loss->from - begin,
			loss->to - begin, loss->cpu == WMK_READ_NOWHERE ? -1 : loss->cpu,
			loss->records == WMK_READ_LOST_UNKNOWN ? -1 : (int64_t)loss->records);
	}
	fputs("],\n\"records\":[", out);
	for (uint32_t i = 0; i < report->n_kept; i++) {
		const struct wmk_report_record *is = &report->kept[i];

		fprintf(out, "%s%" PRId64 ",%" PRId64 ",%" PRId32 ",%" PRIu32, i ? "," : "", is->ns - begin,
			is->track == UINT32_MAX ? -1 : (int64_t)is->track, is->cpu, is->event);
	}
	fputc(']', out);
}

/* ── stacks ──────────────────────────────────────────────────────────────────────────────────────────── */

/*
 * The time of a parent is greater than or equal to the time of each child, and a parent has a smaller index than its
 * children. So parents precede their children.
 */
static int by_time(const void *left, const void *right, void *data)
{
	const uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	const uint64_t *total = data;

	return total[a] != total[b] ? (total[a] < total[b]) - (total[a] > total[b]) : (a > b) - (a < b);
}

/* order, place: room for all nodes. total: zeros. */
static void put_nodes(const struct wmk_read_stacks *stacks, uint32_t *order, uint32_t *place, uint64_t *total,
		      FILE *out)
{
	const uint32_t n = stacks->n_nodes - 1;

	for (uint32_t i = n; i >= 1; i--) {
		order[i - 1] = i;
		total[i] += stacks->nodes[i].ns;
		total[stacks->nodes[i].parent] += total[i];
	}
	qsort_r(order, n, sizeof(*order), by_time, total);
	for (uint32_t at = 0; at < n && at < STACKS_MAX; at++) {
		const struct wmk_read_stack_node *node = &stacks->nodes[order[at]];

		place[order[at]] = at;
		fprintf(out, "%s%" PRId64 ",%" PRIu32 ",%" PRIu64 ",%" PRIu64, at ? "," : "",
			node->parent ? (int64_t)place[node->parent] : -1, node->name, total[order[at]], node->ns);
	}
}

static int put_stacks(const char *key, const struct wmk_read_stacks *stacks, FILE *out)
{
	const uint32_t n = stacks->n_nodes ? stacks->n_nodes - 1 : 0;
	uint32_t *order = calloc(n + 1, sizeof(*order)), *place = calloc(n + 1, sizeof(*place));
	uint64_t *total = calloc(n + 1, sizeof(*total));
	const bool has_room = order && place && total;

	if (has_room) {
		fprintf(out, ",\n\"%s\":{\"left_out\":%" PRIu32 ",\"frames\":[", key,
			n > STACKS_MAX ? n - STACKS_MAX : 0);
		for (uint32_t i = 0; i < stacks->n_names; i++) {
			fputs(i ? "," : "", out);
			wmk_json_quote(out, stacks->names[i]->text, strlen(stacks->names[i]->text));
		}
		fputs("],\"nodes\":[", out);
		if (n)
			put_nodes(stacks, order, place, total, out);
		fputs("]}", out);
	}
	free(order);
	free(place);
	free(total);
	return has_room ? 0 : wmk_error(-ENOMEM, "no memory for %" PRIu32 " stacks", n);
}

int wmk_report_data(const struct wmk_report *report, const struct wmk_result *result, FILE *out)
{
	const struct wmk_report_timeline *timeline = &report->timeline;
	const struct wmk_names *names = wmk_analysis_names(report->analysis);
	const struct wmk_report_grid *grid = &timeline->grid;
	const int64_t length = result->end - result->begin;
	unsigned n = 0, n_cpus = 0;
	int err;

	if (grid->has_begun)
		n = (unsigned)(length / grid->width) + 1;
	n = n > WMK_REPORT_CELLS ? WMK_REPORT_CELLS : n;
	for (uint32_t i = 0; i < report->threads->n_cpus; i++)
		n_cpus += report->threads->cpus[i].switches > 0;
	fprintf(out, "{\"whole\":%s,\"most_records\":%u,\"has_fields\":%s,\"length\":%" PRId64
		     ",\"cpus\":%u,\"has_states\":%s",
		report->is_whole ? "true" : "false", WMK_REPORT_RECORDS, report->lines ? "true" : "false", length,
		n_cpus,
		timeline->states.n || timeline->states.n_left_out ? "true" : "false");
	fprintf(out, ",\"left_out\":%" PRIu64 ",\"grid\":{\"width\":%" PRId64 ",\"n\":%u",
		timeline->states.n_left_out + timeline->spans.n_left_out, grid->width, n);
	put_row("records", report->records, n, out);
	put_row("lost", report->lost, n, out);
	put_row("busy", report->busy, n, out);
	fputc('}', out);
	put_texts("waits", wmk_wait_names, WMK_WAITS, out);
	put_texts("names", (const char *const *)report->span_names.texts, report->span_names.n, out);
	put_texts("events", (const char *const *)names->names, names->n, out);
	put_tracks(timeline, out);
	put_intervals(timeline, result->begin, out);
	put_records(report, result->begin, out);
	err = put_stacks("stacks", &report->stacks, out);
	if (err >= 0 && report->callstacks)
		err = put_stacks("callstacks", &report->callstacks->stacks, out);
	fputs("}\n", out);
	return err;
}

void wmk_report_columns(const struct wmk_result *result, FILE *out)
{
	static const char *const kinds[] = { "text", "id", "count", "ns", "time", "bytes", "percent", "rate", "value" };

	for (unsigned t = 0; t < result->n_tables; t++) {
		const struct wmk_result_table *table = &result->tables[t];

		fprintf(out, "%s{\"name\":\"%s\",\"title\":\"%s\",\"columns\":[", t ? ",\n" : "[", table->name,
			table->title);
		for (unsigned i = 0; i < table->n_columns; i++)
			fprintf(out, "%s[\"%s\",\"%s\",\"%s\"]", i ? "," : "", table->columns[i].key,
				table->columns[i].head ? table->columns[i].head : table->columns[i].key,
				kinds[table->columns[i].kind]);
		fputs("]}", out);
	}
	fputs(result->n_tables ? "]\n" : "[]\n", out);
}
