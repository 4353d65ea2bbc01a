/* SPDX-License-Identifier: MIT */
/*
 * follow.h - which descendants of the program could have been recorded, but do not know where to register.
 *
 * A child finds us by WAYMARK_RUNDIR in its environment. One that was started with another environment, or that is set-id (there
 * libwaymark reads no environment), records nothing. Each look walks our descendants in /proc and notes those of them that carry
 * libwaymark; one that lives and dies between two looks is missed.
 */
#ifndef WMK_CLI_FOLLOW_H
#define WMK_CLI_FOLLOW_H

#include <sys/types.h>

#define WMK_FOLLOW_MAX 32

enum wmk_follow_why { WMK_FOLLOW_ENVIRONMENT, WMK_FOLLOW_SET_ID };

struct wmk_unfollowed {
	pid_t pid;
	unsigned long long start;        /* clock ticks since boot: with the pid, one process */
	char name[32];
	enum wmk_follow_why why;
};

struct wmk_follow {
	char entry[80];                  /* "WAYMARK_RUNDIR=..." that a child that follows has */
	unsigned n;                      /* all that were noted; the first WMK_FOLLOW_MAX are kept */
	struct wmk_unfollowed list[WMK_FOLLOW_MAX];
};

void wmk_follow_init(struct wmk_follow *follow, const char *rundir);
void wmk_follow_look(struct wmk_follow *follow);
/* "cleared its environment", "is set-id" */
const char *wmk_follow_why_text(enum wmk_follow_why why);

#endif
