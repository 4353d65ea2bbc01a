/* SPDX-License-Identifier: MIT */
/*
 * kernel_channels.h - kernel channels of sessions. Private to src/session.
 *
 * A kernel channel is an instance of tracefs (kernel/tracefs/instance.h) in the place of ring sets, in a trace of its
 * own ("kernel"). Commands change the session, as ever; then wmk_session_kernel_update() brings the kernel in line with
 * it, as applications are by wmk_tracing_update():
 *
 *     rules ──catalog──► events of the kernel ──format──► classes ──ids, declared──► the consumer is told ──► enabled in the instance
 *        └──filters (kernel_filter.c)──► a program for the consumer, a text for the kernel, before that
 *
 * So no record comes of an event that the metadata and the consumer do not know. All under the session's lock.
 */
#ifndef WMK_SESSION_KERNEL_CHANNELS_H
#define WMK_SESSION_KERNEL_CHANNELS_H

#include "kernel/event/catalog.h"
#include "session/session_model.h"

struct wmk_kernel_probes;

static inline bool wmk_channel_is_kernel(const struct wmk_session_channel *channel)
{
	return channel->is.domain.kind == WMK_DOMAIN_KERNEL;
}

/*
 * Can the kernel record what the rule selects (`note`: what the user should know)? -EINVAL: a log level; -ENOENT with
 * the nearest names: no such event; -ENOTSUP: the clock of the session; or why tracefs, or the owner's file of a probe,
 * cannot be used.
 */
int wmk_kernel_rule_check(struct wmk_session *session, const struct wmk_ctl_rule *rule, char *note, size_t size);
/* Opened once it is needed; who cannot tries again next time. *tracefs stays the tracing's. */
int wmk_kernel_tracefs(struct wmk_tracing *tracing, struct wmk_tracefs **tracefs);
/* The events that there are now; the caller's to wmk_kcatalog_close(). */
int wmk_kernel_catalog(struct wmk_tracing *tracing, struct wmk_kcatalog **catalog);
/*
 * Of rules that were checked: does each filter mean anything in the events of those that have it? -EINVAL, and where it
 * does not.
 */
int wmk_kernel_filters_fit(struct wmk_tracing *tracing, const struct wmk_list *rules);
/* Behind rules that were added: as wmk_session_filters_check(), of a kernel channel. */
int wmk_kernel_filters_check(struct wmk_session_channel *channel, const struct wmk_list *rules);
/* How many of them the rule is for; catalog NULL: they are not known. */
uint64_t wmk_kernel_fitting(const struct wmk_kcatalog *catalog, const struct wmk_ctl_rule *rule);
/* Does a channel that records want this event? */
bool wmk_session_kernel_records(const struct wmk_session *session, const struct wmk_kentry *entry);

/*
 * Bring the kernel in line with the session: instances are made, events go on and off, recording goes on and off.
 * -errno: not all of it is as it should be, and why.
 */
int wmk_session_kernel_update(struct wmk_session *session);
/*
 * Of the rules alone, not of whoever records it: does one that is in force mean this event? Those of probes: as far as
 * they are among `probes`, which may be NULL.
 */
bool wmk_kernel_rules_select(const struct wmk_session_channel *channel, const struct wmk_kernel_probes *probes,
			   const struct wmk_kentry *entry);
/* The consumer is told of what `about` has of events, system calls, a state dump; the rest is the channel's. */
int wmk_kernel_send(struct rings *rings, const struct wmk_kernel_info *about);
/* What was there before the first record is to be recorded (again), if the session records. */
void wmk_session_kernel_statedump(struct wmk_session *session);
/*
 * kernel_statedump.c: it is wanted and nobody was told: the consumer is, which makes it as part of this channel. What
 * keeps it from that is told by the session.
 */
void wmk_kernel_statedump_send(struct rings *rings);
/* Nothing is recorded into it any more; before it is emptied for the last time. Not locked. */
void wmk_kernel_halt(const struct rings *rings);
/*
 * As an earlier daemon left it: it records on. The rings are in no list yet. Then, when the ids of all events are back:
 * what it records is consumed.
 */
int wmk_kernel_restore(struct rings *rings);
void wmk_session_kernel_restored(struct wmk_session *session);
/* Instances of this daemon's that no session has are removed. Sessions are restored by now. */
void wmk_kernel_sweep(struct wmk_tracing *tracing);

#endif
