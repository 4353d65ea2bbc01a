/* SPDX-License-Identifier: MIT */
/* snapshot.h - the ring sets in which waymark_snapshot() stores its requests: those in overwrite mode. Lock held. */
#ifndef WMK_TRACER_SNAPSHOT_H
#define WMK_TRACER_SNAPSHOT_H

struct waymark_ring_set;

/* Add a set to the targets, if the set is in overwrite mode. */
void wmk_snapshot_target_add(struct waymark_ring_set *set);
/* Remove a set from the targets, before wmk_reclaim() waits for threads that may use the set. */
void wmk_snapshot_target_remove(const struct waymark_ring_set *set);

#endif
