/* SPDX-License-Identifier: MIT */
/*
 * kernel_channel.h - kernel channels of sessions.
 *
 * A kernel channel has a tracefs instance (kernel/tracefs/instance.h) instead of ring sets, in a trace of its own
 * ("kernel"). Commands change the session; then wmk_session_kernel_update() brings the kernel in line with it, as
 * wmk_tracing_update() does with applications:
 *
 *     rules ──catalog──► kernel events ──format──► classes ──ids──► metadata ──► consumer daemon ──► enabled
 *        └──filters (kernel_filter.c)──► a program for the consumer daemon, a text for the kernel, before that
 *
 * Every record therefore belongs to an event that is in the metadata and was sent to the consumer daemon. All under the
 * session's lock.
 */
#ifndef WMK_SESSION_KERNEL_CHANNEL_H
#define WMK_SESSION_KERNEL_CHANNEL_H

#include "kernel/event/catalog.h"
#include "session/model/session_model.h"

/*
 * Check that the kernel can record what the rule selects. `note`: information for the user, or "". -EINVAL: a log
 * level; -ENOENT: no such event (with similar names); -ENOTSUP: the clock of the session; other errors: tracefs or the
 * file of a probe cannot be used.
 */
int wmk_kernel_rule_check(struct wmk_session *session, const struct wmk_ctl_rule *rule, char *note, size_t size);
/* Read the list of kernel events. The caller closes the list by wmk_kcatalog_close(). */
int wmk_kernel_catalog(struct wmk_tracing *tracing, struct wmk_kcatalog **catalog);
/* Return the number of events that the rule fits. catalog NULL: only probes are counted. */
uint64_t wmk_kernel_fitting(const struct wmk_kcatalog *catalog, const struct wmk_ctl_rule *rule);
/* True if an active kernel channel of the session selects this event. */
bool wmk_session_kernel_records(const struct wmk_session *session, const struct wmk_kentry *entry);
/*
 * Reconcile the kernel with the session: create instances, switch events and recording on and off. -errno with a cause
 * chain: a part of it failed.
 */
int wmk_session_kernel_update(struct wmk_session *session);

#endif
