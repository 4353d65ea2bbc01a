/* SPDX-License-Identifier: MIT */
/*
 * pipeline.h - read all traces at and below some paths, merge their records by time, and write them as text (print.h)
 * or in another form (exporter.h).
 *
 *     paths ──trace.h──► traces ──merge.h──► records ──filter.h──► ──print.h, or exporter.h──► lines ──► FILE
 *                                    └─ damage, losses ──► callbacks, in the order of the records
 *
 * Traces that are being written can be followed (live.h instead of merge.h). When a followed trace has no more data for
 * now, all earlier lines have been written to FILE.
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
	 * Lines of text begin with the uncertainty of their time, and a '?' where the order is unknown. Forms receive
	 * the uncertainty with each record (uncertainty.h).
	 */
	bool uncertainty;
	const struct wmk_read_symbolizer *symbols; /* text and JSON show symbols of addresses (symbolizer.h); or NULL */
	bool uncorrected;          /* times are computed only from the metadata, as in other readers */
	const char *directory;     /* output of a form that writes a directory; else NULL */
	const char *filter;        /* only records that match (filter.h); NULL: all */
	/*
	 * NULL: read only the present data. If traces are followed, an unknown name in the filter is reported like a
	 * loss, because it may appear later.
	 */
	const struct wmk_read_follow *follow;
	/*
	 * only records of this time; for the form see wmk_read_parse_time(). If the end is only a date, the whole day
	 * is included. NULL: no limit
	 */
	const char *begin, *end;
	/*
	 * Reports damage: the cause chain of the calling thread describes it, and is cleared afterwards. Reading
	 * continues. Messages about one stream that differ only in numbers are counted (repeats.h). The pipeline
	 * reports the first of these messages at once. At the end, the pipeline reports the last message with the
	 * number of counted messages. When traces are followed, each message is reported at once.
	 */
	void (*damage)(void *data, int err);
	/*
	 * Reports a loss during recording. At the end, also reports values that the form cannot express. The text is a
	 * line without '\n'. All lines before the loss have been written to `out`.
	 */
	void (*lost)(void *data, const char *words);
	/*
	 * Reports a deviation from the specification that does not prevent reading; the thread's cause chain describes
	 * the deviation.
	 */
	void (*warning)(void *data, int err);
	/* Reports progress: bytes of streams that were read, their total, and the number of records. May be NULL. */
	void (*progress)(void *data, uint64_t bytes, uint64_t total, uint64_t records);
	void *data;
};

struct wmk_read_pipeline_result {
	uint64_t records, lost, damages;
};

/*
 * Read everything. If some of the traces cannot be opened, each of them is reported and counts as damage. -ENOENT: no
 * trace. A write error ends the reading (-EPIPE: the reader of `out` has closed it).
 */
int wmk_read_pipeline_run(const char *const *paths, unsigned n_paths, const struct wmk_read_pipeline_options *options,
			  FILE *out, struct wmk_read_pipeline_result *done);

#endif
