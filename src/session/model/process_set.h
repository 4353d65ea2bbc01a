/* SPDX-License-Identifier: MIT */
/* process_set.h - the processes of a channel narrowed to a process or executable and its descendants. */
#ifndef WMK_SESSION_PROCESS_SET_H
#define WMK_SESSION_PROCESS_SET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* A process of a narrowed channel with `follow`. */
struct process_set_entry {
	pid_t pid;                       /* 0: a free place */
	uid_t uid;
	bool ended;                      /* while the table is made anew */
	uint64_t start_time;
};

struct process_set {
	struct process_set_entry *places;
	unsigned n, n_places;
	unsigned refused;
};
bool wmk_process_set_has(const struct process_set *members, pid_t pid, uint64_t start_time);
/* Of a process of that number and user, whenever it started. */
bool wmk_process_set_has_pid(const struct process_set *members, pid_t pid, uid_t uid);
/* Without memory, or when too many live, it is left out. */
void wmk_process_set_add(struct process_set *members, pid_t pid, uint64_t start_time, uid_t uid);
void wmk_process_set_free(struct process_set *members);

#endif
