/* SPDX-License-Identifier: MIT */
/*
 * record.h - what the parts of `waymark record` share: the arguments (record.c), the words at the end (summary.c).
 */
#ifndef WMK_CLI_RECORD_H
#define WMK_CLI_RECORD_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/child.h"
#include "cli/follow.h"
#include "cli/recording.h"
#include <waymark/ctl.h>

#define WMK_RECORD_PATTERNS_MAX 256

/* Excluded ones with a '!' in front. */
struct wmk_record_patterns {
	const char *items[WMK_RECORD_PATTERNS_MAX];
	unsigned n;
};

struct wmk_record_args {
	struct wmk_record_patterns patterns, kernel;     /* of programs' events; of the kernel's */
	const char *filter;          /* NULL: every record */
	const char *kernel_filter;   /* likewise, of the kernel's */
	uint8_t contexts[WMK_WIRE_CONTEXTS_MAX];
	unsigned n_contexts;
	bool no_contexts;
	const char *output;
	uint64_t subbuf_size, n_subbufs;         /* 0: the default */
	uint32_t trace_format;           /* enum wmk_ctl_trace_format */
	uint32_t clock;                  /* enum wmk_ctl_clock */
	uint32_t call_arguments;         /* of the kernel: enum wmk_ctl_call_arguments */
	bool overwrite, json, private, program_only, has_call_arguments, no_statedump;
};

struct wmk_record_result {
	const struct wmk_record_args *args;
	const struct wmk_recording_options *options;
	const struct wmk_counts *counts;
	const char *path;                        /* of the trace */
	/* Of a recording in this process; NULL: through a daemon. */
	const struct wmk_recording *rec;
	const struct wmk_follow *follow;
	/* Through a daemon; NULL: in this process. */
	const struct waymark_ctl_session_info *session;
	const struct wmk_child *child;
	const char *program;
	unsigned running;                        /* programs that were recorded and had not ended */
};

/* Warnings, then the figures. Of a recording in this process. */
void wmk_record_summary(const struct wmk_record_result *result);
/*
 * The parts of it: a warning; the figures, on standard error; with --json, as one line of JSON on standard output
 * instead.
 */
void wmk_record_not_instrumented(const struct wmk_record_result *result);
void wmk_record_figures(const struct wmk_record_result *result);

/* ── record_missing.c ── */
/* The i-th application that was not recorded, or in part only; false past the end. */
bool wmk_record_unrecorded(const struct wmk_record_result *result, unsigned i, struct waymark_ctl_unrecorded *one);
/* Is there one for that reason, "" for any; of this process, 0 for any? */
bool wmk_record_is_explained(const struct wmk_record_result *result, const char *reason, pid_t pid);
/* Warnings: those applications; and that, and why, no event of the program was recorded. */
void wmk_record_missing(const struct wmk_record_result *result);
void wmk_record_json_missing(const struct wmk_record_result *result);
/* The cause chain in place of the figures. */
void wmk_record_failed(const struct wmk_record_result *result);

#endif
