/* SPDX-License-Identifier: MIT */
/*
 * log_time.h - what the times of a log's lines mean: nanoseconds since 1970. Internal to src/import.
 *
 * What the log does not tell is taken from what its user said, else from the file's last change (or, of a pipe, from
 * now), else from nowhere; `assumed` keeps which of these it was.
 *
 *     no year      the user's, one more when months go back past half of it; else the last year in which it is not later than the file's last change
 *     no day       the user's, or the day of the last change (the day before, if the first line is later in its day), one more when the time
 *                  goes back by half a day
 *     no origin    the user's, else 1970
 */
#ifndef WMK_IMPORT_LOG_TIME_H
#define WMK_IMPORT_LOG_TIME_H

#include "import/import.h"
#include "import/log_line.h"

struct wmk_import_log_time {
	int year;                        /* the user's; 0: none */
	bool has_origin;
	int64_t origin_ns;               /* the user's */
	int64_t near_ns;                 /* the file's last change, or now */
	int64_t before_ns;               /* the time of the line before, in all files */
	unsigned assumed;                /* WMK_IMPORT_ASSUMED_... */
	bool is_real;                    /* a time since 1970 was met */
	/* within a file */
	bool has_day;
	int64_t day_s, seconds;          /* of WMK_IMPORT_DAY: local, as if it were UTC; of the line before */
	int year_now;
	uint8_t month;                   /* of WMK_IMPORT_DATE: of the line before */
	bool has_step;                   /* a step was met: what it is behind is said */
	/* the last quarter of an hour of local time that was asked for, from 1; 0: none. What it is ahead of UTC */
	int64_t quarter, offset_s;
};

void wmk_import_log_time_begin(struct wmk_import_log_time *when, const struct wmk_import_options *options);
/* The next file. */
void wmk_import_log_time_of_file(struct wmk_import_log_time *when, int64_t near_ns);
/*
 * The time of a line; it is that of the line before for the next. False: one that cannot be (before 1970, a day that is
 * not).
 */
bool wmk_import_log_time_ns(struct wmk_import_log_time *when, const struct wmk_import_timestamp *stamp, int64_t *ns);

#endif
