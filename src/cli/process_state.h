/* SPDX-License-Identifier: MIT */
/*
 * process_state.h - what /proc and a program's file show about a process, for follow.c and child.c. All of it
 * may be another process's a moment later.
 */
#ifndef WMK_CLI_PROCESS_STATE_H
#define WMK_CLI_PROCESS_STATE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct wmk_proc_environment {
	bool early;                      /* not there yet: look again */
	bool has_rundir, disabled, other_user;
	/* That directory is another one for the process, or none: another mount namespace, or another root. */
	bool hides_rundir;
	char rundir[128];                /* WAYMARK_RUNDIR, or as much of it as there is room for */
};

/*
 * The environment with which the program was started. False when the process did not have libwaymark mapped after it
 * was read.
 */
bool wmk_proc_environment(pid_t pid, struct wmk_proc_environment *environment);

/* Who started it, or who took it over; 0 when there is no such process. */
pid_t wmk_proc_parent(pid_t pid);

/* Is its real user another than ours? */
bool wmk_proc_other_user(pid_t pid);

/*
 * GONE: there is no such process, or it has ended and its ids say nothing. PLAIN: its real and effective ids
 * are the same.
 */
enum wmk_proc_life { WMK_PROC_GONE, WMK_PROC_PLAIN, WMK_PROC_SET_ID };
enum wmk_proc_life wmk_proc_life(pid_t pid);

/* Does its program name libwaymark, or hold it? UNREADABLE: we may not see. */
enum wmk_proc_use { WMK_PROC_UNUSED, WMK_PROC_USED, WMK_PROC_UNREADABLE };
enum wmk_proc_use wmk_proc_use(pid_t pid);

/*
 * Is `path` still the file of that number, and does it hold sites of its own? So does a program with libwaymark.a in
 * it.
 */
bool wmk_proc_file_has_sites(const char *path, unsigned major, unsigned minor, uint64_t inode);

#endif
