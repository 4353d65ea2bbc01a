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
/* The same; its standard input is a stream whose other end is *end: it may write there too. */
pid_t run_start_with_input(const char *const *argv, int *end);
/* The program's thread that is not the first, once it is asleep; -1: none, or not so within 10 s. */
int run_helper_of(pid_t pid);
/* How often the thread has gone to sleep; -1: there is none. */
long run_switches(pid_t pid, int tid);
void run_pause_ms(long ms);
/* Wait, at most 60 s: the status as of waitpid(), or -1; who has not ended by then is killed. */
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
