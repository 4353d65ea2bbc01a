/* SPDX-License-Identifier: MIT */
/*
 * pipeline.h - read all traces at and below some paths, merge their records by time, and write them as text (print.h)
 * or in another form (exporter.h).
 *
 *     paths ──trace.h──► traces ──merge.h──► records ──filter.h──► ──print.h, or exporter.h──► lines ──► FILE
 *                                    └─ damage, losses ──► callbacks, in the order of the records
 *
 * The pipeline can also follow traces that are being written (live.h instead of merge.h). If a followed trace has no
 * more data for the moment, the pipeline has written all lines to FILE.
 *
 * One thread. Errors are -errno with a cause chain.
 */
#ifndef WMK_READ_PIPELINE_H
#define WMK_READ_PIPELINE_H

#include <stdio.h>

#include "read/exporter.h"
#include "read/live.h"
#include "read/symbolizer.h"

struct wmk_read_pipeline_options {
	/* NULL: lines of text. Otherwise only `gmt` of `print` has an effect, on begin and end */
	const struct wmk_read_exporter *form;
	void *whole;               /* the state of a form without `create`; the caller owns it */
	struct wmk_print_options print;
	/*
	 * Each line of text begins with the uncertainty of its time, followed by '?' if the order is unknown. Output
	 * formats receive the uncertainty with each record (uncertainty.h).
	 */
	bool uncertainty;
	const struct wmk_read_symbolizer *symbols; /* text and JSON show symbols of addresses (symbolizer.h); or NULL */
	bool uncorrected;          /* times are computed only from the metadata, as in other readers */
	const char *directory;     /* output of a form that writes a directory; else NULL */
	const char *filter;        /* only records that match (filter.h); NULL: all */
	/*
	 * If `follow` is NULL, the pipeline reads only the present data. If traces are followed, the pipeline reports
	 * an unknown name in the filter like a loss, because the name may appear later.
	 */
	const struct wmk_read_follow *follow;
	/*
	 * only records of this time; for the form see wmk_read_parse_time(). If the end is only a date, the selection
	 * includes the whole day. NULL: no limit
	 */
	const char *begin, *end;
	/*
	 * Reports damage: the cause chain of the calling thread describes the damage, and is cleared after the call.
	 * Reading continues. The pipeline counts messages about one stream that differ only in numbers (repeats.h). The
	 * pipeline reports the first message of each kind at once. At the end, the pipeline reports the last message of
	 * each kind with the number of messages. When traces are followed, the pipeline reports each message at once.
	 */
	void (*damage)(void *data, int err);
	/*
	 * Reports a loss during recording. At the end, the pipeline also calls this function to report values that the
	 * output format cannot express. The parameter `words` is a line without a newline. Before the call, the
	 * pipeline has written all lines that precede the loss to `out`.
	 */
	void (*lost)(void *data, const char *words);
	/*
	 * Reports a deviation from the specification that does not prevent reading; the cause chain of the calling
	 * thread describes the deviation.
	 */
	void (*warning)(void *data, int err);
	/*
	 * Reports progress: the number of bytes read from streams, the total number of bytes, and the number of
	 * records. May be NULL.
	 */
	void (*progress)(void *data, uint64_t bytes, uint64_t total, uint64_t records);
	void *data;
};

struct wmk_read_pipeline_result {
	uint64_t records, lost, damages;
};

/*
 * Read everything. If some of the traces cannot be opened, the pipeline reports each of them as damage. -ENOENT: no
 * trace. A write error ends the pipeline (-EPIPE: the reader of `out` has closed its end).
 */
int wmk_read_pipeline_run(const char *const *paths, unsigned n_paths, const struct wmk_read_pipeline_options *options,
			  FILE *out, struct wmk_read_pipeline_result *done);

#endif
