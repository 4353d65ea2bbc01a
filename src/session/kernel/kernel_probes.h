/* SPDX-License-Identifier: MIT */
/*
 * kernel_probes.h - rules of kernel channels that make their event: probes (kernel/probe/probe.h).
 *
 * A probe is installed when its channel records for the first time with the rule in force, and stays with the channel's
 * buffers: disabled, it costs nothing. It is removed behind the instance that it was recorded into, because the kernel
 * empties an instance when one of its dynamic events goes. Its events are of a group that belongs to these buffers
 * alone: waymark_<owner>_<number of the rings>.
 */
#ifndef WMK_SESSION_KERNEL_PROBES_H
#define WMK_SESSION_KERNEL_PROBES_H

#include <stdbool.h>
#include <sys/types.h>

#include "kernel/event/catalog.h"
#include "wire/ctl.h"

struct rings;
struct wmk_kernel_probes;

static inline bool wmk_rule_is_probe(const struct wmk_ctl_rule *rule)
{
	return rule->probe != WMK_RULE_NO_PROBE;
}

/*
 * Can it be made by that user, and does its filter mean anything in the fields that it has? Tried. Says in `note` what
 * the user should know; "": nothing. -EINVAL with the column, -ENOENT with what is near, ...
 */
int wmk_kernel_probe_check(const struct wmk_tracefs *tracefs, const struct wmk_ctl_rule *rule, uid_t uid, gid_t gid,
			   char *note, size_t size);
/*
 * Those of the channel's rules that are in force and have none yet are installed. *probes is made with the first of
 * them, the caller's to wmk_kernel_probes_remove(). The first error; the others are installed all the same.
 */
int wmk_kernel_probes_install(const struct wmk_tracefs *tracefs, const struct rings *rings,
			      struct wmk_kernel_probes **probes);
/*
 * kernel_filter.c: does the filter (NULL: none) mean anything in the events of that group? -EINVAL, and where it does
 * not.
 */
int wmk_kernel_probe_filter_fits(const struct wmk_tracefs *tracefs, const char *group, const char *filter);
/* Is it the event, or one of them, that this rule makes? `probes` NULL: none is installed. */
bool wmk_kernel_probe_makes(const struct wmk_kernel_probes *probes, const struct wmk_ctl_rule *rule,
			    const struct wmk_kentry *entry);
/* Is it anybody's probe, which no pattern means? */
bool wmk_kentry_is_probe(const struct wmk_kentry *entry);
/* Groups of this owner for which keep(data, group) is false, and of processes that are dead, are removed. */
void wmk_kernel_probes_sweep(const struct wmk_tracefs *tracefs, const char *owner,
			     bool (*keep)(void *data, const char *group), void *data);
/* The group of a channel's probes; "" if it has none. */
const char *wmk_kernel_probes_group(const struct wmk_kernel_probes *probes);
/* Their instance is gone. `keep`: the next daemon is to have them. */
void wmk_kernel_probes_close(const struct wmk_tracefs *tracefs, struct wmk_kernel_probes *probes, bool keep);

#endif
