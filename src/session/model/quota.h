/* SPDX-License-Identifier: MIT */
/* quota.h - quotas of each user: sessions, rules, memory of rings, bytes of traces. */
#ifndef WMK_SESSION_QUOTA_H
#define WMK_SESSION_QUOTA_H

#include "session/model/session_model.h"

/* Charge one session. 0, or -E2BIG: the limit of the user or of the daemon is reached. */
int wmk_quota_session_charge(struct wmk_tracing *tracing, uid_t uid);
void wmk_quota_session_uncharge(struct wmk_tracing *tracing, uid_t uid);
/* Charge a rule of `bytes` bytes in the state file and in lists. 0, or -E2BIG: the limit is reached. */
int wmk_quota_rule_charge(struct wmk_tracing *tracing, uid_t uid, uint64_t bytes);
void wmk_quota_rules_uncharge(struct wmk_tracing *tracing, uid_t uid, uint64_t bytes);
/* Return the size in bytes of one ring set of a channel with these options. */
uint64_t wmk_rings_bytes(const struct wmk_ctl_channel *options);
/*
 * Charge memory for rings. 0, or -ENOBUFS: the limit is reached. Restored rings are charged even if the limit is
 * exceeded.
 */
int wmk_quota_rings_charge(struct wmk_tracing *tracing, uid_t uid, uint64_t bytes, bool there_already);
void wmk_quota_rings_uncharge(struct wmk_tracing *tracing, uid_t uid, uint64_t bytes);
/*
 * Charge `asked` bytes of a session's traces to the owner's quota. If `asked` is 0, charge the free part of the owner's
 * quota, but at most the limit of one session. *taken is the amount to uncharge later; 0 if there is no limit for
 * users. -EDQUOT: the limit is reached.
 */
int wmk_quota_trace_charge(struct wmk_tracing *tracing, uid_t uid, uint64_t asked, uint64_t *taken);
void wmk_quota_trace_uncharge(struct wmk_tracing *tracing, uid_t uid, uint64_t bytes);
void wmk_quotas_free(struct wmk_tracing *tracing);

#endif
