/* SPDX-License-Identifier: MIT */
/*
 * analysis.c - an output form of the reader that gives records to modules (see analysis.h).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/analysis.h"
#include "base/array.h"
#include "base/error.h"

#define MODULES_MAX 8u
#define TICK_RECORDS 4096u             /* a power of two */
#define SPANS (WMK_EV(SPAN_BEGIN) | WMK_EV(SPAN_END))

struct module_run {
	const struct wmk_analyze_module *module;
	void *state;
};

struct wmk_analysis {
	struct module_run runs[MODULES_MAX];
	unsigned n_runs;
	uint32_t wanted;               /* WMK_EV() bits of the records to decode */
	uint32_t events;               /* WMK_EV() bits of all classes of the traces */
	bool has_threads, has_seen;
	int64_t left_out;              /* the process that is left out; 0: none */
	bool is_estimate;              /* of the begin of an interval */
	int (*tick)(void *data);
	void *tick_data;
	uint64_t n_read;               /* records, for `tick` */
	struct wmk_threads threads;
	struct wmk_losses losses;
	struct wmk_classes *classes;   /* names of all stream classes */
	struct wmk_names names;
	const char *from, *to;         /* events of a span that the user has defined; NULL: spans of applications */
	char *span_name;
	struct wmk_class span;         /* for begins and ends of this span; only its name is used */
	struct wmk_result result;
	struct wmk_record record;      /* the result so far */
};

/* The state of a stream. */
struct stream {
	struct wmk_analysis *analysis;
	const struct wmk_classes *classes;
	struct wmk_scout *scout;
	struct wmk_read_thread_id who; /* only its CPU is used */
};

int wmk_analysis_create(const struct wmk_analyze_module *const *modules, struct wmk_analysis **analysis)
{
	struct wmk_analysis *made = calloc(1, sizeof(*made));
	int err = 0;

	if (!made)
		return wmk_error(-ENOMEM, "no memory for an analysis");
	wmk_threads_begin(&made->threads);
	for (; *modules && made->n_runs < MODULES_MAX; modules++)
		made->runs[made->n_runs++].module = *modules;
	for (unsigned i = 0; i < made->n_runs; i++) {
		made->wanted |= made->runs[i].module->events;
		made->has_threads |= made->runs[i].module->has_threads;
		made->has_seen |= made->runs[i].module->seen != NULL;
	}
	if (made->has_threads)
		made->wanted |= WMK_THREADS_EVENTS;
	made->result.name = made->n_runs == 1 ? made->runs[0].module->name : "summary";
	for (unsigned i = 0; i < made->n_runs && err >= 0; i++)
		err = made->runs[i].module->create(made, &made->runs[i].state);
	if (err < 0) {
		wmk_analysis_free(made);
		return err;
	}
	*analysis = made;
	return 0;
}

void wmk_analysis_free(struct wmk_analysis *analysis)
{
	if (!analysis)
		return;
	for (unsigned i = 0; i < analysis->n_runs; i++)
		if (analysis->runs[i].state)
			analysis->runs[i].module->free(analysis->runs[i].state);
	while (analysis->classes) {
		struct wmk_classes *classes = analysis->classes;

		analysis->classes = classes->next;
		wmk_events_free(classes);
	}
	wmk_events_free_names(&analysis->names);
	free(analysis->span_name);
	wmk_threads_free(&analysis->threads);
	wmk_losses_free(&analysis->losses);
	wmk_result_free(&analysis->result);
	free(analysis);
}

struct wmk_threads *wmk_analysis_threads(struct wmk_analysis *analysis)
{
	return &analysis->threads;
}

const struct wmk_names *wmk_analysis_names(const struct wmk_analysis *analysis)
{
	return &analysis->names;
}

uint32_t wmk_analysis_events(const struct wmk_analysis *analysis)
{
	return analysis->events;
}

const struct wmk_result *wmk_analysis_so_far(const struct wmk_analysis *analysis)
{
	return &analysis->result;
}

/* ── functions of the form ───────────────────────────────────────────────────────────────────────────── */

/* Mark the events of the span that the user has defined, and leave out other spans. */
static void mark(const struct wmk_analysis *analysis, struct wmk_classes *classes)
{
	classes->events &= ~SPANS;
	for (uint32_t i = 0; i < classes->decoder->n_events; i++) {
		struct wmk_class *class = &classes->classes[i];

		if (SPANS & (UINT32_C(1) << class->event))
			class->event = WMK_EV_OTHER;
		class->is_from = !strcmp(class->name, analysis->from);
		class->is_to = !strcmp(class->name, analysis->to);
		classes->events |= class->is_from ? WMK_EV(SPAN_BEGIN) : 0;
		classes->events |= class->is_to ? WMK_EV(SPAN_END) : 0;
	}
}

static int classes_of(struct wmk_analysis *analysis, const struct wmk_ctf_stream_decoder *decoder,
		      const struct wmk_classes **classes)
{
	struct wmk_classes *made;
	int err;

	for (*classes = analysis->classes; *classes; *classes = (*classes)->next)
		if ((*classes)->decoder == decoder)
			return 0;
	err = wmk_events_resolve(decoder, &analysis->names, &made);
	if (err < 0)
		return err;
	if (analysis->from)
		mark(analysis, made);
	made->next = analysis->classes;
	analysis->classes = made;
	analysis->events |= made->events;
	analysis->threads.has_wakeup = (analysis->events & WMK_EV(WAKEUP)) != 0;
	*classes = made;
	return 0;
}

int wmk_analysis_set_span(struct wmk_analysis *analysis, const char *from, const char *to)
{
	char *name;

	if (!(analysis->wanted & SPANS))
		return wmk_error(-EINVAL, "this analysis does not use spans");
	if (asprintf(&name, "%s..%s", from, to) < 0)
		return wmk_error(-ENOMEM, "no memory for the name of a span");
	free(analysis->span_name);
	analysis->span_name = name;
	analysis->from = from;
	analysis->to = to;
	analysis->span = (struct wmk_class){ .name = name, .what = name, .what_len = strlen(name) };
	return 0;
}

static int take_trace(void *whole, const struct wmk_read_trace *trace)
{
	const struct wmk_classes *classes;
	int err = 0;

	for (uint32_t i = 0; i < trace->decoder->n_streams && err >= 0; i++)
		err = classes_of(whole, &trace->decoder->streams[i], &classes);
	return err;
}

/*
 * A later decoder may be allocated at the address of the closed trace's decoder, so clear the pointers to this decoder.
 * Keep the classes of the closed trace, because threads refer to these classes.
 */
static void close_trace(void *whole, const struct wmk_read_trace *trace)
{
	struct wmk_analysis *analysis = whole;

	for (uint32_t i = 0; i < trace->decoder->n_streams; i++)
		for (struct wmk_classes *classes = analysis->classes; classes; classes = classes->next)
			if (classes->decoder == &trace->decoder->streams[i])
				classes->decoder = NULL;
}

static int take_stream(void *whole, const struct wmk_read_stream *read, void **state)
{
	struct wmk_analysis *analysis = whole;
	struct stream *made = calloc(1, sizeof(*made));
	int err;

	*state = made;
	if (!made)
		return wmk_error(-ENOMEM, "no memory for the stream '%.240s'", read->file);
	made->analysis = analysis;
	err = classes_of(analysis, read->decoder, &made->classes);
	/* (if the trace grows, the next packet may not exist yet) */
	return err < 0 || read->growth == WMK_READ_LIVE ? err : wmk_scout_open(read, &made->scout);
}

static void leave_stream(void *state)
{
	struct stream *stream = state;

	wmk_scout_close(stream->scout);
	free(stream);
}

static void count_lost(struct wmk_result *result, const struct wmk_read_stream *read)
{
	result->is_lost_unknown |= read->lost == WMK_READ_LOST_UNKNOWN || read->lost_packets;
	result->lost += read->lost == WMK_READ_LOST_UNKNOWN ? 0 : read->lost;
}

static void apply_loss(struct wmk_analysis *analysis, const struct wmk_loss *loss)
{
	wmk_threads_lost(&analysis->threads, loss);
	for (unsigned i = 0; i < analysis->n_runs; i++)
		if (analysis->runs[i].module->lost)
			analysis->runs[i].module->lost(analysis->runs[i].state, loss);
}

/*
 * In a trace that is still being written, the reader detects a loss only after it has read the packet. In a growing
 * trace, the analysis sets thread states to UNKNOWN at the last record that it has read, which can be later than the
 * loss.
 */
static void apply_late_loss(const struct stream *stream, const struct wmk_read_stream *read)
{
	struct wmk_analysis *analysis = stream->analysis;
	const struct wmk_loss loss = { .from = analysis->result.end, .to = analysis->result.end,
				       .cpu = stream->who.cpu, .events = stream->classes->events,
				       .records = read->lost, .packets = read->lost_packets, .stream = read };

	if (read->growth == WMK_READ_LIVE && (read->lost || read->lost_packets) && analysis->threads.has_begun)
		apply_loss(analysis, &loss);
}

static int take_packet(void *state, struct wmk_read_stream *read)
{
	struct stream *stream = state;
	int err = wmk_read_thread_id_of_packet(&stream->who, read);

	count_lost(&stream->analysis->result, read);
	apply_late_loss(stream, read);
	if (err >= 0 && stream->scout)
		err = wmk_scout_packet(stream->scout, read, stream->who.cpu, stream->classes->events,
				       &stream->analysis->losses);
	return err;
}

static void apply_losses(struct wmk_analysis *analysis, int64_t ns)
{
	struct wmk_loss loss;

	while (wmk_losses_take(&analysis->losses, ns, &loss))
		apply_loss(analysis, &loss);
}

/* Set the times of the result. A record without a time gets the time of the previous record. */
static int64_t time_of(struct wmk_analysis *analysis, const struct wmk_read_stream *read)
{
	struct wmk_result *result = &analysis->result;

	if (read->scale.is_there && !wmk_read_has_time(read))
		return result->end;
	if (!analysis->threads.has_begun) {
		result->begin = result->end = read->ns;
		wmk_threads_origin(&analysis->threads, read->ns);
	}
	/* (after an interval without records, the begin of this one is an estimate) */
	if (!result->records && read->ns < result->begin && analysis->is_estimate)
		result->begin = result->end = read->ns;
	analysis->is_estimate = false;
	result->end = read->ns > result->end ? read->ns : result->end;
	return read->ns;
}

static int show(const struct wmk_analysis *analysis, const struct wmk_class *class, int64_t ns)
{
	int err = 0;

	for (unsigned i = 0; i < analysis->n_runs && err >= 0; i++)
		if (analysis->runs[i].module->seen)
			err = analysis->runs[i].module->seen(analysis->runs[i].state, class, ns);
	return err;
}

static bool is_left_out(struct wmk_analysis *analysis)
{
	const struct wmk_record *record = &analysis->record;
	const struct wmk_analyze_thread *thread;

	if (record->has_pid)
		return record->pid == analysis->left_out;
	thread = wmk_threads_of(&analysis->threads, record);
	return thread && wmk_threads_process(thread) == analysis->left_out;
}

static int decode(struct wmk_analysis *analysis, const struct stream *stream, const struct wmk_class *class,
		  struct wmk_read_stream *read, int64_t ns)
{
	struct wmk_record *record = &analysis->record;
	int err = wmk_events_decode(class, read, record);

	record->ns = ns;
	record->cpu = stream->who.cpu;
	return err >= 0 && analysis->has_threads ? wmk_threads_record(&analysis->threads, record) : err;
}

/* Pass the record to the modules a second time, as another event. */
static int give_as(struct wmk_analysis *analysis, uint8_t event)
{
	int err = 0;

	analysis->record.event = event;
	analysis->record.class = &analysis->span;
	for (unsigned i = 0; i < analysis->n_runs && err >= 0; i++)
		if (analysis->runs[i].module->events & SPANS)
			err = analysis->runs[i].module->record(analysis->runs[i].state, &analysis->record);
	return err;
}

static int take_record(void *state, struct wmk_read_stream *read, struct wmk_print_text *out)
{
	const struct stream *stream = state;
	struct wmk_analysis *analysis = stream->analysis;
	const struct wmk_class *class =
		&stream->classes->classes[read->record.event - stream->classes->decoder->events];
	const uint32_t event = UINT32_C(1) << class->event;
	const bool is_wanted = (analysis->wanted & event) || class->is_from || class->is_to;
	const int64_t ns = time_of(analysis, read);
	int err = 0;

	(void)out;
	if (analysis->tick && !(++analysis->n_read % TICK_RECORDS))
		err = analysis->tick(analysis->tick_data);
	if (analysis->losses.n)
		apply_losses(analysis, ns);
	if (err >= 0 && (is_wanted || analysis->left_out))
		err = decode(analysis, stream, class, read, ns);
	if (err < 0 || (analysis->left_out && is_left_out(analysis)))
		return err < 0 ? err : 0;
	analysis->result.records++;
	err = analysis->has_seen ? show(analysis, class, ns) : 0;
	for (unsigned i = 0; i < analysis->n_runs && err >= 0 && is_wanted; i++)
		if (analysis->runs[i].module->events & event)
			err = analysis->runs[i].module->record(analysis->runs[i].state, &analysis->record);
	if (err >= 0 && class->is_to)
		err = give_as(analysis, WMK_EV_SPAN_END);
	if (err >= 0 && class->is_from)
		err = give_as(analysis, WMK_EV_SPAN_BEGIN);
	return err < 0 ? err : 0;
}

/* ── the end ─────────────────────────────────────────────────────────────────────────────────────────── */

/* Return the module's first need that the traces do not meet. Returns NULL if the traces meet all needs. */
static const struct wmk_need *missing(const struct wmk_analysis *analysis, const struct wmk_analyze_module *module,
				      bool is_optional)
{
	for (unsigned i = 0; i < WMK_NEEDS_MAX && module->needs[i].events; i++)
		if (module->needs[i].is_optional == is_optional && !(module->needs[i].events & analysis->events))
			return &module->needs[i];
	return NULL;
}

/* The traces are open, so their event classes are known. */
static int begin(void *whole, struct wmk_print_text *out)
{
	const struct wmk_analysis *analysis = whole;
	const struct wmk_analyze_module *module = analysis->runs[0].module;
	const struct wmk_need *need = missing(analysis, module, false);

	(void)out;
	if (analysis->from && (analysis->events & SPANS) != SPANS)
		return wmk_errorx(-ENODATA, "cannot analyze %s: the trace has no event '%.240s'", module->name,
				  analysis->events & WMK_EV(SPAN_BEGIN) ? analysis->to : analysis->from);
	if (!need || analysis->n_runs > 1)
		return 0;
	return wmk_errorx(-ENODATA, "cannot analyze %s: the trace has no event %s (record it: `waymark record %s "
				    "-- COMMAND`)",
			  module->name, need->names, module->options);
}

static int module_result(struct wmk_analysis *analysis, const struct module_run *run)
{
	const struct wmk_need *need = missing(analysis, run->module, true);
	int err;

	if (missing(analysis, run->module, false))
		return 0;
	err = run->module->result(run->state, &analysis->result);
	if (err >= 0 && need && analysis->n_runs == 1)
		wmk_result_note(&analysis->result, "%s (record %s: `waymark record %s -- COMMAND`)", need->lacks,
				need->names, run->module->options);
	return err;
}

/* The results are made while the traces are open, because the results use names of the traces. */
static int end(void *whole, struct wmk_print_text *out)
{
	struct wmk_analysis *analysis = whole;
	int err = 0;

	(void)out;
	apply_losses(analysis, INT64_MAX);
	wmk_threads_end(&analysis->threads, analysis->result.end);
	for (unsigned i = 0; i < analysis->n_runs && err >= 0; i++)
		err = module_result(analysis, &analysis->runs[i]);
	return err < 0 ? err : analysis->result.err;
}

void wmk_analysis_set_tick(struct wmk_analysis *analysis, int (*tick)(void *data), void *data)
{
	analysis->tick = tick;
	analysis->tick_data = data;
}

void wmk_analysis_leave_out(struct wmk_analysis *analysis, int64_t pid)
{
	analysis->left_out = pid;
}

int wmk_analysis_interval(struct wmk_analysis *analysis, int64_t elapsed_ns, struct wmk_result *result)
{
	const bool is_empty = !analysis->result.records && analysis->threads.has_begun;
	const int64_t end = analysis->result.end + (is_empty ? elapsed_ns : 0);
	int err = 0;

	wmk_threads_end(&analysis->threads, analysis->result.end);
	for (unsigned i = 0; i < analysis->n_runs && err >= 0; i++)
		err = module_result(analysis, &analysis->runs[i]);
	analysis->is_estimate = !analysis->result.records;
	*result = analysis->result;
	for (unsigned i = 0; i < result->n_tables; i++)
		result->tables[i].result = result;
	analysis->result = (struct wmk_result){ .name = result->name, .begin = end, .end = end };
	wmk_threads_clear(&analysis->threads);
	for (unsigned i = 0; i < analysis->n_runs; i++)
		if (analysis->runs[i].module->clear)
			analysis->runs[i].module->clear(analysis->runs[i].state);
	return err < 0 ? err : result->err;
}

void *wmk_analysis_state(const struct wmk_analysis *analysis, unsigned number)
{
	return analysis->runs[number].state;
}

struct wmk_result *wmk_analysis_result(struct wmk_analysis *analysis)
{
	return &analysis->result;
}

const struct wmk_read_exporter wmk_analysis_form = {
	.name = "analysis",
	.trace = take_trace,
	.closing = close_trace,
	.begin = begin,
	.end = end,
	.stream = take_stream,
	.stream_free = leave_stream,
	.wants_all_packets = true,
	.packet = take_packet,
	.record = take_record,
};
