/* SPDX-License-Identifier: MIT */
/*
 * instance.h - the kernel's side of a kernel channel: an instance of tracefs, a ring buffer for each CPU of its own,
 * with its events.
 *
 *     wmk_kinstance_name(owner, "shop", "channel0", name)           waymark-<owner>-<session>-<channel>
 *     wmk_kinstance_make(tracefs, name, &options, &instance)        its buffers are there, it records nothing yet
 *     wmk_kinstance_event(instance, "sched", "sched_switch", true)  an event into it
 *     wmk_kinstance_switch(instance, true)                          it records
 *     ...
 *     wmk_kinstance_remove(tracefs, name)                           everything of it is gone
 *
 * Whoever dies leaves it behind, recording. The name says whose it was: wmk_kinstance_sweep() removes those that nobody
 * owns any more.
 *
 * An owner is a session daemon's runtime directory, whichever daemon serves it ("d<device>.<inode>"), or one process
 * ("p<pid>.<start time>"). `instance` is an O_PATH descriptor of the directory. Any thread. -errno with a cause chain.
 */
#ifndef WMK_KERNEL_INSTANCE_H
#define WMK_KERNEL_INSTANCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "kernel/tracefs/tracefs.h"

#define WMK_KINSTANCE_NAME 256u
/* what groups of dynamic events begin with, then the owner, what is no letter or digit made '_' */
#define WMK_KPROBE_GROUP "waymark_"
#define WMK_KINSTANCE_OWNER 64u
#define WMK_KINSTANCE_CPUS_MAX 8192u

struct wmk_kinstance_options {
	enum wmk_clock_kind clock;       /* of the session; refused if the kernel does not have it */
	uint64_t cpu_bytes;              /* of each CPU's buffer */
	uint64_t subbuf_bytes;           /* of a sub-buffer at most; smaller where the kernel cannot */
	bool overwrite;
};

/* Names of owners: of a directory that is open here; of this process. */
int wmk_kinstance_owner_dir(int dir, char owner[WMK_KINSTANCE_OWNER]);
void wmk_kinstance_owner_self(char owner[WMK_KINSTANCE_OWNER]);
/*
 * Has the process of that number and start time, as an owner's name has them (0: any time), ended? False where
 * processes of others are not seen.
 */
bool wmk_kinstance_owner_has_ended(int pid, uint64_t ticks);
/* -ENAMETOOLONG: the kernel takes 255 bytes, and so much is not left for both. */
int wmk_kinstance_name(const char *owner, const char *session, const char *channel, char name[WMK_KINSTANCE_NAME]);

/* What the kernel calls it ("x86-tsc", "mono"); NULL: it has none that is the same. */
const char *wmk_kinstance_clock(enum wmk_clock_kind kind);
/* Does this kernel offer it? */
bool wmk_kinstance_has_clock(const struct wmk_tracefs *tracefs, enum wmk_clock_kind kind);
/* -ENOTSUP in words: it does not. */
int wmk_kinstance_clock_check(const struct wmk_tracefs *tracefs, enum wmk_clock_kind kind);

/*
 * Of an instance that nobody reads: how large its buffers are, what is overwritten when they are full (the oldest, or
 * nothing); who sleeps on a quarter is woken.
 */
int wmk_kinstance_buffers(int instance, bool overwrite, uint64_t cpu_bytes);
/*
 * -EEXIST: it is there. -ENOMEM: so large it cannot be. When it fails nothing of it is left. *instance is the caller's
 * to close().
 */
int wmk_kinstance_make(const struct wmk_tracefs *tracefs, const char *name, const struct wmk_kinstance_options *options,
		       int *instance);
/*
 * Nothing is recorded from here on; all its events are off; it is gone. -EBUSY: somebody reads it still. 0 when it is
 * not there.
 */
int wmk_kinstance_remove(const struct wmk_tracefs *tracefs, const char *name);
int wmk_kinstance_switch(int instance, bool on);
/* Numbers of CPUs that may ever be there are below this; 0 with a cause chain: it cannot be told. */
unsigned wmk_kinstance_cpus(int instance);
/* Its clock is the processor's counter, not the monotonic one. */
bool wmk_kinstance_is_counter(int instance);
/* One of its options is on. */
bool wmk_kinstance_has_option(int instance, const char *name);
/* That clock, as it is now. */
uint64_t wmk_kinstance_now(int instance);
/* -ENOENT: no such event. */
int wmk_kinstance_event(int instance, const char *system, const char *name, bool on);
int wmk_kinstance_events_off(int instance);
/*
 * Which of its records the kernel keeps, in the kernel's own language; NULL: all. -EINVAL with the kernel's words.
 */
int wmk_kinstance_filter(int instance, const char *system, const char *name, const char *filter);
/* Threads whose events are recorded, and those that they start, which follow by themselves; n 0: everybody's. */
int wmk_kinstance_pids(int instance, const int32_t *tids, unsigned n);
/* Threads whose events are not (those that they start follow too). */
int wmk_kinstance_without(int instance, const int32_t *tids, unsigned n);

/*
 * Remove the instances of `owner` for which keep(data, name) is false (keep NULL: all of them), and those of processes
 * that are dead. What cannot be removed is counted; returns how many. Dynamic events (waymark_* groups) of the same go
 * too.
 */
int wmk_kinstance_sweep(const struct wmk_tracefs *tracefs, const char *owner,
			bool (*keep)(void *data, const char *name), void *data);

#endif
