/* SPDX-License-Identifier: MIT */
/*
 * kernel_channel.h - kernel channels of sessions.
 *
 * A kernel channel is an instance of tracefs (kernel/tracefs/instance.h) in the place of ring sets, in a trace of its
 * own ("kernel"). Commands change the session, as ever; then wmk_session_kernel_update() brings the kernel in line with
 * it, as applications are by wmk_tracing_update():
 *
 *     rules ──catalog──► kernel events ──format──► classes ──ids──► metadata ──► consumer ──► enabled in the instance
 *        └──filters (kernel_filter.c)──► a program for the consumer, a text for the kernel, before that
 *
 * So no record comes of an event that the metadata and the consumer do not know. All under the session's lock.
 */
#ifndef WMK_SESSION_KERNEL_CHANNEL_H
#define WMK_SESSION_KERNEL_CHANNEL_H

#include "kernel/event/catalog.h"
#include "session/model/session_model.h"

/*
 * Can the kernel record what the rule selects (`note`: what the user should know)? -EINVAL: a log level; -ENOENT with
 * the nearest names: no such event; -ENOTSUP: the clock of the session; or why tracefs, or the owner's file of a probe,
 * cannot be used.
 */
int wmk_kernel_rule_check(struct wmk_session *session, const struct wmk_ctl_rule *rule, char *note, size_t size);
/* The events that there are now; the caller's to wmk_kcatalog_close(). */
int wmk_kernel_catalog(struct wmk_tracing *tracing, struct wmk_kcatalog **catalog);
/* How many of them the rule is for; catalog NULL: they are not known. */
uint64_t wmk_kernel_fitting(const struct wmk_kcatalog *catalog, const struct wmk_ctl_rule *rule);
/* Does a channel that records want this event? */
bool wmk_session_kernel_records(const struct wmk_session *session, const struct wmk_kentry *entry);
/*
 * Bring the kernel in line with the session: instances are made, events and recording are switched on and off.
 * -errno: not all of it is as it should be, and why.
 */
int wmk_session_kernel_update(struct wmk_session *session);

#endif
