/* SPDX-License-Identifier: MIT */
/* run.h - runs programs under a controller, for the tests of this folder. */
#ifndef WMK_TRACER_T_RUN_H
#define WMK_TRACER_T_RUN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* A private runtime directory, exported as WAYMARK_RUNDIR. Removed by run_remove_dir(). */
const char *run_make_dir(void);
void run_remove_dir(void);
/* Start a program that lies beside the test. `argv` is NULL-terminated, argv[0] its name. */
pid_t run_start(const char *const *argv);
/* Wait, at most 60 s: the status as of waitpid(), or -1. */
int run_wait(pid_t pid);
/* Both. */
int run_program(const char *name, const char *argument);

/* Records as text, kept in order of reading. */
struct run_records {
	char **text;
	unsigned n, cap;
};
void run_keep(void *data, uint32_t ring, uint64_t ts, const char *text);
/* How many are exactly `text`; how many begin with it. */
unsigned run_count(const struct run_records *records, const char *text);
unsigned run_count_prefix(const struct run_records *records, const char *prefix);
void run_forget(struct run_records *records);

#endif
