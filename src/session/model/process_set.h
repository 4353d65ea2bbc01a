/* SPDX-License-Identifier: MIT */
/* process_set.h - the processes of a channel for a process or executable and its descendants. */
#ifndef WMK_SESSION_PROCESS_SET_H
#define WMK_SESSION_PROCESS_SET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* A process that the domain of a channel with `follow` includes. */
struct process_set_entry {
	pid_t pid;                       /* 0: a free entry */
	uid_t uid;
	bool ended;                      /* used only while the table is rebuilt */
	uint64_t start_time;
};

struct process_set {
	struct process_set_entry *places;
	unsigned n, n_places;
	unsigned refused;                /* additions to a full table */
};
bool wmk_process_set_has(const struct process_set *members, pid_t pid, uint64_t start_time);
/* True if the set has a process of this pid and user, with any start time. */
bool wmk_process_set_has_pid(const struct process_set *members, pid_t pid, uid_t uid);
/* Add a process. If there is no memory, or the set has too many processes that still run, the process is not added. */
void wmk_process_set_add(struct process_set *members, pid_t pid, uint64_t start_time, uid_t uid);
void wmk_process_set_free(struct process_set *members);

#endif
