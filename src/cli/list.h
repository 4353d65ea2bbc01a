/* SPDX-License-Identifier: MIT */
/*
 * list.h - arguments of `waymark list`, and the functions of list_kernel.c.
 */
#ifndef WMK_CLI_LIST_H
#define WMK_CLI_LIST_H

#include "cli/command.h"

struct wmk_daemon;

struct wmk_list_args {
	struct wmk_cli_common common;    /* userspace: list applications; kernel: list kernel events; else sessions */
	struct wmk_cli_words patterns;   /* of kernel events */
	bool fields;
	const char *glob;                /* pattern of session names */
	bool mem_usage;
	const char *names;               /* the kind of names to print, for completion */
};

/* ── list_kernel.c ── */
/* Print the kernel events and the missing features of the kernel. Returns the exit status. */
int wmk_list_kernel(const struct wmk_list_args *args);
/*
 * Print only names, one per line, in the form that enable-event accepts. Fills daemon->result. The caller must free an
 * earlier result before the call.
 */
int wmk_list_kernel_names(struct wmk_daemon *daemon, const struct wmk_list_args *args);

#endif
