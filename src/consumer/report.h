/* SPDX-License-Identifier: MIT */
/* report.h - the report of the counts of a trace. Used by the server's thread. */
#ifndef WMK_CONSUMER_REPORT_H
#define WMK_CONSUMER_REPORT_H

#include "consumer/work.h"

/*
 * Add the statistics of a ring set to those of its channel in the list. The list and its strings are in the arena. The
 * statistics are dropped if there is no memory.
 */
void wmk_server_report_add(struct wmk_list *list, const char *channel, const struct wmk_consumer_stats *stats,
			   struct wmk_arena *arena);
/* Reply to the work item with the counts of its rings and, if it concerns a whole trace, of removed rings. */
void wmk_server_report(struct wmk_server_work *work);

#endif
