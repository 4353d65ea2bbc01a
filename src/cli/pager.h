/* SPDX-License-Identifier: MIT */
/*
 * pager.h - send long output through a pager if standard output is a terminal.
 *
 * The pager is $WAYMARK_PAGER, else $PAGER, else less; the values "cat" and "" disable the pager. Reports of losses and
 * damage also go through the pager, because the pager controls the screen and the reports must appear between the
 * records.
 */
#ifndef WMK_CLI_PAGER_H
#define WMK_CLI_PAGER_H

#include <sys/types.h>

struct wmk_pager {
	pid_t pid;                 /* 0: no pager runs */
	int error;                 /* the original standard error; -1: not redirected */
};

/*
 * Start a pager if the settings require one, and redirect standard output to the pager. Standard error is also
 * redirected if it is a terminal. If the pager cannot be started, nothing is redirected. Call this function from one
 * thread only, before any output.
 */
void wmk_pager_begin(struct wmk_pager *pager);
/* Close the pager's input, and wait until the user quits the pager. */
void wmk_pager_end(struct wmk_pager *pager);

#endif
