/* SPDX-License-Identifier: MIT */
/*
 * analysis.h - run analyses over the merged records of traces, in one pass.
 *
 *     pipeline ──exporter.h──► analysis.c ──┬─ state of threads and CPUs (threads.h), if a module needs it
 *                                           └─ modules: record(), lost() ──end──► result() ──► tables (result.h)
 *
 * A module is a table of functions, and names the events that it needs. An analysis runs one module; a summary runs
 * several modules. All modules get the same records in time order. A module gets a loss before the records that follow
 * the loss (losses.h). One thread. Errors are -errno with a cause chain.
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
	/* Called for each record of every event, without the field values of the record. May be NULL. */
	int (*seen)(void *state, const struct wmk_class *class, int64_t ns);
	void (*lost)(void *state, const struct wmk_loss *loss);                /* may be NULL */
	/* Called at the end of the trace, and at the end of each interval. */
	int (*result)(void *state, struct wmk_result *result);
	/*
	 * Called when an interval begins: set counts to 0, but keep states, spans and requests that are not complete.
	 * NULL: no intervals.
	 */
	void (*clear)(void *state);
	void (*free)(void *state);
};

/* All modules of `waymark analyze`; NULL marks the end of the list. (modules.c) */
extern const struct wmk_analyze_module *const wmk_analyze_modules[];
/* Find a module by name; return NULL if the name is unknown. */
const struct wmk_analyze_module *wmk_analyze_module_find(const char *name);

/* `modules` ends with NULL. */
int wmk_analysis_create(const struct wmk_analyze_module *const *modules, struct wmk_analysis **analysis);
void wmk_analysis_free(struct wmk_analysis *analysis);

/*
 * The exporter of an analysis, for read/pipeline.h. The member `whole` of the pipeline options (read/pipeline.h) must
 * point to the struct wmk_analysis. If the analysis has one module, and the traces lack events that this module needs,
 * the pipeline returns -ENODATA. The error message names the missing events, and the command that records these events.
 * If the analysis has several modules, the modules that lack events have no result.
 */
extern const struct wmk_read_exporter wmk_analysis_form;

/*
 * Call this function before the pipeline runs. The spans that this function defines replace the spans of applications.
 * In each thread, a span begins with an event that is named `from`, and ends with the next event that is named `to`.
 * The strings `from` and `to` must stay valid as long as the analysis exists. -EINVAL: no module uses spans; -ENOMEM.
 */
int wmk_analysis_set_span(struct wmk_analysis *analysis, const char *from, const char *to);

/* Return the state of a module; `number` is the module's index in the list that wmk_analysis_create() got. */
void *wmk_analysis_state(const struct wmk_analysis *analysis, unsigned number);
/* Return the result after the pipeline has ended. The result is valid as long as the analysis exists. */
struct wmk_result *wmk_analysis_result(struct wmk_analysis *analysis);

/* ── intervals of followed traces ────────────────────────────────────────────────────────────────────────── */

/*
 * `tick` is called after every few thousand records, so that an interval can end while more records are available. If
 * `tick` returns a negative value, the pipeline stops and returns this error.
 */
void wmk_analysis_set_tick(struct wmk_analysis *analysis, int (*tick)(void *data), void *data);
/*
 * Leave out the records of the process `pid`. The states of threads and CPUs still include the process that is left
 * out.
 */
void wmk_analysis_leave_out(struct wmk_analysis *analysis, int64_t pid);
/*
 * End the interval, and set `result` to the result of the records since the last call. The caller frees the result with
 * wmk_result_free(). The next interval begins at the last record. After an interval without records, the next interval
 * begins `elapsed_ns` after the start of the empty interval. Modules that lack events have no result.
 */
int wmk_analysis_interval(struct wmk_analysis *analysis, int64_t elapsed_ns, struct wmk_result *result);

/* ── for modules ─────────────────────────────────────────────────────────────────────────────────────────── */

/* The states of threads. When a module gets a record, the states of threads already include this record. */
struct wmk_threads *wmk_analysis_threads(struct wmk_analysis *analysis);
/* Return the names of events, indexed by wmk_class.id. */
const struct wmk_names *wmk_analysis_names(const struct wmk_analysis *analysis);
/* Return the WMK_EV() bits of all events that the traces can have. */
uint32_t wmk_analysis_events(const struct wmk_analysis *analysis);
/* Return the result so far. The begin and the end of the returned result are times of records that have been read. */
const struct wmk_result *wmk_analysis_so_far(const struct wmk_analysis *analysis);

#endif
