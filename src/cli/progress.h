/* SPDX-License-Identifier: MIT */
/*
 * progress.h - print the progress of a long operation on one line of standard error, which is overwritten. The progress
 * line appears only on a terminal, only if the output does not go to this terminal, and only after one second.
 *
 *     wmk_progress_begin(&p, now)
 *       ─► wmk_progress_line(&p, now, done, total, records, ...)     any number of times
 *       ─► wmk_progress_end(&p)
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
 * Decide whether to show progress; progress is not shown if the output goes to the screen. Times are CLOCK_MONOTONIC,
 * in ns.
 */
void wmk_progress_begin(struct wmk_progress *progress, uint64_t now, bool is_on_screen);
/* If the progress line is due, format the line without a newline. Returns its length, or 0. `total` 0: unknown. */
size_t wmk_progress_line(struct wmk_progress *progress, uint64_t now, uint64_t done, uint64_t total, uint64_t records,
			 char *buf, size_t size);
/* The callback for struct wmk_read_pipeline_options; `data` is a struct wmk_progress. */
void wmk_progress_tell(void *data, uint64_t bytes, uint64_t total, uint64_t records);
/* Erase the line. Call this function before other output to standard error. */
void wmk_progress_end(struct wmk_progress *progress);

#endif
