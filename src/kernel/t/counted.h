/* SPDX-License-Identifier: MIT */
/*
 * counted.h - an instance of tracefs of the test's own, and processes that make counted system calls, one pinned to
 * each CPU: each call's arguments are its number and times around it, so that each record tells by itself whether it is
 * the next one, and whether its time can be.
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

/* NULL, or in words why there cannot be one here. */
const char *instance_missing(void);
void instance_make(struct instance *made);
void instance_remove(struct instance *made);
/* Of the test's own that were left by processes that are no more. */
void instances_sweep(void);
/* false: the kernel refuses. */
bool instance_set(const struct instance *made, const char *file, const char *text);
bool instance_has(const struct instance *made, const char *file);
/* Records the counted calls of `n` processes only. */
void instance_record(const struct instance *made, const pid_t *pids, unsigned n);

struct writers {
	unsigned n;
	uint64_t calls;                /* of each */
	unsigned cpu[WRITERS_MAX];
	pid_t pid[WRITERS_MAX];
	struct board *board;           /* shared */
};

/* Processes that wait for writers_go(); recorded in `made`. */
void writers_start(struct writers *w, const struct instance *made, uint64_t calls);
void writers_go(struct writers *w);
/* Until the `i`th has made so many; all: until the process has ended. */
void writers_wait(struct writers *w, unsigned i, uint64_t calls);
bool writers_ended(struct writers *w);
void writers_stop(struct writers *w);

/* What was read of one CPU. */
struct tally {
	uint64_t calls;                /* that will be made */
	pid_t pid;
	bool overwrite;                /* what is missing stands before a page that says so */
	uint64_t next;                 /* the number of the call that comes next */
	uint64_t read, others;         /* records: of calls, of anything else */
	uint64_t missing, told;        /* calls: by their numbers, and as pages say */
	uint64_t pages_unknown;        /* that say that something is missing, not how much */
	uint64_t last_ts, parts, bytes;
};

/* All records of it; `from`: only those from there on. Fails in the test's words. */
void tally_part(struct tally *t, const struct wmk_kcpu *buffer, const struct wmk_kpart *part, uint32_t from);
/* Nothing comes any more: the counts are exact. `last_after`: a time behind the last call. */
void tally_end(const struct tally *t, struct wmk_kcpu *buffer, const struct writers *w, unsigned i);

#endif
