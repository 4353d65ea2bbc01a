/* SPDX-License-Identifier: MIT */
/*
 * top.h - `waymark top`: end an interval when it is due, and show its tables on the screen or as text.
 *
 *     follower (read/live.h) ──► analysis ──wmk_top_tick(), often──► intervals.h ──► screen.h, or lines
 *
 * One thread. Errors are -errno with a cause chain.
 */
#ifndef WMK_TOP_TOP_H
#define WMK_TOP_TOP_H

#include <stdio.h>
#include <sys/types.h>

#include "analyze/analysis.h"

struct wmk_top;

struct wmk_top_options {
	uint64_t delay_ns;             /* length of an interval */
	uint64_t count;                /* intervals; 0: no limit */
	bool is_batch, json;
	uint64_t limit;                /* rows of each table in text; 0: all */
	const char *sort;              /* key of a column; NULL: the sort column of each table */
	const char *source;            /* the session or directory, for the header */
	pid_t own;                     /* process that is left out */
	int wake;                      /* descriptor that ends a wait, or -1 */
};

/* Opens the screen, unless `is_batch`. */
int wmk_top_open(const struct wmk_top_options *options, struct wmk_top **top);
/* Closes the screen. */
void wmk_top_close(struct wmk_top *top);
/* The data of wmk_analysis_form. */
struct wmk_analysis *wmk_top_analysis(struct wmk_top *top);
/* Return a descriptor that is readable when wmk_top_tick() has work, or when options.wake is readable. */
int wmk_top_wake(const struct wmk_top *top);
/* Read keys, and end the interval if it is due. 1: `top` ends, by a key or after options.count intervals. */
int wmk_top_tick(struct wmk_top *top);
/* Show the last interval of a trace that has ended. On a screen, wait until a key or options.wake ends `top`. */
int wmk_top_finish(struct wmk_top *top);

#endif
