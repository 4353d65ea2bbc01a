/* SPDX-License-Identifier: MIT */
/*
 * disk.h - what may hang with a disk is done by threads for which nobody waits for long.
 *
 *     shard, worker ──wmk_disk_do()──► disk of one directory: one work after the other ──► a thread: run()
 *           ▲                                                                                  │
 *           └──── result, if it comes in time ─────────────────────────────────────────────────┤
 *                 else nothing: what was done is undone when it is ──────── undo(), ready() ◄──┘
 *
 * A system call on a file that has left for good (a server that does not answer, a disk that is frozen) cannot be broken off, and whoever
 * makes it while he holds a session's lock holds up the registration of every program. So a thread of the disks makes it. Who has waited
 * in vain goes on as if it had failed, and until the disk has answered others do not begin to wait for it at all; then ready() tells that
 * it can be tried again.
 *
 * Many directories may be on one disk, and which are cannot be asked without hanging, too. So while one is waited for in vain, the others of its
 * owner have to show first that they answer: until they have, nobody waits for them longer than a moment, and the less the more of them hang.
 */
#ifndef WMK_SESSION_DISK_H
#define WMK_SESSION_DISK_H

#include <stdbool.h>
#include <sys/types.h>

#define WMK_DISK_THREADS 512u
#define WMK_DISK_THREADS_OF_ONE 64u      /* owner: as many as sessions of one, by default */
#define WMK_DISK_MOMENT_MS 50

struct wmk_disks;                        /* the threads, and all of these: */
struct wmk_disk;                         /* what happens below one directory */

struct wmk_disk_work {
	/* 0 or -errno with a cause chain, which the caller gets. In a thread of the disks, no lock held. */
	int (*run)(struct wmk_disk_work *work);
	/* Optional: run() has returned 0 when nobody waited for it any more (it may have begun later than that). In the same thread. */
	void (*undo)(struct wmk_disk_work *work);
	/* Once, when nobody needs it any more, whatever came of it. In any thread. */
	void (*free)(struct wmk_disk_work *work);
	/* disk.c's: */
	struct wmk_disk_work *next;
	int result;
	bool done, abandoned;
	struct wmk_error_chain *chain;
};

struct wmk_disks_options {
	/* Optional: work that was abandoned has ended, it can be tried again. In a thread of the disks, which it must not call. */
	void (*ready)(void *data, const char *path);
	void *data;
};

int wmk_disks_open(const struct wmk_disks_options *options, struct wmk_disks **disks);
/* Waits `ms` for threads that are at work; those that hang go on, and what they need stays. */
void wmk_disks_close(struct wmk_disks *disks, int ms);

/* The one for this path of this owner, made if need be: counted. NULL with a cause chain. Any thread. */
struct wmk_disk *wmk_disk_get(struct wmk_disks *disks, const char *path, uid_t owner);
void wmk_disk_put(struct wmk_disk *disk);

/*
 * What run() returned, if it has within `ms`, or within a moment where others hang and this one has not answered since. -ETIMEDOUT with a cause
 * chain: it has not, or the disk has not answered somebody before; then nothing comes of it. Any thread, with any lock that run(), undo(), free() and ready() do not take.
 */
int wmk_disk_do(struct wmk_disk *disk, struct wmk_disk_work *work, int ms);

#endif
