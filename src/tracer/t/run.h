/* SPDX-License-Identifier: MIT */
/* run.h - run test programs with a session daemon, for the tests of this folder. */
#ifndef WMK_TRACER_T_RUN_H
#define WMK_TRACER_T_RUN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Create a private runtime directory, and export it as WAYMARK_RUNDIR; run_remove_dir() removes it. */
const char *run_make_dir(void);
void run_remove_dir(void);
/* Start a program from the directory of the test. `argv` is NULL-terminated; argv[0] is the name. */
pid_t run_start(const char *const *argv);
/* The same; its standard input is a socket, to which it may also write. The other end is *end. */
pid_t run_start_with_input(const char *const *argv, int *end);
/* Return the thread of the program that is not the main thread, once it sleeps; -1: no such thread within 10 s. */
int run_helper_of(pid_t pid);
/* Return how often the thread has gone to sleep; -1: it does not exist. */
long run_switches(pid_t pid, int tid);
void run_pause_ms(long ms);
/* Wait at most 60 s. Returns the status of waitpid(), or -1; then the program was killed. */
int run_wait(pid_t pid);
/* run_start() and run_wait(). */
int run_program(const char *name, const char *argument);

/* Records as text, kept in order of reading. */
struct run_records {
	char **text;
	unsigned n, cap;
};
void run_keep(void *data, uint32_t ring, uint64_t ts, const char *text);
/* Count the records that equal `text`; that begin with `prefix`. */
unsigned run_count(const struct run_records *records, const char *text);
unsigned run_count_prefix(const struct run_records *records, const char *prefix);
void run_forget(struct run_records *records);

#endif
