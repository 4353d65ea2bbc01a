/* SPDX-License-Identifier: MIT */
/* class_filter.h - filters of a channel, one program for each event class. */
#ifndef WMK_SESSION_CLASS_FILTER_H
#define WMK_SESSION_CLASS_FILTER_H

#include "session/model/session_model.h"

/* class_filter.c: one program for the filters of `n` rules; *filter is malloc'd. -E2BIG: over a program's limit. */
int wmk_filter_of_rules(const struct class *class, const struct wmk_filter_expr *const *exprs, unsigned n,
			struct class_filter **filter);
/* Of a channel of applications: can the filters of each known class that these rules match be made into one? -E2BIG */
int wmk_channel_filters_check(struct wmk_session_channel *channel, const struct wmk_list *rules);
/* Is it an expression? */
int wmk_filter_text_check(const char *text);

#endif
