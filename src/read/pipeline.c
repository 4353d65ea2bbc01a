/* SPDX-License-Identifier: MIT */
/*
 * pipeline.c - read traces below some paths and write their records (see pipeline.h).
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include "base/array.h"
#include "base/error.h"
#include "read/filter.h"
#include "read/hosts.h"
#include "read/merge.h"
#include "read/open_traces.h"
#include "read/pipeline.h"
#include "read/repeats.h"
#include "read/time_limits.h"
#include "read/uncertainty.h"

#define FLUSH 65536u

/* A trace with the formatter of its lines. */
struct opened {
	struct wmk_read_trace *trace;
	struct wmk_print_trace *print;
};

/*
 * The output state of a stream, which is stored in the stream's `user`. A list links all structures of this type, so
 * that the pipeline can free them.
 */
struct lines {
	struct lines *next;
	struct wmk_print_stream *print;
	void *state;               /* the form's, or NULL */
	const struct wmk_read_exporter *form;
	struct wmk_read_filter *filter; /* or NULL */
	struct wmk_read_packet_head head;
	bool is_packet_made;       /* the text of the packet's context is up to date */
};

struct reading {
	const struct wmk_read_pipeline_options *options;
	struct wmk_read_pipeline_result *done;
	FILE *file;
	struct wmk_read_hosts *hosts; /* NULL: the traces are not on the clock of a relay */
	struct opened *traces;
	uint32_t n_traces, cap_traces;
	struct wmk_read_merge *merge; /* reads the traces; or ... */
	struct wmk_read_live *live;   /* ... follows them, and owns them */
	struct wmk_print *print;
	struct wmk_print_text out, mark;
	struct wmk_filter_expr *filter; /* or NULL */
	void *whole;               /* the form's state */
	uint64_t bytes, total;     /* of stream files: read so far; in total */
	struct lines *lines;
	struct wmk_read_repeats damaged, warned;
	struct wmk_read_uncertainty uncertainty;
	struct wmk_print_text symbols; /* of the current record */
	uint64_t n_untimed;        /* records with a time that does not fit into 64 bits of ns */
};

static int write_out(struct reading *r)
{
	size_t len = r->out.len;

	r->out.len = 0;
	if (len && fwrite(r->out.text, 1, len, r->file) != len)
		return wmk_error(errno ? -errno : -EIO, "cannot write the records");
	return 0;
}

/* Write all output, including the lines that wmk_print_end() has held back for alignment. */
static int flush(struct reading *r)
{
	int err = wmk_print_end(r->print, &r->out);

	return err < 0 ? err : write_out(r);
}

static void report_damage(void *data, const struct wmk_read_stream *stream, int err)
{
	char words[WMK_ERROR_DEPTH * WMK_ERROR_LEN];
	struct reading *r = data;

	if (stream)
		wmk_error_add(err, "the trace '%.120s' is damaged", stream->trace->path);
	r->done->damages++;
	wmk_error_text(words, sizeof(words));
	if (r->options->damage && (!stream || r->options->follow || wmk_read_repeats_first(&r->damaged, stream, words)))
		r->options->damage(r->options->data, err);
	wmk_error_clear();
}

/* babeltrace2 does not read sync points, so the style of babeltrace2 must print uncorrected times. */
static bool is_uncorrected(const struct wmk_read_pipeline_options *options)
{
	return options->uncorrected ||
	       (!options->form && options->print.style == WMK_PRINT_BABELTRACE && !options->uncertainty);
}

/* ── open traces ─────────────────────────────────────────────────────────────────────────────────────── */

/* Prepare the output of a trace. After this call, the pipeline owns the trace, unless traces are followed. */
static int take_trace(void *data, struct wmk_read_trace *trace)
{
	struct reading *r = data;
	struct opened *all = wmk_array_room(r->traces, r->n_traces, &r->cap_traces, sizeof(*all)), *at;
	int err;

	if (!all) {
		if (!r->options->follow)
			wmk_read_trace_close(trace);
		return wmk_error(-ENOMEM, "no memory for %u traces", r->n_traces + 1);
	}
	r->traces = all;
	at = &r->traces[r->n_traces++];
	*at = (struct opened){ .trace = trace };
	while (wmk_read_trace_take_damage(trace))
		report_damage(r, NULL, -EPROTO);
	if (is_uncorrected(r->options))
		wmk_read_trace_drop_points(trace);
	if (r->options->warning)
		wmk_read_repeats_warnings(&r->warned, trace, r->options->warning, r->options->data);
	err = wmk_print_trace_add(r->print, trace->decoder, trace->name, trace->host, &at->print);
	if (err >= 0)
		wmk_print_trace_points(at->print, trace->points);
	if (err >= 0 && r->options->form && r->options->form->trace)
		err = r->options->form->trace(r->whole, trace);
	return err;
}

/* Warn once if clocks may have different origins, because the order of the records is then unknown. */
static void report_clocks(const struct reading *r)
{
	struct wmk_read_clock_of first = { NULL, NULL };
	const struct wmk_ctf_clock_class *other;
	char words[512];
	uint32_t i = 0;

	while (i < r->n_traces && !wmk_read_clock_differs(r->traces[i].trace, &first, &other))
		i++;
	if (i == r->n_traces || !r->options->lost)
		return;
	snprintf(words, sizeof(words),
		 "cannot relate the clock '%.40s' of '%.120s' to the clock '%.40s' of '%.120s': they may count from "
		 "different times, and the order of their records may be wrong",
		 first.clock->name, first.trace->path, other->name, r->traces[i].trace->path);
	r->options->lost(r->options->data, words);
}

static void report_unreadable(void *data, int err)
{
	report_damage(data, NULL, err);
}

static int open_all(struct reading *r, const char *const *paths, unsigned n_paths)
{
	const struct wmk_read_exporter *form = r->options->form;
	const bool shows_values = is_uncorrected(r->options) || (form && form->is_directory);
	struct wmk_read_opened opened = { .n = 0 };
	uint32_t n = 0;
	int err = wmk_read_open_traces(paths, n_paths, report_unreadable, r, &opened);

	if (err >= 0 && !shows_values)
		err = wmk_read_hosts_join(opened.traces, opened.n, &r->hosts);
	while (n < opened.n && err >= 0) {
		struct wmk_read_trace *trace = opened.traces[n++];

		err = take_trace(r, trace);
		if (err >= 0)
			err = wmk_read_merge_add(r->merge, trace);
	}
	wmk_read_opened_free(&opened, n);
	if (r->options->warning)
		wmk_read_repeats_end(&r->warned, r->options->warning, r->options->data);
	if (err >= 0 && !r->hosts && !(form && form->is_directory))
		report_clocks(r);
	return err;
}

/* ── followed traces ─────────────────────────────────────────────────────────────────────────────────── */

static void lines_free(struct lines *lines)
{
	wmk_print_stream_free(lines->print);
	if (lines->state)
		lines->form->stream_free(lines->state);
	wmk_read_filter_free(lines->filter);
	wmk_read_packet_head_free(&lines->head);
	free(lines);
}

static void live_leaving(void *data, struct wmk_read_stream *stream)
{
	struct reading *r = data;
	struct lines **at = &r->lines;

	while (*at && *at != stream->user)
		at = &(*at)->next;
	if (*at) {
		struct lines *lines = *at;

		*at = lines->next;
		lines_free(lines);
	}
	stream->user = NULL;
}

static void live_closing(void *data, const struct wmk_read_trace *trace)
{
	struct reading *r = data;
	uint32_t i = 0;

	while (i < r->n_traces && r->traces[i].trace != trace)
		i++;
	if (i == r->n_traces)
		return;
	if (r->options->form && r->options->form->closing)
		r->options->form->closing(r->whole, trace);
	wmk_print_trace_free(r->traces[i].print);
	r->traces[i] = r->traces[--r->n_traces];
}

static int open_live(struct reading *r, const char *const *paths, unsigned n_paths)
{
	const struct wmk_read_live_ops ops = { .damage = report_damage,
					       .opened = take_trace,
					       .leaving = live_leaving,
					       .closing = live_closing,
					       .data = r };

	return wmk_read_live_create(paths, n_paths, r->options->follow, &ops, &r->live);
}

/* Write all output before the pipeline waits for new data. */
static int wait_live(struct reading *r)
{
	int err = flush(r);

	if (err >= 0 && fflush(r->file) != 0)
		err = wmk_error(-errno, "cannot write the records");
	return err < 0 ? err : wmk_read_live_wait(r->live);
}

/* ── selection of records ────────────────────────────────────────────────────────────────────────────── */

/*
 * When traces are followed, an unknown name in the filter is not an error, because the metadata may declare the name
 * later.
 */
static int tolerate_filter(struct reading *r, int err)
{
	char words[WMK_ERROR_DEPTH * WMK_ERROR_LEN];

	if (!r->options->follow || err != -EINVAL)
		return err;
	if (r->options->lost)
		r->options->lost(r->options->data, wmk_error_text(words, sizeof(words)));
	wmk_error_clear();
	return 0;
}

static int check_filter(struct reading *r)
{
	const struct wmk_ctf_decoder **decoders;
	int err;

	if (!r->filter || (r->live && !r->n_traces))
		return 0;
	decoders = calloc(r->n_traces ? r->n_traces : 1, sizeof(*decoders));
	if (!decoders)
		return wmk_error(-ENOMEM, "no memory for %u traces", r->n_traces);
	for (uint32_t i = 0; i < r->n_traces; i++)
		decoders[i] = r->traces[i].trace->decoder;
	err = wmk_read_filter_check(r->filter, decoders, r->n_traces);
	free(decoders);
	return tolerate_filter(r, err);
}

/* Relative times count from the first record of the traces, even if this record is not selected. */
static void set_origin(struct reading *r)
{
	int64_t first;

	if (!r->options->form && wmk_read_limits_first(r->merge, r->live, &first) >= 0)
		wmk_print_origin(r->print, first);
	wmk_error_clear();
}

/* ── records ─────────────────────────────────────────────────────────────────────────────────────────── */

static int report_lost(struct reading *r, struct wmk_read_stream *stream, const struct wmk_print_loss *loss)
{
	struct wmk_print_text words = { NULL, 0, 0, 0 };
	int err = flush(r);

	if (err >= 0)
		err = wmk_print_lost(((struct lines *)stream->user)->print, loss, &words);
	if (err >= 0 && r->options->lost && words.len) {
		words.text[words.len - 1] = '\0';
		r->options->lost(r->options->data, words.text);
	}
	wmk_print_text_free(&words);
	return err;
}

static int lines_of(struct reading *r, struct wmk_read_stream *stream)
{
	struct lines *lines = calloc(1, sizeof(*lines));
	uint32_t i = 0;
	int err;

	if (!lines)
		return wmk_error(-ENOMEM, "no memory for the stream '%.240s'", stream->file);
	lines->next = r->lines;
	r->lines = lines;
	while (r->traces[i].trace != stream->trace)
		i++;
	err = wmk_print_stream_add(r->traces[i].print, stream->decoder, &lines->print);
	lines->form = r->options->form;
	if (err >= 0 && lines->form)
		err = lines->form->stream(r->whole, stream, &lines->state);
	if (err >= 0 && r->filter)
		err = wmk_read_filter_create(r->filter, stream->decoder, &lines->filter);
	stream->user = lines;
	return err;
}

/* Report the losses before the packet: first lost records, then lost packets, as in babeltrace2. */
static int losses(struct reading *r, struct wmk_read_stream *stream)
{
	const struct wmk_read_packet *is = &stream->packet;
	struct wmk_print_loss loss = { .count = stream->lost,
				       .has_times = stream->decoder->class->clock != NULL,
				       .begin = stream->lost_from,
				       .end = is->has_end ? is->end : is->begin,
				       .stream_id = stream->instance > INT64_MAX ? -1 : (int64_t)stream->instance };
	char *name;
	int err = 0;

	if (!stream->lost && !stream->lost_packets)
		return 0;
	if (asprintf(&name, "%s/%s", stream->trace->path, stream->name) < 0)
		return wmk_error(-ENOMEM, "no memory to report lost event records");
	loss.stream_name = name;
	if (stream->lost) {
		r->done->lost += stream->lost == WMK_READ_LOST_UNKNOWN ? 0 : stream->lost;
		if (stream->lost == WMK_READ_LOST_UNKNOWN)
			loss.count = WMK_PRINT_LOST_UNKNOWN;
		err = report_lost(r, stream, &loss);
	}
	if (err >= 0 && stream->lost_packets) {
		loss.is_packets = true;
		loss.count = stream->lost_packets;
		loss.end = is->begin;
		err = report_lost(r, stream, &loss);
	}
	free(name);
	return err;
}

static int packet(struct reading *r, struct wmk_read_stream *stream)
{
	int err = stream->user ? 0 : lines_of(r, stream);

	if (err >= 0)
		err = losses(r, stream);
	if (err < 0)
		return err;
	struct lines *lines = stream->user;

	err = wmk_read_packet_head_keep(&lines->head, stream);
	lines->is_packet_made = lines->form && lines->form->wants_all_packets;
	return err >= 0 && lines->is_packet_made ? lines->form->packet(lines->state, stream) : err;
}

/*
 * Format the packet context before the first line of the packet, because each line of the packet repeats the context.
 * If no record of the packet is selected, the pipeline does not format the context.
 */
static int make_packet(struct wmk_read_stream *stream, bool is_all)
{
	struct wmk_print_trailer trailer = { .is_there = false };
	struct lines *lines = stream->user;
	int err;

	if (lines->is_packet_made)
		return 0;
	lines->is_packet_made = true;
	if (!lines->form) {
		lines->head.walk.at = stream->packet.context_at;
		if (is_all)
			wmk_read_packet_trailer(stream, &trailer);
		return wmk_print_packet(lines->print, &lines->head.walk, &trailer);
	}
	if (!lines->form->packet)
		return 0;
	const struct wmk_ctf_walk walk = stream->record.walk;
	const struct wmk_ctf_bytes bytes = stream->bytes;

	stream->record.walk = lines->head.walk;
	stream->bytes = lines->head.walk.in;
	err = lines->form->packet(lines->state, stream);
	stream->record.walk = walk;
	stream->bytes = bytes;
	return err;
}

static void report_progress(struct reading *r)
{
	if (r->options->progress)
		r->options->progress(r->options->data, r->bytes, r->total, r->done->records);
}

/* Add up the sizes of all stream files, for progress reports. */
static void measure(struct reading *r)
{
	for (uint32_t i = 0; r->options->progress && i < r->n_traces; i++)
		for (uint32_t f = 0; f < r->traces[i].trace->n_files; f++)
			r->total += r->traces[i].trace->sizes[f];
}

/* 1: the filter selects the record; 0: it does not. */
static int wants(struct wmk_read_stream *stream)
{
	const struct lines *lines = stream->user;

	return lines->filter ? wmk_read_filter_wants(lines->filter, &lines->head, stream) : 1;
}

/* In the output style with columns, the mark and the uncertainty are a cell of the row. */
static int set_uncertainty(struct reading *r, struct wmk_read_stream *stream)
{
	const bool is_row = r->options->print.style == WMK_PRINT_COLUMNS;
	int err;

	r->mark.len = 0;
	err = wmk_read_uncertainty_set(&r->uncertainty, stream, r->options->uncertainty,
				       r->options->form ? NULL : is_row ? &r->mark : &r->out);
	wmk_print_mark(r->print, &r->mark);
	return err;
}

/* Append the record to the output. Returns 1 or -errno. */
static int record(struct reading *r, struct wmk_read_stream *stream)
{
	const struct lines *lines = stream->user;
	const size_t begin = r->out.len;
	int err = 0;

	if (r->options->uncertainty || r->hosts)
		err = set_uncertainty(r, stream);
	if (err >= 0)
		err = wmk_read_symbols_set(r->options->symbols, stream, lines->form != NULL, &r->symbols);
	if (err >= 0 && lines->form)
		err = lines->form->record(lines->state, stream, &r->out);
	else if (err >= 0)
		err = wmk_print_record(lines->print, &stream->bytes, &stream->record, &r->out);
	if (err < 0)
		r->out.len = begin;
	r->n_untimed += stream->scale.is_there && !wmk_read_has_time(stream);
	return err < 0 ? err : 1;
}

/* If the traces contain only records of state dumps, explain why nothing is printed. */
static int report_hidden(struct reading *r)
{
	const uint64_t hidden = wmk_print_hidden(r->print);
	char words[100];

	snprintf(words, sizeof(words), "state dump records not shown (--all shows them): %" PRIu64, hidden);
	if (hidden && r->options->lost)
		r->options->lost(r->options->data, words);
	return 0;
}

static int print_all(struct reading *r)
{
	const struct wmk_read_exporter *form = r->options->form;
	struct wmk_read_stream *stream;
	int got, err = form && form->begin ? form->begin(r->whole, &r->out) : 0;

	while (err >= 0 && (got = r->live ? wmk_read_live_next(r->live, &stream)
					  : wmk_read_merge_next(r->merge, &stream)) != WMK_READ_END) {
		if (got < 0)
			return got;
		if (got == WMK_READ_LATER) {
			err = wait_live(r);
			continue;
		}
		if (got == WMK_READ_PACKET) {
			r->bytes += stream->packet.size;
			report_progress(r);
			err = packet(r, stream);
			continue;
		}
		err = wants(stream);
		if (err > 0 && (got = make_packet(stream, r->options->print.all)) < 0)
			return got;
		if (err > 0)
			err = record(r, stream);
		if (err == -EPROTO || err == -ENODATA || err == -E2BIG) {
			report_damage(r, stream, err);
			err = 0;
		} else if (err > 0) {
			r->done->records++;
			if (r->out.len >= FLUSH) {
				report_progress(r);
				err = write_out(r);
			}
		}
	}
	if (err >= 0 && form && form->end)
		err = form->end(r->whole, &r->out);
	if (err >= 0)
		err = flush(r);
	const char *remark = err >= 0 && form && form->remark ? form->remark(r->whole) : NULL;

	if (remark)
		r->options->lost(r->options->data, remark);
	return err < 0 ? err : report_hidden(r);
}

/* Print the counted messages. If an error has ended the pipeline, the function keeps the cause chain of the error. */
static void report_rest(struct reading *r, int err)
{
	struct wmk_error_chain *chain = err < 0 ? wmk_error_take() : NULL;
	/* (times in cycles, and in CTF, are clock values) */
	const bool shows_ns = r->options->form ? !r->options->form->is_directory
					       : r->options->print.clock != WMK_PRINT_CYCLES;

	wmk_read_repeats_end(&r->damaged, r->options->damage, r->options->data);
	wmk_read_repeats_end(&r->warned, NULL, NULL);
	if (r->n_untimed && r->options->warning && shows_ns) {
		wmk_errorx(-ERANGE, "records with a time before 1677 or after 2262 (shown without time): %" PRIu64,
			   r->n_untimed);
		r->options->warning(r->options->data, -ERANGE);
		wmk_error_clear();
	}
	wmk_error_give(chain);
}

int wmk_read_pipeline_run(const char *const *paths, unsigned n_paths, const struct wmk_read_pipeline_options *options,
			  FILE *out, struct wmk_read_pipeline_result *done)
{
	struct reading r = { .options = options, .done = done, .file = out, .whole = options->whole };
	int err = wmk_print_create(&options->print, &r.print);

	*done = (struct wmk_read_pipeline_result){ 0, 0, 0 };
	if (err >= 0)
		wmk_print_set_suffix(r.print, &r.symbols);
	if (err >= 0 && options->filter)
		err = wmk_filter_parse(options->filter, &r.filter);
	if (err >= 0 && options->form && options->form->create)
		err = options->form->create(options->directory, &r.whole);
	if (err >= 0 && options->follow)
		err = open_live(&r, paths, n_paths);
	else if (err >= 0)
		err = wmk_read_merge_create(report_damage, &r, &r.merge);
	if (err >= 0 && !options->follow)
		err = open_all(&r, paths, n_paths);
	if (err >= 0)
		err = check_filter(&r);
	if (err >= 0)
		err = wmk_read_limits_set(r.merge, r.live, options);
	if (err >= 0)
		set_origin(&r);
	measure(&r);
	if (err >= 0)
		err = print_all(&r);
	report_rest(&r, err);
	wmk_read_live_free(r.live);
	wmk_read_merge_free(r.merge);
	for (struct lines *next; r.lines; r.lines = next) {
		next = r.lines->next;
		lines_free(r.lines);
	}
	if (r.whole && options->form->create)
		options->form->free(r.whole);
	for (uint32_t i = 0; i < r.n_traces; i++) {
		wmk_print_trace_free(r.traces[i].print);
		wmk_read_trace_close(r.traces[i].trace);
	}
	free(r.traces);
	wmk_read_hosts_free(r.hosts);
	wmk_filter_expr_free(r.filter);
	wmk_print_free(r.print);
	wmk_print_text_free(&r.out);
	wmk_print_text_free(&r.mark);
	wmk_read_uncertainty_free(&r.uncertainty);
	wmk_print_text_free(&r.symbols);
	return err;
}
