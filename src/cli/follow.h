/* SPDX-License-Identifier: MIT */
/*
 * follow.h - which descendants of the program could have been recorded, but do not know where to register.
 *
 * A child finds us by WAYMARK_RUNDIR in its environment. One that was started with another environment, or that is set-id (there
 * libwaymark reads no environment), records nothing. Each look walks our descendants in /proc and notes those of them that carry
 * libwaymark. We look now and then, and several times at once when something has happened after which such a child may run: somebody
 * opened libwaymark's file, or a program that was registered closed its socket and lives on. One that lives and dies between
 * two looks is missed.
 */
#ifndef WMK_CLI_FOLLOW_H
#define WMK_CLI_FOLLOW_H

#include <stdint.h>
#include <sys/types.h>

#define WMK_FOLLOW_MAX 32

enum wmk_follow_why { WMK_FOLLOW_ENVIRONMENT, WMK_FOLLOW_SET_ID, WMK_FOLLOW_USER };

struct wmk_unfollowed {
	pid_t pid;
	unsigned long long start;        /* clock ticks since boot: with the pid, one process */
	char name[32];
	enum wmk_follow_why why;
};

struct wmk_follow {
	int opened;                      /* inotify: somebody opened libwaymark; poll it, then wmk_follow_look() */
	int watched;                     /* files that are watched */
	uint64_t hurry;                  /* until this time, monotonic ns, look again at once */
	uint64_t next;                   /* time of the next look ... */
	uint64_t earliest;               /* ... but not before this, lest looking takes all the time */
	char entry[80];                  /* "WAYMARK_RUNDIR=..." that a child that follows has */
	unsigned n;                      /* all that were noted; the first WMK_FOLLOW_MAX are kept */
	struct wmk_unfollowed list[WMK_FOLLOW_MAX];
};

void wmk_follow_init(struct wmk_follow *follow, const char *rundir);
void wmk_follow_close(struct wmk_follow *follow);
/* A program registered: from now on, watch the file from which it has libwaymark. */
void wmk_follow_registered(struct wmk_follow *follow, pid_t pid);
/* A program closed its socket without having ended: it may be another program by now. */
void wmk_follow_gone(struct wmk_follow *follow);
/* Look, if it is time to. Returns in how many ns it will be time again, while nothing happens. */
uint64_t wmk_follow_look(struct wmk_follow *follow);
/* "cleared its environment", "is set-id" */
const char *wmk_follow_why_text(enum wmk_follow_why why);

#endif
