/* SPDX-License-Identifier: MIT */
/*
 * limits_file.h - what whoever looks after the machine lets sessions take: a file of lines "name = number".
 *
 *     # for all users
 *     sessions = 8              of one user: 1024 at most
 *     channels = 4              of one session
 *     rules = 100               of one channel: 4096 at most
 *     programs = 1000           connected to one daemon
 *     user-programs = 100       of these, of one user other than root and the daemon's own
 *     ring-memory = 256M        of all sessions of one user
 *     users-ring-memory = 1G    of all sessions of all users other than root
 *     trace-size = 10G          of each session: create --max-size may be less, and is this where none is given
 *     user-trace-size = 20G     of all sessions of one user together: where none is given, a session gets what the others leave
 *     disk-reserve = 1G         of each disk that traces are on: so much, or a twentieth of it if that is less, stays free
 *
 * What is not named keeps its default (session/tracing.h). Numbers are from 1, with k, M, G; '#' begins a comment.
 */
#ifndef WMK_SESSIOND_LIMITS_FILE_H
#define WMK_SESSIOND_LIMITS_FILE_H

#include <stddef.h>
#include <stdint.h>

#define WMK_LIMITS_FILE_MAX 65536u

struct wmk_limits {
	/* 0: not named */
	uint64_t sessions, channels, rules, programs, user_programs, ring_memory, users_ring_memory;
	uint64_t trace_size, user_trace_size, disk_reserve;
};

/* The file's. 0; -ENOENT: there is none (then all are 0); -EINVAL, ...: the causes tell its line. */
int wmk_limits_read(const char *path, struct wmk_limits *limits);
/* The same of text that is called `path` in what goes wrong. */
int wmk_limits_parse(const char *path, const char *text, size_t len, struct wmk_limits *limits);

#endif
