/* SPDX-License-Identifier: MIT */
/* cpu_hotplug.h - add a stream for each CPU that comes online while a kernel channel records. Under streams_lock. */
#ifndef WMK_CONSUMER_CPU_HOTPLUG_H
#define WMK_CONSUMER_CPU_HOTPLUG_H

#include "consumer/consumer_state.h"

#define WMK_CPU_HOTPLUG_MS 250     /* period of the check while a CPU has no stream */

/*
 * Allocate the state that the functions below use for the group of a kernel channel. The group owns this state. 0 or
 * -errno.
 */
int wmk_cpu_hotplug_open(struct wmk_group *group, struct wmk_kreader *reader, const struct wmk_consumer_set *how);
/* Add a stream for each CPU that is online and has no stream. */
int wmk_consumer_add_online_cpus(struct wmk_consumer *consumer, struct wmk_group *group);
/*
 * Check whether CPUs came online since the last check, and add the streams of these CPUs to all groups. With `now`, the
 * function checks at once; otherwise the function checks at most once in WMK_CPU_HOTPLUG_MS. A CPU buffer that cannot
 * be read is counted as an error. Returns true if a CPU still has no stream, so that the check must be repeated.
 */
bool wmk_consumer_check_cpus(struct wmk_consumer *consumer, bool now);

#endif
