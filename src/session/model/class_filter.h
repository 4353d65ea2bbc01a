/* SPDX-License-Identifier: MIT */
/* class_filter.h - filters of a channel, compiled to one program for each event class. */
#ifndef WMK_SESSION_CLASS_FILTER_H
#define WMK_SESSION_CLASS_FILTER_H

#include "session/model/session_model.h"

/* Compile the filters of `n` rules to one program; *filter is malloc'd. -E2BIG: larger than a program may be. */
int wmk_filter_of_rules(const struct class *class, const struct wmk_filter_expr *const *exprs, unsigned n,
			struct class_filter **filter);
/* Check that the filters of each known class that these rules match can be combined. -E2BIG: they cannot. */
int wmk_channel_filters_check(struct wmk_session_channel *channel, const struct wmk_list *rules);
/* Check the syntax of a filter. -EINVAL with the position of the error. */
int wmk_filter_text_check(const char *text);

#endif
