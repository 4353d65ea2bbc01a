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

#define WMK_RECORD_PATTERNS_MAX 256

struct wmk_record_args {
	const char *patterns[WMK_RECORD_PATTERNS_MAX];
	unsigned n_patterns;
	uint8_t contexts[WMK_WIRE_CONTEXTS_MAX];
	unsigned n_contexts;
	const char *output;
	uint64_t subbuf_size, n_subbufs;         /* 0: the default */
	bool overwrite, json;
};

struct wmk_record_result {
	const struct wmk_record_args *args;
	const struct wmk_recording_options *options;
	const struct wmk_recording *rec;
	const struct wmk_child *child;
	const struct wmk_follow *follow;
	const char *program;
	unsigned running;                        /* programs that were recorded and had not ended */
};

/* Warnings and figures on standard error; with --json, the figures as one line of JSON on standard output instead. */
void wmk_record_summary(const struct wmk_record_result *result);

#endif
