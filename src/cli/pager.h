/* SPDX-License-Identifier: MIT */
/*
 * pager.h - what is long goes through a pager, where standard output is a terminal: $WAYMARK_PAGER, or $PAGER, or less;
 * "cat" and "" mean none. What is said on the way (losses, damage) goes there too, where it belongs: the screen is the
 * pager's.
 */
#ifndef WMK_CLI_PAGER_H
#define WMK_CLI_PAGER_H

#include <sys/types.h>

struct wmk_pager {
	pid_t pid;                 /* 0: there is none */
	int error;                 /* standard error as it was; -1: it goes there still */
};

/*
 * From here on standard output is the pager's input, if there is to be one, and standard error, if that was the
 * terminal, too. Where it cannot be had, there is none. One thread, no output yet.
 */
void wmk_pager_begin(struct wmk_pager *pager);
/* All that was written is given to it; until it has been left. */
void wmk_pager_end(struct wmk_pager *pager);

#endif
