/* SPDX-License-Identifier: MIT */
/*
 * watch.h - the kernel's own account of what a process and all its descendants do: fork, exec, map a program or a
 * library, exit.
 *
 * It comes from perf events (a dummy software event that counts nothing, inherited by every child whatever it does to
 * its environment), through one small ring per CPU, as seen in user space only: an ordinary user may have it for his
 * own processes. The kernel ends it for a process that becomes set-id: then comes an EXIT of a process that goes on. A
 * CPU that is plugged in later is not watched.
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
	pid_t pid, tid;                  /* of the new one for FORK; equal numbers for the first thread */
	pid_t parent;                    /* FORK: the process that made it; its own pid for a thread */
	const char *name;                /* EXEC: of the program, 15 bytes at most; MAP: the file */
	unsigned major, minor;           /* MAP: the file's device ... */
	uint64_t inode;                  /* ... and number */
};

struct wmk_watch {
	/* an epoll descriptor; -1: there is no watch. Poll it, then wmk_watch_read() */
	int fd;
	unsigned n;                      /* rings */
	struct wmk_watch_ring {
		int fd;
		void *map;
	} *rings;
	uint64_t lost;                   /* records for which a ring had no room */
	unsigned char *bytes;            /* what was taken from the rings and is not yet dealt with */
	size_t len, cap;
};

/*
 * Watch `pid`, which has one thread, and what it will start. 0; or -errno where the kernel does not allow it, and fd is
 * -1.
 */
int wmk_watch_open(struct wmk_watch *watch, pid_t pid);
/*
 * Calls `take` for all that has happened, in the order in which it did, as far as anything in it depends on each other.
 */
void wmk_watch_read(struct wmk_watch *watch, void (*take)(void *data, const struct wmk_watch_event *event), void *data);
void wmk_watch_close(struct wmk_watch *watch);

#endif
