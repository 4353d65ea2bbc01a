/* SPDX-License-Identifier: MIT */
/*
 * analysis.h - run analyses over the merged records of traces, in one pass.
 *
 *     pipeline ──exporter.h──► analysis.c ──┬─ state of threads and CPUs (threads.h), if a module needs it
 *                                           └─ modules: record(), lost() ──end──► result() ──► tables (result.h)
 *
 * A module is a table of functions, and names the events that it needs. An analysis runs one module, or several for a
 * summary. All modules see the same records in the order of time, and losses before the records that follow them
 * (losses.h). One thread. Errors are -errno with a cause chain.
 */
#ifndef WMK_ANALYZE_ANALYSIS_H
#define WMK_ANALYZE_ANALYSIS_H

#include "analyze/result.h"
#include "analyze/threads.h"
#include "read/exporter.h"

struct wmk_analysis;

/* Events that a module needs. At least one event of `events` must be in the trace. */
struct wmk_need {
	uint32_t events;               /* WMK_EV(); 0 ends the list */
	bool is_optional;              /* if these events are missing, `lacks` is a note of the result */
	const char *names;             /* of the events, for the message */
	const char *lacks;             /* if is_optional: the figures that are missing without these events */
};
#define WMK_NEEDS_MAX 4u

struct wmk_analyze_module {
	const char *name;              /* the analysis in `waymark analyze NAME` */
	const char *summary;           /* the tables that the analysis prints */
	const char *options;           /* options of `waymark record` for the needed events */
	struct wmk_need needs[WMK_NEEDS_MAX];
	uint32_t events;               /* WMK_EV() bits of the records that record() gets */
	bool has_threads;              /* uses wmk_analysis_threads() */
	/* *state is passed to the other functions, and freed by free(). */
	int (*create)(struct wmk_analysis *analysis, void **state);
	int (*record)(void *state, const struct wmk_record *record);           /* may be NULL */
	/* Called for each record of any event, without its values. May be NULL. */
	int (*seen)(void *state, const struct wmk_class *class, int64_t ns);
	void (*lost)(void *state, const struct wmk_loss *loss);                /* may be NULL */
	/* Called at the end, and at the end of each interval. */
	int (*result)(void *state, struct wmk_result *result);
	/*
	 * An interval begins: set counts to 0, and keep states, spans and requests that are not complete. NULL: no
	 * intervals.
	 */
	void (*clear)(void *state);
	void (*free)(void *state);
};

/* All modules; NULL at the end. (modules.c) */
extern const struct wmk_analyze_module *const wmk_analyze_modules[];
/* Find a module by name; NULL: unknown. */
const struct wmk_analyze_module *wmk_analyze_module_find(const char *name);

/* `modules` ends with NULL. */
int wmk_analysis_create(const struct wmk_analyze_module *const *modules, struct wmk_analysis **analysis);
void wmk_analysis_free(struct wmk_analysis *analysis);

/*
 * The exporter of an analysis, for read/pipeline.h. The member `whole` is the analysis. The pipeline returns -ENODATA
 * if the analysis has one module, and the traces lack events that it needs. The message names these events, and the
 * command that records them. If the analysis has several modules, those that lack events have no result.
 */
extern const struct wmk_read_exporter wmk_analysis_form;

/*
 * Call this before the pipeline: the spans that this function defines replace the spans of applications. In each
 * thread, a span begins with an event `from`, and ends with the next event `to`. `from` and `to` must live as long as
 * the analysis. -EINVAL: no module uses spans; -ENOMEM.
 */
int wmk_analysis_set_span(struct wmk_analysis *analysis, const char *from, const char *to);

/* The state of a module, by its number in the list of wmk_analysis_create(). */
void *wmk_analysis_state(const struct wmk_analysis *analysis, unsigned number);
/* After the pipeline: the result, which lives as long as the analysis. */
struct wmk_result *wmk_analysis_result(struct wmk_analysis *analysis);

/* ── intervals of followed traces ────────────────────────────────────────────────────────────────────────── */

/*
 * Called after each few thousand records: the interval may end although there are more records. A negative result ends
 * the reading with this error.
 */
void wmk_analysis_set_tick(struct wmk_analysis *analysis, int (*tick)(void *data), void *data);
/* Leave out the records of this process. The states of threads and CPUs include the process. */
void wmk_analysis_leave_out(struct wmk_analysis *analysis, int64_t pid);
/*
 * End the interval: `result`, for wmk_result_free(), covers the records since the last call. The next interval begins
 * at the last record. After an interval without a record, the next interval begins `elapsed_ns` after the begin of the
 * empty interval. Modules that lack events have no result.
 */
int wmk_analysis_interval(struct wmk_analysis *analysis, int64_t elapsed_ns, struct wmk_result *result);

/* ── for modules ─────────────────────────────────────────────────────────────────────────────────────────── */

/* The states of threads. The record that a module gets has already been applied. */
struct wmk_threads *wmk_analysis_threads(struct wmk_analysis *analysis);
/* Names of events, by wmk_class.id. */
const struct wmk_names *wmk_analysis_names(const struct wmk_analysis *analysis);
/* WMK_EV() bits of all events that the traces can have. */
uint32_t wmk_analysis_events(const struct wmk_analysis *analysis);
/* The result so far: its times are those of the records that have been read. */
const struct wmk_result *wmk_analysis_so_far(const struct wmk_analysis *analysis);

#endif
