/* SPDX-License-Identifier: MIT */
/*
 * process_state.h - read the state of a process from /proc and from its program's file, for follow.c and child.c. The
 * result can be out of date immediately, because the process may end and another process may get the same pid.
 */
#ifndef WMK_CLI_PROCESS_STATE_H
#define WMK_CLI_PROCESS_STATE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct wmk_proc_environment {
	bool early;                      /* the process has no environment yet: retry */
	bool has_rundir, disabled, other_user;
	/*
	 * In the mount namespace or root directory of the process, the path of the runtime directory may refer to
	 * another directory, or may not exist.
	 */
	bool hides_rundir;
	char rundir[128];                /* WAYMARK_RUNDIR, cut if it is longer */
};

/*
 * Read the environment with which the program was started. Returns false if the process does not have libwaymark mapped
 * after the reading.
 */
bool wmk_proc_environment(pid_t pid, struct wmk_proc_environment *environment);

/* Return the parent process, or the process that adopted the process; 0 if there is no such process. */
pid_t wmk_proc_parent(pid_t pid);

/* Return whether the real user id of the process differs from that of this process. */
bool wmk_proc_other_user(pid_t pid);

/*
 * GONE: the process does not exist, or has ended with equal real and effective ids. PLAIN: the process runs with equal
 * real and effective ids. SET_ID: the real and effective ids differ, even if the process has ended.
 */
enum wmk_proc_life { WMK_PROC_GONE, WMK_PROC_PLAIN, WMK_PROC_SET_ID };
enum wmk_proc_life wmk_proc_life(pid_t pid);

/*
 * Return whether the program of the process links or contains libwaymark. UNREADABLE: the file cannot be read, because
 * of missing permission or because the process does not exist.
 */
enum wmk_proc_use { WMK_PROC_UNUSED, WMK_PROC_USED, WMK_PROC_UNREADABLE };
enum wmk_proc_use wmk_proc_use(pid_t pid);

/*
 * Return whether `path` still refers to the file with this inode number, and the file has tracepoints. A program that
 * is linked with libwaymark.a also has tracepoints.
 */
bool wmk_proc_file_has_sites(const char *path, unsigned major, unsigned minor, uint64_t inode);

#endif
