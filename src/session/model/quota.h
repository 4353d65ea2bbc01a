/* SPDX-License-Identifier: MIT */
/* quota.h - what the sessions of one user take together. */
#ifndef WMK_SESSION_QUOTA_H
#define WMK_SESSION_QUOTA_H

#include "session/model/session_model.h"

/* One more session: 0; -E2BIG: the limit is reached, the user's or the daemon's. */
int wmk_quota_session_charge(struct wmk_tracing *tracing, uid_t uid);
void wmk_quota_session_uncharge(struct wmk_tracing *tracing, uid_t uid);
/* Another rule, which has so many bytes in the state file and in each list: 0; -E2BIG: the limit is reached. */
int wmk_quota_rule_charge(struct wmk_tracing *tracing, uid_t uid, uint64_t bytes);
void wmk_quota_rules_uncharge(struct wmk_tracing *tracing, uid_t uid, uint64_t bytes);
/* Of one set of rings in such a channel. */
uint64_t wmk_rings_bytes(const struct wmk_ctl_channel *options);
/* More memory for rings: 0; -ENOBUFS: the limit is reached. What is there already (restored) is counted in any case. */
int wmk_quota_rings_charge(struct wmk_tracing *tracing, uid_t uid, uint64_t bytes, bool there_already);
void wmk_quota_rings_uncharge(struct wmk_tracing *tracing, uid_t uid, uint64_t bytes);
/*
 * Bytes of a session's trace: `asked`, 0: the rest of the owner's quota, within the limit of one session. *taken is to
 * be uncharged; 0: users have no limit. -EDQUOT
 */
int wmk_quota_trace_charge(struct wmk_tracing *tracing, uid_t uid, uint64_t asked, uint64_t *taken);
void wmk_quota_trace_uncharge(struct wmk_tracing *tracing, uid_t uid, uint64_t bytes);
void wmk_quotas_free(struct wmk_tracing *tracing);

#endif
