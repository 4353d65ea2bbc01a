/* SPDX-License-Identifier: MIT */
/*
 * collect.h - the module that collects the data of a report that other modules do not have: sums over time, stacks, the
 * timeline, and losses. If a trace has at most WMK_REPORT_RECORDS records, the module also collects records. If the
 * fields of these records have at most WMK_REPORT_FIELDS bytes, it also collects the fields. So a page has about 5 MB
 * at most.
 */
#ifndef WMK_ANALYZE_REPORT_COLLECT_H
#define WMK_ANALYZE_REPORT_COLLECT_H

#include "analyze/analysis.h"
#include "analyze/report/timeline.h"
#include "analyze/stats.h"
#include "read/callstacks.h"

#define WMK_REPORT_RECORDS 100000u
#define WMK_REPORT_FIELDS (3u << 20)   /* bytes of JSON */

struct wmk_report_record {
	int64_t ns;
	uint32_t event;                /* wmk_class.id */
	uint32_t track;                /* UINT32_MAX: thread and CPU are unknown */
	int32_t cpu;                   /* -1: unknown */
};

struct wmk_report_loss {
	int64_t from, to, cpu;
	uint64_t records;              /* WMK_READ_LOST_UNKNOWN: unknown */
};
#define WMK_REPORT_LOSSES 10000u       /* losses that are kept; the sums include all losses */

struct wmk_report {
	struct wmk_analysis *analysis;
	struct wmk_threads *threads;
	struct wmk_report_timeline timeline;
	struct wmk_report_row *records, *lost, *busy;  /* sums over time: numbers, numbers, ns */
	void (*changed)(void *data, struct wmk_analyze_thread *thread, unsigned state, int64_t now);
	void *changed_data;            /* the earlier `changed` of the threads, and its data */
	void *spans;                   /* the state of the module of the table `spans` of queries */
	struct wmk_texts span_names;
	struct wmk_read_stacks stacks; /* for the flame graph; unknown from the begin of a loss ... */
	int64_t stacks_lost_until;     /* ... to this time */
	struct wmk_read_callstacks *callstacks; /* NULL: not drawn */
	bool is_whole;                 /* all records so far are kept */
	struct wmk_report_record *kept;
	uint32_t n_kept, cap_kept;
	FILE *lines;                   /* writes `fields`; NULL: fields are not kept */
	char *fields;                  /* a line of JSON for each kept record */
	size_t fields_size, fields_len; /* fields_len: of all records so far, also if they are not kept */
	struct wmk_print_text scratch;
	struct wmk_report_loss *losses;
	uint32_t n_losses, cap_losses;
	char *data;                    /* at the end: the members above, as JSON */
	size_t data_size;
	int err;                       /* last error of functions that return nothing */
};

/*
 * Draw call stacks of records. Call this before the pipeline. `callstacks` must stay valid as long as the analysis
 * exists.
 */
void wmk_report_callstacks(struct wmk_report *report, struct wmk_read_callstacks *callstacks);

/*
 * The state of this module has the type struct wmk_report. In a list of modules, this module must follow the module
 * `sched`.
 */
extern const struct wmk_analyze_module wmk_report_module;

#endif
