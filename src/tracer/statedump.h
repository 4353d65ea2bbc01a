/* SPDX-License-Identifier: MIT */
/*
 * statedump.h - the tracer's own events: which objects are loaded, so that addresses in a trace can be named later.
 */
#ifndef WMK_TRACER_STATEDUMP_H
#define WMK_TRACER_STATEDUMP_H

/* Make the events. By the helper, before it announces any; lock not held. Idempotent. */
void wmk_statedump_register(void);
/*
 * The objects are listed now, while a controller makes up its answer, for the next turn that wants them; or that list
 * is forgotten. By the helper; lock not held.
 */
void wmk_statedump_prepare(void);
void wmk_statedump_forget(void);
/*
 * Record what is new: everything when the events have been enabled, else what was loaded or unloaded since. Lock not
 * held.
 */
void wmk_statedump_record(void);
/* At the next turn, record everything again. By the helper. */
void wmk_statedump_repeat(void);
/* In the child of a fork: it dumps for itself. */
void wmk_statedump_after_fork(void);

#endif
