/* SPDX-License-Identifier: MIT */
/*
 * testdir.h - a directory for one test, and commands with captured output.
 */
#ifndef WMK_STORE_TESTDIR_H
#define WMK_STORE_TESTDIR_H

#include <stddef.h>

/* Make a fresh directory; its path is in `path`. Fails the test if it cannot. */
void testdir_make(char path[256]);
/* Remove it with everything in it. */
void testdir_remove(const char *path);
/* Run `command` in a shell; its output on stdout and stderr is malloc'd. Returns its exit status. */
int testdir_run(const char *command, char **out, char **err);
/* Whole file, malloc'd, NUL-terminated; *len without the NUL. Fails the test if it cannot be read. */
char *testdir_slurp(const char *path, size_t *len);

#endif
