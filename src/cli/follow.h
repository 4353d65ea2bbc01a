/* SPDX-License-Identifier: MIT */
/*
 * follow.h - which descendants of the program use libwaymark and were not recorded, and why.
 *
 * The kernel tells of every exec, of every mapping of libwaymark (or of a program that holds it, linked statically),
 * and of every exit, in order (watch.h). A program that ends, or execs another, without having registered was not
 * followed: that is certain. The reason is what its environment said, if that could be read while the program lived,
 * else it is not known. Processes that a program forks, and that exec nothing, are the same program and not counted
 * again.
 *
 * What is certain takes the order of things: look, let wmk_shard run until it has nothing more to do, judge. Then
 * whatever a program said before its end has been heard.
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
	WMK_FOLLOW_UNKNOWN,              /* its environment could not be read in time */
	WMK_FOLLOW_SILENT,               /* its environment is as it should be */
	WMK_FOLLOW_ENVIRONMENT,          /* no WAYMARK_RUNDIR */
	WMK_FOLLOW_ELSEWHERE,            /* another WAYMARK_RUNDIR */
	WMK_FOLLOW_DISABLED,             /* WAYMARK_DISABLE */
	WMK_FOLLOW_MOUNTS,               /* our runtime directory is another one for it, or none */
	WMK_FOLLOW_USER,                 /* another user than we: our runtime directory is closed to it */
	WMK_FOLLOW_SET_ID,
	WMK_FOLLOW_HIDDEN,               /* the kernel stopped to show it, and it was gone before we could look */
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
	struct wmk_watch watch;          /* watch.fd: poll it, for wmk_follow_wait_ms(), then wmk_follow_look() */
	int error;                       /* why there is no watch, -errno; 0: there is one */
	char rundir[64];
	uint64_t serial;                 /* of programs */
	uint64_t round;                  /* of looking */
	unsigned living;                 /* processes in the table */
	struct wmk_follow_process *table[WMK_FOLLOW_BUCKETS];
	struct wmk_follow_ended *ended;  /* not judged yet */
	/* when environments are to be looked at, by wmk_clock_ms(); INT64_MAX: none is */
	int64_t look_ms;
	unsigned n;                      /* all that were not followed; the first WMK_FOLLOW_MAX are kept */
	struct wmk_unfollowed list[WMK_FOLLOW_MAX];
};

void wmk_follow_init(struct wmk_follow *follow, const char *rundir);
/*
 * Watch `pid`, forked and not yet the program that it will be. Where the kernel does not let us, nothing will be known:
 * error.
 */
void wmk_follow_start(struct wmk_follow *follow, pid_t pid);
/* A program registered, or was refused: it was followed, or its error is told elsewhere. */
void wmk_follow_registered(struct wmk_follow *follow, pid_t pid);
/* A process closed its connection and lives: it became another program, or another user. */
void wmk_follow_left(struct wmk_follow *follow, pid_t pid);
/* How long there is nothing to do but to wait for watch.fd, in ms; -1: for ever. */
int wmk_follow_wait_ms(const struct wmk_follow *follow);
/* Whoever was to be looked at later is, with the next wmk_follow_look(). */
void wmk_follow_hurry(struct wmk_follow *follow);
/* Hear what has happened. */
void wmk_follow_look(struct wmk_follow *follow);
/* wmk_shard has nothing more to do since the latest wmk_follow_look(): decide about those that had ended by then. */
void wmk_follow_judge(struct wmk_follow *follow);
/* After the last judgement: those that still run and have not registered. */
void wmk_follow_finish(struct wmk_follow *follow);
/* True when nothing, or not all, is known about who was not followed. */
bool wmk_follow_incomplete(const struct wmk_follow *follow);
void wmk_follow_close(struct wmk_follow *follow);
/* What is to be said after "it "; the short word for programs. */
const char *wmk_follow_why_text(const struct wmk_unfollowed *one);
const char *wmk_follow_why_word(const struct wmk_unfollowed *one);

#endif
