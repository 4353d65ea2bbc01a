/* SPDX-License-Identifier: MIT */
/* report.h - the report of the counts of a trace. Used by the server's thread. */
#ifndef WMK_CONSUMER_REPORT_H
#define WMK_CONSUMER_REPORT_H

#include "consumer/work.h"

/*
 * Add the statistics of a ring set to the statistics of its channel in the list. The list and its strings are in the
 * arena. The statistics are dropped if no memory is available.
 */
void wmk_server_report_add(struct wmk_list *list, const char *channel, const struct wmk_consumer_stats *stats,
			   struct wmk_arena *arena);
/*
 * Reply to the work item with the counts of its rings; if the work item concerns a whole trace, the reply includes the
 * counts of removed rings.
 */
void wmk_server_report(struct wmk_server_work *work);

#endif
