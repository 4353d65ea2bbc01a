/* SPDX-License-Identifier: MIT */
/*
 * list.h - what the options of list say, and its part for the kernel.
 */
#ifndef WMK_CLI_LIST_H
#define WMK_CLI_LIST_H

#include "cli/command.h"

struct wmk_daemon;

struct wmk_list_args {
	struct wmk_cli_common common;    /* userspace: programs, kernel: its events; not sessions */
	struct wmk_cli_words patterns;   /* of the kernel's events */
	bool fields;
	const char *names;               /* of what, for completion */
};

/* ── list_kernel.c ── */
/* The kernel's events and what it lacks; the exit status. */
int wmk_list_kernel(const struct wmk_list_args *args);
/* The names alone, as they are typed, one in a line. daemon->result is free before, and filled after. */
int wmk_list_kernel_names(struct wmk_daemon *daemon, const struct wmk_list_args *args);

#endif
