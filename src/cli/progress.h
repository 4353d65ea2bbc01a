/* SPDX-License-Identifier: MIT */
/*
 * progress.h - how far something long is, on a line of standard error that is written over: only on a terminal, only
 * when the output goes elsewhere, and not before a second has passed.
 *
 *     wmk_progress_begin(&p, now)  ─►  wmk_progress_line(&p, now, done, total, records, ...) as often as one likes  ─►  wmk_progress_end(&p)
 */
#ifndef WMK_CLI_PROGRESS_H
#define WMK_CLI_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wmk_progress {
	uint64_t next_ns;          /* when the next line is due; 0: never */
	bool shown;
};

/*
 * Whether it will ever be shown is decided here: not where the output goes to the screen. Times are CLOCK_MONOTONIC,
 * ns.
 */
void wmk_progress_begin(struct wmk_progress *progress, uint64_t now, bool is_on_screen);
/* The line that is due now, without a newline: its length; 0: none is. `total` 0: nobody knows how much there is. */
size_t wmk_progress_line(struct wmk_progress *progress, uint64_t now, uint64_t done, uint64_t total, uint64_t records,
			 char *buf, size_t size);
/* For struct wmk_read_pipeline_options: `data` is a struct wmk_progress. */
void wmk_progress_tell(void *data, uint64_t bytes, uint64_t total, uint64_t records);
/* The line goes, before others are written to standard error. */
void wmk_progress_end(struct wmk_progress *progress);

#endif
