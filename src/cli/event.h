/* SPDX-License-Identifier: MIT */
/*
 * event.h - arguments of enable-event and disable-event.
 */
#ifndef WMK_CLI_EVENT_H
#define WMK_CLI_EVENT_H

#include "cli/command.h"

struct wmk_event_args {
	struct wmk_cli_common common;
	bool all, syscall;
	struct wmk_cli_words patterns, exclude;
	uint32_t level_op;               /* enum waymark_ctl_level_op */
	uint32_t level, level_to;
	const char *filter;              /* NULL: none */
	uint32_t probe;                  /* enum waymark_ctl_probe */
	char *place;                     /* malloc'd */
};

/*
 * Take the event patterns from the arguments, and check that all options are compatible. -EINVAL, -ENOMEM with a cause
 * chain.
 */
int wmk_event_arguments(struct wmk_event_args *args, char **rest, int n_rest);

#endif
