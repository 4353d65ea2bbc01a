/* SPDX-License-Identifier: MIT */
/*
 * cpu_hotplug.h - CPUs that come online while a kernel channel records: each gets a stream. Under streams_lock.
 */
#ifndef WMK_CONSUMER_CPU_HOTPLUG_H
#define WMK_CONSUMER_CPU_HOTPLUG_H

#include "consumer/consumer_state.h"

#define WMK_CPU_HOTPLUG_MS 250     /* period of the check while a CPU has no stream */

/* Prepare the group of a kernel channel. The prepared state ends with the group. 0 or -errno. */
int wmk_cpu_hotplug_open(struct wmk_group *group, struct wmk_kreader *reader, const struct wmk_consumer_set *how);
/* Add a stream for each CPU that is online and has no stream. */
int wmk_consumer_add_online_cpus(struct wmk_consumer *consumer, struct wmk_group *group);
/*
 * Add these streams for all groups, if CPUs came online since the last check. Without `now`, at most once in a period.
 * A buffer that cannot be read is counted as an error. True: a CPU still has no stream, so the check must be repeated.
 */
bool wmk_consumer_check_cpus(struct wmk_consumer *consumer, bool now);

#endif
