/* SPDX-License-Identifier: MIT */
/*
 * counted.h - a tracefs instance for a test, and processes that make counted system calls, one pinned to each CPU. The
 * arguments of each system call are its number and times around it, so that each record can be checked by itself:
 * whether it is the next one, and whether its time is possible.
 */
#ifndef WMK_KERNEL_COUNTED_H
#define WMK_KERNEL_COUNTED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "kernel/tracefs/cpu_buffer.h"

#define WRITERS_MAX 2

struct instance {
	int dir;
	char name[64], path[128];
};

/* Returns NULL, or the reason why tests cannot run here. */
const char *instance_missing(void);
void instance_make(struct instance *made);
void instance_remove(struct instance *made);
/* Removes the tests' instances that dead processes left. */
void instances_sweep(void);
/* Returns false if the kernel rejects the value. */
bool instance_set(const struct instance *made, const char *file, const char *text);
bool instance_has(const struct instance *made, const char *file);
/* Records only the counted system calls of `n` processes. */
void instance_record(const struct instance *made, const pid_t *pids, unsigned n);

struct writers {
	unsigned n;
	uint64_t calls;                /* of each process */
	unsigned cpu[WRITERS_MAX];
	pid_t pid[WRITERS_MAX];
	struct board *board;           /* shared */
};

/* Starts processes that wait for writers_go(); `made` records them. */
void writers_start(struct writers *w, const struct instance *made, uint64_t calls);
void writers_go(struct writers *w);
/* Waits until process `i` has made `calls` system calls; all: until it has exited. */
void writers_wait(struct writers *w, unsigned i, uint64_t calls);
bool writers_ended(struct writers *w);
void writers_stop(struct writers *w);

/* Totals of the records that were read of one CPU. */
struct tally {
	uint64_t calls;                /* total number of system calls */
	pid_t pid;
	bool overwrite;                /* missing records are before a page that reports them */
	uint64_t next;                 /* number of the next system call */
	uint64_t read, others;         /* records of system calls; other records */
	uint64_t missing, reported;    /* missing system calls by their numbers; as pages report them */
	uint64_t pages_unknown;        /* pages that report missing records without a number */
	uint64_t last_ts, parts, bytes;
};

/* Checks all records of a part from `from` on. Failures end the test. */
void tally_part(struct tally *t, const struct wmk_kcpu *buffer, const struct wmk_kpart *part, uint32_t from);
/* Checks the final counts: no more records follow. `last_after`: a time after the last system call. */
void tally_end(const struct tally *t, struct wmk_kcpu *buffer, const struct writers *w, unsigned i);

#endif
