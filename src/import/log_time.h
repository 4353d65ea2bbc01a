/* SPDX-License-Identifier: MIT */
/*
 * log_time.h - convert the times of lines to nanoseconds since 1970. Internal to src/import.
 *
 * If the log lacks a part of a time, the user's options specify the missing part. Without an option for the missing
 * part, the import uses the modification time of the file (for a pipe: the current time). `assumed` records the parts
 * that neither the log nor the user's options contain.
 *
 *     no year      the user's year, and the next year when the month falls by more than six. Without a user's year: the
 *                  last year in which the line is at most a day later than the file's last change
 *     no day       the day of the user's origin, else the day of the last change (the day before, if the first line has
 *                  a later time of day); the next day when the time falls by more than half a day
 *     no origin    the user's origin, else 1970
 */
#ifndef WMK_IMPORT_LOG_TIME_H
#define WMK_IMPORT_LOG_TIME_H

#include "import/import.h"
#include "import/log_line.h"

struct wmk_import_log_time {
	int year;                        /* given by the user; 0: not given */
	bool has_origin;
	int64_t origin_ns;               /* given by the user */
	int64_t near_ns;                 /* the file's last change, or the current time */
	int64_t before_ns;               /* time of the previous line, also across files */
	unsigned assumed;                /* WMK_IMPORT_ASSUMED_... */
	bool is_real;                    /* a line with a time since 1970 was seen */
	/* reset for each file */
	bool has_day;
	/* WMK_IMPORT_DAY: the day, local time counted as UTC; seconds of the previous line */
	int64_t day_s, seconds;
	int year_now;
	uint8_t month;                   /* WMK_IMPORT_DATE: month of the previous line */
	bool has_step;                   /* a step was converted: the base of later steps no longer changes */
	/*
	 * cached offset of local time to UTC. `quarter`: the number, from 1, of the quarter of an hour of local time;
	 * 0: none
	 */
	int64_t quarter, offset_s;
};

void wmk_import_log_time_begin(struct wmk_import_log_time *when, const struct wmk_import_options *options);
/* Start the next file. */
void wmk_import_log_time_of_file(struct wmk_import_log_time *when, int64_t near_ns);
/*
 * Convert the time of a line and keep it as the time of the previous line. Returns false if the time is impossible
 * (before 1970, or a day that does not exist).
 */
bool wmk_import_log_time_ns(struct wmk_import_log_time *when, const struct wmk_import_timestamp *stamp, int64_t *ns);

#endif
