/* SPDX-License-Identifier: MIT */
/*
 * pipeline.h - traces as text, or in another form: all that is below some paths, merged by time, a line for each record
 * (print.h).
 *
 *     paths ──trace.h──► traces ──merge.h──► records ──filter.h──► ──print.h, or exporter.h──► lines ──► a FILE of the caller
 *                                    └─ damage, losses ──► reported to the caller where they are met
 *
 * Traces that are being written can be followed (live.h instead of merge.h): whenever nothing more is there, all lines
 * have been written.
 *
 * One thread. Errors are -errno with a cause chain.
 */
#ifndef WMK_READ_PIPELINE_H
#define WMK_READ_PIPELINE_H

#include <stdio.h>

#include "read/exporter.h"
#include "read/live.h"

struct wmk_read_pipeline_options {
	/* NULL: lines of text; else of `print` `gmt` alone counts, for begin and end */
	const struct wmk_read_exporter *form;
	struct wmk_print_options print;
	const char *directory;     /* where a form that makes one makes its files; else NULL */
	const char *filter;        /* only records that it wants (filter.h); NULL: all */
	/* NULL: what is there is all; else a filter's names may be of events to come: that is told as a loss is */
	const struct wmk_read_follow *follow;
	/*
	 * only what is from the one to the other, as wmk_read_parse_time() takes them; a day's end is its last; NULL:
	 * no limit
	 */
	const char *begin, *end;
	/*
	 * Something is damaged: the cause chain of the calling thread tells what, and is cleared behind it. Reading
	 * continues.
	 *  Of messages about one stream that differ in numbers alone, the first comes at once, and the last one at the
	 * end with their count (repeats.h). When traces are followed, all come at once.
	 */
	void (*damage)(void *data, int err);
	/*
	 * Something was lost while it was recorded, or, at the end, cannot be shown in this form: a line without its
	 * '\n'.
	 *  Every line of `out` before it has been written.
	 */
	void (*lost)(void *data, const char *words);
	/* The same for what is read although the specification forbids it: the cause chain. */
	void (*warning)(void *data, int err);
	/* Now and then: bytes of streams that were come to, of how many, and the records so far. May be NULL. */
	void (*progress)(void *data, uint64_t bytes, uint64_t total, uint64_t records);
	void *data;
};

struct wmk_read_pipeline_result {
	uint64_t records, lost, damages;
};

/*
 * All of it. A trace that cannot be opened is damage where another can; -ENOENT when there is none. An error when
 * writing ends it (-EPIPE: who reads `out` has gone).
 */
int wmk_read_pipeline_run(const char *const *paths, unsigned n_paths, const struct wmk_read_pipeline_options *options,
			  FILE *out, struct wmk_read_pipeline_result *done);

#endif
