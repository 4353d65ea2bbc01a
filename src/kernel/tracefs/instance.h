/* SPDX-License-Identifier: MIT */
/*
 * instance.h - the kernel's side of a kernel channel: a tracefs instance, which has its own ring buffer for each CPU
 * and its own events.
 *
 *     wmk_kinstance_name(owner, "shop", "channel0", name)           waymark-<owner>-<session>-<channel>
 *     wmk_kinstance_make(tracefs, name, &options, &instance)        creates the buffers; nothing is recorded yet
 *     wmk_kinstance_event(instance, "sched", "sched_switch", true)  enables an event
 *     wmk_kinstance_switch(instance, true)                          starts recording
 *     ...
 *     wmk_kinstance_remove(tracefs, name)                           removes all of it
 *
 * A process that crashes leaves instances behind, and these instances continue to record. The name of an instance
 * contains the owner: wmk_kinstance_sweep() finds such instances by their owner and removes them.
 *
 * The owner is a runtime directory or a process. A runtime directory ("d<device>.<inode>") stays the owner if another
 * session daemon uses the directory. A process is named "p<pid>.<start time>". `instance` is an O_PATH descriptor of
 * the directory. Any thread. Errors are -errno with a cause chain.
 */
#ifndef WMK_KERNEL_INSTANCE_H
#define WMK_KERNEL_INSTANCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "kernel/tracefs/tracefs.h"

#define WMK_KINSTANCE_NAME 256u
/* prefix of groups of dynamic events; the owner follows, with '_' for each character that is not a letter or digit */
#define WMK_KPROBE_GROUP "waymark_"
#define WMK_KINSTANCE_OWNER 64u
#define WMK_KINSTANCE_CPUS_MAX 8192u

struct wmk_kinstance_options {
	enum wmk_clock_kind clock;       /* clock of the session; an error if the kernel does not have this clock */
	uint64_t cpu_bytes;              /* of each CPU's buffer */
	uint64_t subbuf_bytes;           /* limit of a sub-buffer's size; smaller if the kernel does not support it */
	bool overwrite;
};

/* Format the name of the owner `dir`, an open runtime directory. 0 or -errno with a cause chain. */
int wmk_kinstance_owner_dir(int dir, char owner[WMK_KINSTANCE_OWNER]);
/* Format the name of this process as an owner. */
void wmk_kinstance_owner_self(char owner[WMK_KINSTANCE_OWNER]);
/*
 * Return whether the process with this number and start time (as in an owner's name; 0: any time) has ended. Returns
 * false if other processes are not visible.
 */
bool wmk_kinstance_owner_has_ended(int pid, uint64_t ticks);
/*
 * Compose the name. -ENAMETOOLONG: the name exceeds the kernel's limit of 255 bytes, because the names of session and
 * channel are too long.
 */
int wmk_kinstance_name(const char *owner, const char *session, const char *channel, char name[WMK_KINSTANCE_NAME]);

/*
 * Configure at which fill level the kernel wakes readers of the instance's buffers: at the first record of an empty
 * buffer (`first`), or at a quarter of a buffer. Older kernels always wake readers at the first record. 0 or -errno
 * with a cause chain.
 */
int wmk_kinstance_wake(int instance, bool first);

/* Return the kernel's name of a clock ("x86-tsc", "mono"); NULL: the kernel has no equal clock. */
const char *wmk_kinstance_clock(enum wmk_clock_kind kind);
/* Return whether this kernel offers the clock. */
bool wmk_kinstance_has_clock(const struct wmk_tracefs *tracefs, enum wmk_clock_kind kind);
/* Check that this kernel offers the clock. -ENOTSUP with a cause chain: the kernel lacks the clock. */
int wmk_kinstance_clock_check(const struct wmk_tracefs *tracefs, enum wmk_clock_kind kind);

/*
 * Configure the size of the buffers of an instance. No process may have the buffers open for reading. If a buffer is
 * full, the oldest records are lost with `overwrite`, and new records are lost without `overwrite`. Readers are woken
 * at a quarter of a buffer.
 */
int wmk_kinstance_buffers(int instance, bool overwrite, uint64_t cpu_bytes);
/*
 * Create an instance. -EEXIST; -ENOMEM: the buffers are too large. A failure leaves nothing. The caller closes
 * *instance.
 */
int wmk_kinstance_make(const struct wmk_tracefs *tracefs, const char *name, const struct wmk_kinstance_options *options,
		       int *instance);
/*
 * Stop recording, disable all events and remove the instance. -EBUSY: a process has buffers of the instance open.
 * Returns 0 if the instance does not exist.
 */
int wmk_kinstance_remove(const struct wmk_tracefs *tracefs, const char *name);
int wmk_kinstance_switch(int instance, bool on);
/* Return an upper bound (exclusive) of CPU numbers; 0 with a cause chain on failure. */
unsigned wmk_kinstance_cpus(int instance);
/* Return whether the instance's clock is the CPU's counter; false: the clock is the monotonic clock. */
bool wmk_kinstance_is_counter(int instance);
/* Return whether this option of the instance is on. */
bool wmk_kinstance_has_option(int instance, const char *name);
/* Return the current time of the instance's clock. */
uint64_t wmk_kinstance_now(int instance);
/* Enable or disable an event. -ENOENT: no such event. */
int wmk_kinstance_event(int instance, const char *system, const char *name, bool on);
int wmk_kinstance_events_off(int instance);
/*
 * Set the filter of an event, in the kernel's syntax; NULL: no filter. -EINVAL with the kernel's message.
 */
int wmk_kinstance_filter(int instance, const char *system, const char *name, const char *filter);
/*
 * Record only these threads, and all threads that they start. The kernel adds the started threads itself. n 0: every
 * thread.
 */
int wmk_kinstance_pids(int instance, const int32_t *tids, unsigned n);
/* Exclude these threads and all threads that they start. */
int wmk_kinstance_without(int instance, const int32_t *tids, unsigned n);

/*
 * Remove the instances of `owner` for which keep(data, name) is false (keep NULL: all instances of `owner`), and the
 * instances of processes that have ended. Returns the number of instances that could not be removed, or -errno. Dynamic
 * events (groups waymark_*) are not touched.
 */
int wmk_kinstance_sweep(const struct wmk_tracefs *tracefs, const char *owner,
			bool (*keep)(void *data, const char *name), void *data);

#endif
