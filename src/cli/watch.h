/* SPDX-License-Identifier: MIT */
/*
 * watch.h - receive events of a process and all its descendants from the kernel: fork, exec, mapping of a file as
 * executable memory, exit.
 *
 * The event source is perf: a dummy software event that counts nothing. Every child process inherits this perf event,
 * regardless of its environment. Each CPU has its own small ring. The perf event excludes the kernel, because ordinary
 * users may observe only the user space of their own processes. The kernel removes the perf event from a process when
 * this process becomes set-id. When the kernel removes the perf event, it reports EXIT for the process, although the
 * process continues. A CPU that is brought online later is not observed.
 *
 * One thread.
 */
#ifndef WMK_CLI_WATCH_H
#define WMK_CLI_WATCH_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum wmk_watch_kind { WMK_WATCH_FORK, WMK_WATCH_EXEC, WMK_WATCH_MAP, WMK_WATCH_EXIT };

struct wmk_watch_event {
	enum wmk_watch_kind kind;
	/* FORK: ids of the new process or thread; pid and tid are equal for the first thread of a process */
	pid_t pid, tid;
	/* FORK: the process that forked; for a new thread, the pid of its own process */
	pid_t parent;
	const char *name;                /* EXEC: name of the program, at most 15 bytes; MAP: the file */
	unsigned major, minor;           /* MAP: device of the file ... */
	uint64_t inode;                  /* MAP: inode number of the file */
};

struct wmk_watch {
	/* an epoll descriptor: poll it, then call wmk_watch_read(); -1: not watching */
	int fd;
	unsigned n;                      /* rings */
	struct wmk_watch_ring {
		int fd;
		void *map;
	} *rings;
	uint64_t lost;                   /* records that did not fit into a ring */
	unsigned char *bytes;            /* records that were taken from the rings, but are not delivered yet */
	size_t len, cap;
};

/*
 * Watch the process `pid`, which has one thread, and all its later descendants. Returns 0. If the kernel does not allow
 * perf events, returns -errno and sets watch->fd to -1.
 */
int wmk_watch_open(struct wmk_watch *watch, pid_t pid);
/* Call `take` for all events since the last call, in time order. */
void wmk_watch_read(struct wmk_watch *watch, void (*take)(void *data, const struct wmk_watch_event *event), void *data);
void wmk_watch_close(struct wmk_watch *watch);

#endif
