/* SPDX-License-Identifier: MIT */
/*
 * limits_file.h - limits that the administrator sets for sessions: a file of lines "name = number".
 *
 *     # for all users
 *     sessions = 8              per user; at most 1024
 *     channels = 4              per session
 *     rules = 100               per channel; at most 4096
 *     programs = 1000           applications connected to one daemon
 *     user-programs = 100       of these, per user other than root and the daemon's own
 *     ring-memory = 256M        of all sessions of one user
 *     users-ring-memory = 1G    of all sessions of all users other than root
 *     trace-size = 10G          per session: upper bound and default of create --max-size
 *     user-trace-size = 20G     of all sessions of one user; a session without --max-size gets what is left of it
 *     disk-reserve = 1G         free space per disk with traces: this, or 1/20 of the disk if that is less
 *
 * A limit that is not in the file has its default value (session/tracing.h). A number is at least 1 and may have a
 * suffix k, M or G; '#' begins a comment.
 */
#ifndef WMK_SESSIOND_LIMITS_FILE_H
#define WMK_SESSIOND_LIMITS_FILE_H

#include <stddef.h>
#include <stdint.h>

#define WMK_LIMITS_FILE_MAX 65536u

struct wmk_limits {
	/* 0: not listed */
	uint64_t sessions, channels, rules, programs, user_programs, ring_memory, users_ring_memory;
	uint64_t trace_size, user_trace_size, disk_reserve;
};

/* Read the file. 0; -ENOENT: no file (all limits are 0); -EINVAL, ...: the cause chain contains the line number. */
int wmk_limits_read(const char *path, struct wmk_limits *limits);
/* Parse the text of the file; error messages name the file `path`. */
int wmk_limits_parse(const char *path, const char *text, size_t len, struct wmk_limits *limits);

#endif
