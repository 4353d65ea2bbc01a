/* SPDX-License-Identifier: MIT */
/*
 * kernel_probes.h - probes: rules of kernel channels that create their event (kernel/probe/probe.h).
 *
 * A probe is installed when its channel first records while the probe's rule is enabled. The probe stays installed as
 * long as the buffers of the channel exist. While its rule is disabled, an installed probe costs nothing. A probe is
 * removed after its tracefs instance, because the kernel empties an instance when one of its dynamic events is removed.
 * The events of a channel's buffers have a group of their own: waymark_<owner>_<number of the rings>.
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
 * Check by a trial installation that the user can make this probe, and that the filter of the rule fits the fields of
 * the probe. `note`: information for the user, or "". -EINVAL with the column, -ENOENT with similar names, and others.
 */
int wmk_kernel_probe_check(const struct wmk_tracefs *tracefs, const struct wmk_ctl_rule *rule, uid_t uid, gid_t gid,
			   char *note, size_t size);
/*
 * Install the probes of enabled rules that are not installed yet. The first installed probe creates *probes; the caller
 * frees *probes by wmk_kernel_probes_close(). Returns the first error, after all probes were tried.
 */
int wmk_kernel_probes_install(const struct wmk_tracefs *tracefs, const struct rings *rings,
			      struct wmk_kernel_probes **probes);
/* In kernel_filter.c: check that the filter (NULL: none) fits the events of a group. -EINVAL with the position. */
int wmk_kernel_probe_filter_fits(const struct wmk_tracefs *tracefs, const char *group, const char *filter);
/* True if the event belongs to the installed probe of this rule. `probes` NULL: no probe is installed. */
bool wmk_kernel_probe_makes(const struct wmk_kernel_probes *probes, const struct wmk_ctl_rule *rule,
			    const struct wmk_kentry *entry);
/* True if the event belongs to a probe of any session; patterns do not match events of probes. */
bool wmk_kentry_is_probe(const struct wmk_kentry *entry);
/* Remove groups of this owner for which keep(data, group) is false, and groups of processes that have ended. */
void wmk_kernel_probes_sweep(const struct wmk_tracefs *tracefs, const char *owner,
			     bool (*keep)(void *data, const char *group), void *data);
/* Return the group of a channel's probes; "" if the channel has no group. */
const char *wmk_kernel_probes_group(const struct wmk_kernel_probes *probes);
/*
 * Remove the probes after their instance, and free them. With `keep`, the function frees only the memory: the probes
 * stay installed for the next daemon.
 */
void wmk_kernel_probes_close(const struct wmk_tracefs *tracefs, struct wmk_kernel_probes *probes, bool keep);

#endif
