/* SPDX-License-Identifier: MIT */
/* statedump.h - the state dump: events of the library for the loaded objects, so that readers can resolve addresses. */
#ifndef WMK_TRACER_STATEDUMP_H
#define WMK_TRACER_STATEDUMP_H

/*
 * Register the events. The helper thread calls the function before it announces events, without the lock. Idempotent.
 */
void wmk_statedump_register(void);
/*
 * wmk_statedump_prepare(): list the objects for the next wmk_statedump_record() in advance, while the session daemon
 * prepares its answer. wmk_statedump_forget(): forget that list. Helper thread; without the lock.
 */
void wmk_statedump_prepare(void);
void wmk_statedump_forget(void);
/*
 * Record the state dump. The first call after the events were enabled records all objects. Later calls record the
 * objects that were loaded or unloaded since the previous call. Without the lock.
 */
void wmk_statedump_record(void);
/* Record all objects again in the next call of wmk_statedump_record(). Helper thread. */
void wmk_statedump_repeat(void);
/* Reset the state in a forked child, which records its own state dump. */
void wmk_statedump_after_fork(void);

#endif
