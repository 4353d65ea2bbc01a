/* SPDX-License-Identifier: MIT */
/* snapshot.h - the ring sets in which waymark_snapshot() stores its requests: those in overwrite mode. Lock held. */
#ifndef WMK_TRACER_SNAPSHOT_H
#define WMK_TRACER_SNAPSHOT_H

struct waymark_ring_set;

/* Add a set, if it is in overwrite mode. */
void wmk_snapshot_target_add(struct waymark_ring_set *set);
/* Remove a set, before wmk_reclaim() waits for threads that may use it. */
void wmk_snapshot_target_remove(const struct waymark_ring_set *set);

#endif
