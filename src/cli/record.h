/* SPDX-License-Identifier: MIT */
/*
 * record.h - shared by the files of `waymark record`: arguments (record.c) and the summary (summary.c).
 */
#ifndef WMK_CLI_RECORD_H
#define WMK_CLI_RECORD_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/child.h"
#include "cli/option.h"
#include "cli/follow.h"
#include "cli/recording.h"
#include <waymark/ctl.h>

#define WMK_RECORD_PATTERNS_MAX 256

/* Exclusions have a leading '!'. */
struct wmk_record_patterns {
	const char *items[WMK_RECORD_PATTERNS_MAX];
	unsigned n;
};

/* Kernel events for analyses. */
enum wmk_preset { WMK_PRESET_SCHED, WMK_PRESET_SYSCALLS, WMK_PRESET_IO, WMK_PRESET_IRQ, WMK_PRESET_MEMORY,
		  WMK_PRESET_ALL };

struct wmk_record_args {
	struct wmk_record_patterns patterns, kernel;     /* of events of applications; of kernel events */
	const char *filter;          /* NULL: every record */
	const char *kernel_filter;   /* the same for kernel events */
	uint8_t contexts[WMK_WIRE_CONTEXTS_MAX];
	unsigned n_contexts;
	bool no_contexts;
	const char *output;
	const char *url;             /* of a relay, with the session daemon only; NULL: none */
	uint64_t spool_size;
	uint64_t subbuf_size, n_subbufs;         /* 0: the default */
	uint32_t trace_format;           /* enum wmk_ctl_trace_format */
	uint32_t clock;                  /* enum wmk_ctl_clock */
	uint32_t call_arguments;         /* of kernel events: enum wmk_ctl_call_arguments */
	struct wmk_cli_words snapshot_on;        /* when to record a snapshot: record_snapshots.h */
	bool overwrite, json, private, program_only, has_call_arguments, no_statedump, kallsyms;
};

struct wmk_record_result {
	const struct wmk_record_args *args;
	const struct wmk_recording_options *options;
	const struct wmk_counts *counts;
	const char *path;                        /* of the trace */
	/* The recording in this process. NULL: the session daemon records. */
	const struct wmk_recording *rec;
	const struct wmk_follow *follow;
	/* The session of a recording with the session daemon. NULL: this process records. */
	const struct waymark_ctl_session_info *session;
	const struct wmk_child *child;
	const char *program;
	unsigned running;                        /* recorded applications that had not ended */
};

/* Add the events of a preset. -E2BIG with a cause chain. (record.c) */
int wmk_record_preset(struct wmk_record_patterns *patterns, enum wmk_preset which);

/* Print the warnings, then the counts, of a recording that was done in this process. */
void wmk_record_summary(const struct wmk_record_result *result);
/*
 * Two parts of the summary: a warning and the counts. The counts go to standard error or, with --json, to standard
 * output as one line of JSON.
 */
void wmk_record_not_instrumented(const struct wmk_record_result *result);
void wmk_record_figures(const struct wmk_record_result *result);

/* ── record_missing.c ── */
/* Get the i-th application that was not recorded, or was recorded only in part. False: past the end. */
bool wmk_record_unrecorded(const struct wmk_record_result *result, unsigned i, struct waymark_ctl_unrecorded *one);
/*
 * Return whether an application with this reason ("": any reason) and this pid (0: any pid) was not recorded
 * completely.
 */
bool wmk_record_is_explained(const struct wmk_record_result *result, const char *reason, pid_t pid);
/*
 * Print warnings that name the applications that were not recorded completely. If no event of the program was recorded,
 * also print the reason.
 */
void wmk_record_missing(const struct wmk_record_result *result);
void wmk_record_json_missing(const struct wmk_record_result *result);
/* Print the cause chain. The counts are not printed. */
void wmk_record_failed(const struct wmk_record_result *result);

#endif
