/* SPDX-License-Identifier: MIT */
/*
 * follow.h - find descendants of the program that use libwaymark and were not recorded, with the reason.
 *
 * The kernel reports three kinds of events in order (watch.h): every exec, every mapping of libwaymark (or of a program
 * that is statically linked with libwaymark), and every exit. If a program ends, or calls exec, and has not registered,
 * the program was certainly not recorded. The environment of the program gives the reason, if the environment could be
 * read while the program ran; otherwise the reason is unknown. A process that was forked and has not called exec counts
 * as the program of its parent, and is not counted again.
 *
 * The result is certain only if three steps are done in this order: call wmk_follow_poll(), run wmk_shard until it has
 * no more input, call wmk_follow_judge(). If the calls are in this order, wmk_shard has received all messages of a
 * program before wmk_follow_judge() evaluates the program.
 */
#ifndef WMK_CLI_FOLLOW_H
#define WMK_CLI_FOLLOW_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/watch.h"

#define WMK_FOLLOW_MAX 32
#define WMK_FOLLOW_BUCKETS 256u

enum wmk_follow_why {
	WMK_FOLLOW_UNKNOWN,              /* the environment of the program could not be read in time */
	WMK_FOLLOW_SILENT,               /* the environment of the program is correct */
	WMK_FOLLOW_ENVIRONMENT,          /* no WAYMARK_RUNDIR */
	WMK_FOLLOW_ELSEWHERE,            /* another WAYMARK_RUNDIR */
	WMK_FOLLOW_DISABLED,             /* WAYMARK_DISABLE */
	/*
	 * in the mount namespace of the process, the path of our runtime directory names another directory, or no
	 * directory
	 */
	WMK_FOLLOW_MOUNTS,
	WMK_FOLLOW_USER,                 /* another user, which cannot access our runtime directory */
	WMK_FOLLOW_SET_ID,
	/* the kernel stopped reporting the process, and the process ended before it could be examined */
	WMK_FOLLOW_HIDDEN,
};

struct wmk_unfollowed {
	pid_t pid;
	char name[16];
	bool ended;
	enum wmk_follow_why why;
};

struct wmk_follow_ended;
struct wmk_follow_process;

struct wmk_follow {
	struct wmk_watch watch;          /* poll watch.fd for wmk_follow_wait_ms(), then call wmk_follow_poll() */
	int error;                       /* -errno: the kernel does not report events; 0: it reports them */
	char rundir[64];
	uint64_t serial;                 /* counts programs */
	uint64_t round;                  /* counts calls of wmk_follow_poll() */
	unsigned living;                 /* processes in the table */
	struct wmk_follow_process *table[WMK_FOLLOW_BUCKETS];
	struct wmk_follow_ended *ended;  /* ended programs that are not evaluated yet */
	/* time at which the next environment is to be read, in wmk_clock_ms(); INT64_MAX: none */
	int64_t look_ms;
	unsigned n;                      /* programs that were not followed; the list has the first WMK_FOLLOW_MAX */
	struct wmk_unfollowed list[WMK_FOLLOW_MAX];
};

void wmk_follow_init(struct wmk_follow *follow, const char *rundir);
/*
 * Watch the process `pid`, which was forked and has not yet called exec. If the kernel does not permit this, the
 * function sets `error`, and wmk_follow_poll() finds no programs.
 */
void wmk_follow_start(struct wmk_follow *follow, pid_t pid);
/*
 * Call this when an application has registered or was refused. wmk_follow_judge() does not report a registered or
 * refused application as a program that did not register. Another message reports a refusal.
 */
void wmk_follow_registered(struct wmk_follow *follow, pid_t pid);
/*
 * Call this when a process has closed its connection but still exists: the process runs another program, or runs as
 * another user.
 */
void wmk_follow_left(struct wmk_follow *follow, pid_t pid);
/* Return how long to wait for watch.fd before the next wmk_follow_poll(), in ms, or -1 for no limit. */
int wmk_follow_wait_ms(const struct wmk_follow *follow);
/* Make the next wmk_follow_poll() read all environments that are scheduled for later. */
void wmk_follow_hurry(struct wmk_follow *follow);
/* Receive the kernel events since the last call, and read the environments that are due. */
void wmk_follow_poll(struct wmk_follow *follow);
/*
 * Call this when wmk_shard has processed all its input since the latest wmk_follow_poll(). Evaluates the programs that
 * ended before the latest wmk_follow_poll().
 */
void wmk_follow_judge(struct wmk_follow *follow);
/* Call this after the last wmk_follow_judge(). Adds to the list all programs that still run and have not registered. */
void wmk_follow_finish(struct wmk_follow *follow);
/* True if the list of programs that were not recorded may be incomplete. */
bool wmk_follow_incomplete(const struct wmk_follow *follow);
void wmk_follow_close(struct wmk_follow *follow);
/*
 * Return the reason why the program was not recorded. The text is a predicate such as "runs as another user", to which
 * the caller adds the subject. The word is for JSON.
 */
const char *wmk_follow_why_text(const struct wmk_unfollowed *one);
const char *wmk_follow_why_word(const struct wmk_unfollowed *one);

#endif
